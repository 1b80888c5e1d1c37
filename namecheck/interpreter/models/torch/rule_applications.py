"""Applies rules to abstract operands: what they answer is cached, and what they cost is counted."""

from __future__ import annotations

from namecheck import operators
from namecheck.core.dtypes import Defaults
from namecheck.interpreter.domain.meter import INFERENCE
from namecheck.interpreter.evaluation.context import Context
from namecheck.interpreter.models.torch.conversion import steps
from namecheck.interpreter.models.torch.operands import Inputs, frozen


class RuleApplications:
    """The applications of rules in one file."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._made: set[int] = set()

    def infer(
        self, operator: str, lowered_inputs: Inputs, defaults: Defaults
    ) -> operators.Inference:
        """The cached result of `infer`: it depends on the abstract inputs alone.

        A result that another file has cached costs as much: files are judged in any order.
        """
        lowered, lowered_keywords = lowered_inputs
        key = (operator, defaults, *map(frozen, (lowered, tuple(lowered_keywords.items()))))
        context = self._context
        context.ledger.meter.spend(steps(lowered))
        answer = context.inferences.get(key)
        if answer is None or id(answer) not in self._made:
            context.ledger.meter.spend(INFERENCE)
        if answer is None:
            answer = context.inferences[key] = operators.infer(
                operator,
                *lowered,
                semantics=context.semantics,
                rows=context.rows,
                defaults=defaults,
                **lowered_keywords,
            )
        self._made.add(id(answer))
        return answer
