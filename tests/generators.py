"""The strategies of the property tests: tensors, calls of every operator, and forgetting.

A call is drawn from the parameters of its row (or, if the row has none, of its rule), so that a new
operator is covered automatically.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from hypothesis import strategies as st

from namecheck.core import dtypes
from namecheck.core import tensors as values
from namecheck.core.dims import SCALAR, Dim, Dims, axis, with_occurrences
from namecheck.core.dtypes import DType
from namecheck.core.names import UNKNOWN, Axis, Name
from namecheck.core.parameters import REQUIRED
from namecheck.core.tensors import Constant, Many, Tensor
from namecheck.effects.words import Parameter, Signature
from namecheck.operators import Operator, signatures
from namecheck.rules import registry

LABELS: Final = ("A", "B", "C", "N")
LONGEST: Final = 4


@dataclass(frozen=True)
class Call:
    """One call of an operator, under the key that `infer` takes."""

    operator: str
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]


@st.composite
def layouts(draw: st.DrawFn) -> Dims:
    """A complete list of dims with distinct labels, which native torch supports."""
    rank = draw(st.integers(0, LONGEST))
    labels = draw(st.permutations(LABELS))[:rank]
    hidden = draw(st.lists(st.booleans(), min_size=rank, max_size=rank))
    names = [None if hide else label for label, hide in zip(labels, hidden, strict=True)]
    sizes = draw(st.lists(st.sampled_from((1, 2, 2, 3)), min_size=rank, max_size=rank))
    return Dims.of(*names, sizes=sizes)


@st.composite
def annotated(draw: st.DrawFn) -> Dims:
    """A list of axes, one of which may occur twice, and of literal sizes."""
    rank = draw(st.integers(0, LONGEST))
    words = draw(st.lists(st.sampled_from((*LABELS, "1", "2")), min_size=rank, max_size=rank))
    dims = [Dim(None, int(word)) if word.isdigit() else axis(word) for word in words]
    return with_occurrences(Dims(tuple(dims)))


@st.composite
def relatives(draw: st.DrawFn, base: Dims) -> Dims:
    """A layout similar to another, as the operands of one call have."""
    dims = list(base.prefix)
    change = draw(st.sampled_from(("same", "same", "suffix", "swap", "unname", "one", "other")))
    if change == "other":
        kinds = {type(name) for name in base.names}
        return draw(annotated() if Axis in kinds else layouts())
    if change == "suffix":
        dims = dims[draw(st.integers(0, len(dims))) :]
    elif change == "swap" and len(dims) > 1:
        dims[-1], dims[-2] = dims[-2], dims[-1]
    elif change in ("unname", "one") and dims:
        place = draw(st.integers(0, len(dims) - 1))
        changed = {"name": None} if change == "unname" else {"size": 1}
        dims[place] = replace(dims[place], **changed)
    return Dims(tuple(dims))


def concrete_tensors(base: Dims) -> st.SearchStrategy[Tensor]:
    """Tensors with known names, sizes and dtypes."""
    return st.builds(Tensor, relatives(base), single_dtypes())


def single_dtypes() -> st.SearchStrategy[str]:
    """Dtypes, most often those that most operators accept."""
    return st.sampled_from((*["float32"] * 6, "float64", "float16", "int64", "uint8", "bool"))


@st.composite
def forgotten_dtype(draw: st.DrawFn, dtype: DType) -> DType:
    """A dtype that covers this one: unknown, or one of several."""
    how = draw(st.integers(0, 3))
    if how == 0:
        return UNKNOWN
    return dtypes.join(dtype, draw(single_dtypes())) if how == 1 else dtype


def names_of_any_kind() -> st.SearchStrategy[Name]:
    """Labels, axes, the wildcard and the unknown name."""
    axes = st.builds(Axis, st.sampled_from(LABELS), st.integers(0, 1))
    return st.one_of(st.sampled_from(LABELS), axes, st.none(), st.just(UNKNOWN))


@st.composite
def abstract_dims(draw: st.DrawFn) -> Dims:
    """The dims of any abstract tensor: unknown names, unknown sizes, perhaps an unknown middle."""
    return draw(forgotten_dims(draw(layouts())))


@st.composite
def forgotten_dims(draw: st.DrawFn, dims: Dims) -> Dims:
    """Dims that cover these, with names, sizes and the rank forgotten at random."""
    known = [draw(forgotten_dim(dim)) for dim in dims.known]
    if not draw(st.booleans()):
        return dims if dims.open else Dims(tuple(known))
    cut = len(dims.prefix) if dims.open else draw(st.integers(0, len(known)))
    before = known[: draw(st.integers(0, cut))]
    after = known[draw(st.integers(cut, len(known))) :]
    return Dims(tuple(before), tuple(after), True)


@st.composite
def forgotten_dim(draw: st.DrawFn, dim: Dim) -> Dim:
    """A dim that covers this one."""
    name = UNKNOWN if draw(st.integers(0, 3)) == 0 else dim.name
    size = UNKNOWN if draw(st.integers(0, 3)) == 0 else dim.size
    return replace(dim, name=name, size=size)


@st.composite
def forgotten(draw: st.DrawFn, value: Any) -> Any:
    """A value that covers this one: the same, or a less known one."""
    if draw(st.integers(0, 9)) == 0:
        return UNKNOWN
    if isinstance(value, Tensor):
        dtype = draw(forgotten_dtype(value.dtype))
        return replace(value, dims=draw(forgotten_dims(value.dims)), dtype=dtype)
    if not isinstance(value, (tuple, list)):
        return value
    parts = [draw(forgotten(part)) for part in value]
    tensors = [part for part in parts if isinstance(part, Tensor)]
    if tensors and len(tensors) == len(parts) and draw(st.booleans()):
        each = tensors[0]
        for part in tensors[1:]:
            each = values.join(each, part)
        return Many(each)
    return type(value)(parts)


@st.composite
def forgotten_call(draw: st.DrawFn, call: Call) -> Call:
    """The same call with less known arguments."""
    return Call(
        call.operator,
        tuple(draw(forgotten(arg)) for arg in call.args),
        {key: draw(forgotten(arg)) for key, arg in call.kwargs.items()},
    )


@st.composite
def calls(draw: st.DrawFn, row: Operator, *, inplace: bool, by_name: bool) -> Call:
    """A call of an operator with known arguments; it may well be invalid."""
    base = draw(st.one_of(layouts(), annotated()) if by_name else layouts())
    form = draw(st.sampled_from(_forms(row)))
    signature = draw(st.sampled_from(_signatures(row, form)))
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    if inplace:
        args.append(draw(concrete_tensors(base)))
        signature = signature[1:]
    positional = True
    for parameter in (*row.constructor, *signature):
        if parameter.mapping:
            kwargs |= draw(_pairs(parameter, base))
            continue
        if parameter.variadic and "str" in parameter.kinds:
            args += [*draw(_of_kind("tensors", base)), draw(_value(parameter))]
            continue
        if parameter.default is not REQUIRED and draw(st.booleans()):
            positional = False
            continue
        value = draw(_argument(parameter, base, by_name))
        if positional and parameter.variadic and isinstance(value, (tuple, list)):
            args += value if draw(st.booleans()) else [value]
            continue
        first = not args and not kwargs
        positional = positional and not parameter.keyword_only
        positional = positional and (first or draw(st.integers(0, 3)) > 0)
        if positional or parameter.positional_only:
            args.append(value)
        else:
            kwargs[parameter.name] = value
    if "o" in row.forms and not row.declares_out and not inplace and draw(st.integers(0, 3)) == 0:
        kwargs["out"] = draw(concrete_tensors(base))
    return Call(_PREFIX[form] + row.key + "_" * inplace, tuple(args), kwargs)


_PREFIX: Final = {"": "", "f": "torch.", "m": "Tensor."}
_label: Final = st.sampled_from(LABELS)


def _forms(row: Operator) -> list[str]:
    """The forms that a call may request; the empty one means any."""
    return ["", *(letter for letter in "fm" if letter in row.forms)]


def _signatures(row: Operator, form: str) -> list[Signature]:
    """The overloads of a row in this form, or its rule's own signature."""
    found = [signature for _, signature in row.alternatives(form)]
    return found or [signatures.of(registry.load()[row.names])]


