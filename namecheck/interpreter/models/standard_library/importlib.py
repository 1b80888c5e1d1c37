"""importlib: versions of libraries, which a program may ask for."""

from __future__ import annotations

from namecheck.interpreter.domain.provenance import Version
from namecheck.interpreter.domain.values import Opaque, Value
from namecheck.interpreter.evaluation.frames import Call
from namecheck.interpreter.evaluation.interpreter import Interpreter
from namecheck.interpreter.models.registry import model


@model("importlib.metadata.version")
def version(interpreter: Interpreter, call: Call) -> Value:
    """``importlib.metadata.version("torch")``."""
    return Opaque(Version(call.argument(0)))
