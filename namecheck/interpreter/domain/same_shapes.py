"""Tensors whose dims are those of an operand: ``norm(x)`` has the dims of ``x``.

Where the sizes of one are read, the dims of the operand get the names, too: the function that reads
them has been given a norm of what its caller adds its result to.
"""

from __future__ import annotations

from typing import Final, TypeAlias

from namecheck.core.dataclasses import replace
from namecheck.core.dims import ANY_DIM, Dims, covers_dims
from namecheck.core.names import UNKNOWN
from namecheck.interpreter.domain import joins
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.tags import OBSERVED_SCOPE, tag_of, with_tag
from namecheck.interpreter.domain.values import TensorValue

# The tag of a content: the operands that it has its dims of.
_OPERANDS: Final = "operands of this shape"
# How many operands are kept, the nearest first.
_MOST: Final = 4

# An operand, and whether its last dim is that of the result, too.
_Shape: TypeAlias = tuple[TensorValue, bool]


def is_vague(dims: Dims) -> bool:
    """Whether a reading of sizes may name a dim."""
    return dims.open or UNKNOWN in dims.names


def tied(
    outcome: TensorValue, operand_value: TensorValue, store: Store, *, has_last: bool
) -> TensorValue:
    """A new tensor that has the dims of an operand, but for the last one unless it `has_last`."""
    further = tag_of(joins.held(operand_value, store).tags, _OPERANDS)
    bare = replace(
        operand_value.initial, tags=with_tag(operand_value.initial.tags, _OPERANDS, None)
    )
    shapes: list[_Shape] = [(replace(operand_value, initial=bare), has_last)]
    for other, same_last in further if isinstance(further, tuple) else ():
        shapes.append((other, same_last and has_last))
    tags = with_tag(outcome.initial.tags, _OPERANDS, tuple(shapes[:_MOST]))
    return replace(outcome, initial=replace(outcome.initial, tags=tags))


def tell(tensor_value: TensorValue, store: Store) -> None:
    """Write the dims of a tensor whose sizes were read to the operands that it has them of."""
    content = joins.held(tensor_value, store)
    shapes = tag_of(content.tags, _OPERANDS)
    scope = tag_of(content.tags, OBSERVED_SCOPE)
    for operand, has_last in shapes if isinstance(shapes, tuple) else ():
        own = joins.held(operand, store)
        old_dims, dims = own.tensor.dims, content.tensor.dims
        if not has_last:
            dims = _with_last(dims, old_dims)
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


def _with_last(dims: Dims, others: Dims) -> Dims:
    """The dims with the last one of others; the others where it is unknown which that is."""
    if dims.from_right(1) is None or (dims.open and not dims.suffix):
        return others
    return dims.replace(-1, others.from_right(1) or ANY_DIM)
