"""Parametrizations: torch computes a weight anew where it is read (``torch.nn.utils``)."""

from __future__ import annotations

from namecheck.interpreter.domain.values import FALSE, Const, External, Value
from namecheck.interpreter.evaluation.frames import Call
from namecheck.interpreter.evaluation.interpreter import Interpreter
from namecheck.interpreter.models.registry import model

_PATH = "torch.nn.utils.parametrize.register_parametrization"


@model(_PATH)
def register_parametrization(interpreter: Interpreter, call: Call) -> Value:
    """``register_parametrization(module, "weight", p)``: an unsafe one may change its sizes."""
    module, name = call.argument(0, "module"), call.argument(1, "tensor_name")
    unsafe = call.argument(3, "unsafe", FALSE)
    result = interpreter.call_unknown(External(_PATH), "register_parametrization", call)
    if unsafe != FALSE and isinstance(name, Const):
        interpreter.set_attribute(module, name, interpreter.fresh("parametrized"), call.store)
    return result
