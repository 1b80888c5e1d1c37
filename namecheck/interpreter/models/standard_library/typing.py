"""typing: casts, the note of ``reveal_type``, and ``assert_never``."""

from __future__ import annotations

from namecheck.interpreter.domain.values import Value
from namecheck.interpreter.evaluation.frames import Call
from namecheck.interpreter.evaluation.interpreter import Interpreter
from namecheck.interpreter.models.registry import model, transparent
from namecheck.interpreter.models.standard_library.builtins import functions

transparent("typing.*")


@model("typing.cast")
def cast(interpreter: Interpreter, call: Call) -> Value:
    """``typing.cast(type, value)``."""
    return call.argument(1)


@model("typing.reveal_type")
def reveal_type(interpreter: Interpreter, call: Call) -> Value:
    """``typing.reveal_type(value)``."""
    return functions.reveal_type(interpreter, call)


@model("typing.assert_never", open=True)
def assert_never(interpreter: Interpreter, call: Call) -> Value:
    """``typing.assert_never(value)``: raises an error, if it is called at all."""
    interpreter.fail("AssertionError")
