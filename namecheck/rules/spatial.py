"""Operators over the last one, two or three dims: convolutions, pooling, padding, sampling.

Batch and channels are left of them. The spatial dims keep their names at other sizes; a symbolic
size names the output channels of a layer (torch.nn, "Convolution Layers" and "Pooling layers").
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from namecheck.core import names as naming
from namecheck.core.dataclasses import dataclass
from namecheck.core.dims import ANY_DIM, OPEN, Dim, Dims, Size, locate, new_dim, of_rank, product
from namecheck.core.names import UNKNOWN, Axis, Contradiction, Unknown
from namecheck.core.sizes import Expression, Known, divided
from namecheck.core.tensors import Tensor
from namecheck.rules.arguments import DimArgument, Extent, Sizes
from namecheck.rules.broadcasting import check_one, check_place
from namecheck.rules.dim_map import joined, last, show_rank, without_right
from namecheck.rules.registry import rule
from namecheck.rules.scans import resized
from namecheck.rules.splits import part_of


@dataclass(frozen=True, slots=True)
class Window:
    """The settings of windows along one dim."""

    kernel: Size
    stride: Size
    padding: Size = 0
    dilation: Size = 1
    up: bool | Unknown = False

    def count(self, size: Size) -> Size:
        """The number of windows along a size; unknown where none fits."""
        whole = _all_known(size, self.kernel, self.stride, self.padding, self.dilation)
        if whole is None or isinstance(self.up, Unknown):
            return UNKNOWN
        size, kernel, stride, padding, dilation = whole
        room = size + padding * 2 - dilation * (kernel - 1) - 1
        count = divided(room, stride) + 1 if stride != 0 else 0
        if self.up and (count - 1) * stride != room:
            return UNKNOWN
        return UNKNOWN if isinstance(count, int) and count < 1 else count

    def size(self, count: Size, more: Size) -> Size:
        """The size that has so many windows, plus `more`: that of a transposed convolution."""
        whole = _all_known(count, self.kernel, self.stride, self.padding, self.dilation, more)
        if whole is None:
            return UNKNOWN
        count, kernel, stride, padding, dilation, rest = whole
        return (count - 1) * stride - padding * 2 + dilation * (kernel - 1) + rest + 1


def _all_known(*spatial_extents: Size) -> list[Known] | None:
    known_extents = [extent for extent in spatial_extents if not isinstance(extent, Unknown)]
    return known_extents if len(known_extents) == len(spatial_extents) else None


def spread(extent: Extent, count: int) -> list[Size]:
    """A setting for every spatial dim: one for all, or one for each."""
    if isinstance(extent, (tuple, list)) and len(extent) in (1, count):
        each = [size if isinstance(size, (int, Expression)) else UNKNOWN for size in extent]
        return each if len(each) == count else each * count
    return [extent if isinstance(extent, (int, Expression)) else UNKNOWN] * count


def windows_of(
    kernel: Extent,
    stride: Extent,
    padding: Extent | str,
    dilation: Extent,
    spatial: int,
    up: bool | Unknown = False,
) -> list[Window]:
    """The windows along the spatial dims."""
    kernels = spread(kernel, spatial)
    strides = kernels if stride is None or stride == [] else spread(stride, spatial)
    if isinstance(padding, str):
        padding = 0 if padding == "valid" else UNKNOWN
    settings = zip(
        kernels, strides, spread(padding, spatial), spread(dilation, spatial), strict=True
    )
    return [Window(*each, up) for each in settings]


def _resized(dims: Dims, sizes: Sequence[Size]) -> Dims:
    """The dims with the last few at other sizes."""
    places = last(dims, len(sizes)).prefix
    fresh = [Dim(dim.name, size) for dim, size in zip(places, sizes, strict=True)]
    return joined(without_right(dims, len(sizes)), Dims(tuple(fresh)))


def run_over(dims: Dims, windows: Sequence[Window]) -> list[Size]:
    """The number of windows along each of the last dims."""
    places = last(dims, len(windows)).prefix
    return [window.count(dim.size) for dim, window in zip(places, windows, strict=True)]


@rule(memory="suggests")
def pools(
    input: Tensor,
    spatial: int,
    kernel_size: Extent = UNKNOWN,
    stride: Extent = None,
    padding: Extent = 0,
    dilation: Extent = 1,
    ceil_mode: bool | Unknown = False,
    return_indices: bool | Unknown = False,
) -> Dims | tuple[Dims, Dims] | Unknown:
    """The input's names; the spatial dims have the number of windows as size (nn.MaxPool2d).

    With `return_indices` the indices of the largest values have the same dims.
    """
    _check_length(input.dims, spatial)
    windows = windows_of(kernel_size, stride, padding, dilation, spatial, ceil_mode)
    return _with_indices(_resized(input.dims, run_over(input.dims, windows)), return_indices)


@rule(memory="suggests")
def pools_with_indices(
    input: Tensor,
    spatial: int,
    kernel_size: Extent = UNKNOWN,
    stride: Extent = None,
    padding: Extent = 0,
    dilation: Extent = 1,
    ceil_mode: bool | Unknown = False,
) -> tuple[Dims, Dims]:
    """As `pools`; the result always has the indices (nn.functional.max_pool2d_with_indices)."""
    pooled = pools(input, spatial, kernel_size, stride, padding, dilation, ceil_mode)
    assert isinstance(pooled, Dims)
    return pooled, pooled


def _check_length(dims: Dims, spatial: int) -> None:
    """Refuse a rank without channels before the spatial dims (recorded: max_pool2d)."""
    if dims.rank is not None and dims.rank not in (spatial + 1, spatial + 2):
        raise Contradiction(
            "NC207",
            f"Expected {spatial + 1}D or {spatial + 2}D (batch mode) tensor, but got input with "
            f"dims {dims.show()}",
            help="Channels, and perhaps a batch, precede the spatial dims.",
        )


def _with_indices(
    result: Dims, return_indices: bool | Unknown
) -> Dims | tuple[Dims, Dims] | Unknown:
    if isinstance(return_indices, Unknown):
        return UNKNOWN
    return (result, result) if return_indices else result


@rule(memory="unknown")
def adaptive_pools(
    input: Tensor,
    spatial: int,
    output_size: Extent = UNKNOWN,
    return_indices: bool | Unknown = False,
) -> Dims | tuple[Dims, Dims] | Unknown:
    """The input's names with the sizes of `output_size`; None keeps a size (nn.AdaptiveAvgPool2d).

    With `return_indices` the indices of the largest values have the same dims.
    """
    _check_length(input.dims, spatial)
    places = last(input.dims, spatial).prefix
    requested: list[Any] = [output_size] * spatial
    if isinstance(output_size, (tuple, list)) and len(output_size) == spatial:
        requested = list(output_size)
    sizes = [
        dim.size if size is None else spread(size, 1)[0]
        for dim, size in zip(places, requested, strict=True)
    ]
    return _with_indices(_resized(input.dims, sizes), return_indices)


@rule(memory="unknown")
def averages_adaptively(input: Tensor, spatial: int, output_size: Extent = UNKNOWN) -> Dims:
    """As `adaptive_pools`; of the sizes 1 it is a mean, of any rank (nn.AdaptiveAvgPool3d).

    Sizes that are listed need one more dim.
    """
    listed = isinstance(output_size, (tuple, list))
    is_mean = output_size in (1, (1,) * spatial, [1] * spatial)
    if is_mean and input.dims.min_rank >= spatial + listed:
        return _resized(input.dims, [1] * spatial)
    rank = input.dims.rank
    is_for_means = rank is not None and rank >= spatial + listed
    if is_for_means and rank not in (spatial + 1, spatial + 2) and _may_be_ones(output_size):
        return _resized(input.dims, [UNKNOWN] * spatial)
    pooled = adaptive_pools(input, spatial, output_size)
    assert isinstance(pooled, Dims)
    return pooled


def _may_be_ones(output_size: Extent) -> bool:
    sizes = output_size if isinstance(output_size, (tuple, list)) else (output_size,)
    return all(size == 1 or not isinstance(size, int) for size in sizes)


@rule(memory="unknown")
def adaptive_pools_with_indices(
    input: Tensor, spatial: int, output_size: Extent = UNKNOWN
) -> tuple[Dims, Dims]:
    """As `adaptive_pools`; the result always has the indices (torch.adaptive_max_pool1d)."""
    pooled = adaptive_pools(input, spatial, output_size)
    assert isinstance(pooled, Dims)
    return pooled, pooled


@rule(memory="unknown")
def pools_fractionally(
    input: Tensor,
    spatial: int,
    output_size: Extent | None = None,
    return_indices: bool | Unknown = False,
) -> Dims | tuple[Dims, Dims] | Unknown:
    """The input's names; the spatial dims have the `output_size` (nn.FractionalMaxPool2d).

    With a ratio in its place the sizes are unknown. With `return_indices` the indices of the
    largest values have the same dims.
    """
    size = UNKNOWN if output_size is None else output_size
    return adaptive_pools(input, spatial, size, return_indices)


@rule(memory="unknown")
def pools_fractionally_with_indices(
    input: Tensor, spatial: int, output_size: Extent | None = None
) -> tuple[Dims, Dims]:
    """As `pools_fractionally`; the result always has the indices."""
    size = UNKNOWN if output_size is None else output_size
    return adaptive_pools_with_indices(input, spatial, size)


@rule(memory="unknown")
def convolves(
    input: Tensor,
    weight: Tensor,
    spatial: int,
    stride: Extent = 1,
    padding: Extent | str = 0,
    dilation: Extent = 1,
    groups: Size = 1,
    bias: Tensor | None = None,
) -> Dims:
    """The input's names, except for the channels: the weight's first dim (conv2d)."""
    kernel = _weight(weight.dims, spatial)
    _check_bias(kernel[0], bias, spatial)
    channels_in = _times(kernel[1], groups)
    sizes = [dim.size for dim in kernel[2:]]
    return _convolved(input, channels_in, kernel[0], spatial, sizes, stride, padding, dilation)


@rule(memory="unknown")
def convolution_module(
    input: Tensor,
    spatial: int,
    in_channels: Size = UNKNOWN,
    out_channels: Size = UNKNOWN,
    kernel_size: Extent = UNKNOWN,
    stride: Extent = 1,
    padding: Extent | str = 0,
    dilation: Extent = 1,
) -> Dims:
    """The input's names; a symbolic size names the output channels (torch.nn.Conv2d)."""
    channels_in, channels_out = new_dim(in_channels), new_dim(out_channels)
    return _convolved(
        input, channels_in, channels_out, spatial, kernel_size, stride, padding, dilation
    )


