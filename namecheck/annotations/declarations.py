"""Whole annotations: what a parameter or a result is declared to be, and whether a value fits.

An annotation becomes a `Declared`: from source by `read`, from the objects of a running program by
`namecheck.runtime`. The value that is checked against it is an abstract `Value`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from namecheck.annotations import wording
from namecheck.annotations.bindings import Bindings, bind
from namecheck.annotations.patterns import AnnotationError, Pattern, parse
from namecheck.annotations.wording import Site
from namecheck.core import devices, dtypes, parsing
from namecheck.core.dataclasses import dataclass, replace
from namecheck.core.names import UNKNOWN, Answer, Contradiction, Unknown
from namecheck.core.tensors import Tensor
from namecheck.core.trees import nodes


@dataclass(frozen=True, slots=True)
class Declaration:
    """A tensor: its dimensions, its possible dtypes (None for any), and the word for these dtypes.

    `device` is its device; without an index it is any device of the type.
    """

    pattern: Pattern
    dtypes: frozenset[str] | None = None
    word: str = ""
    device: str | None = None


@dataclass(frozen=True, slots=True)
class OneOf:
    """A union of declarations."""

    options: tuple[Declared, ...]

    @property
    def optional(self) -> bool:
        """Whether None is the only alternative to tensors."""
        silent = [option for option in self.options if isinstance(option, Undeclared)]
        return silent == [NOTHING]


@dataclass(frozen=True, slots=True)
class Items:
    """A tuple with one declaration for each item."""

    each: tuple[Declared, ...]


@dataclass(frozen=True, slots=True)
class Every:
    """A sequence, or the values of a mapping, all with the same declaration.

    `kind` is its certain type: "list", "mapping", or "" for any sequence.
    """

    each: Declared
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Undeclared:
    """A declaration without dimensions; it may be a tensor nevertheless.

    `none` if it is None and nothing else.
    """

    tensor: bool
    none: bool = False


ANYTHING: Final = Undeclared(True)
NO_TENSOR: Final = Undeclared(False)
NOTHING: Final = Undeclared(False, none=True)

Declared: TypeAlias = Declaration | OneOf | Items | Every | Undeclared
Value: TypeAlias = "Tensor | tuple[Value, ...] | Mapping[str, Value] | Unknown | None"
"""An abstract value: a tensor, several, None, or UNKNOWN for anything else."""


def declares_dims(declared: Declared) -> bool:
    """Whether a declaration has any dimensions."""
    if isinstance(declared, OneOf | Items):
        parts = declared.options if isinstance(declared, OneOf) else declared.each
        return any(map(declares_dims, parts))
    return declares_dims(declared.each) if isinstance(declared, Every) else declared not in _SILENT


_SILENT: Final = (ANYTHING, NO_TENSOR, NOTHING)


def names_device(declared: Declared) -> bool:
    """Whether a declaration has the device of any tensor."""
    if isinstance(declared, Declaration):
        return declared.device is not None
    if isinstance(declared, OneOf | Items):
        parts = declared.options if isinstance(declared, OneOf) else declared.each
        return any(map(names_device, parts))
    return isinstance(declared, Every) and names_device(declared.each)


def of_dims_alone(declared: Declared) -> Declared:
    """The declaration without dtypes and devices."""
    if isinstance(declared, Declaration):
        return replace(declared, dtypes=None, device=None)
    if isinstance(declared, Every):
        return replace(declared, each=of_dims_alone(declared.each))
    if isinstance(declared, Items):
        return Items(tuple(map(of_dims_alone, declared.each)))
    if isinstance(declared, OneOf):
        return OneOf(tuple(map(of_dims_alone, declared.options)))
    return declared


def has_several_shapes(declared: Declared) -> bool:
    """Whether a declaration is a choice between tensors whose dims have other names or ranks."""
    options = declared.options if isinstance(declared, OneOf) else ()
    return len({option.pattern for option in options if isinstance(option, Declaration)}) > 1


def meet(
    declared: Declared, value: Value, bindings: Bindings, called: str, *, returned: bool = False
) -> Bindings:
    """Check a value against its declaration, and return the new bindings; raises `Contradiction`.

    `called` is the value as a reader would write it. A value that is no tensor where a tensor is
    declared is left to the type checker.
    """
    if isinstance(declared, Declaration):
        if not isinstance(value, Tensor):
            return bindings.unsure() if value is UNKNOWN else bindings
        site = Site(called, returned, declared.pattern, value.dims)
        _check_dtype(declared, value, bindings.function, site)
        _check_device(declared, value, bindings.function, site)
        return bind(declared.pattern, value.dims, bindings, called, returned=returned)
    if isinstance(declared, OneOf):
        return _meet_one(declared, value, bindings, called, returned)
    for part, item, key in _parts(declared, value):
        bindings = meet(part, item, bindings, f"{called}[{key!r}]", returned=returned)
    return bindings


def _parts(declared: Declared, value: Value) -> Iterator[tuple[Declared, Value, int | str]]:
    """The parts of a value, each with its declaration and its index or key."""
    if isinstance(value, tuple):
        each: Sequence[Declared] = ()
        if isinstance(declared, Items) and len(declared.each) == len(value):
            each = declared.each
        elif isinstance(declared, Every):
            each = (declared.each,) * len(value)
        yield from ((part, value[index], index) for index, part in enumerate(each))
    elif isinstance(value, Mapping) and isinstance(declared, Every):
        yield from ((declared.each, item, key) for key, item in value.items())


def _meet_one(
    alternatives: OneOf, value: Value, bindings: Bindings, called: str, returned: bool
) -> Bindings:
    """The bindings of the one option that fits.

    Where none fits, raises the contradiction of the one that fits best: that has the value's rank,
    or else the closest one; of several the first.
    """
    if value is None:
        return bindings
    fitting: list[Bindings] = []
    refusals: list[tuple[int, Contradiction]] = []
    for option in alternatives.options:
        if isinstance(option, Undeclared):
            if option.tensor or not isinstance(value, (Tensor, tuple, Mapping)):
                return bindings.unsure()
            continue  # None, a number: `Many` is none of these
        try:
            fitting.append(meet(option, value, bindings, called, returned=returned))
        except Contradiction as refusal:
            refusals.append((_distance(option, value), refusal))
    if not fitting and refusals:
        raise min(refusals, key=lambda entry: entry[0])[1]
    return fitting[0] if len(fitting) == 1 else bindings.unsure()


def _distance(option: Declared, value: Value) -> int:
    """By how many dims a tensor has more or fewer than an option declares."""
    if not isinstance(option, Declaration) or not isinstance(value, Tensor):
        return 0
    pattern, rank = option.pattern, value.dims.rank
    least = len(pattern.before) + len(pattern.after)
    if rank is None or (pattern.several is not None and rank >= least):
        return 0
    return abs(rank - least)


def _check_dtype(declared: Declaration, tensor: Tensor, function: str, site: Site) -> None:
    if declared.dtypes is None:
        return
    if dtypes.is_among(tensor.dtype, declared.dtypes) is Answer.NO:
        shown = dtypes.show(tensor.dtype)
        raise wording.dtype(function, site, shown, declared.word)


def _check_device(declared: Declaration, tensor: Tensor, function: str, site: Site) -> None:
    if declared.device is None or not isinstance(tensor.device, str):
        return
    if not _may_be_on(tensor.device, declared.device):
        raise wording.device(function, site, tensor.device, declared.device)


def _may_be_on(device: str, declared: str) -> bool:
    """Whether a device may be the declared one; without an index, any device of its type."""
    one, other = device.partition(":"), declared.partition(":")
    return one[0] == other[0] and (one[2] == other[2] or not one[2] or not other[2])


_INTS: Final = ("int2", "int4", "int8", "int16", "int32", "int64")
_UINTS: Final = tuple(f"u{name}" for name in _INTS)
_FLOATS: Final = (
    "float4_e2m1fn",
    "float8_e4m3b11fnuz",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
    "bfloat16",
    "float16",
    "float32",
    "float64",
)
_COMPLEXES: Final = ("complex64", "complex128")
_SINGLE: Final = ("bfloat16", "float16", "float32", "float64", *_INTS, *_UINTS, *_COMPLEXES)
_SPELT: Final = {"bfloat16": "BFloat16", **{name: f"UI{name[2:]}" for name in _UINTS}}

DTYPES: Final[Mapping[str, frozenset[str] | None]] = {
    "Shaped": None,
    "Bool": frozenset({"bool"}),
    "Int": frozenset(_INTS),
    "UInt": frozenset(_UINTS),
    "Integer": frozenset(_INTS + _UINTS),
    "Float": frozenset(_FLOATS),
    "Complex": frozenset(_COMPLEXES),
    "Inexact": frozenset(_FLOATS + _COMPLEXES),
    "Real": frozenset(_FLOATS + _INTS + _UINTS),
    "Num": frozenset(_FLOATS + _INTS + _UINTS + _COMPLEXES),
    **{_SPELT.get(name, name.capitalize()): frozenset({name}) for name in _SINGLE},
}
"""The dtypes that each word of jaxtyping allows; None for any."""

_UNIONS: Final = ("Union", "Optional")
_SEQUENCES: Final = ("list", "List", "Sequence", "Iterable", "Collection", "set", "frozenset")
_MAPPINGS: Final = ("dict", "Dict", "Mapping", "MutableMapping", "OrderedDict", "defaultdict")
_NO_TENSORS: Final = frozenset({"None", "bool", "int", "float", "complex", "str", "bytes"})
_TENSORS: Final = frozenset(
    {
        "Tensor",
        "Parameter",
        "Buffer",
        *(f"{kind}Tensor" for kind in ("Float", "Double", "Half", "BFloat16", "Bool")),
        *(f"{kind}Tensor" for kind in ("Long", "Int", "Short", "Char", "Byte")),
    }
)
# The arrays of numpy and jax have other operators and dtypes.
_OTHER_ARRAYS: Final = frozenset({"ndarray", "Array", "ArrayLike"})
_PRECISIONS: Final = frozenset(
    {*_SINGLE, "bf16", "fp8", "fp16", "fp32", "fp64", "tf32", "half", "double"}
)
# What says something of a variable, and nothing of its value.
_QUALIFIERS: Final = frozenset({"Final", "ClassVar", "Required", "NotRequired", "ReadOnly"})
# The dtypes that torchtyping writes as types of Python.
_PYTHON_DTYPES: Final = {"float": "Float", "int": "Int", "bool": "Bool", "complex": "Complex"}

Resolve: TypeAlias = Callable[[str], ast.expr | None]
"""The expression that a dotted name of the program is an alias for, None if it is no alias."""


def read(annotation: ast.expr | str, resolve: Resolve = lambda name: None) -> Declared:
    """The declaration in an annotation that is read as source, quoted parts included.

    ANYTHING where the annotation cannot be read. A name is identified by its last part:
    ``jt.Float[torch.Tensor, "b d"]``.
    """
    if isinstance(annotation, str):
        try:
            annotation = parsing.expression(annotation.strip())
        except SyntaxError:
            return ANYTHING
    return _read(annotation, resolve, 0)


def _except_for(name: str, resolve: Resolve) -> Resolve:
    """The aliases without this one: an alias that occurs in its own definition declares nothing."""
    return lambda other: None if other == name else resolve(other)


_DEEPEST: Final = 20


def _read(expression: ast.expr, resolve: Resolve, depth: int) -> Declared:
    if depth > _DEEPEST:
        return ANYTHING
    if isinstance(expression, ast.Constant):
        if expression.value is None:
            return NOTHING
        return read(expression.value, resolve) if isinstance(expression.value, str) else ANYTHING
    if isinstance(expression, ast.BinOp) and isinstance(expression.op, ast.BitOr):
        return union(
            [_read(side, resolve, depth + 1) for side in (expression.left, expression.right)]
        )
    if isinstance(expression, ast.Subscript):
        return _read_subscript(expression, resolve, depth)
    name = _dotted(expression)
    if name is None:
        return ANYTHING
    alias = resolve(name)
    if alias is not None:
        return _read(alias, _except_for(name, resolve), depth + 1)
    return NO_TENSOR if name in _NO_TENSORS else ANYTHING


def _read_subscript(subscript: ast.Subscript, resolve: Resolve, depth: int) -> Declared:
    name = _dotted(subscript.value)
    if name is None:
        return ANYTHING
    word = _word(name, resolve)
    members = subscript.slice.elts if isinstance(subscript.slice, ast.Tuple) else [subscript.slice]
    if word == "Annotated" or word in DTYPES:
        return _read_tensor(word, members, resolve, depth)
    if word == "TensorType":
        return _read_tensor_type(members)
    parts = [_read(argument, resolve, depth + 1) for argument in members]
    if word in _QUALIFIERS and len(parts) == 1:
        return parts[0]
    if word == "PyTree" and members:
        return Every(parts[0])
    if word in _UNIONS:
        return union([*parts, NOTHING] if word == "Optional" else parts)
    if word in ("tuple", "Tuple"):
        if len(members) == 2 and _is_ellipsis(members[1]):
            return Every(parts[0])
        return Items(tuple(parts))
    if word in _SEQUENCES and len(parts) == 1:
        return Every(parts[0], "list" if word in ("list", "List") else "")
    if word in _MAPPINGS and len(parts) == 2:
        return Every(parts[1], "mapping")
    return ANYTHING


def _word(name: str, resolve: Resolve) -> str:
    """The last part of a dotted name, aliases resolved."""
    followed = _dotted(alias) if (alias := resolve(name)) is not None else None
    return (followed or name).rpartition(".")[2]


def _read_tensor(word: str, members: Sequence[ast.expr], resolve: Resolve, depth: int) -> Declared:
    """Read ``Annotated[Tensor, "N C"]`` or ``Float[Tensor, "N C"]``, also of an optional tensor.

    The dims of ``Float[Float[Tensor, "N"], "B"]`` are joined, ``"B N"``, as jaxtyping does.
    """
    inner, *others = members
    texts = [other.value for other in others if isinstance(other, ast.Constant)]
    text = next((text for text in texts if isinstance(text, str)), None)
    if text is None:
        return _read(inner, resolve, depth + 1) if word == "Annotated" else ANYTHING
    if word != "Annotated":
        options = _options(inner, resolve)
        joined = [_joined(text, option, resolve) for option in options]
        if any(joined):
            return union(
                [
                    _read(inside or option, resolve, depth + 1)
                    for option, inside in zip(options, joined, strict=True)
                ]
            )
        kinds = {_word(_dotted(option) or "?", resolve) for option in options}
        if kinds & _OTHER_ARRAYS and kinds <= _OTHER_ARRAYS | {"None", "?"}:
            return ANYTHING
        if any(isinstance(option, ast.Subscript) for option in options):
            return ANYTHING  # a list of tensors: the dims are those of each
        return tensor(text, DTYPES[word], word)
    if _is_of_precision(text) or _is_dtype(text):
        return ANYTHING
    names = {_dotted(part) for part in _options(inner, resolve)}
    words = {name.rpartition(".")[2] for name in names if name is not None}
    if not words & _TENSORS:
        return ANYTHING
    listed = [_dotted(other) for other in others]
    dtype = next((name for name in listed if name and name.startswith("torch.")), None)
    named = dtypes.named(dtype.removeprefix("torch.")) if dtype else None
    device = next(filter(None, map(_device, others)), None)
    declared = tensor(text, frozenset({named}) if named else None, dtype or "", device)
    if len(names) == 2 and "None" in words:
        return union([declared, NOTHING])
    return declared if len(names) == 1 else union([declared, NO_TENSOR])


def _joined(text: str, expression: ast.expr, resolve: Resolve) -> ast.Subscript | None:
    """An inner declaration of jaxtyping with the dims of an outer one before its own."""
    if not isinstance(expression, ast.Subscript) or not isinstance(expression.slice, ast.Tuple):
        return None
    name = _dotted(expression.value)
    inner, *others = expression.slice.elts
    own = next((_constant(other) for other in others), None)
    if name is None or _word(name, resolve) not in DTYPES or not isinstance(own, str):
        return None
    dims = ast.Constant(f"{text} {own}")
    return ast.Subscript(expression.value, ast.Tuple([inner, dims]))


def _is_dtype(text: str) -> bool:
    """Whether the text beside a tensor is a dtype: ``"torch.float32"``."""
    return dtypes.named(text.strip().removeprefix("torch.")) is not None


def _is_of_precision(text: str) -> bool:
    """Whether the text beside a tensor says how exact its numbers are: ``"precision=fp32"``."""
    items = [item.rpartition("=") for item in text.split()]
    return any(value.lower() in _PRECISIONS for _, _, value in items)


def _read_tensor_type(members: Sequence[ast.expr]) -> Declared:
    """Read torchtyping's ``TensorType["batch", "channels": 3, torch.float32]``.

    Without dims it declares nothing here; what it says of layouts is not read.
    """
    items = list(map(_item_of_type, members))
    words = [item for item in items if item is not None]
    if not words:
        return ANYTHING
    listed = [_dotted(member) or "" for member in members]
    kind = next((_PYTHON_DTYPES[name] for name in listed if name in _PYTHON_DTYPES), None)
    dtype = next((name for name in listed if name.startswith("torch.")), None)
    named = dtypes.named(dtype.removeprefix("torch.")) if dtype else None
    if named:
        return tensor(" ".join(words), frozenset({named}), dtype or "")
    return tensor(" ".join(words), DTYPES[kind] if kind else None, kind or "")


def _item_of_type(member: ast.expr) -> str | None:
    """A dim of torchtyping in the language of jaxtyping; None for anything else."""
    if isinstance(member, ast.UnaryOp):
        return "_" if ast.unparse(member) == "-1" else None
    if isinstance(member, ast.Slice):
        name, size = _constant(member.lower), _constant(member.upper)
        if size is ...:
            return "..." if name in (None, -1) else f"*{name}"
        return str(size) if name is None else str(name) if size is None else f"{name}={size}"
    value = _constant(member)
    if value is ...:
        return "..."
    return str(value) if isinstance(value, (str, int)) and not isinstance(value, bool) else None


def _constant(expression: ast.expr | None) -> Any:
    return expression.value if isinstance(expression, ast.Constant) else None


def _device(expression: ast.expr) -> str | None:
    """The device of ``torch.device("cuda")``, or of ``torch.device("cuda", 0)``."""
    if not isinstance(expression, ast.Call) or _dotted(expression.func) != "torch.device":
        return None
    match [each.value for each in expression.args if isinstance(each, ast.Constant)]:
        case [str(device)]:
            word = device
        case [str(device), int(index)]:
            word = f"{device}:{index}"
        case _:
            return None
    return word if devices.refusal(word) is None else None


def words(annotation: ast.expr) -> Iterator[ast.expr]:
    """The torch metadata in ``Annotated``: ``torch.float32``, ``torch.device(…)``."""
    for node in nodes(annotation):
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple):
            name = _dotted(node.value)
            if name is not None and name.rpartition(".")[2] == "Annotated":
                for part in node.slice.elts[1:]:
                    path = _dotted(part.func if isinstance(part, ast.Call) else part)
                    if path is not None and path.startswith("torch."):
                        yield part


def _is_ellipsis(expression: ast.expr) -> bool:
    return isinstance(expression, ast.Constant) and expression.value is ...


def _options(expression: ast.expr, resolve: Resolve) -> list[ast.expr]:
    """The members of a union; an alias is replaced by its members."""
    members: Sequence[ast.expr] = ()
    if isinstance(expression, ast.BinOp) and isinstance(expression.op, ast.BitOr):
        members = (expression.left, expression.right)
    elif isinstance(expression, ast.Subscript):
        name = _dotted(expression.value)
        if name is not None and name.rpartition(".")[2] in _UNIONS:
            members = (
                expression.slice.elts
                if isinstance(expression.slice, ast.Tuple)
                else [expression.slice]
            )
    elif (name := _dotted(expression)) is not None and (alias := resolve(name)) is not None:
        return _options(alias, _except_for(name, resolve))
    return (
        [option for member in members for option in _options(member, resolve)]
        if members
        else [expression]
    )


def tensor(
    text: str,
    dtypes: frozenset[str] | None = None,
    word: str = "",
    device: str | None = None,
) -> Declared:
    """The declaration of one tensor; a text outside the language declares nothing."""
    try:
        return Declaration(parse(text), dtypes, word, device)
    except AnnotationError:
        return ANYTHING


def union(options: Sequence[Declared]) -> Declared:
    """The union of these declarations, nested unions flattened."""
    flat: dict[Declared, None] = {}
    for option in options:
        flat.update(dict.fromkeys(option.options if isinstance(option, OneOf) else [option]))
    [first, *rest] = flat
    return OneOf((first, *rest)) if rest else first


def _dotted(expression: ast.expr) -> str | None:
    if isinstance(expression, ast.Constant) and expression.value is None:
        return "None"
    if isinstance(expression, ast.Name):
        return expression.id
    if isinstance(expression, ast.Attribute):
        owner = _dotted(expression.value)
        return None if owner is None else f"{owner}.{expression.attr}"
    return None
