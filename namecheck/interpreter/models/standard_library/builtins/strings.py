"""Methods of strings."""

from __future__ import annotations

from typing import Any, Final

from namecheck.interpreter.domain.values import Const, Generator, Repeated, TupleValue, Value
from namecheck.interpreter.evaluation import python_operators
from namecheck.interpreter.evaluation.frames import Call
from namecheck.interpreter.evaluation.interpreter import Interpreter
from namecheck.interpreter.models.registry import methods_of

_METHOD_WORDS: Final = """
lower upper title capitalize swapcase strip lstrip rstrip replace split rsplit splitlines join
startswith endswith removeprefix removesuffix index rindex find rfind count format zfill center
ljust rjust partition rpartition isalpha isdigit isidentifier isupper islower isspace casefold
"""
_METHODS: Final = frozenset(_METHOD_WORDS.split())


@methods_of(Const)
def method(interpreter: Interpreter, literal: Const, name: str, call: Call) -> Value:
    """``"n c".split()``, where all arguments are known."""
    if not isinstance(literal.value, str):
        return interpreter.fresh("native")
    torch, store = interpreter.torch, call.store
    args = [torch.lower(_listed(interpreter, arg, call), store) for arg in call.args]
    kwargs = {word: torch.lower(value, store) for word, value in call.kwargs.items()}
    if (
        name not in _METHODS
        or call.arguments.open
        or not all(map(_is_plain, [*args, *kwargs.values()]))
        or python_operators.too_big([*args, *kwargs.values()])
        or (name == "format" and python_operators.too_wide(literal.value))
    ):
        return interpreter.fresh("text", "str")
    try:
        result = getattr(literal.value, name)(*args, **kwargs)
    except (TypeError, ValueError, LookupError, AttributeError):
        return interpreter.fresh("text")
    return torch.lift(result, {}, call.node)


def _listed(interpreter: Interpreter, value: Value, call: Call) -> Value:
    """A generator as the list of its items: a method of a string exhausts it."""
    if not isinstance(value, Generator):
        return value
    content = interpreter.iterate(value, call.node, call.store, call.frame)
    return content if isinstance(content, Repeated) else TupleValue(content)


def _is_plain(lowered: Any) -> bool:
    if isinstance(lowered, (list, tuple)):
        return all(map(_is_plain, lowered))
    return lowered is None or isinstance(lowered, (str, int, float))
