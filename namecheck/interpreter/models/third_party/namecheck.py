"""namecheck's own functions in the programs that it checks."""

from __future__ import annotations

from namecheck.interpreter.domain.values import Value
from namecheck.interpreter.evaluation.frames import Call
from namecheck.interpreter.evaluation.interpreter import Interpreter
from namecheck.interpreter.models.registry import model, transparent

transparent("namecheck.checked", when_called=True)


@model("namecheck.reveal_names")
def reveal_names(interpreter: Interpreter, call: Call) -> Value:
    """``namecheck.reveal_names(x)`` notes what is known of the dims of a tensor."""
    return interpreter.libraries.builtins.reveal_names(call)
