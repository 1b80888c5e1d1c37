"""importlib: versions of libraries, which a program may ask for."""

from __future__ import annotations

from namecheck.interpreter.domain.values import Opaque, Value
from namecheck.interpreter.evaluation.calls import Call
from namecheck.interpreter.evaluation.machine import Machine
from namecheck.interpreter.models.registry import model


@model("importlib.metadata.version")
def version(machine: Machine, call: Call) -> Value:
    """``importlib.metadata.version("torch")``."""
    return Opaque(("version", call.argument(0)))
