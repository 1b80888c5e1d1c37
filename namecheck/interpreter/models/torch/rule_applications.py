"""Applies rules to abstract operands: what they answer is cached, and what they cost is counted."""

from __future__ import annotations

from collections.abc import Hashable

from namecheck import operators
from namecheck.core.dtypes import Defaults
from namecheck.core.names import UNKNOWN
from namecheck.core.tensors import Tensor
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
        lowered_inputs = _with_first_operand(operator_call, lowered_inputs)
        meter = self._context.ledger.meter
        meter.spend(steps(lowered_inputs.args))
        key = self._key(operator_call, lowered_inputs, defaults)
        answer = self._context.inferences.get(key)
        if answer is None or id(answer) not in self._made:
            meter.spend(INFERENCE)
        if answer is None:
            answer = self._inferred(key, operator_call, lowered_inputs, defaults)
        self._made.add(id(answer))
        return answer

    def tried(
        self, operator_call: OperatorCall, lowered_inputs: Inputs, defaults: Defaults
    ) -> operators.Inference:
        """The same for operands that are only supposed, of which a call has few: free of steps."""
        lowered_inputs = _with_first_operand(operator_call, lowered_inputs)
        key = self._key(operator_call, lowered_inputs, defaults)
        answer = self._context.inferences.get(key)
        if answer is None:
            answer = self._inferred(key, operator_call, lowered_inputs, defaults)
        return answer

    def _inferred(
        self,
        key: Hashable,
        operator_call: OperatorCall,
        lowered_inputs: Inputs,
        defaults: Defaults,
    ) -> operators.Inference:
        """The result of `infer` for a key that has none; caches it."""
        context, (lowered, lowered_keywords) = self._context, lowered_inputs
        answer = context.inferences[key] = operators.infer(
            operator_call.operator,
            *lowered,
            semantics=context.semantics,
            rows=context.rows,
            defaults=defaults,
            out_is_input=operator_call.out_is_input,
            **lowered_keywords,
        )
        return answer

    def _key(
        self, operator_call: OperatorCall, lowered_inputs: Inputs, defaults: Defaults
    ) -> Hashable:
        lowered, lowered_keywords = lowered_inputs
        frozen_inputs = map(frozen, (lowered, tuple(lowered_keywords.items())))
        return (
            operator_call.operator,
            defaults,
            operator_call.out_is_input,
            *frozen_inputs,
        )


def _with_first_operand(operator_call: OperatorCall, lowered_inputs: Inputs) -> Inputs:
    """The arguments of a layer, of which the first one of the call itself is a tensor.

    Where nothing is known of it, `infer` could not tell it from an argument of the constructor.
    """
    row, begun, args = operator_call.row, operator_call.begun, lowered_inputs.args
    if row is None or not row.ctor or begun is None or len(args) <= begun.args:
        return lowered_inputs
    if args[begun.args] is not UNKNOWN or "tensor" not in row.signatures[0][0].kinds:
        return lowered_inputs
    return Inputs([*args[: begun.args], Tensor(), *args[begun.args + 1 :]], lowered_inputs.keywords)
