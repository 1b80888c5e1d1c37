"""Dimensions merged and split by name: ``flatten`` and ``unflatten``.

Sources: named_tensor.rst, "Manipulating dimensions"; torch's own checks, in their order
(recorded: flatten, unflatten).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from types import EllipsisType
from typing import Any, Final

from namecheck.core import names as naming
from namecheck.core.dataclasses import replace
from namecheck.core.dims import (
    ANYWHERE,
    OPEN,
    Dim,
    Dims,
    Position,
    Size,
    agree,
    locate,
    merged,
    new_dim,
    product,
)
from namecheck.core.names import UNKNOWN, Answer, Contradiction, Name, Unknown
from namecheck.core.sizes import Expression
from namecheck.core.tensors import Tensor
from namecheck.rules import dim_map
from namecheck.rules.arguments import DimArgument, Names, is_single
from namecheck.rules.ratios import inferred
from namecheck.rules.refusals import not_supported
from namecheck.rules.registry import Writes, rule
from namecheck.rules.views import laid_out


@rule(memory="reshapes")
def flatten(
    input: Tensor,
    start_dim: DimArgument = 0,
    end_dim: DimArgument = -1,
    out_dim: Name | EllipsisType = ...,
    dims: Sequence[DimArgument] | Unknown | None = None,
) -> Dims:
    """Adjacent dims are merged into one, called `out_dim` (named_tensor.rst, ``flatten``)."""
    start, end = _range(input.dims, start_dim, end_dim, out_dim, dims)
    result = _merged(input.dims, start, end, out_dim)
    naming.check_distinct(result.names)
    return result


@rule
def flatten_natively(
    input: Tensor,
    start_dim: DimArgument = 0,
    end_dim: DimArgument = -1,
    out_dim: Name | EllipsisType = ...,
    dims: Sequence[DimArgument] | Unknown | None = None,
) -> Dims | Writes:
    """As `flatten`; torch 2.12 needs `out_dim` for names, and renames the input of one dim."""
    start, end = _range(input.dims, start_dim, end_dim, out_dim, dims)
    alone = _alone(input.dims, start, end)
    if out_dim is ... and alone is Answer.NO and input.dims.named() is Answer.YES:
        raise not_supported("view")
    result = _merged(input.dims, start, end, out_dim)
    naming.check_distinct(result.names)
    if out_dim is ... or alone is Answer.NO:
        return result
    return Writes(result, {"input": result if alone is Answer.YES else OPEN})


def _range(
    dims: Dims,
    start_dim: DimArgument,
    end_dim: DimArgument,
    out_dim: Name | EllipsisType,
    named: Sequence[DimArgument] | Unknown | None,
) -> tuple[Position, Position]:
    if isinstance(named, (tuple, list)):
        return _consecutive(dims, named)
    if isinstance(named, Unknown):
        return ANYWHERE, ANYWHERE
    start, end = locate(dims, start_dim), locate(dims, end_dim)
    if dims.open:
        start, end = _of_the_end(start, start_dim), _of_the_end(end, end_dim)
    if isinstance(start, int) and isinstance(end, int) and _after(dims, start, end):
        raise Contradiction(
            "NC114",
            "flatten() has invalid args: start_dim cannot come after end_dim",
            names=naming.words([d for d in (start_dim, end_dim) if isinstance(d, str)]),
            help=f"Give the dims in the order of the tensor, {dims.show()}.",
        )
    return start, end


def _of_the_end(position: Position, dim: DimArgument) -> Position:
    """Rewrite an index beyond the known dims of an open list to count from the end."""
    return dim if position is ANYWHERE and isinstance(dim, int) else position


def _after(dims: Dims, start: int, end: int) -> bool:
    """Whether `start` is certainly right of `end`."""
    if (start < 0) is (end < 0):
        return start > end
    is_known = len(dims.suffix) >= -start if start < 0 else len(dims.prefix) > start
    return start < 0 and is_known and end < len(dims.prefix)


def _consecutive(dims: Dims, dim_arguments: Sequence[DimArgument]) -> tuple[Position, Position]:
    places = [locate(dims, argument) for argument in dim_arguments]
    if not places:
        raise Contradiction(
            "NC111",
            "flatten(tensor, dims, out_dim): dims cannot be empty",
            help="Name the dims to be flattened.",
        )
    for left, right in pairwise(places):
        if isinstance(left, int) and isinstance(right, int) and _apart(dims, left, right):
            words = [argument for argument in dim_arguments if isinstance(argument, str)]
            raise Contradiction(
                "NC111",
                f"flatten(tensor, dims, out_dim): dims {naming.show(words)} must be consecutive "
                f"in Tensor{dims.show()}",
                names=words,
                help=f"Bring them side by side with `align_to` first: {dims.show()}.",
            )
    return places[0], places[-1]


def _apart(dims: Dims, first: int, second: int) -> bool:
    """Whether `second` is certainly not adjacent to `first`."""
    if (first < 0) is (second < 0):
        return first + 1 != second
    return first < 0 or first + 1 != len(dims.prefix) or second != -len(dims.suffix)


def _alone(dims: Dims, start: Position, end: Position) -> Answer:
    """Whether exactly one dim is flattened, which torch returns unchanged."""
    if not isinstance(start, int) or not isinstance(end, int):
        return Answer.MAYBE
    if dims.rank == 0:
        return Answer.NO
    if not dims.min_rank:
        return Answer.MAYBE
    if (start < 0) is (end < 0):
        return Answer.YES if start == end else Answer.NO
    return Answer.NO if abs(start - end) < dims.min_rank else Answer.MAYBE


def _merged(dims: Dims, start: Position, end: Position, out_dim: Name | EllipsisType) -> Dims:
    if ANYWHERE in (start, end):
        return OPEN
    alone = _alone(dims, start, end)
    name: Name = None if isinstance(out_dim, EllipsisType) else out_dim
    if dims.rank == 0:
        return Dims((Dim(name, 1),))
    if alone is Answer.YES and isinstance(start, int):
        whole = _at(dims, start)
    elif alone is Answer.MAYBE and out_dim is ...:
        whole = Dim()
    else:
        whole = _merged_dim(dims, start, end)
    if out_dim is not ...:
        whole = replace(whole, name=name)
    return dim_map.joined(dim_map.before(dims, start), Dims((whole,)), dim_map.after(dims, end))


def _at(dims: Dims, position: int) -> Dim:
    part = dims.suffix if dims.open and position < 0 else dims.prefix
    return part[position] if -len(part) <= position < len(part) else Dim()


def _merged_dim(dims: Dims, start: Position, end: Position) -> Dim:
    """The dim that the dims from `start` to `end` are merged into, without labels."""
    if not isinstance(start, int) or not isinstance(end, int) or (start < 0) is not (end < 0):
        return Dim(UNKNOWN if _may_be_axes(dims) else None)
    return merged([_at(dims, place) for place in range(start, end + 1)])


def _may_be_axes(dims: Dims) -> bool:
    """Whether annotations name dims, among which there is no label."""
    is_vague = dims.open or UNKNOWN in dims.names
    has_labels = any(isinstance(name, str) for name in dims.names)
    return any(isinstance(n, naming.Axis) for n in dims.names) or (is_vague and not has_labels)


@rule(memory="reshapes")
def unflatten(input: Tensor, dim: DimArgument, sizes: Any, names: Names = None) -> Dims:
    """Split one dim into several, with names for them (named_tensor.rst, ``unflatten``)."""
    return _unflatten(input.dims, dim, sizes, names, strict=False)


@rule
def unflatten_natively(input: Tensor, dim: DimArgument, sizes: Any, names: Names = None) -> Dims:
    """torch 2.12 asks for names if the input has any, and for a name of the dim if they are given.

    Of mappings it takes an ``OrderedDict`` alone.
    """
    return _unflatten(input.dims, dim, sizes, names, strict=True)


@rule(memory="reshapes")
def unflatten_module(input: Tensor, dim: DimArgument, sizes: Any) -> Dims:
    """As `unflatten`, with the settings of an ``nn.Unflatten``."""
    _check_module(dim, sizes)
    return unflatten(input, dim, sizes)


@rule
def unflatten_module_natively(input: Tensor, dim: DimArgument, sizes: Any) -> Dims:
    """As `unflatten_natively`, with the settings of an ``nn.Unflatten``."""
    _check_module(dim, sizes)
    return unflatten_natively(input, dim, sizes)


def _check_module(dim: DimArgument, sizes: Any) -> None:
    """``nn.Unflatten`` takes ints in a tuple, or pairs in a tuple if the dim is a name."""
    if isinstance(sizes, Unknown) or isinstance(dim, Unknown):
        return
    if not isinstance(sizes, tuple) and not (isinstance(dim, int) and isinstance(sizes, list)):
        expected = "tuple of tuples" if isinstance(dim, str) else "tuple of ints"
        raise _type_error(
            f"unflattened_size must be a {expected}, but found type {type(sizes).__name__}"
        )


def _unflatten(dims: Dims, dim: DimArgument, sizes: Any, names: Names, *, strict: bool) -> Dims:
    if not isinstance(sizes, Unknown):
        if not sizes:
            raise _empty()
        pairs = None if strict and type(sizes) is dict else _pairs(sizes)
        names, sizes = (names, sizes) if pairs is None else pairs
    if isinstance(sizes, Unknown):
        dim_argument = dim if isinstance(dim, (int, str)) else UNKNOWN
        return _split(dims, locate(dims, dim_argument), None, None)
    if isinstance(dim, bool) or not isinstance(dim, (int, str, Unknown, type(None))):
        raise _type_error(
            f"unflatten(): argument 'dim' (position 1) must be int, not {type(dim).__name__}"
        )
    if strict:
        _check_kinds(dim, names)
    _check_sizes(sizes)
    sizes = [UNKNOWN if isinstance(size, Tensor) else size for size in sizes]
    dim = naming.read_name(dim) if isinstance(dim, str) else dim  # type: ignore[assignment]
    names = None if names is None or isinstance(names, Unknown) else _read_names(names)
    position = locate(dims, dim)
    if names is None and strict and dims.named() is Answer.YES:
        raise Contradiction(
            "NC109",
            "unflatten: input is a named tensor but no names were given for unflattened sizes",
            help="Give pairs: `unflatten(dim, [('A', 2), ('B', 3)])`.",
        )
    if names is not None and len(names) != len(sizes):
        raise Contradiction(
            "NC106",
            "!names || names->size() == sizes.size() INTERNAL ASSERT FAILED at "
            '"/pytorch/aten/src/ATen/native/TensorShape.cpp":4313, please report a bug to '
            "PyTorch. ",
            names=naming.words(names),
            help=f"Give one name for each of the {len(sizes)} sizes.",
        )
    return _split(dims, position, sizes, names)


def _empty() -> Contradiction:
    return Contradiction(
        "NC204",
        "unflatten: sizes must be non-empty",
        help="Give the sizes into which the dim is split.",
    )


def _pairs(sizes: Any) -> tuple[Any, Any] | None:
    """Names and sizes of a list of pairs; None where it has only sizes."""
    if isinstance(sizes, Mapping):
        return tuple(sizes.keys()), tuple(sizes.values())
    if not isinstance(sizes, (tuple, list)) or not isinstance(sizes[0], (tuple, list)):
        return None
    others = [pair for pair in sizes if not isinstance(pair, (tuple, list))]
    if others:
        kinds = [type(other).__name__ for other in others if isinstance(other, _NO_SEQUENCES)]
        if kinds:
            message = f"'{kinds[0]}' object is not iterable"
            raise Contradiction("NC114", message, error="TypeError")
        return UNKNOWN, UNKNOWN
    if len(sizes[0]) > 2:
        raise Contradiction("NC114", "too many values to unpack (expected 2)", error="ValueError")
    return tuple(pair[0] for pair in sizes), tuple(pair[-1] for pair in sizes)


_NO_SEQUENCES: Final = (int, float, complex, type(None))


def _check_kinds(dim: DimArgument, names: Names) -> None:
    if names is None and (dim is None or isinstance(dim, str)):
        raise _type_error(
            f"unflatten(): argument 'dim' (position 1) must be int, not {type(dim).__name__}"
        )
    if names is not None and isinstance(dim, int):
        raise _type_error("unflatten(): argument 'dim' (position 1) must be name, not int")


def _check_sizes(sizes: Any) -> None:
    if not isinstance(sizes, (tuple, list)):
        raise _type_error(
            "unflatten(): argument 'sizes' (position 2) must be tuple of ints, "
            f"not {type(sizes).__name__}"
        )
    for index, size in enumerate(sizes):
        is_size = isinstance(size, (int, Expression, Unknown))
        if not is_size and not (isinstance(size, Tensor) and is_single(size) is not Answer.NO):
            raise _type_error(
                "unflatten(): argument 'sizes' (position 2) must be tuple of ints, but found "
                f"element of type {type(size).__name__} at pos {index}"
            )


def _type_error(message: str) -> Contradiction:
    return Contradiction("NC114", message, error="TypeError")


def _read_names(names: Sequence[Any]) -> tuple[Name, ...]:
    return tuple(map(naming.read_name, names))


def _split(
    dims: Dims, position: Position, sizes: Sequence[Size] | None, names: Sequence[Name] | None
) -> Dims:
    before, after = dim_map.before(dims, position), dim_map.after(dims, position)
    if sizes is None:
        return dim_map.joined(before, OPEN, after)
    whole = _at(dims, position).size if isinstance(position, int) else UNKNOWN
    inferred = _inferred(dims, position, whole, sizes)
    parts = _parts(Dim(None) if dims.rank == 0 else dims[position], inferred)
    if names is not None:
        parts = [Dim(name, part.size) for name, part in zip(names, parts, strict=True)]
    result = dim_map.joined(before, Dims(tuple(parts)), after)
    naming.check_distinct(result.names)
    return result


def _parts(dim: Dim, sizes: Sequence[Size]) -> list[Dim]:
    """The parts of a dim: an axis is split into its factors, a label gives unnamed parts."""
    if isinstance(dim.name, naming.Axis):
        return laid_out([dim], sizes)
    unknown = dim.name is UNKNOWN
    return [Dim(UNKNOWN, size) if unknown else new_dim(size) for size in sizes]


def _inferred(dims: Dims, position: Position, whole: Size, sizes: Sequence[Size]) -> list[Size]:
    """The sizes with -1 replaced; raises `Contradiction` where they cannot make up the whole."""
    guesses = [index for index, size in enumerate(sizes) if size == -1]
    rest = product(size for size in sizes if size != -1)
    shown = ", ".join(map(str, sizes))
    for index, size in enumerate(sizes):
        if isinstance(size, int) and size < -1:
            message = f"invalid shape dimension {size} at index {index} of shape [{shown}]"
            raise Contradiction("NC204", message)
    if isinstance(whole, int) and isinstance(rest, int):
        if len(guesses) > 1:
            raise Contradiction("NC204", "only one dimension can be inferred")
        if guesses and rest == whole == 0:
            raise Contradiction(
                "NC204",
                f"cannot reshape tensor of 0 elements into shape [{shown}] because the unspecified "
                "dimension size -1 can be any value and is ambiguous",
            )
        fits = rest != 0 and whole % rest == 0 if guesses else rest == whole
        if not fits:
            raise _misfit(dims, position, whole, sizes)
    elif (not guesses and agree(whole, rest) is Answer.NO) or (rest == 0 and whole is not UNKNOWN):
        raise _misfit(dims, position, whole, sizes)
    fresh = list(sizes)
    for index in guesses:
        fresh[index] = inferred(whole, rest) if len(guesses) == 1 else UNKNOWN
    return fresh


def _misfit(dims: Dims, position: Position, whole: Size, sizes: Sequence[Size]) -> Contradiction:
    shown = ", ".join(map(str, sizes))
    head = f"unflatten: Provided sizes [{shown}] don't multiply up to the size of dim {position}"
    help = f"The sizes must multiply up to {whole}."
    if dims.named() is not Answer.YES or not isinstance(position, int):
        return Contradiction("NC204", f"{head} ({whole}) in the input tensor", help=help)
    name = dims[position].name
    return Contradiction(
        "NC204",
        f"{head} ({naming.show_name(name)}: {whole}) in Tensor{dims.show()}",
        names=naming.words([name]),
        help=help,
    )
