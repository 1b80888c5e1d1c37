"""Products of a matrix with its own transpose, which are symmetric: ``a.T @ a``, ``x @ x.mT``.

So are those of a matrix whose contracted dim is weighted: ``(p * w[:, None]).T @ p``.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final

from namecheck.core.dataclasses import dataclass, replace
from namecheck.core.dims import Dims
from namecheck.interpreter.domain.values import Value
from namecheck.interpreter.evaluation.events import Applied, TensorOperand
from namecheck.lints.shared import following, subscripts
from namecheck.lints.shared.following import PRODUCTS
from namecheck.lints.shared.subscripts import SUBSCRIPTS

_KEY: Final = "symmetric"
_PRODUCTS: Final = (*PRODUCTS, "mm", "linalg.matmul")
_OF_LAST_TWO: Final = ("T", "t", "mT", "H", "mH", "adjoint")
_EXCHANGING: Final = ("transpose", "swapaxes", "swapdims")
# The two dims of a matrix, from the right.
_ROWS: Final = -2
_COLUMNS: Final = -1


@dataclass(frozen=True, slots=True)
class _Factor:
    """The tag of a matrix that was transposed, or weighted along dims of its own."""

    source: Hashable
    turned: bool = False
    weighted: frozenset[int] = frozenset()

    def dim_of_source(self, place: int) -> int:
        """The place in the source of one of the last two dims, from the right."""
        return _ROWS + _COLUMNS - place if self.turned else place


@dataclass(frozen=True, slots=True)
class _Symmetric:
    """The tag of a symmetric matrix."""


def tagged(applied: Applied, result: Value) -> Value:
    """A result with the tag of a symmetric matrix, or of a factor of one."""
    return following.tagged(result, _KEY, _tag_of_result(applied))


def is_symmetric(tensor_operand: TensorOperand) -> bool:
    """Whether an operand is symmetric by construction."""
    return isinstance(tensor_operand.tag(_KEY), _Symmetric)


def _tag_of_result(applied: Applied) -> _Factor | _Symmetric | None:
    flow, operands = applied.flow, applied.operands
    if not operands:
        return None
    if flow == "contracts":
        return _Symmetric() if _is_gram(applied) else None
    if flow == "scales" and not following.is_scaled(applied):
        return _weighted(applied)
    first = operands[0]
    if is_symmetric(first):
        alone = flow == "bounds" or (
            flow in ("scales", "divides", "meets") and following.is_scaled(applied)
        )
        kept = alone or (flow == "carries" and not applied.operator.startswith("unsqueeze"))
        return _Symmetric() if kept or flow is None else None
    if flow != "turns" or not _exchanges_last_two(applied):
        return None
    factor = _factor(first)
    return replace(factor, turned=not factor.turned)


def _factor(tensor_operand: TensorOperand) -> _Factor:
    tag = tensor_operand.tag(_KEY)
    return tag if isinstance(tag, _Factor) else _Factor(tensor_operand.value.address)


def _exchanges_last_two(applied: Applied) -> bool:
    rank = applied.operands[0].dims.rank
    if applied.operator in _OF_LAST_TWO or rank == 2:
        return True
    exchanged = [each for each in applied.inputs[1:] if type(each) is int]
    from_right = {each - (rank or 0) if each >= 0 else each for each in exchanged}
    return applied.operator in _EXCHANGING and from_right == {_ROWS, _COLUMNS}


def _weighted(applied: Applied) -> _Factor | None:
    """The tag of a matrix that a vector weighs along one of its dims."""
    if len(applied.operands) == 1:
        return _weighted_by_unknown(applied)
    for matrix, weights in (applied.operands, applied.operands[::-1]):
        place = _only_dim(weights.dims)
        if place is not None and _only_dim(matrix.dims) is None:
            factor = _factor(matrix)
            return replace(factor, weighted=factor.weighted | {factor.dim_of_source(place)})
    return None


def _weighted_by_unknown(applied: Applied) -> _Factor | None:
    """The tag of a matrix whose rows something unknown weighs: ``p * w[:, None]``."""
    from namecheck.interpreter.evaluation import both_ways  # where nothing is known of a factor

    operands = both_ways.operands_of(applied.node)
    matrix = applied.operands[0]
    if len(operands) != 2 or both_ways.widened(operands[1 - matrix.position]) is None:
        return None
    factor = _factor(matrix)
    return replace(factor, weighted=factor.weighted | {factor.dim_of_source(_ROWS)})


def _only_dim(dims: Dims) -> int | None:
    """The one of the last two dims along which the elements of a tensor differ, if it is one."""
    last, before = dims.from_right(1), dims.from_right(2)
    if last is not None and last.size == 1 and before is not None:
        return _ROWS
    alone = dims.rank == 1 or (before is not None and before.size == 1)
    return _COLUMNS if alone else None


def _is_gram(applied: Applied) -> bool:
    if applied.operator in SUBSCRIPTS:
        return _is_gram_of_letters(applied)
    if applied.operator not in _PRODUCTS or len(applied.operands) != 2:
        return False
    left, right = map(_factor, applied.operands)
    if left.source == right.source:
        contracted = left.dim_of_source(_COLUMNS)
        return left.turned != right.turned and {*left.weighted, *right.weighted} <= {contracted}
    from namecheck.interpreter.evaluation import repeated_factors  # not where tensors tell it

    return repeated_factors.is_of_transpose(applied.node)


def _is_gram_of_letters(applied: Applied) -> bool:
    """Whether an equation exchanges its operands with its last two letters: ``"ni,nj->ij"``."""
    spelt, operands = subscripts.of(applied), applied.operands
    if spelt is None or len(spelt.result) < 2 or len(spelt.operands) != len(operands):
        return False
    one, other = spelt.result[-2:]
    exchanged = {one: other, other: one}
    terms = [
        (_factor(operand), tuple(spelt.operands[index])) for index, operand in enumerate(operands)
    ]
    turned = [(factor, tuple(exchanged.get(each, each) for each in term)) for factor, term in terms]
    is_same = sorted(map(hash, terms)) == sorted(map(hash, turned))
    return is_same and all(not factor.weighted for factor, _ in terms)
