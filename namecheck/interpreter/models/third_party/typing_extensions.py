"""typing_extensions: what newer versions of typing have."""

from __future__ import annotations

from namecheck.interpreter.domain.values import Value
from namecheck.interpreter.evaluation.frames import Call
from namecheck.interpreter.evaluation.interpreter import Interpreter
from namecheck.interpreter.models.registry import model
from namecheck.interpreter.models.standard_library import typing
from namecheck.interpreter.models.standard_library.builtins import functions


@model("typing_extensions.reveal_type")
def reveal_type(interpreter: Interpreter, call: Call) -> Value:
    """``typing_extensions.reveal_type(value)``."""
    return functions.reveal_type(interpreter, call)


@model("typing_extensions.assert_never", open=True)
def assert_never(interpreter: Interpreter, call: Call) -> Value:
    """``typing_extensions.assert_never(value)``."""
    return typing.assert_never(interpreter, call)
