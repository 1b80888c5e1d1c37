"""pytest: its decorators return a test unchanged, ``fail`` and ``skip`` end it.

`evaluation.guards` reads marks of tests that fail, and contexts in which an error is expected.
"""

from __future__ import annotations

from namecheck.interpreter.domain.values import External, Partial, Value
from namecheck.interpreter.evaluation.frames import Call
from namecheck.interpreter.evaluation.interpreter import Interpreter
from namecheck.interpreter.models.registry import model, transparent

transparent("pytest.*")


@model("pytest.fail", "pytest.skip", open=True)
def leave(interpreter: Interpreter, call: Call) -> Value:
    """``pytest.fail(reason)`` raises an error that is no `Exception`, as ``sys.exit`` does."""
    interpreter.fail("SystemExit")


@model("pytest.raises", open=True)
def raises(interpreter: Interpreter, call: Call) -> Value:
    """``pytest.raises(error)``: a context, which a variable may keep."""
    return expecting(interpreter, "pytest.raises", call)


def expecting(interpreter: Interpreter, path: str, call: Call) -> Value:
    """A context in which an error is expected; given a function, it calls that instead."""
    callee = External(path)
    if call.arguments.open or len(call.args) > 1:
        return interpreter.call_unknown(callee, path.rpartition(".")[2], call)
    return Partial(callee, tuple(call.args), tuple(call.kwargs.items()))
