"""Tells the recorder of an analysis which operators were applied, and to which operands."""

from __future__ import annotations

from namecheck import operators
from namecheck.core.names import UNKNOWN
from namecheck.interpreter.evaluation.observations import Application, Recorder
from namecheck.interpreter.models.torch.operands import Inputs, OperatorCall, is_sized


def record(
    recorder: Recorder,
    operator_call: OperatorCall,
    lowered_inputs: Inputs,
    answer: operators.Inference,
    *,
    is_informed: bool,
) -> None:
    """Tell the recorder of a call, and whether enough is known of it to contradict it."""
    tells = answer.contradiction is not None or answer.result is not UNKNOWN
    sized = all(map(is_sized, lowered_inputs.every))
    passed = answer.contradiction is None
    recorder.applied(operator_call.node, is_informed and tells, sized, passed=passed)
    application = Application(
        operator_call.operator,
        tuple(lowered_inputs.args),
        tuple(lowered_inputs.keywords.items()),
        answer.result,
        answer.contradiction,
        operator_call.begun,
    )
    recorder.application(operator_call.node, application)
