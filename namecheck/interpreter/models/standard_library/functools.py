"""functools: partial calls, reductions, and decorators."""

from __future__ import annotations

from typing import Final

from namecheck.interpreter.domain.values import (
    External,
    FunctionValue,
    Partial,
    Repeated,
    Value,
    Wrapped,
)
from namecheck.interpreter.evaluation.frames import Call
from namecheck.interpreter.evaluation.interpreter import Interpreter
from namecheck.interpreter.models import primitives
from namecheck.interpreter.models.registry import decorator, model, transparent

_OF_WRAPPED: Final = ("__name__", "__qualname__")

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
    """``functools.wraps(f)``: a decorator that gives a function the name of `f`."""
    wrapped = ("wrapped", call.argument(0, "wrapped"))
    return Partial(External("functools.update_wrapper"), (), (wrapped,))


@model("functools.update_wrapper")
def update_wrapper(interpreter: Interpreter, call: Call) -> Value:
    """``functools.update_wrapper(g, f)``: `g`, with the name of `f`."""
    wrapper, wrapped = call.argument(0, "wrapper"), call.argument(1, "wrapped")
    if isinstance(wrapper, FunctionValue):
        for word in _OF_WRAPPED:
            named = interpreter.read_attribute(wrapped, word, call.node, call.store, call.frame)
            interpreter.write_attribute(wrapper, word, named, call.node, call.store, call.frame)
        interpreter.write_attribute(
            wrapper, "__wrapped__", wrapped, call.node, call.store, call.frame
        )
    return wrapper


@decorator("functools.cached_property")
def cached_property(interpreter: Interpreter, value: Value) -> Value:
    """``@cached_property``."""
    return Wrapped("cached", value)