def _argument(parameter: Parameter, base: Dims, by_name: bool) -> st.SearchStrategy[Any]:
    if parameter.kinds == {"any"} and parameter.default is not REQUIRED:
        return st.just(parameter.default)
    if parameter.name in _VALUES:
        return _value(parameter)
    kinds = set(parameter.kinds) or _likely_kinds(parameter)
    if parameter.variadic and not kinds & _LIST_ITEMS.keys():
        kinds = {f"{kind}s" for kind in kinds if f"{kind}s" in _LIST_ITEMS} or {"names"}
    if by_name and "dim" in kinds:
        kinds.add("name")
    if by_name and "dims" in kinds:
        kinds.add("names")
    return st.sampled_from(sorted(kinds)).flatmap(lambda kind: _of_kind(kind, base))


# The values for a parameter of a rule without a row's signature: most follow from its name.
_BY_PARAMETER: Final[Mapping[str, tuple[str, ...]]] = {
    "dim": ("dim", "dims", "name"),
    "dims": ("dims", "names"),
    "names": ("names",),
    "keepdim": ("bool",),
    "size": ("ints",),
    "sizes": ("ints",),
    "tensors": ("tensors",),
    "value": ("number",),
}


# The conditions that a value must fulfil for a call to fit.
_VALUES: Final[Mapping[str, tuple[Any, ...]]] = {
    "equation": ("ij,jk->ik", "ij,ij->i", "ii->i", "i,j", "...i->i...", "ij...->ji", "ij,kj->k"),
    "pattern": (
        *("a b -> b a", "a (b c) -> (c a) b", "... a -> a ...", "a b ... -> a (b ...)", "a -> a 1"),
        *("a b -> a", "a ... -> a", "(a 2) -> a", "a -> a b", "a -> (b a) 2", "a *", "* a", "a _"),
    ),
    "packed_shapes": ([(2,), ()], [(1, 2)], [(-1,), (2, 1)], [(), (-1, 2)]),
    "weight_shape": ("a b", "b", "c"),
    "tensors_and_pattern": ("a b, b c -> a c", "a b, a b -> a", "a a -> a", "... a -> a ..."),
}


