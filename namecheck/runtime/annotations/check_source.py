"""Generates the wrapper of a checked function, with the parameters of that function.

A wrapper has the parameters and defaults of its function, is a coroutine function for a coroutine
function, and so on. Its code is generated at the first call, because annotations may use names
that are defined later.
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
    declares_dims,
    names_device,
)
from namecheck.runtime.annotations.contracts import Contract

FILENAME: Final = "<namecheck check>"

# The errors of values without a shape, which have no key.
KEY_ERRORS: Final = (AttributeError, TypeError, RuntimeError)


@dataclass(frozen=True, slots=True)
class Parameters:
    """The parameters of a function, from its code object."""

    positional_only: tuple[str, ...]
    positional: tuple[str, ...]
    star: str | None
    keyword_only: tuple[str, ...]
    mapping: str | None

    @staticmethod
    def of(function: FunctionType) -> Parameters:
        """The parameters of the function itself, not of one that it wraps."""
        code = function.__code__
        names = iter(code.co_varnames)
        positional_only = tuple(itertools.islice(names, code.co_posonlyargcount))
        positional = tuple(itertools.islice(names, code.co_argcount - code.co_posonlyargcount))
        keywords = tuple(itertools.islice(names, code.co_kwonlyargcount))
        star = next(names) if code.co_flags & inspect.CO_VARARGS else None
        mapping = next(names) if code.co_flags & inspect.CO_VARKEYWORDS else None
        return Parameters(positional_only, positional, star, keywords, mapping)

    @property
    def names(self) -> tuple[str, ...]:
        """All names, ``*args`` and ``**kwargs`` last."""
        return self.positional_only + self.positional + self.keyword_only + self.stars

    @property
    def stars(self) -> tuple[str, ...]:
        """The names of ``*args`` and ``**kwargs``."""
        return tuple(name for name in (self.star, self.mapping) if name)

    @property
    def head(self) -> str:
        """The parameter list of a ``def``, without defaults."""
        parts = [*self.positional_only, *(["/"] if self.positional_only else []), *self.positional]
        if self.star:
            parts.append(f"*{self.star}")
        elif self.keyword_only:
            parts.append("*")
        parts += [*self.keyword_only, *([f"**{self.mapping}"] if self.mapping else [])]
        return ", ".join(parts)

    @property
    def passed(self) -> str:
        """The argument list of a call that forwards them."""
        parts = [*self.positional_only, *self.positional]
        parts += [f"*{self.star}"] if self.star else []
        parts += [f"{name}={name}" for name in self.keyword_only]
        parts += [f"**{self.mapping}"] if self.mapping else []
        return ", ".join(parts)


def make_wrapper(checker: object, function: FunctionType) -> FunctionType:
    """The wrapper of a function before its first call, at which the checker prepares its code."""
    signature = Parameters.of(function)
    code = _named_code(_first_source(signature, _name(signature), _kind(function)), function)
    cell = CellType(checker)
    wrapper = FunctionType(
        code, function.__globals__, function.__name__, function.__defaults__, (cell,)
    )
    wrapper.__kwdefaults__ = function.__kwdefaults__
    functools.update_wrapper(wrapper, function)
    return wrapper


def code_of(function: FunctionType, contract: Contract) -> CodeType:
    """The code of the wrapper that checks a function against its contract."""
    signature = Parameters.of(function)
    text = _source(signature, _name(signature), _kind(function), contract, _optional(function))
    return _named_code(text, function)


def key_of(value: Any) -> Hashable:
    """A key of all that the check of a value depends on; raises one of `KEY_ERRORS`."""
    if value is None:
        return None
    if value.__class__ is list or value.__class__ is tuple:
        return tuple(map(key_of, value))
    if isinstance(value, Mapping):
        return tuple((key, key_of(each)) for key, each in value.items())
    if isinstance(value, (list, tuple)):
        return tuple(map(key_of, value))
    shape = getattr(value, "shape", None)
    if shape is None:
        return None
    return shape, getattr(value, "_names", None), getattr(value, "dtype", None)


def key_with_device(value: Any) -> Hashable:
    """The key if the annotation declares a device."""
    return key_of(value), _devices(value)


def _devices(value: Any) -> Hashable:
    if isinstance(value, (list, tuple)):
        return tuple(map(_devices, value))
    if isinstance(value, Mapping):
        return tuple(map(_devices, value.values()))
    return getattr(value, "device", None)


def declared_arguments(
    function: FunctionType,
    parameter_names: Iterable[str],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> tuple[Any, ...]:
    """The declared arguments of a function whose own signature is ``*args, **kwargs``."""
    try:
        bound = inspect.signature(function).bind(*args, **kwargs).arguments
    except TypeError:
        bound = {}
    return tuple(bound.get(name) for name in parameter_names)


def _optional(function: FunctionType) -> frozenset[str]:
    """The parameters with the default None."""
    code = function.__code__
    defaults = function.__defaults__ or ()
    names = code.co_varnames[: code.co_argcount][code.co_argcount - len(defaults) :]
    pairs = [*zip(names, defaults, strict=True), *(function.__kwdefaults__ or {}).items()]
    return frozenset(name for name, default in pairs if default is None)


def result_name(function: FunctionType) -> str:
    """The local variable of a wrapper for the result."""
    return f"{_name(Parameters.of(function))}_result"


def _name(signature: Parameters) -> str:
    """The variable of the checker in a wrapper; no parameter begins with it."""
    name = "namecheck"
    while any(each.startswith(name) for each in signature.names):
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

# How each kind of function forwards to another one of its kind, and keeps its result.
_FORWARDING: Final = {
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


def _forwarding(kind: int, call: str, check: str) -> list[str]:
    variables = {name: f"{check}_{name}" for name in ("result", "inner", "sent", "error")}
    return [line.format(call=call, **variables) for line in _FORWARDING[kind]]


def _compiled(signature: Parameters, check: str, kind: int) -> list[str]:
    """The lines for torch.compile: the function, and two callbacks while it is traced."""
    if kind != _PLAIN:
        return []
    return [
        f"if {check}.compiling():",
        f"    from torch._dynamo.comptime import comptime as {check}_look",
        f"    {check}_look({check}.at_entry)",
        f"    {check}_result = {check}.function({signature.passed})",
        f"    {check}_look({check}.at_return)",
        f"    return {check}_result",
    ]


def _first_source(signature: Parameters, check: str, kind: int) -> str:
    """The wrapper before its first call: it lets itself be generated, and calls itself again."""
    lines = [*_compiled(signature, check, kind), f"{check}.prepare()"]
    lines += _forwarding(kind, f"{check}.wrapper({signature.passed})", check)
    if kind in (_PLAIN, _COROUTINE):
        lines.append(f"return {check}_result")
    return _definition(kind, check, signature.head, lines)


def _definition(kind: int, check: str, head: str, statements: Sequence[str]) -> str:
    """The source of a wrapper, nested in a function that has the checker as its parameter."""
    keyword = "async def" if kind in _ASYNC else "def"
    lines = [f"{keyword} wrapper({head}):", "    __tracebackhide__ = True"]
    lines += [f"    {line}" for line in statements]
    return "\n".join([f"def make({check}):", *(f"    {line}" for line in lines)]) + "\n"


@lru_cache(maxsize=4096)
def _code(text: str) -> CodeType:
    """The code of the nested function of a source."""
    code = compile(text, FILENAME, "exec", dont_inherit=True)
    for _ in range(2):
        code = next(each for each in code.co_consts if isinstance(each, CodeType))
    return code


def _named_code(text: str, function: FunctionType) -> CodeType:
    code = _code(text)
    return code.replace(co_name=function.__name__, co_qualname=function.__qualname__)


def _source(
    signature: Parameters, check: str, kind: int, contract: Contract, optional: frozenset[str]
) -> str:
    """The wrapper: a look-up of its arguments, the call, a look-up of its result."""
    call = f"{check}.function({signature.passed})"
    if not contract.declares_dims:
        return _definition(kind, check, signature.head, _bare(kind, call, check))
    body = _compiled(signature, check, kind) + _entry(signature, check, contract, optional)
    if kind in (_GENERATOR, _ASYNC_GENERATOR) or not declares_dims(contract.result):
        return _definition(kind, check, signature.head, [*body, *_bare(kind, call, check)])
    accepted = [f"if {check}_key in {check}_accepted:", f"    return {check}_result"]
    body += _forwarding(kind, call, check)
    body += _lookup([_key(f"{check}_result", contract.result, check, False)], check, accepted, [])
    body += [
        f"{check}.leave({check}_accepted, {check}_key, {check}_result)",
        f"return {check}_result",
    ]
    return _definition(kind, check, signature.head, body)


def _bare(kind: int, call: str, check: str) -> list[str]:
    """The call, if its result is not checked."""
    if kind == _PLAIN:
        return [f"return {call}"]
    end = [f"return {check}_result"] if kind == _COROUTINE else []
    return _forwarding(kind, call, check) + end


def _entry(
    signature: Parameters, check: str, contract: Contract, optional: frozenset[str]
) -> list[str]:
    """The look-up of the arguments, which sets ``accepted`` to the results known to fit."""
    declared = contract.parameters
    body = [f"{check}_getattr = {check}.getattr"]
    if set(declared) <= set(signature.names):
        keys = [_key(name, each, check, name in optional) for name, each in declared.items()]
        arguments = "".join(f"{name}, " for name in declared)
    else:
        args, kwargs = signature.star or "()", signature.mapping or "{}"
        body.append(f"{check}_arguments = {check}.declared_arguments({args}, {kwargs})")
        method = "key_with_device" if any(map(names_device, declared.values())) else "key_of"
        keys = [f"{check}.{method}({check}_arguments)"]
        arguments = f"*{check}_arguments, "
    accepted = f"{check}_accepted"
    remembered = f"{accepted} = {check}.memo[{check}_key]"
    body += _lookup(keys, check, [remembered], [f"{accepted} = None"])
    return [
        *body,
        f"if {accepted} is None:",
        f"    {accepted} = {check}.enter({check}_key, ({arguments}))",
    ]


def _lookup(
    key_parts: Sequence[str], check: str, then: list[str], otherwise: list[str]
) -> list[str]:
    """Make the key and use it; `otherwise` is for a key without an entry, and for no key."""
    lines = ["try:", f"    {check}_key = ({''.join(f'{key}, ' for key in key_parts)})"]
    lines += [f"    {line}" for line in then]
    if otherwise:
        lines += [f"except {check}.KeyError:", *(f"    {line}" for line in otherwise)]
    lines += [f"except {check}.KeyErrors:", f"    {check}_key = None"]
    return lines + [f"    {line}" for line in otherwise]


def _key(name: str, declared: Declared, check: str, optional: bool) -> str:
    """The expression for the key of one value."""
    if isinstance(declared, OneOf) and len(declared.options) == 2:
        first, second = declared.options
        if NO_TENSOR in (first, second):
            declared, optional = (second if first == NO_TENSOR else first), True
    if not isinstance(declared, Declaration):
        return f"{check}.{'key_with_device' if names_device(declared) else 'key_of'}({name})"
    parts = f"{name}.shape, {check}_getattr({name}, '_names', None)"
    if declared.dtypes is not None:
        parts += f", {name}.dtype"
    if declared.device is not None:
        parts += f", {name}.device"
    return f"None if {name} is None else ({parts})" if optional else parts


_CALLBACKS: Final = """
def make(check):
    def at_entry(context): check.trace_arguments(context)
    def at_return(context): check.trace_result(context)
    return at_entry, at_return
"""


def callbacks(checker: object) -> tuple[Callable[[Any], None], Callable[[Any], None]]:
    """The callbacks for torch.compile, generated so that it does not skip them as our code."""
    space: dict[str, Any] = {}
    exec(compile(_CALLBACKS, FILENAME, "exec"), space)
    at_entry, at_return = space["make"](checker)
    return at_entry, at_return
