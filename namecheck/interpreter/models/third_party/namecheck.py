"""namecheck's own functions in the programs that it checks."""

from __future__ import annotations

from namecheck.core.tensors import Tensor
from namecheck.interpreter.domain.values import Value
from namecheck.interpreter.evaluation.frames import Call
from namecheck.interpreter.evaluation.interpreter import Interpreter
from namecheck.interpreter.models.registry import model, transparent

transparent("namecheck.checked", when_called=True)


@model("namecheck.reveal_names")
def reveal_names(interpreter: Interpreter, call: Call) -> Value:
    """``namecheck.reveal_names(x)`` adds a note with the inferred dims of a tensor."""
    value = call.argument(0)
    lowered = interpreter.torch.lower(value, call.store)
    text = lowered.brief() if isinstance(lowered, Tensor) else "?"
    interpreter.note("NC090", text or "a scalar, without dims", call.node)
    return value