def _value(parameter: Parameter) -> st.SearchStrategy[Any]:
    return st.sampled_from(_VALUES[parameter.name])


def _pairs(parameter: Parameter, base: Dims) -> st.SearchStrategy[dict[str, Any]]:
    """Keywords of any name: letters and their sizes, or names and new ones."""
    if parameter.kinds == {"int"}:
        return st.dictionaries(st.sampled_from("abc"), _of_kind("int", base), max_size=2)
    return st.dictionaries(_of_kind("name", base).filter(bool), _label, max_size=2)


def _likely_kinds(parameter: Parameter) -> set[str]:
    if parameter.name in _BY_PARAMETER:
        return set(_BY_PARAMETER[parameter.name])
    default = parameter.default
    if isinstance(default, bool):
        return {"bool"}
    if isinstance(default, (int, float)):
        return {"int"}
    return {"tensor"} if default is REQUIRED else {"tensor", "none"}


def _of_kind(kind: str, base: Dims) -> st.SearchStrategy[Any]:
    if kind in _LIST_ITEMS:
        items = st.lists(_of_kind(_LIST_ITEMS[kind], base), max_size=3)
        return st.one_of(items, items.map(tuple))
    if kind == "tensor":
        return concrete_tensors(base)
    if kind == "name":
        words = [name for name in base.names if isinstance(name, str)]
        return st.sampled_from([*words, *words, *LABELS, None])
    if kind == "dim":
        rank = len(base.prefix)
        return st.integers(-rank - 1, rank)
    return _SCALARS[kind]


_LIST_ITEMS: Final = {
    "dims": "dim",
    "names": "name",
    "tensors": "tensor",
    "ints": "int",
    "subscripts": "subscript",
}
_SCALARS: Final[Mapping[str, st.SearchStrategy[Any]]] = {
    "number": st.sampled_from((0, 1, 2, 0.5, Tensor(SCALAR))),
    "int": st.integers(-1, 3),
    "subscript": st.sampled_from((0, 1, 2, 51, 52, ...)),
    "float": st.sampled_from((0.0, 0.5, 2.0)),
    "bool": st.booleans(),
    "flag": st.sampled_from((False, True, 0, 1, None)),
    "unset": st.sampled_from((False, 0, None)),
    "str": st.sampled_from(("none", "mean", "ij")),
    "dtype": st.sampled_from([Constant("dtype", "float32"), Constant("dtype", "int64")]),
    "device": st.sampled_from(["cpu", Constant("device", "cpu")]),
    "layout": st.just(Constant("layout", "strided")),
    "memory_format": st.just(Constant("memory_format", "contiguous_format")),
    "none": st.none(),
    "paired": st.sampled_from((([0], [0]), ([1], [0]), [[0, 1], [1, 0]])),
    "any": st.sampled_from((0, 1, 0.5, (1, 2), [[1, 2]])),
}
