"""The functions that stand in for checked ones, written out for their parameters.

A stand-in looks and behaves like the function that it stands for: the same parameters and
defaults, a coroutine function for a coroutine function, and so on. It is written out before its
first call, as its annotations may speak of what is defined only later.
"""

from __future__ import annotations

import functools
import inspect
import itertools
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import CellType, CodeType, FunctionType
from typing import Any, Final

from namecheck.annotations.declarations import (
    NO_TENSOR,
    Declaration,
    Declared,
    OneOf,
    names_device,
    speaks,
)
from namecheck.runtime.annotations.contracts import Contract

FILENAME: Final = "<namecheck check>"

# What asking a value for its shape may raise; without a shape there is no key.
SHAPELESS: Final = (AttributeError, TypeError, RuntimeError)


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


def make(checker: object, function: FunctionType) -> FunctionType:
    """The wrapper of a function before its first call, which lets its checker write it out."""
    own = Parameters.of(function)
    code = _dressed(_first_source(own, _name(own), _kind(function)), function)
    cell = CellType(checker)
    stand_in = FunctionType(
        code, function.__globals__, function.__name__, function.__defaults__, (cell,)
    )
    stand_in.__kwdefaults__ = function.__kwdefaults__
    functools.update_wrapper(stand_in, function)
    return stand_in


def code_of(function: FunctionType, declared: Contract) -> CodeType:
    """The code of the wrapper that checks a function against what it declares."""
    own = Parameters.of(function)
    text = _source(own, _name(own), _kind(function), declared, _optional(function))
    return _dressed(text, function)


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


def placed(value: Any) -> Hashable:
    """The same where devices are declared."""
    return part(value), _devices(value)


def _devices(value: Any) -> Hashable:
    if isinstance(value, (list, tuple)):
        return tuple(map(_devices, value))
    if isinstance(value, Mapping):
        return tuple(map(_devices, value.values()))
    return getattr(value, "device", None)


