"""The functions that stand in for checked ones, written out for their parameters.

A stand-in looks and behaves like the function that it stands for: the same parameters and
defaults, a coroutine function for a coroutine function, and so on. It is written out before its
first call, as its annotations may speak of what is defined only later.
"""

from __future__ import annotations

import builtins
import functools
import inspect
import itertools
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any, Final

import torch

from namecheck.annotations.declarations import (
    NO_TENSOR,
    Declaration,
    Declared,
    OneOf,
    speaks,
)
from namecheck.runtime.contracts import Contract

if TYPE_CHECKING:
    from namecheck.runtime.checking import Checker

FILENAME: Final = "<namecheck check>"

# What asking a value for its shape may raise; without a shape there is no key.
_SHAPELESS: Final = (AttributeError, TypeError, RuntimeError)


@dataclass(frozen=True, slots=True)
class Parameters:
    """The parameters of a function, as its code has them."""

    positional_only: tuple[str, ...]
    positional: tuple[str, ...]
    star: str | None
    keyword_only: tuple[str, ...]
    mapping: str | None

    @staticmethod
    def of(function: FunctionType) -> Parameters:
        """Those of the function itself, whatever it wraps."""
        code = function.__code__
        names = iter(code.co_varnames)
        only = tuple(itertools.islice(names, code.co_posonlyargcount))
        positional = tuple(itertools.islice(names, code.co_argcount - code.co_posonlyargcount))
        keywords = tuple(itertools.islice(names, code.co_kwonlyargcount))
        star = next(names) if code.co_flags & inspect.CO_VARARGS else None
        mapping = next(names) if code.co_flags & inspect.CO_VARKEYWORDS else None
        return Parameters(only, positional, star, keywords, mapping)

    @property
    def names(self) -> tuple[str, ...]:
        """All names."""
        return self.positional_only + self.positional + self.keyword_only + self.stars

    @property
    def stars(self) -> tuple[str, ...]:
        """The names of ``*args`` and ``**kwargs``."""
        return tuple(name for name in (self.star, self.mapping) if name)

    @property
    def head(self) -> str:
        """As they stand in a ``def``, without defaults."""
        parts = [*self.positional_only, *(["/"] if self.positional_only else []), *self.positional]
        if self.star:
            parts.append(f"*{self.star}")
        elif self.keyword_only:
            parts.append("*")
        parts += [*self.keyword_only, *([f"**{self.mapping}"] if self.mapping else [])]
        return ", ".join(parts)

    @property
    def passed(self) -> str:
        """As they are handed on in a call."""
        parts = [*self.positional_only, *self.positional]
        parts += [f"*{self.star}"] if self.star else []
        parts += [f"{name}={name}" for name in self.keyword_only]
        parts += [f"**{self.mapping}"] if self.mapping else []
        return ", ".join(parts)


def make(function: FunctionType, prepare: Callable[[], None]) -> FunctionType:
    """A stand-in that prepares itself when it is called first: `prepare` is to `write` it."""
    own = Parameters.of(function)
    prefix = _prefix(own.names)
    space: dict[str, Any] = {
        "__builtins__": builtins,
        f"{prefix}prepare": prepare,
        f"{prefix}compiling": torch.compiler.is_dynamo_compiling,
        f"{prefix}function": function,
    }
    code = _code(_first_source(_kind(function), own, prefix))
    stand_in = FunctionType(code, space, function.__name__, function.__defaults__)
    stand_in.__kwdefaults__ = function.__kwdefaults__
    space[f"{prefix}again"] = stand_in
    functools.update_wrapper(stand_in, function)
    return stand_in


def write(stand_in: FunctionType, checker: Checker, found: Contract) -> None:
    """Write a stand-in out: from now on it checks by itself."""
    function, own = checker.function, Parameters.of(checker.function)
    prefix = _prefix(own.names)
    space = stand_in.__globals__
    space.update(
        {
            f"{prefix}memo": checker.memo,
            f"{prefix}enter": checker.enter,
            f"{prefix}leave": checker.leave,
            f"{prefix}part": part,
            f"{prefix}getattr": getattr,
            f"{prefix}values": _values(function, tuple(found.parameters)),
            f"{prefix}Shapeless": _SHAPELESS,
            f"{prefix}KeyError": KeyError,
        }
    )
    name = function.__name__
    text = _source(_kind(function), own, prefix, found, _optional(function))
    stand_in.__code__ = _code(text).replace(co_name=name, co_qualname=function.__qualname__)