def _weight(weight: Dims, spatial: int) -> tuple[Dim, ...]:
    weight_dims = of_rank(weight, spatial + 2)
    if weight_dims is None:
        raise Contradiction(
            "NC207",
            f"conv{spatial}d: expected a weight of {spatial + 2} dims, but got one of "
            f"{show_rank(weight)}: {weight.show()}",
            help="The weight has dims for both channels and for the kernel.",
        )
    return weight_dims.prefix


def _times(dim: Dim, groups: Size) -> Dim:
    """The channels of all groups."""
    if groups == 1:
        return dim
    return Dim(None if groups is not UNKNOWN else UNKNOWN, product((dim.size, groups)))


def _convolved(
    input: Tensor,
    channels_in: Dim,
    channels_out: Dim,
    spatial: int,
    kernel: Extent,
    stride: Extent,
    padding: Extent | str,
    dilation: Extent,
) -> Dims:
    _check_input(input.dims, channels_in, spatial)
    if padding == "same":
        sizes = [dim.size for dim in last(input.dims, spatial).prefix]
    else:
        sizes = run_over(input.dims, windows_of(kernel, stride, padding, dilation, spatial))
    if channels_in.size == 0:
        channels_out = Dim(channels_out.name)  # torch makes as many as there are inputs, or more
    return _with_channels(input.dims, channels_out, sizes)


