"""The result of reducing one dimension of a square is aligned with the reduced dimension.

`A.sum(1)` of a square `A` has one value for each row; `A / A.sum(1)` broadcasts them along the
columns, because broadcasting aligns the last dimensions. Both have the same size, so no error is
raised. `keepdim=True` keeps the rows in their place.

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

from collections.abc import Iterable
from typing import Final

from namecheck.core.dataclasses import dataclass, replace
from namecheck.core.findings import Finding, Place
from namecheck.core.names import UNKNOWN, Name, show_name, word
from namecheck.core.syntax import Source
from namecheck.interpreter.domain.values import TupleValue, Value
from namecheck.interpreter.evaluation.events import Applied, Listener, TensorOperand
from namecheck.lints.shared import following
from namecheck.lints.shared.doubts import Doubts

CODE: Final = "NC602"

_PASSING: Final = ("turns", "bounds", "scales", "carries", "indexes")


@dataclass(frozen=True, slots=True)
class Reduced:
    """The tag of a square with one dim reduced: the name of the other dim, and the call."""

    name: Name
    place: Place


class Lint(Listener):
    """Follows the row sums of a square to the place where they are broadcast.

    Source: docs/semantics.md, "Findings and lints".
    """

    def __init__(self) -> None:
        self._doubts: Doubts[Place] = Doubts()

    def on_apply(self, applied: Applied, result: Value) -> Value:
        """Check the division of a square, and tag the result of reducing one dim of a square."""
        if applied.flow is None:
            return result
        if applied.flow == "divides":
            self._check_square(applied)
        reduced = _reduced_of_result(applied)
        if applied.flow == "selects" and isinstance(result, TupleValue):
            values, *indices = result.items
            return replace(result, items=(following.tagged(values, CODE, reduced), *indices))
        return following.tagged(result, CODE, reduced)

    def findings(self, source: Source) -> Iterable[Finding]:
        """The squares along whose columns the row sums lie."""
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
                self._doubts.add(reduced.place, finding)


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
