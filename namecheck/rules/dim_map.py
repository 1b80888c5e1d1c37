"""Dim maps: for each dimension of a result, the input dimensions that it comes from.

Rules that move, merge or split dimensions give such a map; `rearrange` derives names and sizes from
it. This module also compares two lists of dims position by position.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from types import EllipsisType
from typing import Final, TypeAlias

from namecheck.core import names as naming
from namecheck.core.dataclasses import dataclass, replace
from namecheck.core.dims import (
    ANY_DIM,
    MIDDLE,
    OPEN,
    Dim,
    Dims,
    Position,
    Size,
    agree,
    join_dim,
    merged,
    named_by,
    of_rank,
)
from namecheck.core.names import UNKNOWN, Answer, Axis, Contradiction, Name
from namecheck.rules.arguments import DimArgument


@dataclass(frozen=True, slots=True)
class Made:
    """A dim of the result that is not an unchanged dim of the input.

    It is merged from several, a part of one, or new (no `sources`). `size` is the size of a part;
    merged dims have the product, new ones the deliberate size 1.
    """

    sources: tuple[int, ...] = ()
    name: Name = None
    size: Size | None = None


# Up to how many dims are written of which nothing is known.
MOST_UNKNOWN: Final = 64

Source: TypeAlias = int | Made | EllipsisType


def rearrange(dims: Dims, dim_sources: Sequence[Source]) -> Dims:
    """The dims of a result, each from its sources in `dim_sources`.

    An int is the position of a dim that moves unchanged; ``...`` is the open middle of `dims`.
    """
    made = [
        None if isinstance(dim_source, EllipsisType) else _made(dims, dim_source)
        for dim_source in dim_sources
    ]
    if None not in made:
        return Dims(tuple(dim for dim in made if dim is not None))
    cut = made.index(None)
    front, back = made[:cut], made[cut + 1 :]
    return Dims(
        tuple(dim for dim in front if dim is not None),
        tuple(dim for dim in back if dim is not None),
        True,
    )


def _made(dims: Dims, dim_source: int | Made) -> Dim:
    if isinstance(dim_source, int):
        return dims[dim_source]
    if not dim_source.sources:
        size = 1 if dim_source.size is None else dim_source.size
        return Dim(dim_source.name or named_by(size), size, purposeful=size == 1)
    whole = merged([dims[place] for place in dim_source.sources])
    size = whole.size if dim_source.size is None else dim_source.size
    return Dim(whole.name if dim_source.name is None else dim_source.name, size)


def everywhere(dims: Dims, *, backwards: bool = False) -> list[Source]:
    """The map that keeps all dims in place, or reverses their order."""
    dim_sources: list[Source] = list(range(len(dims.prefix)))
    if dims.open:
        dim_sources += [..., *range(-len(dims.suffix), 0)]
    return dim_sources[::-1] if backwards else dim_sources


def in_some_order(dims: Dims) -> Dims:
    """The dims in an unknown order: any of them may be at each position."""
    if dims.open:
        return OPEN
    if not dims.prefix:
        return dims
    return Dims((reduce(join_dim, dims.prefix),) * len(dims.prefix))


def renamed_as(dims: Dims, model: Dims) -> Dims:
    """The dims under the names of `model`, where both may have the same rank."""
    closed = None if dims.rank is None else of_rank(model, dims.rank)
    if closed is None:
        return model if dims.open else dims
    return dims.rename(closed.names)


def of_one_rank(dims: Dims, other_dims: Dims) -> tuple[Dims, Dims]:
    """Two lists that certainly have one rank, 2 or more: where one is known, so is the other."""
    for rank in (dims.rank, other_dims.rank):
        if rank is not None and rank > 1:
            return of_rank(dims, rank) or dims, of_rank(other_dims, rank) or other_dims
    return dims, other_dims


def of_same_rank(dims: Dims, model: Dims) -> Dims:
    """The dims with the rank of `model`; a size that is not computed may still be another one."""
    closed = None if model.rank is None else of_rank(dims, model.rank)
    return dims if closed is None else closed


def of_rank_as(dims: Dims, model: Dims) -> Dims:
    """The dims with the rank and the sizes of `model`, which certainly has the same shape."""
    closed = of_same_rank(dims, model)
    if model.rank is None or closed.rank != model.rank:
        return dims
    return Dims(
        tuple(
            replace(own, size=other.size) if own.size is UNKNOWN else own
            for own, other in zip(closed.prefix, model.prefix, strict=True)
        )
    )


def reaching(dims: Dims, dim: DimArgument, *, extra: int = 0, scalars: bool = True) -> Dims:
    """The dims of a tensor that certainly has one with a name, or at an index.

    A name that only one dim can have is the name of that dim. Where the number of dims is unknown,
    ``x[:, :, 0]`` shows that there are three: ``B C ...`` is ``B C ? ...``. So many of the dims
    known from the other end may be the same ones. With `extra`, the index is among those and one
    more. An operator that takes `scalars` takes the index 0 or -1 of one, too.
    """
    if isinstance(dim, str):
        return with_name(dims, dim)
    if type(dim) is not int or not dims.open:
        return dims
    least = dim + 1 - extra if dim >= 0 else -dim - extra
    if scalars and least < 2 and not dims.known:
        return dims
    beyond = least - len(dims.prefix if dim >= 0 else dims.suffix)
    if not 0 < beyond <= MOST_UNKNOWN:
        return dims
    unknown = (ANY_DIM,) * beyond
    if dim >= 0:
        return Dims(dims.prefix + unknown, dims.suffix[beyond:], True)
    return Dims(dims.prefix[: max(len(dims.prefix) - beyond, 0)], unknown + dims.suffix, True)


def with_name(dims: Dims, dim: DimArgument) -> Dims:
    """The dims of a tensor that certainly has one with a name, if only one can have that name."""
    unknown = [position for position, each in dims.walk() if each.name is UNKNOWN]
    if (
        not isinstance(dim, str)
        or dims.open
        or len(unknown) != 1
        or dim in naming.words(dims.names)
    ):
        return dims
    return dims.changed(unknown[0], lambda own: replace(own, name=dim))


def without_right(dims: Dims, count: int) -> Dims:
    """The dims that are certainly left of the last `count`."""
    if not dims.open:
        return Dims(dims.prefix[: max(len(dims.prefix) - count, 0)])
    beyond = max(count - len(dims.suffix), 0)
    return Dims(
        dims.prefix[: max(len(dims.prefix) - beyond, 0)],
        dims.suffix[: max(len(dims.suffix) - count, 0)],
        True,
    )


def pairs(left: Dims, right: Dims) -> list[tuple[Dim, Dim]] | None:
    """The pairs of dims at the same position if the ranks are equal; None if the ranks differ."""
    rank = left.rank if left.rank is not None else right.rank
    if rank is not None:
        one, other = of_rank(left, rank), of_rank(right, rank)
        if one is None or other is None:
            return None
        return list(zip(one.prefix, other.prefix, strict=True))
    front = list(zip(left.prefix, right.prefix, strict=False))
    back = list(zip(left.suffix[::-1], right.suffix[::-1], strict=False))
    return front + back


def same_names(left: Dims, right: Dims) -> Answer:
    """Whether two lists of dims have the same names, None included."""
    dim_pairs = pairs(left, right)
    if dim_pairs is None:
        return Answer.NO
    answer = Answer.MAYBE if left.open or right.open else Answer.YES
    for one, other in dim_pairs:
        if UNKNOWN in (one.name, other.name) or _vague(one.name, other.name):
            answer = Answer.MAYBE
        elif naming.word(one.name) != naming.word(other.name):
            return Answer.NO
    return answer


def _vague(name: Name, other_name: Name) -> bool:
    """Weaken unnamed dims to unknown names: an annotation may give any dim an axis."""
    return None in (name, other_name) and (isinstance(name, Axis) or isinstance(other_name, Axis))


def same_shape(left: Dims, right: Dims) -> Answer:
    """Whether two lists of dims have the same sizes."""
    dim_pairs = pairs(left, right)
    if dim_pairs is None:
        return Answer.NO
    answer = Answer.MAYBE if left.open or right.open else Answer.YES
    for one, other in dim_pairs:
        answer = min(answer, agree(one.size, other.size), key=lambda answer: answer.value)
    return answer


def show_sizes(dims: Dims) -> str:
    """The sizes as torch prints them: ``[2, 3]``; an unknown one as ``?``."""
    words = ["?" if dim.size is UNKNOWN else str(dim.size) for dim in dims.prefix]
    if dims.open:
        words.append("...")
    words += ["?" if dim.size is UNKNOWN else str(dim.size) for dim in dims.suffix]
    return "[" + ", ".join(words) + "]"


def show_rank(dims: Dims) -> str:
    """The number of dims as text: ``2``, or ``2+`` where there may be more."""
    return f"{dims.min_rank}+" if dims.open else str(dims.min_rank)


def check_name_count(dims: Dims, names: Sequence[Name]) -> None:
    """Refuse names for more dims than torch 2.12 supports (``kMaxNamedTensorDim``)."""
    rank = dims.rank
    if rank is not None and rank > MOST_NAMES:
        raise Contradiction(
            "NC106",
            f"Named tensors only support up to {MOST_NAMES} dims: Attempted to create a tensor "
            f"with dim {rank} with names {naming.show(names)}",
            help="A tensor of more dims has no names.",
        )


MOST_NAMES: Final = 64


def has_label(dims: Dims) -> bool:
    """Whether a dim certainly has a name of the tensor itself, not only one of an annotation."""
    return any(isinstance(dim.name, str) for dim in dims.known)


def check_resize(dims: Dims, shape: Dims) -> None:
    """Refuse to resize a named tensor (name_inference.rst, ``resize_``; recorded).

    An axis is no name of the tensor itself, which torch could see.
    """
    if has_label(dims) and same_shape(dims, shape) is Answer.NO:
        raise Contradiction(
            "NC205",
            f"Cannot resize named tensor with resize_ or resize_as_ (tried to resize Tensor"
            f"{dims.show()} with size {show_sizes(dims)} to {show_sizes(shape)}). This may be "
            "caused by passing a named tensor as an `out=` argument; please ensure that the sizes "
            "are the same. ",
            names=naming.words(dims.names),
            help="Drop the names with `rename(None)` first, or give a tensor of the right shape.",
        )


def without_left(dims: Dims, count: int) -> Dims:
    """The dims that are certainly right of the first `count`."""
    if not dims.open:
        return Dims(dims.prefix[count:])
    beyond = max(count - len(dims.prefix), 0)
    return Dims(dims.prefix[count:], dims.suffix[beyond:], True)


def first(dims: Dims, count: int) -> Dims:
    """The first `count` dims, which certainly exist."""
    head = dims.prefix[:count]
    return Dims(head + (ANY_DIM,) * (count - len(head)))


def last(dims: Dims, count: int) -> Dims:
    """The last `count` dims, which certainly exist."""
    if not dims.open:
        return Dims(dims.prefix[len(dims.prefix) - count :])
    tail = dims.suffix[max(len(dims.suffix) - count, 0) :]
    return Dims((ANY_DIM,) * (count - len(tail)) + tail)


def before(dims: Dims, position: Position) -> Dims:
    """The dims left of the one at a position (of a list or of its right end)."""
    if isinstance(position, int):
        return first(dims, position) if position >= 0 else without_right(dims, -position)
    return Dims(dims.prefix, (), True) if position is MIDDLE else OPEN


def after(dims: Dims, position: Position) -> Dims:
    """The dims right of the one at a position."""
    if isinstance(position, int):
        if position >= 0:
            return without_left(dims, position + 1)
        return last(dims, -position - 1)
    return Dims((), dims.suffix, True) if position is MIDDLE else OPEN


def joined(*lists: Dims) -> Dims:
    """Lists of dims, one after the other."""
    prefix: tuple[Dim, ...] = ()
    suffix: tuple[Dim, ...] = ()
    is_open = False
    for dims in lists:
        if dims.open:
            prefix, suffix = (prefix if is_open else prefix + dims.prefix), dims.suffix
            is_open = True
        elif is_open:
            suffix += dims.prefix
        else:
            prefix += dims.prefix
    return Dims(prefix, suffix, is_open)


def check_expandable(dims: Dims, shape: Dims) -> None:
    """Refuse dims that cannot be expanded to `shape` (recorded: addmm, expand)."""
    if dims.rank is None or shape.rank is None:
        return
    if dims.rank > shape.rank:
        raise Contradiction(
            "NC201",
            f"expand(torch.FloatTensor{{{show_sizes(dims)}}}, size={show_sizes(shape)}): the "
            f"number of sizes provided ({shape.rank}) must be greater or equal to the number of "
            f"dimensions in the tensor ({dims.rank})",
        )
    for offset in range(1, dims.rank + 1):
        own, goal = dims.prefix[-offset].size, shape.prefix[-offset].size
        if own != 1 and agree(own, goal) is Answer.NO:
            raise Contradiction(
                "NC201",
                f"The expanded size of the tensor ({goal}) must match the existing size ({own}) "
                f"at non-singleton dimension {shape.rank - offset}.  Target sizes: "
                f"{show_sizes(shape)}.  Tensor sizes: {show_sizes(dims)}",
                names=naming.words((dims.prefix[-offset].name,)),
            )


def _is_undeclared(name: Name) -> bool:
    """Whether only the code itself names a dim: a buffer may be of any such dim in turn."""
    return isinstance(name, Axis) and naming.is_undeclared(name.name)


def take_names(receiver_dims: Dims, computed: Dims) -> Dims:
    """The dims after a write: the computed names, which must equal the target's names, if any.

    Source: name_inference.rst, "out function and in-place variants"; recorded: add, resize_as_.
    """
    if receiver_dims.named() is not Answer.YES:
        return computed
    every = (*receiver_dims.names, *computed.names)
    if same_names(receiver_dims, computed) is Answer.NO and not any(map(_is_undeclared, every)):
        raise Contradiction(
            "NC110",
            f"Name mismatch: specified out tensor with names {receiver_dims.show()} are not the "
            f"same as the computed output names {computed.show()}. Please rename the out "
            "tensor's dims with `Tensor.rename`.",
            names=naming.words(receiver_dims.names),
            help=f"Rename the tensor written to as {computed.show()}, or give one without names.",
        )
    closed = None if receiver_dims.rank is None else of_rank(computed, receiver_dims.rank)
    annotated = any(isinstance(name, Axis) for name in receiver_dims.names)
    if closed is None or annotated or not receiver_dims.complete:
        return computed
    return closed.rename(receiver_dims.names)