def values(
    function: FunctionType,
    declared: Iterable[str],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> tuple[Any, ...]:
    """The declared arguments of a function that only hands its arguments on to another."""
    try:
        given = inspect.signature(function).bind(*args, **kwargs).arguments
    except TypeError:
        given = {}
    return tuple(given.get(name) for name in declared)


def _optional(function: FunctionType) -> frozenset[str]:
    """The parameters that are None unless something is passed."""
    code = function.__code__
    defaults = function.__defaults__ or ()
    names = code.co_varnames[: code.co_argcount][code.co_argcount - len(defaults) :]
    pairs = [*zip(names, defaults, strict=True), *(function.__kwdefaults__ or {}).items()]
    return frozenset(name for name, default in pairs if default is None)


def result_name(function: FunctionType) -> str:
    """The local variable of a stand-in that holds the result."""
    return f"{_name(Parameters.of(function))}_result"


def _name(own: Parameters) -> str:
    """What the checker is called in a stand-in, and its other names begin with: no parameter."""
    name = "namecheck"
    while any(each.startswith(name) for each in own.names):
        name += "_"
    return name


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


def _handed_on(kind: int, call: str, check: str) -> list[str]:
    words = {word: f"{check}_{word}" for word in ("result", "inner", "sent", "error")}
    return [line.format(call=call, **words) for line in _HANDED_ON[kind]]


def _compiled(own: Parameters, check: str, kind: int) -> list[str]:
    """What torch.compile sees: the function, and what to look at while it is traced."""
    if kind != _PLAIN:
        return []
    return [
        f"if {check}.compiling():",
        f"    from torch._dynamo.comptime import comptime as {check}_look",
        f"    {check}_look({check}.at_entry)",
        f"    {check}_result = {check}.function({own.passed})",
        f"    {check}_look({check}.at_return)",
        f"    return {check}_result",
    ]


def _first_source(own: Parameters, check: str, kind: int) -> str:
    """The function before its first call: it has itself written out, and calls itself again."""
    lines = [*_compiled(own, check, kind), f"{check}.prepare()"]
    lines += _handed_on(kind, f"{check}.stand_in({own.passed})", check)
    if kind in (_PLAIN, _COROUTINE):
        lines.append(f"return {check}_result")
    return _definition(kind, check, own.head, lines)


def _definition(kind: int, check: str, head: str, body: Sequence[str]) -> str:
    """The source of a function in another, which is to give it its checker."""
    word = "async def" if kind in _ASYNC else "def"
    lines = [f"{word} stand_in({head}):", "    __tracebackhide__ = True"]
    lines += [f"    {line}" for line in body]
    return "\n".join([f"def made({check}):", *(f"    {line}" for line in lines)]) + "\n"


@lru_cache(maxsize=4096)
def _code(text: str) -> CodeType:
    """The code of the inner function of a source."""
    code = compile(text, FILENAME, "exec", dont_inherit=True)
    for _ in range(2):
        code = next(each for each in code.co_consts if isinstance(each, CodeType))
    return code


def _dressed(text: str, function: FunctionType) -> CodeType:
    code = _code(text)
    return code.replace(co_name=function.__name__, co_qualname=function.__qualname__)


def _source(
    own: Parameters, check: str, kind: int, found: Contract, optional: frozenset[str]
) -> str:
    """The function: what is known of these arguments, the call, what is known of its result."""
    call = f"{check}.function({own.passed})"
    if not found.speaks:
        return _definition(kind, check, own.head, _bare(kind, call, check))
    body = _compiled(own, check, kind) + _entry(own, check, found, optional)
    if kind in (_GENERATOR, _ASYNC_GENERATOR) or not speaks(found.result):
        return _definition(kind, check, own.head, [*body, *_bare(kind, call, check)])
    known = [f"if {check}_key in {check}_known:", f"    return {check}_result"]
    body += _handed_on(kind, call, check)
    body += _asking([_key(f"{check}_result", found.result, check, False)], check, known, [])
    body += [
        f"{check}.leave({check}_known, {check}_key, {check}_result)",
        f"return {check}_result",
    ]
    return _definition(kind, check, own.head, body)


def _bare(kind: int, call: str, check: str) -> list[str]:
    """The call alone, of which the result is not looked at."""
    if kind == _PLAIN:
        return [f"return {call}"]
    end = [f"return {check}_result"] if kind == _COROUTINE else []
    return _handed_on(kind, call, check) + end


def _entry(own: Parameters, check: str, found: Contract, optional: frozenset[str]) -> list[str]:
    """What is known of the arguments: ``known`` is what calls like this one have bound."""
    declared = found.parameters
    body = [f"{check}_getattr = {check}.getattr"]
    if set(declared) <= set(own.names):
        keys = [_key(name, told, check, name in optional) for name, told in declared.items()]
        given = "".join(f"{name}, " for name in declared)
    else:
        args, kwargs = own.star or "()", own.mapping or "{}"
        body.append(f"{check}_given = {check}.values({args}, {kwargs})")
        asked = "placed" if any(map(names_device, declared.values())) else "part"
        keys, given = [f"{check}.{asked}({check}_given)"], f"*{check}_given, "
    known = f"{check}_known"
    body += _asking(keys, check, [f"{known} = {check}.memo[{check}_key]"], [f"{known} = None"])
    return [
        *body,
        f"if {known} is None:",
        f"    {known} = {check}.enter({check}_key, ({given}))",
    ]


def _asking(keys: list[str], check: str, then: list[str], otherwise: list[str]) -> list[str]:
    """Make the key, and do something with it; `otherwise` where it is not known, or is none."""
    lines = ["try:", f"    {check}_key = ({''.join(f'{key}, ' for key in keys)})"]
    lines += [f"    {line}" for line in then]
    if otherwise:
        lines += [f"except {check}.KeyError:", *(f"    {line}" for line in otherwise)]
    lines += [f"except {check}.Shapeless:", f"    {check}_key = None"]
    return lines + [f"    {line}" for line in otherwise]


def _key(name: str, declared: Declared, check: str, optional: bool) -> str:
    """The expression for what the check of one value depends on."""
    if isinstance(declared, OneOf) and len(declared.options) == 2:
        first, second = declared.options
        if NO_TENSOR in (first, second):
            declared, optional = (second if first == NO_TENSOR else first), True
    if not isinstance(declared, Declaration):
        return f"{check}.{'placed' if names_device(declared) else 'part'}({name})"
    parts = f"{name}.shape, {check}_getattr({name}, '_names', None)"
    if declared.dtypes is not None:
        parts += f", {name}.dtype"
    if declared.device is not None:
        parts += f", {name}.device"
    return f"None if {name} is None else ({parts})" if optional else parts


_CALLBACKS: Final = """
def made(check):
    def at_entry(context): check.trace_arguments(context)
    def at_return(context): check.trace_result(context)
    return at_entry, at_return
"""


def callbacks(checker: object) -> tuple[Callable[[Any], None], Callable[[Any], None]]:
    """What torch.compile calls while it traces: functions that it does not take for ours."""
    space: dict[str, Any] = {}
    exec(compile(_CALLBACKS, FILENAME, "exec"), space)
    at_entry, at_return = space["made"](checker)
    return at_entry, at_return
