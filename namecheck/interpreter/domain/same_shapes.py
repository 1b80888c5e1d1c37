"""Tensors whose dims are those of an operand: ``norm(x)`` has the dims of ``x``.

Where the sizes of one are read, the dims of the operand get the names, too: the function that reads
them has been given a norm of what its caller adds its result to.
"""

from __future__ import annotations

import enum
from typing import Final, TypeAlias

from namecheck.core.dataclasses import replace
from namecheck.core.dims import ANY_DIM, Dims, covers_dims, of_rank
from namecheck.core.names import UNKNOWN
from namecheck.interpreter.domain import joins
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.tags import OBSERVED_SCOPE, tag_of, with_tag
from namecheck.interpreter.domain.values import TensorValue

# The tag of a content: the operands that it has its dims of.
_OPERANDS: Final = "operands of this shape"
# How many operands are kept, the nearest first.
_MOST: Final = 4


class Shared(enum.IntEnum):
    """What a result has of an operand: the number of dims, all but the last one, or all."""

    RANK = 0
    BUT_LAST = 1
    ALL = 2


# An operand, and what the result has of it.
_Shape: TypeAlias = tuple[TensorValue, Shared]


def is_vague(dims: Dims) -> bool:
    """Whether a reading of sizes may name a dim."""
    return dims.open or UNKNOWN in dims.names


def tied(
    outcome: TensorValue, operand_value: TensorValue, store: Store, kept: Shared
) -> TensorValue:
    """A new tensor that has dims of an operand."""
    further = tag_of(joins.held(operand_value, store).tags, _OPERANDS)
    bare = replace(
        operand_value.initial, tags=with_tag(operand_value.initial.tags, _OPERANDS, None)
    )
    shapes: list[_Shape] = [(replace(operand_value, initial=bare), kept)]
    for other, of_other in further if isinstance(further, tuple) else ():
        shapes.append((other, min(of_other, kept)))
    content = joins.held(outcome, store)
    told = replace(content, tags=with_tag(content.tags, _OPERANDS, tuple(shapes[:_MOST])))
    if content is not outcome.initial:
        joins.write(outcome, store, told)  # its dims have got names since it was made
    return replace(outcome, initial=told)


def tell(tensor_value: TensorValue, store: Store) -> None:
    """Write the dims of a tensor whose sizes were read to the operands that it has them of."""
    content = joins.held(tensor_value, store)
    shapes = tag_of(content.tags, _OPERANDS)
    scope = tag_of(content.tags, OBSERVED_SCOPE)
    for operand, shared in shapes if isinstance(shapes, tuple) else ():
        own = joins.held(operand, store)
        old_dims = own.tensor.dims
        dims = _of_operand(content.tensor.dims, old_dims, shared)
        if dims == old_dims or not covers_dims(old_dims, dims):
            continue
        likely = own.tensor.likely if dims.open else None
        joins.write(
            operand,
            store,
            replace(
                own,
                tensor=replace(own.tensor, dims=dims, likely=likely),
                origins={**content.origins, **own.origins},
                tags=with_tag(own.tags, OBSERVED_SCOPE, scope),
            ),
        )


def _of_operand(dims: Dims, old_dims: Dims, kept: Shared) -> Dims:
    """The dims of an operand, as far as those of the result tell them."""
    if kept is Shared.ALL:
        return dims
    if kept is Shared.BUT_LAST:
        return _with_last(dims, old_dims)
    closed = None if dims.rank is None else of_rank(old_dims, dims.rank)
    return old_dims if closed is None else closed


def _with_last(dims: Dims, others: Dims) -> Dims:
    """The dims with the last one of others; the others where it is unknown which that is."""
    if dims.from_right(1) is None or (dims.open and not dims.suffix):
        return others
    return dims.replace(-1, others.from_right(1) or ANY_DIM)