def _check_input(dims: Dims, channels: Dim, spatial: int) -> None:
    if dims.rank is not None and dims.rank not in (spatial + 1, spatial + 2):
        raise Contradiction(
            "NC207",
            f"Expected {spatial + 1}D (unbatched) or {spatial + 2}D (batched) input to "
            f"conv{spatial}d, but got input with dims {dims.show()}",
            help="Batch and channels precede the spatial dims.",
        )
    own = dims.from_right(spatial + 1)
    what = "the input's channels and the layer's"
    check_one(f"conv{spatial}d", what, own, channels, by_label=False)
    check_place(f"conv{spatial}d", what, own, channels.size, dims)


def _check_bias(channels_out: Dim, bias: Tensor | None, spatial: int) -> None:
    if bias is not None and bias.dims.rank == 1:
        what = "the channels made and the bias"
        check_one(f"conv{spatial}d", what, channels_out, bias.dims[0], by_label=False)


def _with_channels(dims: Dims, channels: Dim, sizes: Sequence[Size]) -> Dims:
    whole = _resized(dims, sizes)
    batch = without_right(whole, len(sizes) + 1)
    result = joined(batch, Dims((channels,)), last(whole, len(sizes)))
    naming.check_distinct(result.names)
    return result


@rule(memory="unknown")
def convolves_transposed(
    input: Tensor,
    weight: Tensor,
    spatial: int,
    stride: Extent = 1,
    padding: Extent = 0,
    output_padding: Extent = 0,
    groups: Size = 1,
    dilation: Extent = 1,
    bias: Tensor | None = None,
) -> Dims:
    """The input's names, except for the channels: the weight's second dim (conv_transpose2d)."""
    kernel = _weight(weight.dims, spatial)
    made = _times(kernel[1], groups)
    _check_bias(made, bias, spatial)
    sizes = [dim.size for dim in kernel[2:]]
    return _transposed(
        input, kernel[0], made, spatial, sizes, stride, padding, output_padding, dilation
    )


