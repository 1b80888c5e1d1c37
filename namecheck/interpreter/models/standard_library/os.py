"""os: ``_exit`` leaves the program."""

from __future__ import annotations

from namecheck.interpreter.domain.values import Value
from namecheck.interpreter.evaluation.calls import Call
from namecheck.interpreter.evaluation.machine import Machine
from namecheck.interpreter.models.registry import model


@model("os._exit", open=True)
def exit_(machine: Machine, call: Call) -> Value:
    """``os._exit(status)``."""
    machine.fail("SystemExit")
