"""einops: every letter of a pattern stands for one dimension, before and after.

``b (h w) c`` splits the dim ``h*w``, or merges it, the first letter outermost. A letter is a local
name, bound to a dim of the tensor. A dim whose sizes show that it is split in another order than it
was merged in is scrambled, as in a view.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import EllipsisType
from typing import Any

from namecheck.core import names as naming
from namecheck.core.dataclasses import dataclass, replace
from namecheck.core.dims import OPEN, Dim, Dims, Size, agree, clash, new_dim, of_rank, product
from namecheck.core.names import UNKNOWN, Answer, Axis, Contradiction, Unknown
from namecheck.core.sizes import Expression
from namecheck.core.tensors import Tensor
from namecheck.rules import dim_map, patterns
from namecheck.rules.arguments import Several
from namecheck.rules.concatenations import stack
from namecheck.rules.einsum import contracted
from namecheck.rules.patterns import Group, Letter, Number, Side, wrong
from namecheck.rules.ratios import inferred
from namecheck.rules.registry import rule
from namecheck.rules.views import laid_out

Lengths = Mapping[str, Any]
NEW = Dim(None, 1, purposeful=True)


@rule(memory="unknown")
def einops_rearrange(input: Several, pattern: str | Unknown, axes_lengths: Lengths) -> Dims:
    """The dims in the order of the pattern's letters, split and merged (einops.rearrange)."""
    if isinstance(pattern, Unknown):
        return OPEN
    left, right = _sides(pattern)
    patterns.check_rearrangement(left, right)
    return _transformed(_stacked(input), left, right, axes_lengths)


@rule(memory="unknown")
def einops_repeat(input: Several, pattern: str | Unknown, axes_lengths: Lengths) -> Dims:
    """As `einops_rearrange`, with new letters at the given sizes (einops.repeat)."""
    if isinstance(pattern, Unknown):
        return OPEN
    left, right = _sides(pattern)
    patterns.check_repetition(left, right, list(axes_lengths))
    return _transformed(_stacked(input), left, right, axes_lengths)


@rule(memory="unknown")
def einops_reduce(
    input: Several, pattern: str | Unknown, reduction: Any, axes_lengths: Lengths
) -> Dims:
    """As `einops_rearrange`, without the letters that the right side lacks (einops.reduce).

    The reductions "rearrange" and "repeat" are these operations.
    """
    if reduction == "rearrange":
        return einops_rearrange(input, pattern, axes_lengths)
    if reduction == "repeat":
        return einops_repeat(input, pattern, axes_lengths)
    if isinstance(pattern, Unknown):
        return OPEN
    left, right = _sides(pattern)
    patterns.check_reduction(left, right, reduction)
    return _transformed(_stacked(input), left, right, axes_lengths)


@rule(memory="unknown")
def einops_mix(
    input: Tensor, pattern: str | Unknown, weight_shape: str | Unknown, axes_lengths: Lengths
) -> Dims:
    """The dims of the right side, new letters at the given sizes (einops.layers.torch.EinMix)."""
    if isinstance(pattern, Unknown) or isinstance(weight_shape, Unknown):
        return OPEN
    left, right = _sides(pattern)
    weight = patterns.side(weight_shape)
    fresh = patterns.without(right.letters, (*left.letters, *weight.letters))
    if fresh:
        listed = patterns.listed(fresh)
        raise wrong(f"Unrecognized identifiers on the right side of EinMix {listed}")
    for letter in weight.letters:
        if letter not in axes_lengths:
            raise wrong(f"Dimension {letter} of weight should be specified")
    return _transformed(input.dims, left, right, axes_lengths, others=weight.letters)


def _sides(pattern: str) -> tuple[Side, Side]:
    left, right = patterns.sides(pattern)
    patterns.check_ellipsis(left, right, pattern)
    return left, right


def _stacked(input: Several) -> Dims:
    """The dims of a tensor; a list of tensors is stacked along a new first dim."""
    if isinstance(input, Unknown):
        return OPEN
    return input.dims if isinstance(input, Tensor) else stack(input)


