"""builtins: what every module can name without an import."""

from __future__ import annotations

from namecheck.interpreter.domain.values import Value, Wrapped
from namecheck.interpreter.evaluation.frames import Call
from namecheck.interpreter.evaluation.interpreter import Interpreter
from namecheck.interpreter.models.registry import decorator, family, transparent

transparent("builtins.object", "builtins.object.*")


@decorator("builtins.property")
def property_(interpreter: Interpreter, value: Value) -> Value:
    """``@property``."""
    return Wrapped("property", value)


@decorator("builtins.staticmethod")
def staticmethod_(interpreter: Interpreter, value: Value) -> Value:
    """``@staticmethod``."""
    return Wrapped("staticmethod", value)


@decorator("builtins.classmethod")
def classmethod_(interpreter: Interpreter, value: Value) -> Value:
    """``@classmethod``."""
    return Wrapped("classmethod", value)


@family("builtins", open=True)
def function(interpreter: Interpreter, name: str, call: Call) -> Value:
    """A built-in function, or the constructor of a built-in type."""
    return interpreter.libraries.builtins.call(name, call)
