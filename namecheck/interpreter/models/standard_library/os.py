"""os: ``_exit`` and ``abort`` leave the program."""

from __future__ import annotations

from namecheck.interpreter.domain.values import Value
from namecheck.interpreter.evaluation.frames import Call
from namecheck.interpreter.evaluation.interpreter import Interpreter
from namecheck.interpreter.models.registry import model


@model("os._exit", "os.abort", open=True)
def exit_(interpreter: Interpreter, call: Call) -> Value:
    """``os._exit(status)``, ``os.abort()``."""
    interpreter.fail("SystemExit")