def _transformed(
    dims: Dims, left: Side, right: Side, lengths: Lengths, *, others: Sequence[Letter] = ()
) -> Dims:
    """The dims in the layout of the pattern's right side."""
    for letter in lengths:
        if letter not in (*left.letters, *right.letters, *others):
            raise wrong(
                f"Axis {letter} is not used in transform",
                help="Leave the keyword out, or use its letter in the pattern.",
            )
    bound = _Letters({letter: _size(letter, value) for letter, value in lengths.items()})
    bound.bind(left, dims)
    return dim_map.joined(*(bound.composed(group) for group in right.groups))


def _size(letter: str, value: Any) -> Size:
    if not isinstance(value, (int, Expression)) or isinstance(value, bool):
        return UNKNOWN
    if isinstance(value, int) and value < 0:
        raise wrong(f"The letter {letter} is given the negative size {value}", code="NC209")
    return value


@dataclass
class _Letters:
    """The dims that the letters of a pattern are bound to; `sizes` has the given sizes."""

    sizes: Mapping[str, Size]

    def __post_init__(self) -> None:
        self.dims: dict[Letter, Dim] = {}
        self.rest = Dims()

    def size(self, letter: Letter) -> Size | None:
        """The given size of a letter; None where it has none."""
        return letter.size if isinstance(letter, Number) else self.sizes.get(letter)

    def bind(self, left: Side, dims: Dims) -> None:
        """Bind the letters of the left side to the dims of a tensor."""
        front, back = left.around_ellipsis()
        check_group_count(left, dims)
        if ... in left.groups:
            first, last = dim_map.first(dims, len(front)), dim_map.last(dims, len(back))
            self.rest = dim_map.without_left(dim_map.without_right(dims, len(back)), len(front))
        else:
            closed = of_rank(dims, len(front))
            assert closed is not None, "the rank has been checked"
            first, last = closed, Dims()
        for letters, dim in zip(left.letter_groups, (*first.prefix, *last.prefix), strict=True):
            self._take_apart(letters, dim)

    def _take_apart(self, letters: Sequence[Letter], dim: Dim) -> None:
        sizes = [self.size(letter) for letter in letters]
        if sizes.count(None) > 1:
            open_ones = [one for one, size in zip(letters, sizes, strict=True) if size is None]
            raise wrong(
                f"Could not infer sizes for {patterns.listed(open_ones)}",
                help="Give all sizes of a group but one by keyword.",
            )
        if not letters:
            _check_size(dim.size, 1)
        elif len(letters) == 1:
            self.dims[letters[0]] = dim if sizes[0] is None else _sized(letters[0], dim, sizes[0])
        else:
            self.dims.update(zip(letters, _parts(dim, sizes), strict=True))

    def composed(self, group: Group) -> Dims:
        """The dim that a group of the right side is composed to."""
        if isinstance(group, EllipsisType):
            return self.rest
        if ... in group and self.rest.open:
            return Dims((Dim(),))
        made_dims: list[Dim] = []
        for letter in group:
            made_dims += (
                self.rest.prefix if isinstance(letter, EllipsisType) else [self._dim(letter)]
            )
        return Dims((together(made_dims),))

    def _dim(self, letter: Letter) -> Dim:
        """The dim of a letter; a new letter has its given size."""
        if letter in self.dims:
            return self.dims[letter]
        size = self.size(letter)
        return Dim() if size is None or size is UNKNOWN else sized_dim(size)


def sized_dim(size: Size) -> Dim:
    """A new dim of some size; a size of 1 is deliberate."""
    return replace(new_dim(size), purposeful=size == 1)


def together(dims: Sequence[Dim]) -> Dim:
    """The dim that several adjacent dims are merged into, the first outermost."""
    if not dims:
        return NEW
    if len(dims) == 1:
        return dims[0]
    [whole] = laid_out(dims, [inferred(product(dim.size for dim in dims), 1)])
    return whole


