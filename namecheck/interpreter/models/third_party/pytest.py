"""pytest: its decorators return a test unchanged, ``fail`` and ``skip`` end it."""

from __future__ import annotations

from namecheck.interpreter.domain.values import Value
from namecheck.interpreter.evaluation.frames import Call
from namecheck.interpreter.evaluation.interpreter import Interpreter
from namecheck.interpreter.models.registry import model, transparent

transparent("pytest.*")


@model("pytest.fail", "pytest.skip", open=True)
def leave(interpreter: Interpreter, call: Call) -> Value:
    """``pytest.fail(reason)`` raises an error that is no `Exception`, as ``sys.exit`` does."""
    interpreter.fail("SystemExit")
