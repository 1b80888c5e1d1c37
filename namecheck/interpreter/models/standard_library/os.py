"""os: ``_exit`` leaves the program."""

from __future__ import annotations

from namecheck.interpreter.domain.values import Value
from namecheck.interpreter.evaluation.frames import Call
from namecheck.interpreter.evaluation.interpreter import Interpreter
from namecheck.interpreter.models.registry import model


@model("os._exit", open=True)
def exit_(interpreter: Interpreter, call: Call) -> Value:
    """``os._exit(status)``."""
    interpreter.fail("SystemExit")
