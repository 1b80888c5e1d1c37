"""``pack``, ``unpack`` and ``parse_shape`` of einops: patterns with a star, and shapes as dicts."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from namecheck.core.dims import Dim, Dims, Size, added, agree, of_rank, product
from namecheck.core.names import UNKNOWN, Answer, Unknown
from namecheck.core.tensors import Many, Tensor
from namecheck.rules import dim_map, patterns
from namecheck.rules.arguments import Several, Sizes
from namecheck.rules.concatenations import cat
from namecheck.rules.einops import apart, check_group_count, together
from namecheck.rules.patterns import Number, wrong
from namecheck.rules.ratios import inferred
from namecheck.rules.registry import rule
from namecheck.rules.splits import split_with_sizes

Shape = Sizes
Packed = tuple[Dims, list[Shape] | Unknown]


@rule(memory="unknown")
def einops_pack(input: Several, pattern: str | Unknown) -> Packed | Unknown:
    """Tensors concatenated along the dims at the star, and the shapes of these (einops.pack)."""
    if isinstance(pattern, Unknown) or isinstance(input, Unknown):
        return UNKNOWN
    before, after = _around_star(pattern, "pack")
    if isinstance(input, Many):
        flat = _packed(input.each.dims, before, after, 0, pattern)
        return cat(Many(Tensor(flat)), before), UNKNOWN
    tensors = [input] if isinstance(input, Tensor) else input
    flats = [
        _packed(tensor.dims, before, after, number, pattern)
        for number, tensor in enumerate(tensors)
    ]
    shapes = [_shape(tensor.dims, before, after) for tensor in tensors]
    return cat([Tensor(flat) for flat in flats], before), shapes


@cache
def _around_star(pattern: str, operation: str) -> tuple[int, int]:
    """How many dims are left and right of the star."""
    words = pattern.split()
    if len(words) != len(set(words)):
        raise wrong(f'Duplicates in axes names in {operation}(..., "{pattern}")')
    if "*" not in words:
        raise wrong(
            f'No *-axis in {operation}(..., "{pattern}")', help="Mark the packed dims with '*'."
        )
    for word in words:
        if word != "*" and (not word.isidentifier() or word.strip("_") != word):
            raise wrong(f'Invalid axis name {word} in {operation}(..., "{pattern}")')
    return words.index("*"), len(words) - words.index("*") - 1


def _packed(dims: Dims, front_count: int, back_count: int, number: int, pattern: str) -> Dims:
    """The dims, with those at the star merged into one."""
    if dims.rank is not None and dims.rank < front_count + back_count:
        raise wrong(
            f"packed tensor #{number} (enumeration starts with 0) has shape "
            f"{dim_map.show_sizes(dims)}, while pattern {pattern} assumes at least "
            f"{front_count + back_count} axes",
            code="NC207",
            help=f"The dims of the tensor are {dims.show()}.",
        )
    middle = _middle(dims, front_count, back_count)
    whole = Dim() if middle.open else together(middle.prefix)
    return dim_map.joined(
        dim_map.first(dims, front_count), Dims((whole,)), dim_map.last(dims, back_count)
    )


def _middle(dims: Dims, front_count: int, back_count: int) -> Dims:
    return dim_map.without_left(dim_map.without_right(dims, back_count), front_count)


def _shape(dims: Dims, front_count: int, back_count: int) -> Shape:
    middle = _middle(dims, front_count, back_count)
    return UNKNOWN if middle.open else tuple(middle.sizes)


@rule(memory="unknown")
def einops_unpack(
    tensor: Tensor, packed_shapes: Sequence[Shape] | Unknown, pattern: str | Unknown
) -> list[Dims] | Many | Unknown:
    """The tensors that a packed one is split into (einops.unpack)."""
    if isinstance(pattern, Unknown):
        return UNKNOWN
    before, after = _around_star(pattern, "unpack")
    dims = of_rank(tensor.dims, before + 1 + after)
    if dims is None:
        raise wrong(
            f"unpack(..., {pattern}) received input of wrong dim with shape "
            f"{dim_map.show_sizes(tensor.dims)}",
            code="NC207",
            help=f"The dims of the tensor are {tensor.dims.show()}.",
        )
    front, back = Dims(dims.prefix[:before]), Dims(dims.prefix[before + 1 :])
    if not isinstance(packed_shapes, (tuple, list)):
        return Many(Tensor(dim_map.joined(front, Dims(open=True), back)))
    shapes = [one if isinstance(one, (tuple, list)) else UNKNOWN for one in packed_shapes]
    counts = _counts(shapes, dims.prefix[before].size, pattern)
    pieces = split_with_sizes(Tensor(dims), counts, before)
    if isinstance(pieces, Many):
        pieces = (pieces.each.dims,) * len(counts)
    return [
        dim_map.joined(front, _element(piece.prefix[before], shape), back)
        for piece, shape in zip(pieces, shapes, strict=True)
    ]


def _counts(shapes: Sequence[Shape], whole: Size, pattern: str) -> list[Size]:
    """How much of the packed dim each element takes; one may be computed from the others."""
    counts = [UNKNOWN if isinstance(s, Unknown) else -1 if -1 in s else product(s) for s in shapes]
    if counts.count(-1) > 1:
        raise wrong(
            f"unpack(..., {pattern}) received more than one -1 in {list(shapes)} and can't infer "
            "dimensions"
        )
    others = added(count for count in counts if count != -1)
    if -1 in counts:
        decided = not isinstance(whole, Unknown) and not isinstance(others, Unknown)
        counts[counts.index(-1)] = whole - others if decided else UNKNOWN  # type: ignore[operator]
    elif agree(whole, others) is Answer.NO:
        raise wrong(
            f'Error during unpack(..., "{pattern}"): could not split axis of size {whole} into '
            f"requested {list(shapes)}",
            code="NC201",
        )
    return counts


def _element(piece: Dim, shape: Shape) -> Dims:
    """The dims of the element that one piece of the packed dim becomes."""
    if isinstance(shape, Unknown):
        return Dims(open=True)
    rest = inferred(piece.size, product(size for size in shape if size != -1))
    sizes = [rest if size == -1 else size for size in shape]
    return Dims(tuple(apart(piece, sizes)) if sizes else ())


@rule
def einops_shape(input: Tensor, pattern: str | Unknown) -> dict[str, Size] | Unknown:
    """The sizes of the dims that the pattern gives letters (einops.parse_shape)."""
    if isinstance(pattern, Unknown):
        return UNKNOWN
    read = patterns.side(pattern, underscore=True)
    if any(len(letters) > 1 for letters in read.letter_groups):
        raise wrong(f"Can't parse shape with composite axes: {pattern}")
    check_group_count(read, input.dims)
    front, back = read.around_ellipsis()
    if ... in read.groups:
        first = dim_map.first(input.dims, len(front)).prefix
        dims = (*first, *dim_map.last(input.dims, len(back)).prefix)
    else:
        closed = of_rank(input.dims, len(front))
        dims = () if closed is None else closed.prefix
    letter_sizes: dict[str, Size] = {}
    for letters, dim in zip(read.letter_groups, dims, strict=True):
        letter = letters[0] if letters else Number(1)
        if isinstance(letter, str):
            letter_sizes[letter] = dim.size
        elif agree(dim.size, letter.size) is Answer.NO:
            raise wrong(f"Length of axis is not {letter.size}: {pattern}", code="NC201")
    return {letter: size for letter, size in letter_sizes.items() if letter != "_"}