def part(value: Any) -> Hashable:
    """What of a value its check depends on; raises where that cannot be told."""
    if value is None:
        return None
    if value.__class__ is list or value.__class__ is tuple:
        return tuple(map(part, value))
    if isinstance(value, Mapping):
        return tuple((key, part(each)) for key, each in value.items())
    if isinstance(value, (list, tuple)):
        return tuple(map(part, value))
    shape = getattr(value, "shape", None)
    if shape is None:
        return None
    return shape, getattr(value, "_names", None), getattr(value, "dtype", None)


def _values(
    function: FunctionType, declared: tuple[str, ...]
) -> Callable[[tuple[Any, ...], dict[str, Any]], tuple[Any, ...]]:
    """Finds the declared arguments of a function that only hands its arguments on."""

    def values(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        try:
            given = inspect.signature(function).bind(*args, **kwargs).arguments
        except TypeError:
            return (None,) * len(declared)
        return tuple(given.get(name) for name in declared)

    return values


def _optional(function: FunctionType) -> frozenset[str]:
    """The parameters that are None unless something is passed."""
    code = function.__code__
    defaults = function.__defaults__ or ()
    names = code.co_varnames[: code.co_argcount][code.co_argcount - len(defaults) :]
    pairs = [*zip(names, defaults, strict=True), *(function.__kwdefaults__ or {}).items()]
    return frozenset(name for name, default in pairs if default is None)


def _prefix(names: tuple[str, ...]) -> str:
    """What the stand-in's own names begin with, so that they are no parameter's."""
    prefix = "namecheck_"
    while any(name.startswith(prefix) for name in names):
        prefix += "_"
    return prefix


_PLAIN, _COROUTINE, _GENERATOR, _ASYNC_GENERATOR = range(4)


def _kind(function: FunctionType) -> int:
    flags = function.__code__.co_flags
    if flags & inspect.CO_ASYNC_GENERATOR:
        return _ASYNC_GENERATOR
    if flags & inspect.CO_COROUTINE:
        return _COROUTINE
    return _GENERATOR if flags & inspect.CO_GENERATOR else _PLAIN


_ASYNC: Final = (_COROUTINE, _ASYNC_GENERATOR)

# How each kind of function hands over to another of its kind, and what it gives back.
_HANDED_ON: Final = {
    _PLAIN: ["{result} = {call}"],
    _COROUTINE: ["{result} = await {call}"],
    _GENERATOR: ["return (yield from {call})"],
    _ASYNC_GENERATOR: [
        "{inner} = {call}",
        "try:",
        "    {result} = await {inner}.__anext__()",
        "    while True:",
        "        try:",
        "            {sent} = yield {result}",
        "        except GeneratorExit:",
        "            await {inner}.aclose()",
        "            raise",
        "        except BaseException as {error}:",
        "            {result} = await {inner}.athrow({error})",
        "        else:",
        "            {result} = await {inner}.asend({sent})",
        "except StopAsyncIteration:",
        "    return",
    ],
}


def _handed_on(kind: int, call: str, prefix: str) -> list[str]:
    words = {word: f"{prefix}{word}" for word in ("result", "inner", "sent", "error")}
    return [line.format(call=call, **words) for line in _HANDED_ON[kind]]


def _compiled(kind: int, call: str, prefix: str) -> list[str]:
    """What torch.compile sees: the function alone, as the check could not be traced."""
    if kind != _PLAIN:
        return []
    return [f"if {prefix}compiling():", f"    return {call}"]


def _first_source(kind: int, own: Parameters, prefix: str) -> str:
    """The function before its first call: it has itself written out, and calls itself again."""
    lines = _compiled(kind, f"{prefix}function({own.passed})", prefix)
    lines.append(f"{prefix}prepare()")
    lines += _handed_on(kind, f"{prefix}again({own.passed})", prefix)
    if kind in (_PLAIN, _COROUTINE):
        lines.append(f"return {prefix}result")
    return _function(kind, own.head, lines)


@lru_cache(maxsize=4096)
def _code(text: str) -> CodeType:
    module = compile(text, FILENAME, "exec", dont_inherit=True)
    return next(each for each in module.co_consts if isinstance(each, CodeType))


def _function(kind: int, head: str, body: list[str]) -> str:
    word = "async def" if kind in _ASYNC else "def"
    lines = ["__tracebackhide__ = True", *body]
    return "\n".join([f"{word} stand_in({head}):", *(f"    {line}" for line in lines)]) + "\n"


def _source(
    kind: int, own: Parameters, prefix: str, found: Contract, optional: frozenset[str]
) -> str:
    """The function: what is known of these arguments, the call, what is known of its result."""
    declared = found.parameters
    if not found.speaks:
        return _bare(kind, own, prefix)
    if set(declared) <= set(own.names):
        keys = [_key(name, told, prefix, name in optional) for name, told in declared.items()]
        values = "".join(f"{name}, " for name in declared)
        body = []
    else:
        body = [f"{prefix}declared = {prefix}values({own.star or '()'}, {own.mapping or '{}'})"]
        keys, values = [f"{prefix}part({prefix}declared)"], f"*{prefix}declared, "
    call = f"{prefix}function({own.passed})"
    body = [*_compiled(kind, call, prefix), *body]
    known = [f"{prefix}known = {prefix}memo[{prefix}key]"]
    body += _asking(keys, prefix, known, [f"{prefix}known = None"])
    body += [
        f"if {prefix}known is None:",
        f"    {prefix}known = {prefix}enter({prefix}key, ({values}))",
    ]
    if kind in (_GENERATOR, _ASYNC_GENERATOR) or not speaks(found.result):
        if kind == _PLAIN:
            return _function(kind, own.head, [*body, f"return {call}"])
        body += _handed_on(kind, call, prefix)
        if kind == _COROUTINE:
            body.append(f"return {prefix}result")
        return _function(kind, own.head, body)
    body += _handed_on(kind, call, prefix)
    met = [f"if {prefix}key in {prefix}known:", f"    return {prefix}result"]
    body += _asking([_key(f"{prefix}result", found.result, prefix, False)], prefix, met, [])
    body += [
        f"{prefix}leave({prefix}known, {prefix}key, {prefix}result)",
        f"return {prefix}result",
    ]
    return _function(kind, own.head, body)


def _bare(kind: int, own: Parameters, prefix: str) -> str:
    """The function, of which it turned out that it declares nothing."""
    body = _handed_on(kind, f"{prefix}function({own.passed})", prefix)
    if kind in (_PLAIN, _COROUTINE):
        body.append(f"return {prefix}result")
    return _function(kind, own.head, body)


def _asking(keys: list[str], prefix: str, then: list[str], otherwise: list[str]) -> list[str]:
    """Make the key, and do something with it; `otherwise` where it is not known, or is none."""
    lines = ["try:", f"    {prefix}key = ({''.join(f'{key}, ' for key in keys)})"]
    lines += [f"    {line}" for line in then]
    if otherwise:
        lines += [f"except {prefix}KeyError:", *(f"    {line}" for line in otherwise)]
    lines += [f"except {prefix}Shapeless:", f"    {prefix}key = None"]
    return lines + [f"    {line}" for line in otherwise]


def _key(name: str, declared: Declared, prefix: str, optional: bool) -> str:
    """The expression for what the check of one value depends on."""
    if isinstance(declared, OneOf) and len(declared.options) == 2:
        first, second = declared.options
        if NO_TENSOR in (first, second):
            declared, optional = (second if first == NO_TENSOR else first), True
    if not isinstance(declared, Declaration):
        return f"{prefix}part({name})"
    parts = f"{name}.shape, {prefix}getattr({name}, '_names', None)"
    if declared.dtypes is not None:
        parts += f", {name}.dtype"
    return f"None if {name} is None else ({parts})" if optional else parts
