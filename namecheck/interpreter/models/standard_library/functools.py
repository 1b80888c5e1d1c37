"""functools: partial calls, reductions, and decorators."""

from __future__ import annotations

from namecheck.interpreter.domain.values import External, Partial, Repeated, Value, Wrapped
from namecheck.interpreter.evaluation.frames import Call
from namecheck.interpreter.evaluation.interpreter import Interpreter
from namecheck.interpreter.models import primitives
from namecheck.interpreter.models.registry import decorator, model, transparent

transparent(
    "functools.wraps",
    "functools.lru_cache",
    "functools.cache",
    "functools.cached_property",
    "functools.total_ordering",
    "functools.singledispatch",
    "functools.singledispatchmethod",
)


@model("functools.partial", open=True)
def partial(interpreter: Interpreter, call: Call) -> Value:
    """``functools.partial(f, *args, **kwargs)``."""
    arguments = call.arguments
    words = tuple(arguments.kwargs.items())
    return Partial(call.argument(0), tuple(arguments.args[1:]), words, arguments.open, call.node)


@model("functools.partialmethod")
def partialmethod(interpreter: Interpreter, call: Call) -> Value:
    """``functools.partialmethod(f, *args, **kwargs)``."""
    return Wrapped("partialmethod", partial(interpreter, call))


@model("functools.reduce")
def reduce(interpreter: Interpreter, call: Call) -> Value:
    """``functools.reduce(f, items, initial)``."""
    content = primitives.items(interpreter, call.argument(1), call, whole=True)
    if isinstance(content, Repeated):
        return primitives.invoke(interpreter, call.argument(0), [content.each, content.each], call)
    operands = [*call.args[2:3], *content]
    if not operands:
        return interpreter.fresh("reduced")
    result = operands[0]
    for operand in operands[1:]:
        result = primitives.invoke(interpreter, call.argument(0), [result, operand], call)
    return result


@model("functools.wraps")
def wraps(interpreter: Interpreter, call: Call) -> Value:
    """``functools.wraps(f)`` is a decorator that returns the function unchanged."""
    return External("functools.wraps")


@decorator("functools.cached_property")
def cached_property(interpreter: Interpreter, value: Value) -> Value:
    """``@cached_property``."""
    return Wrapped("cached", value)