def _sized(letter: Letter, dim: Dim, size: Size) -> Dim:
    """A whole dim with the given size, where its own size is unknown."""
    fresh = sized_dim(size)
    if isinstance(dim.name, Axis) and isinstance(fresh.name, Axis) and clash(dim, fresh):
        words = naming.words((dim.name, fresh.name))
        raise Contradiction(
            "NC101",
            f"The letter {letter} stands for dim '{words[0]}' and is given the size of dim "
            f"'{words[1]}'.",
            names=words,
            help="Give each dimension a letter of its own.",
        )
    _check_size(dim.size, size)
    return replace(dim, size=size) if dim.size is UNKNOWN else dim


def _check_size(length: Size, other_size: Size) -> None:
    if agree(length, other_size) is Answer.NO:
        raise wrong(f"Shape mismatch, {length} != {other_size}", code="NC201")


def _parts(dim: Dim, chunk_sizes: Sequence[Size | None]) -> list[Dim]:
    """The parts of a dim that is split; one of the sizes may be missing."""
    given_size = product(size for size in chunk_sizes if size is not None)
    if None not in chunk_sizes:
        _check_size(dim.size, given_size)
    elif (
        isinstance(dim.size, int)
        and isinstance(given_size, int)
        and (not given_size or dim.size % given_size)
    ):
        raise wrong(
            f"Shape mismatch, can't divide axis of length {dim.size} in chunks of {given_size}",
            code="NC201",
        )
    rest = inferred(dim.size, given_size)
    return apart(dim, [rest if size is None else size for size in chunk_sizes])


def apart(dim: Dim, sizes: Sequence[Size]) -> list[Dim]:
    """The parts that a dim is split into, with these sizes, the first outermost."""
    if dim.name is UNKNOWN:
        return [Dim(UNKNOWN, size) for size in sizes]
    return laid_out([dim], sizes)


def check_group_count(left: Side, dims: Dims) -> None:
    """Refuse a tensor whose rank differs from the number of groups in the pattern."""
    least = len(left.groups) - (... in left.groups)
    if ... in left.groups:
        fits, rank_text = dims.rank is None or dims.rank >= least, f">={least}"
    else:
        fits, rank_text = of_rank(dims, least) is not None, str(least)
    if not fits:
        raise wrong(
            f"Wrong shape: expected {rank_text} dims. "
            f"Received {dim_map.show_rank(dims)}-dim tensor.",
            code="NC207",
            help=f"The dims of the tensor are {dims.show()}.",
        )


@rule(memory="unknown")
def einops_einsum(tensors_and_pattern: Sequence[Tensor | str | Unknown]) -> Dims:
    """As `einsum`, with words as letters and the equation last (einops.einsum)."""
    *tensors, pattern = tensors_and_pattern or (UNKNOWN,)
    if not isinstance(pattern, str):
        return OPEN
    before, arrow, after = pattern.partition("->")
    if not arrow:
        raise wrong("Einsum pattern must contain '->'.", help="Write `before -> after`.")
    terms = [_term(patterns.side(t, underscore=True, repeats=True)) for t in before.split(",")]
    output = _term(patterns.side(after, underscore=True))
    known_letters = {letter for term in terms for letter in term}
    for letter in output:
        if letter not in known_letters:
            raise wrong(f"Unknown axis {letter} on right side of einsum {pattern}.")
    operands = [one if isinstance(one, Tensor) else Tensor() for one in tensors]
    return contracted(terms, output, operands)


def _term(read: Side) -> tuple[str, ...]:
    """The letters of one operand, in the form that `einsum` takes."""
    term_letters: list[str] = []
    for group in read.groups:
        if isinstance(group, EllipsisType):
            term_letters.append("...")
        elif len(group) == 1 and isinstance(group[0], str):
            term_letters.append(group[0])
        else:
            raise wrong(
                "Shape rearrangement, singleton () and anonymous axes are not yet supported in "
                "einsum.",
                help="Rearrange the operands first.",
            )
    return tuple(term_letters)