@rule(memory="unknown")
def transposed_convolution_module(
    input: Tensor,
    spatial: int,
    in_channels: Size = UNKNOWN,
    out_channels: Size = UNKNOWN,
    kernel_size: Extent = UNKNOWN,
    stride: Extent = 1,
    padding: Extent = 0,
    output_padding: Extent = 0,
    dilation: Extent = 1,
    output_size: Sizes | None = None,
) -> Dims:
    """As `convolution_module`; the spatial dims grow (torch.nn.ConvTranspose2d)."""
    channels_in, channels_out = new_dim(in_channels), new_dim(out_channels)
    more = output_padding if output_size is None else UNKNOWN
    return _transposed(
        input, channels_in, channels_out, spatial, kernel_size, stride, padding, more, dilation
    )


def _transposed(
    input: Tensor,
    channels_in: Dim,
    channels_out: Dim,
    spatial: int,
    kernel: Extent,
    stride: Extent,
    padding: Extent,
    output_padding: Extent,
    dilation: Extent,
) -> Dims:
    _check_input(input.dims, channels_in, spatial)
    windows = windows_of(kernel, stride, padding, dilation, spatial)
    places = last(input.dims, spatial).prefix
    more = spread(output_padding, spatial)
    sizes = [
        window.size(dim.size, rest) for dim, window, rest in zip(places, windows, more, strict=True)
    ]
    return _with_channels(input.dims, channels_out, sizes)


@rule(memory="plain")
def pads(input: Tensor, pad: Sizes) -> Dims:
    """The input's names; the last dims are longer, by pairs (nn.functional.pad)."""
    if not isinstance(pad, (tuple, list)):
        return input.dims.sizeless()
    count = len(pad) // 2
    if input.dims.rank is not None and input.dims.rank < count:
        raise Contradiction(
            "NC207",
            f"Padding length should be less than or equal to two times the input dimension but got "
            f"padding length {len(pad)} and input of dimension {show_rank(input.dims)}",
            help="Give two numbers for every dimension from the last.",
        )
    places = last(input.dims, count).prefix
    sizes = []
    for number, dim in enumerate(reversed(places)):
        whole = _all_known(dim.size, *spread(pad[2 * number : 2 * number + 2], 2))
        sizes.append(UNKNOWN if whole is None else whole[0] + whole[1] + whole[2])
    return _resized(input.dims, sizes[::-1])


@rule(memory="plain")
def padding_module(input: Tensor, spatial: int, padding: Extent = UNKNOWN) -> Dims:
    """As `pads`, with one padding for all sides or one for each (torch.nn.ZeroPad2d)."""
    return pads(input, spread(padding, 2 * spatial))


@rule(memory="unknown")
def interpolates(input: Tensor, output_size: Extent = None, scale_factor: Extent = None) -> Dims:
    """The input's names; all dims but two have other sizes (nn.functional.interpolate)."""
    extents = scale_factor if output_size is None else output_size
    count = len(extents) if isinstance(extents, (tuple, list)) else 1
    dims = (of_rank(input.dims, 2 + count) if count > 1 else None) or input.dims
    if dims.rank is None:
        return Dims(dims.prefix[:2], (), True)
    places = dims.prefix[2:]
    if output_size is not None:
        sizes = spread(output_size, len(places))
    else:
        factors = spread(scale_factor, len(places))
        sizes = [product((dim.size, k)) for dim, k in zip(places, factors, strict=True)]
    fresh = [part_of(dim, each) for dim, each in zip(places, sizes, strict=True)]
    return Dims((*dims.prefix[:2], *fresh))


