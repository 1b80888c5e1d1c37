"""random: numbers, and choices from items."""

from __future__ import annotations

from namecheck.interpreter.domain.values import ListValue, Repeated, Value
from namecheck.interpreter.evaluation.frames import Call
from namecheck.interpreter.evaluation.interpreter import Interpreter
from namecheck.interpreter.models import primitives
from namecheck.interpreter.models.registry import model, result_kind

result_kind("int", "random.randint", "random.randrange")
result_kind("float", "random.random", "random.uniform")


@model("random.choice")
def choice(interpreter: Interpreter, call: Call) -> Value:
    """``random.choice(items)``."""
    content = primitives.items(interpreter, call.argument(0, "seq"), call, whole=False)
    return primitives.pick(interpreter, content, call)


@model("random.choices", "random.sample")
def sample(interpreter: Interpreter, call: Call) -> Value:
    """``random.sample(items, count)``, ``random.choices(items)``."""
    content = primitives.items(interpreter, call.argument(0, "population"), call, whole=False)
    return ListValue(interpreter.new_address(), Repeated(primitives.each(content, call.store)))
