"""Blocks of images laid out as columns, and put together again: ``unfold`` and ``fold``."""

from __future__ import annotations

from collections.abc import Sequence

from namecheck.core.dims import ANY_DIM, OPEN, Dim, Dims, Size, new_dim, product
from namecheck.core.names import UNKNOWN, Axis, Contradiction, Unknown
from namecheck.core.tensors import Tensor
from namecheck.rules.arguments import Extent
from namecheck.rules.dim_map import joined, last, without_right
from namecheck.rules.registry import rule
from namecheck.rules.spatial import run_over, spread, windows_of


@rule(memory="unknown")
def unfolds_blocks(
    input: Tensor,
    kernel_size: Extent = UNKNOWN,
    dilation: Extent = 1,
    padding: Extent = 0,
    stride: Extent = 1,
) -> Dims:
    """The batch, the elements of a block for each channel, and the blocks (torch.nn.Unfold)."""
    _check_rank(input.dims, 3, "Expected 3D or 4D (batch mode) tensor")
    channels = input.dims.from_right(3) or ANY_DIM
    elements = _resized(channels, product((channels.size, *spread(kernel_size, 2))))
    windows = windows_of(kernel_size, stride, padding, dilation, 2)
    return _of_blocks(input.dims, 3, elements, _blocks(input.dims, run_over(input.dims, windows)))


@rule(memory="unknown")
def folds_blocks(
    input: Tensor, output_size: Extent = UNKNOWN, kernel_size: Extent = UNKNOWN
) -> Dims:
    """The batch, channels, and the image that blocks are put together to (torch.nn.Fold)."""
    _check_rank(input.dims, 2, "Expected 2D or 3D (batch mode) tensor")
    elements = input.dims.from_right(2) or ANY_DIM
    channels = _resized(elements, _share(elements.size, product(spread(kernel_size, 2))))
    return _of_blocks(input.dims, 2, channels, *map(new_dim, spread(output_size, 2)))


def _check_rank(dims: Dims, least: int, message: str) -> None:
    if dims.rank is not None and dims.rank not in (least, least + 1):
        raise Contradiction(
            "NC207",
            f"{message} with possibly 0 batch size and other non-zero dimensions for input, but "
            f"got: {dims.show()}",
            help="A batch may stand before the channels.",
        )


def _resized(channels: Dim, size: Size) -> Dim:
    """Channels at another size: a label does not stay."""
    return Dim(None if isinstance(channels.name, str) else channels.name, size)


def _share(size: Size, block: Size) -> Size:
    if isinstance(size, Unknown) or isinstance(block, Unknown) or block == 0:
        return UNKNOWN
    return size // block


def _blocks(dims: Dims, counts: Sequence[Size]) -> Dim:
    """One dim for all places: a size that is known tells what it is."""
    size = product(counts)
    if size is not UNKNOWN:
        return new_dim(size)
    names = [dim.name for dim in last(dims, 2).prefix]
    vague = any(name is UNKNOWN or isinstance(name, Axis) for name in names)
    return Dim(UNKNOWN if vague else None)


def _of_blocks(dims: Dims, removed: int, *made: Dim) -> Dims:
    """What is left of a batch, if there is one, and new dims."""
    return OPEN if dims.rank is None else joined(without_right(dims, removed), Dims(made))