@rule(memory="unknown")
def pixel_shuffle(input: Tensor, upscale_factor: Size = UNKNOWN) -> Dims:
    """Fewer channels, larger images: the last three dims keep their names (nn.PixelShuffle)."""
    return _reshuffled(input.dims, upscale_factor, larger=True)


@rule(memory="unknown")
def pixel_unshuffle(input: Tensor, downscale_factor: Size = UNKNOWN) -> Dims:
    """More channels, smaller images: the last three dims keep their names (nn.PixelUnshuffle)."""
    return _reshuffled(input.dims, downscale_factor, larger=False)


def _reshuffled(dims: Dims, factor: Size, *, larger: bool) -> Dims:
    if dims.rank is not None and dims.rank < 3:
        raise Contradiction(
            "NC207",
            f"pixel_shuffle expects input to have at least 3 dimensions, but got input with "
            f"{dims.rank} dimension(s)",
            help="Channels, height and width are the last three dims.",
        )
    channels, height, width = (dim.size for dim in last(dims, 3).prefix)
    square = product((factor, factor))
    if larger:
        sizes = [_share(channels, square), product((height, factor)), product((width, factor))]
    elif 0 in dims.sizes:
        sizes = [UNKNOWN] * 3  # on the CPU, torch returns images without elements as they are
    else:
        sizes = [product((channels, square)), _share(height, factor), _share(width, factor)]
    return _resized(dims, sizes)


def _share(size: Size, count: Size) -> Size:
    whole = _all_known(size, count)
    return UNKNOWN if whole is None or whole[1] == 0 else divided(*whole)


@rule(memory="unknown")
def halves(input: Tensor, dim: DimArgument = -1) -> Dims:
    """The input's names, half as many along `dim` (nn.functional.glu)."""
    place = locate(input.dims, dim)
    return resized(input.dims, place, _share(input.dims[place].size, 2))


@rule(memory="unknown")
def unfolds_blocks(
    input: Tensor,
    kernel_size: Extent = UNKNOWN,
    dilation: Extent = 1,
    padding: Extent = 0,
    stride: Extent = 1,
) -> Dims:
    """The batch, the elements of a block for each channel, the blocks (torch.nn.Unfold)."""
    _check_image(input.dims, 3, "Expected 3D or 4D (batch mode) tensor")
    channels = input.dims.from_right(3) or ANY_DIM
    elements = _channels_at(channels, product((channels.size, *spread(kernel_size, 2))))
    windows = windows_of(kernel_size, stride, padding, dilation, 2)
    return _of_blocks(input.dims, 3, elements, _blocks(input.dims, run_over(input.dims, windows)))


@rule(memory="unknown")
def folds_blocks(
    input: Tensor, output_size: Extent = UNKNOWN, kernel_size: Extent = UNKNOWN
) -> Dims:
    """The batch, the channels, and the image assembled from the blocks (torch.nn.Fold)."""
    _check_image(input.dims, 2, "Expected 2D or 3D (batch mode) tensor")
    elements = input.dims.from_right(2) or ANY_DIM
    channels = _channels_at(elements, _whole_share(elements.size, product(spread(kernel_size, 2))))
    return _of_blocks(input.dims, 2, channels, *map(new_dim, spread(output_size, 2)))


def _check_image(dims: Dims, least: int, message: str) -> None:
    if dims.rank is not None and dims.rank not in (least, least + 1):
        raise Contradiction(
            "NC207",
            f"{message} with possibly 0 batch size and other non-zero dimensions for input, but "
            f"got: {dims.show()}",
            help="A batch may precede the channels.",
        )


def _channels_at(channels: Dim, size: Size) -> Dim:
    """Channels with another size: a label is dropped."""
    return Dim(None if isinstance(channels.name, str) else channels.name, size)


def _whole_share(size: Size, block: Size) -> Size:
    if isinstance(size, Unknown) or isinstance(block, Unknown) or block == 0:
        return UNKNOWN
    return size // block


def _blocks(dims: Dims, counts: Sequence[Size]) -> Dim:
    """One dim for all blocks, named only by a symbolic size."""
    size = product(counts)
    if size is not UNKNOWN:
        return new_dim(size)
    names = [dim.name for dim in last(dims, 2).prefix]
    vague = any(name is UNKNOWN or isinstance(name, Axis) for name in names)
    return Dim(UNKNOWN if vague else None)


def _of_blocks(dims: Dims, removed: int, *made: Dim) -> Dims:
    """The batch dims, if there are any, followed by new dims."""
    return OPEN if dims.rank is None else joined(without_right(dims, removed), Dims(made))
