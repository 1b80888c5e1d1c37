"""Applies rules to abstract operands: what they answer is cached, and what they cost is counted."""

from __future__ import annotations

from namecheck import operators
from namecheck.core.dtypes import Defaults
from namecheck.interpreter.domain.meter import INFERENCE
from namecheck.interpreter.evaluation.context import Context
from namecheck.interpreter.models.torch.conversion import steps
from namecheck.interpreter.models.torch.operands import Inputs, OperatorCall, frozen


class RuleApplications:
    """The applications of rules in one file."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._made: set[int] = set()

    def infer(
        self, operator_call: OperatorCall, lowered_inputs: Inputs, defaults: Defaults
    ) -> operators.Inference:
        """The cached result of `infer`, which depends on its arguments alone.

        A result that another file has cached costs as much: files are judged in any order.
        """
        lowered, lowered_keywords = lowered_inputs
        operator, reuses = operator_call.operator, operator_call.out_is_input
        frozen_inputs = map(frozen, (lowered, tuple(lowered_keywords.items())))
        key = (operator, defaults, reuses, *frozen_inputs)
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
                out_is_input=reuses,
                **lowered_keywords,
            )
        self._made.add(id(answer))
        return answer
