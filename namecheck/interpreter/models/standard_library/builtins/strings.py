"""Methods of strings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from namecheck.interpreter.domain import limits
from namecheck.interpreter.domain.values import (
    Const,
    Generator,
    Repeated,
    TupleValue,
    Value,
)
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
        or limits.is_long(_length(name, literal.value, args), call.store)
    ):
        return _formatted(literal.value, name, call) or interpreter.fresh("text", "str")
    try:
        result = getattr(literal.value, name)(*args, **kwargs)
    except (TypeError, ValueError, LookupError, AttributeError):
        return interpreter.fresh("text")
    return torch.lift(result, {}, call.node)


def _formatted(template: str, name: str, call: Call) -> Value | None:
    """``"layer{}".format(i)`` with an unknown value, of which the rest is known."""
    before, field, after = template.partition("{}")
    if name != "format" or not field or "{" in before + after or len(call.args) != 1:
        return None
    from namecheck.interpreter.domain import texts  # names that loops compute

    return texts.around(before, call.args[0], after, call.store)


def _length(name: str, text: str, lowered_args: Sequence[Any]) -> int:
    """The greatest possible length of a method's result; 0 for a part of the string itself."""
    parts = [
        item for arg in lowered_args for item in (arg if isinstance(arg, (list, tuple)) else (arg,))
    ]
    lengths = [len(part) for part in parts if isinstance(part, str)]
    if name == "join":
        return sum(lengths) + len(text) * len(lengths)
    if name == "replace" and len(lengths) == 2:
        return len(text) + text.count(lowered_args[0]) * lengths[1]
    return len(text) + max(lengths, default=0) * text.count("{") if name == "format" else 0


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
