"""contextlib: what ``contextmanager`` makes; `evaluation.with_statements` enters it."""

from __future__ import annotations

from namecheck.interpreter.domain.values import Value, Wrapped
from namecheck.interpreter.evaluation.machine import Machine
from namecheck.interpreter.models.registry import decorator


@decorator("contextlib.contextmanager")
def contextmanager(machine: Machine, value: Value) -> Value:
    """``@contextmanager``."""
    return Wrapped("contextmanager", value)
