"""The result of reducing a dimension is aligned with another dimension of the same tensor.

`A.sum(1)` has one value for each row; `A / A.sum(1)` broadcasts them along the columns, because
broadcasting aligns the last dimensions. Where `A` is a square, both have the same size, so no error
is raised. `keepdim=True` keeps the rows in their place. Of a tensor that nothing names, the order
of its dimensions tells. Where a function aligns the sums with the rows as well, the matrix is
symmetric: `A / d / d[:, None]`; so is the product of a matrix with its own transpose.

Bad:

    from typing import Annotated

    from torch import Tensor


    def normalise(adjacency: Annotated[Tensor, "nodes nodes"]) -> Annotated[Tensor, "nodes nodes"]:
        return adjacency / adjacency.sum(1)

Good:

    from typing import Annotated

    from torch import Tensor


    def normalise(adjacency: Annotated[Tensor, "nodes nodes"]) -> Annotated[Tensor, "nodes nodes"]:
        return adjacency / adjacency.sum(1, keepdim=True)
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Final

from namecheck.core.dataclasses import dataclass, replace
from namecheck.core.dims import Dims
from namecheck.core.findings import Finding, Place
from namecheck.core.names import UNKNOWN, Answer, Name, show_name, word
from namecheck.core.syntax import Source
from namecheck.interpreter.domain.values import TupleValue, Value
from namecheck.interpreter.evaluation.events import Applied, Listener, TensorOperand
from namecheck.lints.shared import following, subscripts
from namecheck.lints.shared.doubts import Doubts
from namecheck.lints.shared.following import PRODUCTS
from namecheck.lints.shared.subscripts import SUBSCRIPTS

CODE: Final = "NC602"

_PASSING: Final = ("turns", "bounds", "scales", "carries", "indexes")


# Operators whose second argument is no dim.
_BY_KEYWORD: Final = ("norm", "linalg.norm", "linalg.vector_norm")


# Operators that change the elements of a tensor, and none of its dims.
_ELEMENTWISE: Final = frozenset(
    {"abs", "clone", "contiguous", "detach", "double", "exp", "float", "half", "log", "sqrt", "to"}
)

# The key of the tags of symmetric matrices, the products of a matrix with its own transpose.
_SYMMETRIC: Final = "symmetric"
_PRODUCTS: Final = (*PRODUCTS, "mm", "linalg.matmul")
_OF_LAST_TWO: Final = ("T", "t", "mT", "H", "mH", "adjoint")
_EXCHANGING: Final = ("transpose", "swapaxes", "swapdims")
# The two dims of a matrix, from the right.
_ROWS: Final = -2
_COLUMNS: Final = -1


@dataclass(frozen=True, slots=True)
class Shrunk:
    """The tag of a tensor without some of its dims, which are not its first ones.

    `source` is the tensor that it was reduced from, `missing` the indices of these dims.
    """

    source: Hashable
    missing: tuple[int, ...]
    place: Place


@dataclass(frozen=True, slots=True)
class Reduced:
    """The tag of a square with one dim reduced: the name of the other dim, and the call."""

    name: Name
    place: Place


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


class Lint(Listener):
    """Follows the row sums of a tensor to the place where they are broadcast.

    Source: docs/semantics.md, "Findings and lints".
    """

    def __init__(self) -> None:
        self._doubts: Doubts[Place] = Doubts()

    def on_apply(self, applied: Applied, result: Value) -> Value:
        """Check a difference or a quotient, and tag the result of reducing dims."""
        if applied.flow is None and applied.operator not in _ELEMENTWISE:
            return result
        if applied.flow == "divides":
            self._check_square(applied)
            self._check_shrunk(applied)
        result = following.tagged(result, _SYMMETRIC, _tag_of_symmetry(applied))
        if applied.flow in ("reduces", "selects") and any(map(_is_symmetric, applied.operands[:1])):
            return result
        reduced = _reduced_of_result(applied) or _shrunk_of_result(applied)
        if applied.flow == "selects" and isinstance(result, TupleValue):
            values, *indices = result.items
            return replace(result, items=(following.tagged(values, CODE, reduced), *indices))
        return following.tagged(result, CODE, reduced)

    def findings(self, source: Source) -> Iterable[Finding]:
        """The tensors along whose columns the row sums lie."""
        return self._doubts.findings()

    def _check_square(self, applied: Applied) -> None:
        operands = applied.operands
        if len(operands) != 2:
            return
        square, divisor = operands[0].dims, operands[1]
        dims, reduced = divisor.dims, _reduced(divisor)
        if reduced is None or dims.open or square.open:
            return
        for offset in range(1, len(dims.prefix) + 1):
            mine, its = dims.from_right(offset), square.from_right(offset)
            if mine is None or its is None or mine.name != reduced.name:
                continue
            twice = sum(word(name) == word(reduced.name) for name in square.names) == 2
            across = following.is_other(its.name, reduced.name)
            if twice and across and word(its.name) == word(reduced.name) and not applied.silent:
                finding = applied.finding(
                    CODE,
                    f"The result of reducing one dim {show_name(reduced.name)} of {square.show()} "
                    "is aligned with the reduced dim instead of the other one.",
                    "Keep the dim with `keepdim=True`.",
                    (reduced.place,),
                )
                self._add(applied, reduced.place, finding)

    def _check_shrunk(self, applied: Applied) -> None:
        """Report ``x - x.mean(1)`` and ``x.amax(1) - x``: the batch meets the last dim."""
        if len(applied.operands) != 2 or applied.silent:
            return
        first, second = applied.operands
        for whole, other in ((first, second), (second, first)):
            shrunk = other.tag(CODE)
            if isinstance(shrunk, Shrunk) and shrunk.source == whole.value.address:
                self._report_shrunk(applied, whole, shrunk)

    def _report_shrunk(self, applied: Applied, unreduced: TensorOperand, shrunk: Shrunk) -> None:
        counted = ", ".join(map(str, shrunk.missing))
        reduced = f"dim{'s' * (len(shrunk.missing) > 1)} {counted}"
        tensor = f" of {unreduced.dims.show()}" if unreduced.dims.named() is Answer.YES else ""
        finding = applied.finding(
            CODE,
            f"The result of reducing {reduced}{tensor} is aligned with the last dims of the same "
            "tensor: it is right only if these have the sizes of those that are left.",
            "Keep the dim with `keepdim=True`.",
            (shrunk.place,),
        )
        self._add(applied, shrunk.place, finding)

    def _add(self, applied: Applied, place: Place, finding: Finding) -> None:
        from namecheck.interpreter.evaluation import both_ways  # for a rare finding

        if not both_ways.is_in(applied.source, applied.node):
            self._doubts.add(place, finding)


def _shrunk_of_result(applied: Applied) -> Shrunk | None:
    """The tag of the result of a reduction, or of a result that has its dims."""
    if not applied.operands:
        return None
    flow, first = applied.flow, applied.operands[0]
    if flow in ("reduces", "selects"):
        missing = _missing(applied, first.dims)
        if not missing:
            return None
        place = applied.place(f"dim {missing[0]} is reduced here")
        return Shrunk(first.value.address, missing, place)
    tag = first.tag(CODE)
    keeps = flow == "bounds" or (flow == "scales" and following.is_scaled(applied))
    keeps |= applied.operator in _ELEMENTWISE
    return tag if isinstance(tag, Shrunk) and keeps else None


def _missing(applied: Applied, dims: Dims) -> tuple[int, ...]:
    """The dims that a reduction leaves out, if the rest cannot be aligned with the tensor.

    They are counted as the code counts them. What is left of the dims but the first ones keeps its
    place from the right.
    """
    inputs = applied.inputs
    argument = applied.keywords.get("dim", inputs[1] if len(inputs) == 2 else None)
    if "dim" not in applied.keywords and applied.operator in _BY_KEYWORD:
        return ()
    each = argument if isinstance(argument, (tuple, list)) else [argument]
    places = [dim for dim in each if type(dim) is int]
    if not places or len(places) < len(each) or applied.keywords.get("keepdim", False) is not False:
        return ()
    # A tensor has at least as many dims as are known, and as its indices show.
    rank = max(dims.min_rank, *(dim + 1 if dim >= 0 else -dim for dim in places))
    counted = sorted(dim if dim >= 0 else dim + rank for dim in places)
    one_way = dims.rank is not None or len({dim < 0 for dim in places}) == 1
    if not one_way or counted == list(range(len(counted))) or len(counted) == dims.rank:
        return ()
    kept = [dim for place, dim in enumerate(dims.prefix) if place not in counted]
    return () if 1 in [dim.size for dim in kept] else tuple(places)


def _reduced(tensor_operand: TensorOperand) -> Reduced | None:
    tag = tensor_operand.tag(CODE)
    return tag if isinstance(tag, Reduced) else None


def _reduced_of_result(applied: Applied) -> Reduced | None:
    """The tag of an operator's result, from its first operand."""
    if not applied.operands:
        return None
    flow, first = applied.flow, applied.operands[0]
    if flow in ("reduces", "selects"):
        dims = first.dims
        name = following.name_at(dims, following.dim_argument(applied))
        if name in (None, UNKNOWN) or applied.keywords.get("keepdim"):
            return None
        others = [other for other in dims.names if other != name and word(other) == word(name)]
        if len(others) != 1:
            return None
        return Reduced(others[0], applied.place(f"{show_name(name)} is reduced here"))
    reduced = _reduced(first) if flow in _PASSING else None
    if reduced is None:
        return None
    if flow == "scales":
        return reduced if following.is_scaled(applied) else None
    return reduced if flow in ("turns", "bounds") or following.keeps_dims(applied) else None


def _is_symmetric(tensor_operand: TensorOperand) -> bool:
    """Whether an operand is symmetric by construction."""
    return isinstance(tensor_operand.tag(_SYMMETRIC), _Symmetric)


def _tag_of_symmetry(applied: Applied) -> _Factor | _Symmetric | None:
    flow, operands = applied.flow, applied.operands
    if not operands:
        return None
    if flow == "contracts":
        return _Symmetric() if _is_gram(applied) else None
    if flow == "scales" and not following.is_scaled(applied):
        return _weighted(applied)
    first = operands[0]
    if _is_symmetric(first):
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
    tag = tensor_operand.tag(_SYMMETRIC)
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
    if len(applied.operands) != 2:  # a method of this name with more arguments is none of torch
        return None
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
