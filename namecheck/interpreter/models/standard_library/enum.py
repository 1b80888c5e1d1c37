"""enum: ``unique`` returns the class. `evaluation.classes` makes the members of enums."""

from __future__ import annotations

from namecheck.interpreter.domain.provenance import Result
from namecheck.interpreter.domain.values import Opaque, Value
from namecheck.interpreter.evaluation.frames import Call
from namecheck.interpreter.evaluation.interpreter import Interpreter
from namecheck.interpreter.models.registry import model, transparent

transparent("enum.unique")


@model("enum.auto")
def auto(interpreter: Interpreter, call: Call) -> Value:
    """``auto()``: the class makes its value."""
    return Opaque(Result("enum.auto", (interpreter.new_address(),)))
