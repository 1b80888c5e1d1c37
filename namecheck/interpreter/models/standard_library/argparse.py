"""argparse: namespaces."""

from __future__ import annotations

from namecheck.interpreter.domain.values import Value
from namecheck.interpreter.evaluation.frames import Call
from namecheck.interpreter.evaluation.interpreter import Interpreter
from namecheck.interpreter.models.registry import model
from namecheck.interpreter.models.standard_library import types


@model("argparse.Namespace")
def namespace(interpreter: Interpreter, call: Call) -> Value:
    """``argparse.Namespace(name=value)``."""
    return types.namespace(interpreter, call.kwargs, call.store)
