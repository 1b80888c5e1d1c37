"""Factory (name_inference.rst, "Factory functions"): tensors made from sizes, data, or others."""

from __future__ import annotations

from typing import Any

from namecheck.core.dims import OPEN, Dim, Dims, Size, agree, new_dim, product
from namecheck.core.names import UNKNOWN, Answer, Contradiction, Unknown
from namecheck.core.sizes import Expression
from namecheck.core.tensors import Constant, Tensor
from namecheck.rules import dim_map
from namecheck.rules.arguments import Names, Sizes
from namecheck.rules.naming import named
from namecheck.rules.refusals import no_meta
from namecheck.rules.registry import rule


@rule(memory="fresh")
def factory(size: Sizes, names: Names = None, device: Any = None, layout: Any = None) -> Dims:
    """The dims of these sizes and names (name_inference.rst, "Factory functions")."""
    if names is not None and not isinstance(names, Unknown):
        _check_place(device, layout, "NYI: named tensors only support strided layout")
    return _made(size, names)


@rule(memory="fresh")
def filled_factory(
    size: Sizes, names: Names = None, device: Any = None, layout: Any = None
) -> Dims:
    """As `factory`, for factories that torch computes through ``full`` (recorded: zeros, ones)."""
    if names is not None and not isinstance(names, Unknown):
        _check_place(device, layout, "full(...) is not implemented for sparse layout")
    elif not isinstance(size, Unknown) and any(isinstance(n, int) and n < 0 for n in size):
        raise Contradiction("NC209", "zeros: Dimension size must be non-negative.")
    return _made(size, names)


def _check_place(device: Any, layout: Any, sparse: str) -> None:
    """Refuse names on a sparse tensor, or on the meta device (recorded: zeros, empty)."""
    if isinstance(layout, Constant) and layout.name != "strided":
        raise Contradiction("NC120", sparse)
    if device == "meta" or device == Constant("device", "meta"):
        raise no_meta()


def _made(size: Sizes, names: Names) -> Dims:
    dims = sized(size)
    if isinstance(names, Unknown):
        return dims.rename([UNKNOWN] * dims.min_rank)
    if names is None:
        return dims
    return named(dims, names)


def sized(size: Sizes) -> Dims:
    """Unnamed dims of these sizes."""
    if isinstance(size, Unknown):
        return OPEN
    if any(isinstance(extent, int) and extent < 0 for extent in size):
        negative = next(extent for extent in size if isinstance(extent, int) and extent < 0)
        raise Contradiction(
            "NC209",
            f"Trying to create tensor with negative dimension {negative}: "
            f"[{', '.join('?' if extent is UNKNOWN else str(extent) for extent in size)}]",
            help="A size must not be negative.",
        )
    return Dims(tuple(map(new_dim, size)))


@rule(memory="given")
def from_data(data: Any, names: Names = None) -> Dims:
    """The shape of nested lists, or the dims of a tensor with its names (recorded: tensor)."""
    if isinstance(data, Tensor):
        return _copied(data.dims, names)
    dims = shape_of(data)
    if isinstance(names, Unknown):
        return dims.rename([UNKNOWN] * dims.min_rank)
    return dims if not names else named(dims, names)


def _copied(dims: Dims, names: Names) -> Dims:
    if isinstance(names, Unknown) or not names:
        return dims
    return dim_map.take_names(dims, named(dims, names))


def shape_of(data: Any) -> Dims:
    """The dims of nested lists of numbers; open where part of them is unknown."""
    nested_lengths: list[Size] = []
    level = data
    while isinstance(level, (tuple, list)):
        nested_lengths.append(len(level))
        if not level:
            break
        level = level[0]
    if isinstance(level, str) and nested_lengths:
        raise Contradiction("NC114", "too many dimensions 'str'", error="ValueError")
    _check_datum(level)
    is_complete = isinstance(level, (int, float, complex, list, tuple, Tensor))
    dims = tuple(Dim(None, extent) for extent in nested_lengths)
    return Dims(dims) if is_complete else Dims(dims, (), True)


def _check_datum(value: Any) -> None:
    """Refuse an item that is no number (recorded: tensor)."""
    if isinstance(value, str):
        raise Contradiction("NC114", "new(): invalid data type 'str'", error="TypeError")
    if value is None or isinstance(value, dict):
        raise Contradiction("NC114", f"Could not infer dtype of {type(value).__name__}")


@rule(memory="unknown")
def like(input: Tensor) -> Dims:
    """The names of the input (recorded: empty_like)."""
    return input.dims


@rule(memory="given")
def as_given(data: Any) -> Dims:
    """The dims of the tensor, or the shape of the data (torch.as_tensor, torch.asarray)."""
    return from_data(data)


@rule(memory="fresh")
def new_sized(input: Tensor, size: Sizes) -> Dims:
    """An unnamed tensor of these sizes (torch.Tensor.new_zeros)."""
    return sized(size)


@rule(memory="given")
def new_data(input: Tensor, data: Any) -> Dims:
    """The dims of the tensor, or the shape of the data (torch.Tensor.new_tensor)."""
    return from_data(data)


@rule(memory="fresh")
def vector_of(n: Size, out: Tensor | None = None) -> Dims:
    """An unnamed vector of `n` elements (torch.linspace, torch.randperm)."""
    return _in_shape_of(out, sized((n,)))


def _in_shape_of(out: Tensor | None, dims: Dims) -> Dims:
    """The dims of a vector; a tensor with as many elements keeps its shape as ``out=``."""
    if out is None:
        return dims
    has_space = agree(product(dims.sizes), UNKNOWN if out.dims.open else product(out.dims.sizes))
    if has_space is Answer.NO:
        return dims
    return (
        out.dims if has_space is Answer.YES else Dims((Dim(None),)) if out.dims.rank == 1 else OPEN
    )


@rule(memory="fresh")
def arange(begin: Any, end: Any = None, step: Any = 1, out: Tensor | None = None) -> Dims:
    """An unnamed vector from `begin` to `end`, of ints if both are ints (torch.arange)."""
    return _in_shape_of(out, _between(begin, end, step))


def _between(begin: Any, end: Any, step: Any) -> Dims:
    first, last = (0, begin) if end is None else (begin, end)
    if not all(isinstance(bound, (int, Expression)) for bound in (first, last, step)):
        return Dims((Dim(None),))
    if step == 0:
        raise Contradiction("NC114", "step must be nonzero")
    extent = last - first
    if isinstance(extent, int) and isinstance(step, int) and extent * step < 0:
        raise Contradiction("NC114", "upper bound and lower bound inconsistent with step sign")
    sign = -1 if isinstance(step, int) and step < 0 else 1
    return Dims((new_dim((extent + step - sign) // step),))


@rule(memory="fresh")
def eye(n: Size, m: Size | None = None) -> Dims:
    """An unnamed matrix with ones on its diagonal (torch.eye)."""
    return sized((n, n if m is None else m))


@rule(memory="fresh")
def scalar(s: Any) -> Dims:
    """A tensor without dims (torch.scalar_tensor)."""
    return Dims()


@rule(memory="fresh")
def triangle(row: Any, col: Any, offset: Any = 0) -> Dims:
    """Indices of a triangle: two rows, one column for each of its elements (torch.tril_indices)."""
    return Dims((Dim(None, 2), Dim(None)))
