"""contextlib: ``contextmanager``; `evaluation.with_statements` enters its contexts."""

from __future__ import annotations

from namecheck.interpreter.domain.values import Value, Wrapped
from namecheck.interpreter.evaluation.interpreter import Interpreter
from namecheck.interpreter.models.registry import decorator


@decorator("contextlib.contextmanager")
def contextmanager(interpreter: Interpreter, value: Value) -> Value:
    """``@contextmanager``."""
    return Wrapped("contextmanager", value)
