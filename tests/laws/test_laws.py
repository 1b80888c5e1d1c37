"""The laws of every rule and of the algebra of names, for calls drawn from the whole table.

1. Concrete in, concrete out.
2. Sound forgetting: the result for less known inputs covers the result for more known ones.
3. `unify` commutes and is associative, in verdict and in names.
4. `join` is an upper bound, commutative and idempotent, and a chain of joins ends.
5. Native agreement is checked on the recorded calls: see test_conformance.py.

Everyday: a few calls an operator. ``pytest tests/laws --hypothesis-profile=long`` draws thousands.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from namecheck.core import names as naming
from namecheck.core import tensors as values
from namecheck.core.dims import Dims
from namecheck.core.dtypes import KINDS
from namecheck.core.names import UNKNOWN, Answer, Axis, Contradiction, Name
from namecheck.core.semantics import Semantics
from namecheck.core.sizes import Expression
from namecheck.core.tensors import Many, Maybe, Tensor
from namecheck.operators import Inference, Operator, infer, table
from namecheck.rules.broadcasting import broadcast
from namecheck.rules.dim_map import same_shape
from tests.generators import (
    Call,
    abstract_dims,
    calls,
    forgotten_call,
    forgotten_dtype,
    layouts,
    names_of_any_kind,
    single_dtypes,
)

# Rules with an unknown result though all names are known, each with the reason.
SILENT: Final = {
    **dict.fromkeys(("truth", "equal", "agrees", "contains"), "the answer depends on the data"),
    **dict.fromkeys(("single_number", "single_index", "single_value"), "a number of the data"),
    **dict.fromkeys(("bincount", "tensor_split"), "the size or number depends on the data"),
    "stride": "strides depend on how the tensor was made",
    "is_contiguous": "so does whether they are contiguous",
    "cast_or_type": "without a dtype it answers with a string",
    "solves_least_squares": "what it tells of the errors is not followed",
    "reduced_loss": "the result without a reduction is not followed yet",
    **dict.fromkeys(
        (
            *("hstack", "chain_matmul", "tensordot", "bilinear", "embedding", "gather"),
            *("quantile", "solves", "solves_with_info"),
        ),
        "shapes that torch refuses are left unknown",
    ),
    **dict.fromkeys(
        ("device_of", "index_of_device", "is_on_cuda", "is_on_meta"), "no device is drawn"
    ),
    **dict.fromkeys(("is_sparse", "is_sparse_csr", "layout_of"), "no layout is drawn"),
    "sparse_factory": "sizes that are not given follow from the indices",
    "sparse_part": "it has as many dims as the tensor has dense ones, or batches",
    "arange": "numbers that are no ints are not counted, and may fit a tensor of any shape",
    "unique_consecutive": "what a flag by position gives hangs on how the next one is passed",
    "result_type": "a number is drawn as a tensor of no known dtype, too",
    "unknown": "the row says so",
}

# Rules whose result depends on facts that an annotation leaves open.
SILENT_OF_AXES: Final = {
    **dict.fromkeys(("has_names", "names_of"), "a dim that an annotation names may have no label"),
    **dict.fromkeys(("rows", "unbind", "same_size"), "the sizes are symbols"),
    **dict.fromkeys(("chunk", "split", "hsplit", "vsplit", "dsplit"), "so is how many pieces"),
    **dict.fromkeys(("resize", "resize_as"), "without a label, the dims may be other ones"),
    "unfolds_blocks": "what is drawn as the size of a block may be no int",
}


def _families() -> dict[str, list[str]]:
    """The operators of each rule; those that `infer` treats alike only once."""
    families: dict[str, dict[object, str]] = {}
    for key, row in table().items():
        for form in ("", "_") if "i" in row.forms else ("",):
            how = (row.inplace, row.out, "o" in row.forms, *row.constants.items())
            alike = (form, row.native, row.params, *how)
            families.setdefault(row.names, {}).setdefault(alike, key + form)
    return {rule: list(operators.values()) for rule, operators in families.items()}


FAMILIES: Final = _families()
every_rule = pytest.mark.parametrize("rule", FAMILIES)


@st.composite
def drawn_calls(draw: st.DrawFn, rule: str) -> tuple[Semantics, Operator, Call]:
    """A call of one of the operators that follow a rule, under either semantics."""
    semantics = draw(st.sampled_from(Semantics))
    operator = draw(st.sampled_from(FAMILIES[rule]))
    rows = table()
    row = rows.get(operator) or rows[operator.removesuffix("_")]
    by_name = semantics is Semantics.NAMECHECK
    return semantics, row, draw(calls(row, inplace=operator != row.key, by_name=by_name))


def _infer(semantics: Semantics, call: Call) -> Inference:
    return infer(call.operator, *call.args, semantics=semantics, **call.kwargs)


# Each rule is tested by itself: a few calls for all of them together would not suffice.
few = settings(max_examples=settings().max_examples * 2 // 5)


@every_rule
@few
@given(data=st.data())
def test_concrete_in_concrete_out(rule: str, data: st.DataObject) -> None:
    semantics, row, call = data.draw(drawn_calls(rule))
    answer = _infer(semantics, call)
    if not answer.fits:
        return  # a call that fits no signature of the table is not a call of it
    silent = {**SILENT, **SILENT_OF_AXES} if is_annotated(call) else SILENT
    followed = row.native_rule if semantics is Semantics.NATIVE else rule
    if answer.contradiction is None and followed not in silent and not may_be_resized(call, answer):
        assert is_concrete(answer.result)
        assert all(is_concrete(tensor) for tensor in answer.after.values())


def is_annotated(call: Call) -> bool:
    """Whether a tensor of the call has an axis, or the size of one."""
    held = [v for v in (*call.args, *call.kwargs.values()) if isinstance(v, Tensor)]
    dims = [dim for tensor in held for dim in tensor.dims.known]
    return any(isinstance(d.name, Axis) or isinstance(d.size, Expression) for d in dims)


def may_be_resized(call: Call, answer: Inference) -> bool:
    """Whether ``out=`` has the size of an axis where the result may have another one.

    torch resizes such a tensor, and then it has not the names of its annotation any more.
    """
    out = call.kwargs.get("out")
    if not isinstance(out, Tensor) or not isinstance(answer.result, Tensor):
        return False
    symbolic = any(isinstance(dim.size, Expression) for dim in out.dims.known)
    return symbolic and same_shape(out.dims, answer.result.dims) is Answer.MAYBE


def is_concrete(value: Any) -> bool:
    """Whether all names and the rank in a value are known."""
    if isinstance(value, Tensor):
        return value.dims.complete
    if isinstance(value, (tuple, list)):
        return all(map(is_concrete, value))
    if isinstance(value, dict):
        return all(map(is_concrete, value.values()))
    return value is not UNKNOWN and not isinstance(value, Many)


@every_rule
@few
@given(data=st.data())
def test_forgetting_is_sound(rule: str, data: st.DataObject) -> None:
    semantics, row, concrete = data.draw(drawn_calls(rule))
    abstract = data.draw(forgotten_call(concrete))
    known = _infer(semantics, concrete)
    guess = _infer(semantics, abstract)
    if not known.fits:
        return
    if row.irregular and is_untyped(known.result):
        # A tensor of which little is known counts as one that torch treats as any other.
        guess = replace(guess, result=untyped(guess.result))
    if guess.contradiction is not None:
        assert known.contradiction is not None, f"made up: {guess.contradiction.message}"
    elif known.contradiction is None:
        assert covers(guess.result, known.result)
        for place in {*known.after, *guess.after}:
            really = known.after.get(place, argument(concrete, place))
            if really is not None:
                assert covers(guess.after.get(place, argument(abstract, place)), really)


def is_untyped(value: Any) -> bool:
    """Whether the dtype of a result is unknown."""
    if isinstance(value, (tuple, list)):
        return all(map(is_untyped, value))
    return isinstance(value, Tensor) and value.dtype is UNKNOWN


def untyped(value: Any) -> Any:
    """A result whose dtype is not compared."""
    if isinstance(value, (tuple, list)):
        return type(value)(map(untyped, value))
    if isinstance(value, Many):
        return Many(untyped(value.each))
    return replace(value, dtype=UNKNOWN) if isinstance(value, Tensor) else value


def argument(call: Call, place: int | str) -> Any:
    """The argument at a position or under a keyword."""
    return call.args[place] if isinstance(place, int) else call.kwargs[place]


def covers(general: Any, specific: Any) -> bool:
    """Whether the first value covers the second."""
    if general is UNKNOWN:
        return True
    if isinstance(general, Tensor):
        return isinstance(specific, Tensor) and values.covers(general, specific)
    if isinstance(general, Maybe):
        return specific is None or covers(general.tensor, getattr(specific, "tensor", specific))
    if isinstance(general, Many):
        several = specific if isinstance(specific, (tuple, list)) else (specific,)
        each = [part.each if isinstance(part, Many) else part for part in several]
        return all(covers(general.each, part) for part in each)
    if isinstance(general, (tuple, list)):
        alike = type(general) is type(specific) and len(general) == len(specific)
        return alike and all(map(covers, general, specific))
    if isinstance(general, dict):
        return general.keys() == specific.keys() and all(
            covers(value, specific[key]) for key, value in general.items()
        )
    return bool(general == specific)


def merged(left: Dims | None, right: Dims | None) -> Dims | None:
    """Two unified lists; a contradiction, None, stays one."""
    if left is None or right is None:
        return None
    try:
        return broadcast(left, right)
    except Contradiction:
        return None


def words(dims: Dims) -> tuple[str | object | None, ...]:
    """The word at each position: a label, None, or the unknown."""
    return tuple(UNKNOWN if n is UNKNOWN else naming.word(n) for n in dims.names)


@given(names_of_any_kind(), names_of_any_kind())
def test_unify_of_names_commutes(left: Name, right: Name) -> None:
    assert naming.match(left, right) is naming.match(right, left)
    if naming.match(left, right) is not Answer.NO:
        one, two = naming.unify(left, right), naming.unify(right, left)
        assert naming.word(one) == naming.word(two)
        assert (one is UNKNOWN) == (two is UNKNOWN)


@given(abstract_dims(), abstract_dims())
def test_unify_commutes(left: Dims, right: Dims) -> None:
    one, two = merged(left, right), merged(right, left)
    assert (one is None) == (two is None)
    if one is not None and two is not None:
        assert words(one) == words(two)
        assert one.sizes == two.sizes


@given(layouts(), layouts(), layouts())
def test_unify_is_associative(first: Dims, second: Dims, third: Dims) -> None:
    left = merged(merged(first, second), third)
    right = merged(first, merged(second, third))
    assert (left is None) == (right is None)
    if left is not None and right is not None:
        assert words(left) == words(right)


def tensors() -> st.SearchStrategy[Tensor]:
    """Tensors with some known facts."""
    return st.builds(Tensor, abstract_dims(), single_dtypes().flatmap(forgotten_dtype))


@given(tensors(), tensors())
def test_join_is_an_upper_bound_and_commutes(left: Tensor, right: Tensor) -> None:
    both = values.join(left, right)
    assert values.covers(both, left)
    assert values.covers(both, right)
    assert both == values.join(right, left)


@given(tensors())
def test_join_is_idempotent(tensor: Tensor) -> None:
    assert values.join(tensor, tensor) == tensor


@given(tensors(), st.lists(tensors(), max_size=30))
def test_a_chain_of_joins_ends(state: Tensor, later: list[Tensor]) -> None:
    changes = 0
    # Each change forgets a name, a size or a dim, opens the list, or adds a dtype.
    most = 3 * state.dims.min_rank + 1 + len(KINDS)
    for tensor in later:
        wider = values.join(state, tensor)
        assert values.covers(wider, state)
        changes += wider != state
        state = wider
    assert changes <= most


@given(tensors(), tensors(), tensors())
def test_covers_is_an_order(first: Tensor, second: Tensor, third: Tensor) -> None:
    assert values.covers(first, first)
    if values.covers(first, second) and values.covers(second, third):
        assert values.covers(first, third)
