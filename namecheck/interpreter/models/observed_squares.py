"""Squares: what a call takes, or is repeated with, only where two sides of a tensor have one size.

A matrix that has an inverse is a square, and so is one that is multiplied by itself, where nothing
but the letters of a pattern tells its sides apart. So is a matrix that a loop multiplies a tensor
by, round for round: the tensor keeps its dims. A tensor has two sides of one size where a letter of
an equation stands for both, and where a square is laid on both: ``maps + torch.eye(rows)``. The
sums of a square along one side meet those along the other one, and three views of a volume are put
together where it is a cube.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations, permutations, product
from typing import Any, Final, TypeAlias

from namecheck.core import names as naming
from namecheck.core.dims import Dim, Dims, Size, are_apart, new_dim
from namecheck.core.dims import product as multiplied
from namecheck.core.names import Axis
from namecheck.core.sizes import Expression
from namecheck.core.tensors import Tensor
from namecheck.interpreter.domain import equalities
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.evaluation import crossed_reductions, repeated_factors
from namecheck.interpreter.evaluation.interpreter import Interpreter
from namecheck.interpreter.models.torch.operands import Inputs, OperatorCall
from namecheck.rules.broadcasting import has_words
from namecheck.rules.einsum import diagonals
from namecheck.rules.registry import traits_of

Sides: TypeAlias = tuple[Dim, Dim]

# The rules of two tensors that must have the same dims, beside those that broadcast.
_MATCHING: Final = frozenset(
    {
        *("agrees", "compares_alike", "masked_fill", "masked_fill_in_place", "masked_scatter"),
        *("masked_select", "unifies_names_of_inputs_to_scalar", "unifies_to_scalar_p"),
    }
)
# Those of a tensor and an index, which may be a mask.
_INDEXING: Final = frozenset({"assigning", "indexing"})
# Those of the products of two vectors.
_OF_VECTORS: Final = frozenset({"dot", "matmul"})
# From so many sides a cube is seen.
_VIEWS: Final = 3
# Those that put the tensors of a list together.
_JOINING: Final = frozenset({"cat", "dstack", "hstack", "stack", "vstack"})


def learn(interpreter: Interpreter, operator_call: OperatorCall, lowered_inputs: Inputs) -> bool:
    """Learn which sides are equal if a call is right; returns whether any are."""
    sides_found = [
        (one, other)
        for one, other in _sides(operator_call, lowered_inputs)
        if has_words(one) and has_words(other) and one.size != other.size
    ]
    for sides in sides_found:
        equate(interpreter, sides, operator_call.store)
    return bool(sides_found)


def equate(interpreter: Interpreter, sides: Sides, store: Store) -> None:
    """Learn that two dims of one tensor have one size, now and for what was found before."""
    one, other = (side.size for side in sides)
    if isinstance(one, Expression) and isinstance(other, Expression):
        equalities.equate(one, other, store)
        interpreter.findings.judged.equate(one, other)


def _sides(operator_call: OperatorCall, lowered_inputs: Inputs) -> Iterator[Sides]:
    """The dims that have one size, as the call itself says."""
    row, lowered = operator_call.row, lowered_inputs.args
    if row is None or not lowered:
        return
    if traits_of(row.names).square:
        yield from _last_two(lowered[0])
    elif traits_of(row.names).aligns == "broadcast" or row.names in _MATCHING:
        yield from _beneath_squares(lowered_inputs.every)
        yield from _of_kronecker_sum(lowered_inputs.every)
        yield from _of_crossed_reductions(operator_call, lowered_inputs.every)
    elif row.names in _INDEXING and _is_mask(lowered[1]):
        yield from _beneath_squares(lowered[:2])
    elif row.names in _JOINING:
        yield from _of_views(_flat(lowered))
        yield from _of_crossed_reductions(operator_call, _flat(lowered))
    elif row.names == "einsum" and isinstance(lowered[0], str):
        yield from diagonals(lowered[0], _flat(lowered[1:]))
    elif row.flow == "contracts" and len(lowered) == 2:
        yield from _of_product(operator_call, lowered)
    if row.names in _OF_VECTORS and all(_is_vector(each) for each in lowered):
        yield from _of_crossed_reductions(operator_call, lowered)


def _of_product(operator_call: OperatorCall, lowered: Sequence[Any]) -> Iterator[Sides]:
    """The sides of a matrix that is multiplied by itself, in each round of a loop, or both ways."""
    one, other = operator_call.args
    node, scope = operator_call.node, operator_call.frame.environment.scope
    if one == other:
        for rows, columns in _last_two(lowered[0]):
            if _is_of_letter(rows) and _is_of_letter(columns):
                yield rows, columns
    if any(map(_has_two_words, lowered)):  # the loops of a function are long to search
        index = repeated_factors.repeated_matrix(node, scope)
        if index is not None:
            yield from _last_two(lowered[index])
    if repeated_factors.is_around(node) and all(isinstance(each, Tensor) for each in lowered):
        dims, met_dims = (each.dims for each in lowered)
        last, met = dims.from_right(1), met_dims.from_right(2) or met_dims.from_right(1)
        if last is not None and met is not None:
            yield last, met


def _beneath_squares(lowered_operands: Sequence[Any]) -> Iterator[Sides]:
    """The last two dims of a tensor that a square is laid on, of which one has its size.

    The batch is no side. A tensor that has the size at another place, too, may be turned wrongly.
    """
    every = [operand.dims for operand in lowered_operands if isinstance(operand, Tensor)]
    for square, dims in permutations(every, 2):
        for row, column in _last_two_of(square):
            if row.size != column.size or not isinstance(row.size, Expression):
                continue
            for one, other in _last_two_of(dims):
                is_side = row.size in (one.size, other.size) and dims.sizes.count(row.size) == 1
                if is_side and are_apart(one.size, other.size) and not _have_batch(one, other):
                    yield one, other


def _of_crossed_reductions(
    operator_call: OperatorCall, lowered_operands: Sequence[Any]
) -> Iterator[Sides]:
    """The sides of a matrix whose sums along the one meet those along the other.

    The batch is no side.
    """
    node, scope = operator_call.node, operator_call.frame.environment.scope
    every = [(n, each.dims) for n, each in enumerate(lowered_operands) if isinstance(each, Tensor)]
    for (index, dims), (other_index, other_dims) in combinations(every, 2):
        one, other = dims.from_right(1), other_dims.from_right(1)
        if one is None or other is None or one.size == other.size or _have_batch(one, other):
            continue
        rank = dims.rank if has_words(one) and has_words(other) else None
        if rank is None or rank != other_dims.rank:
            continue
        if crossed_reductions.cross(node, scope, index, other_index, rank + 1):
            yield one, other


def _of_views(views: Sequence[Any]) -> Iterator[Sides]:
    """The sides of a volume whose views from three sides are put together.

    The views have three of its sides, or two of three, in an order of their own each.
    """
    rows = [operand.dims.prefix for operand in views if isinstance(operand, Tensor)]
    if len({tuple(map(_word, row)) for row in rows}) < _VIEWS or len(set(map(len, rows))) > 1:
        return
    columns = [[dim for dim in column if _word(dim)] for column in zip(*rows, strict=True)]
    differing = [column for column in columns if len(set(map(_word, column))) > 1]
    met = Counter(word for column in differing for word in set(map(_word, column)))
    if len(met) == _VIEWS and max(met.values()) > 1:
        for first, *others in differing:
            yield from ((first, other) for other in others)


def _word(dim: Dim) -> str:
    """The word of a dim: letters of several patterns may be the same."""
    return naming.bare(dim.name.name) if isinstance(dim.name, Axis) else ""


def _of_kronecker_sum(lowered_operands: Sequence[Any]) -> Iterator[Sides]:
    """The sides of a matrix in ``kron(eye(n), a) + kron(a, eye(m))``: [n*n, n*m] and [n*m, m*m]."""
    every = [operand.dims for operand in lowered_operands if isinstance(operand, Tensor)]
    for one, other in permutations(every, 2):
        for (first, middle), (met, last) in product(_last_two_of(one), _last_two_of(other)):
            if middle.size != met.size or not all(map(has_words, (first, middle, last))):
                continue
            if multiplied((first.size, last.size)) == multiplied((middle.size, met.size)):
                yield _without_common(first, middle)


def _without_common(*merged_dims: Dim) -> Sides:
    """Two products of sizes without their common factors."""
    factors = [Counter(_factors(dim)) for dim in merged_dims]
    common = factors[0] & factors[1]
    rests = [multiplied((each - common).elements()) for each in factors]
    return new_dim(rests[0]), new_dim(rests[1])


def _factors(dim: Dim) -> Iterator[Size]:
    for monomial, _ in dim.size.terms if isinstance(dim.size, Expression) else ():
        yield from (Expression((((atom,), 1),)) for atom in monomial)


def _has_two_words(lowered: Any) -> bool:
    """Whether the last two dims of a tensor have two words."""
    return any(
        has_words(one) and has_words(other) and one.size != other.size
        for one, other in _last_two(lowered)
    )


def _last_two(lowered: Any) -> Iterator[Sides]:
    return _last_two_of(lowered.dims) if isinstance(lowered, Tensor) else iter(())


def _last_two_of(dims: Dims) -> Iterator[Sides]:
    rows, columns = dims.from_right(2), dims.from_right(1)
    if rows is not None and columns is not None:
        yield rows, columns


def _flat(lowered: Sequence[Any]) -> list[Any]:
    """The operands of an equation, which may be passed as a list."""
    return list(lowered[0]) if lowered and isinstance(lowered[0], (list, tuple)) else list(lowered)


def _is_vector(lowered: Any) -> bool:
    return isinstance(lowered, Tensor) and lowered.dims.rank == 1


def _is_mask(index: Any) -> bool:
    return isinstance(index, Tensor) and index.dtype == "bool"


def _have_batch(*sides: Dim) -> bool:
    return any(isinstance(d.name, Axis) and naming.is_batch(d.name.name) for d in sides)


def _is_of_letter(dim: Dim) -> bool:
    return isinstance(dim.name, Axis) and naming.is_letter(dim.name.name)
