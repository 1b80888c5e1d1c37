"""The laws that every rule and the algebra of names keep, over calls drawn from the whole table.

1. Concrete in, concrete out.
2. Sound forgetting: who knows less says nothing that who knows more contradicts.
3. `unify` commutes and is associative, in verdict and in names.
4. `join` is an upper bound, commutative and idempotent, and a chain of joins ends.
5. Native agreement is held by the recorded calls: see test_conformance.py.

Everyday: a few calls an operator. ``pytest tests/test_laws.py --hypothesis-profile=long`` draws
thousands.
"""

from __future__ import annotations

from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from namecheck import names as naming
from namecheck import values
from namecheck.names import UNKNOWN, Answer, Contradiction, Name
from namecheck.operators import Inference, Operator, Semantics, infer, table
from namecheck.rules.pointwise import broadcast
from namecheck.values import Dims, Many, Tensor
from tests.generators import (
    Call,
    abstract_dims,
    calls,
    forgotten_call,
    layouts,
    names_of_any_kind,
)

# Rules of which the number, names or order of what comes out depends on the data, with the reason.
DATA_DEPENDENT: Final[dict[str, str]] = {}


def _representatives() -> list[tuple[str, Semantics]]:
    """One operator for every set of rows that `infer` treats alike, in place or not."""
    chosen: dict[tuple[object, ...], tuple[str, Semantics]] = {}
    for key, row in table().items():
        for form in ("", "_") if "i" in row.forms else ("",):
            for semantics in Semantics:
                alike = (row.names, row.native, row.params, row.inplace, row.out, "o" in row.forms)
                chosen.setdefault((alike, form, semantics), (key + form, semantics))
    return list(chosen.values())


def every_operator(test: Any) -> Any:
    """Run a law for every kind of row under both semantics."""
    cases = [
        pytest.param(operator, semantics, id=f"{operator}-{semantics.value}")
        for operator, semantics in _representatives()
    ]
    return pytest.mark.parametrize(("operator", "semantics"), cases)(test)


def _row(operator: str) -> Operator:
    rows = table()
    return rows.get(operator) or rows[operator.removesuffix("_")]


def _infer(semantics: Semantics, call: Call) -> Inference:
    return infer(call.operator, *call.args, semantics=semantics, **call.kwargs)


def _calls(operator: str, semantics: Semantics) -> st.SearchStrategy[Call]:
    row = _row(operator)
    inplace = operator != row.key
    return calls(row, inplace=inplace, by_name=semantics is Semantics.NAMECHECK)


@every_operator
@given(data=st.data())
def test_concrete_in_concrete_out(operator: str, semantics: Semantics, data: st.DataObject) -> None:
    row = _row(operator)
    if "unknown" in (row.names, row.native) or row.names in DATA_DEPENDENT:
        pytest.skip("the row answers that it cannot tell")
    call = data.draw(_calls(operator, semantics))
    answer = _infer(semantics, call)
    if answer.contradiction is None:
        assert is_concrete(answer.result)
        assert all(is_concrete(tensor) for tensor in answer.after.values())


def is_concrete(value: Any) -> bool:
    """Whether no name and no rank in a value is unknown."""
    if isinstance(value, Tensor):
        return value.dims.complete
    if isinstance(value, (tuple, list)):
        return all(map(is_concrete, value))
    return value is not UNKNOWN and not isinstance(value, Many)


@every_operator
@given(data=st.data())
def test_forgetting_is_sound(operator: str, semantics: Semantics, data: st.DataObject) -> None:
    concrete = data.draw(_calls(operator, semantics))
    abstract = data.draw(forgotten_call(concrete))
    known = _infer(semantics, concrete)
    guess = _infer(semantics, abstract)
    if guess.contradiction is not None:
        assert known.contradiction is not None, f"made up: {guess.contradiction.message}"
    elif known.contradiction is None:
        assert covers(guess.result, known.result)
        for place in {*known.after, *guess.after}:
            before = abstract.args if isinstance(place, int) else abstract.kwargs
            really = concrete.args if isinstance(place, int) else concrete.kwargs
            guessed = guess.after.get(place, before[place])  # type: ignore[index]
            assert covers(guessed, known.after.get(place, really[place]))  # type: ignore[index]


def covers(general: Any, specific: Any) -> bool:
    """Whether the first value says nothing that the second contradicts."""
    if general is UNKNOWN:
        return True
    if isinstance(general, Tensor):
        return isinstance(specific, Tensor) and values.covers(general, specific)
    if isinstance(general, Many):
        several = specific if isinstance(specific, (tuple, list)) else (specific,)
        each = [part.each if isinstance(part, Many) else part for part in several]
        return all(covers(general.each, part) for part in each)
    if isinstance(general, (tuple, list)):
        alike = type(general) is type(specific) and len(general) == len(specific)
        return alike and all(map(covers, general, specific))
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
    """What stands at each position: a word, None, or the unknown."""
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
    return abstract_dims().map(Tensor)


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
    # Each change forgets a name, a size or a dim, or opens the list; there is no other.
    most = 3 * state.dims.min_rank + 1
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
