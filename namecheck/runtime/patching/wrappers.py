"""The functions that stand in torch's place, each made for its callable.

A call without names costs one look at each tensor's attribute before the original runs; one with
names a look into the site's memo besides. Callables whose overloads agree on their parameters get
exact code (`wrapper_source`), all others forward what they are given.
"""

from __future__ import annotations

import builtins
import functools
import inspect
import keyword
from collections.abc import Callable, Iterable
from inspect import CO_VARARGS
from types import BuiltinFunctionType, CodeType, EllipsisType, FunctionType, NoneType
from typing import Any, Final

import torch

from namecheck.operators.signatures import Parameter, Signature
from namecheck.runtime.patching import wrapper_source
from namecheck.runtime.patching.sites import NAMING, Site
from namecheck.runtime.patching.targets import Target
from namecheck.runtime.patching.wrapper_source import MISSING, Shape

_REFUSALS: Final = (TypeError, RuntimeError)
_ALIASES: Final = {"dim": "axis", "keepdim": "keepdims"}


def make(site: Site) -> Callable[..., Any]:
    """The function that stands in for a callable."""
    if site.target.attribute == "__getitem__":
        return _dressed(_indexer(site), site)
    shape = shape_of(site.target)
    return _dressed(_general(site) if shape is None else _exact(site, shape), site)


def make_recorder(site: Site) -> Callable[..., Any]:
    """The function that takes every call to the site, whether there are names in it or not."""

    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return site.call(args, kwargs)

    return _dressed(wrapper, site)


def make_namer(site: Site) -> Callable[..., Any]:
    """The function for a method of the old API, which names what had no name as well."""
    call, study, memo = site.call, site.study, site.whole
    run = site.target.move or site.original

    def wrapper(*args: Any, **kwargs: Any) -> Any:
        if not args or not isinstance(args[0], torch.Tensor):
            return call(args, kwargs)
        tensor = args[0]
        names = tensor._names  # type: ignore[attr-defined]
        known = tensor.ndim if names is None else names
        try:
            _, given = memo[known, args[1:], tuple(kwargs.items())]
        except (KeyError, TypeError):
            given = MISSING
        if given is MISSING or (names is not None and tensor.ndim != len(names)):
            return study(args, kwargs)
        result = run(*args, **kwargs)
        result._names = given
        return result

    return _dressed(wrapper, site)


def _dressed(wrapper: Callable[..., Any], site: Site) -> Callable[..., Any]:
    """Let the function pass for the original: pickle finds both by their name."""
    target = site.target
    owner = target.owner
    functools.update_wrapper(wrapper, target.original, updated=())
    wrapper.__name__ = target.attribute
    wrapper.__module__, wrapper.__qualname__ = (
        (owner.__module__, f"{owner.__qualname__}.{target.attribute}")
        if isinstance(owner, type)
        else (owner.__name__, target.attribute)
    )
    site.wrapper = wrapper
    return wrapper


def carries_names(values: Iterable[Any]) -> bool:
    """Whether any value is, or holds, a tensor with names."""
    for value in values:
        if getattr(value, "_names", None) is not None:
            return True
        if value.__class__ in (list, tuple) and carries_names(value):
            return True
    return False


def _general(site: Site) -> Callable[..., Any]:
    """The wrapper for any signature; one that makes tensors looks for ``names=`` first."""
    makes_names = any(p.name == "names" and "names" in p.kinds for p in _parameters(site.target))
    if not makes_names:
        return _dispatcher(site)
    call, dispatch = site.call, _dispatcher(site)

    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return call(args, kwargs) if "names" in kwargs else dispatch(*args, **kwargs)

    return wrapper


def _dispatcher(site: Site) -> Callable[..., Any]:
    original, call, refused, study = site.original, site.call, site.refused, site.study
    run = site.target.move or original
    memo = site.whole

    def wrapper(*args: Any, **kwargs: Any) -> Any:
        names = getattr(args[0], "_names", None) if args else None
        if names is not None:
            try:
                changed, given = memo[names, args[1:], tuple(kwargs.items())]
            except (KeyError, TypeError):
                changed = given = MISSING
            if changed is MISSING or args[0].ndim != len(names):
                return study(args, kwargs)
            if changed is None:
                result = run(*args, **kwargs)
            else:
                result = run(args[0], *changed[0], **changed[1])
            result._names = given
            return result
        if carries_names(args) or (kwargs and carries_names(kwargs.values())):
            return call(args, kwargs)
        try:
            return original(*args, **kwargs)
        except _REFUSALS as error:
            return refused(error, args, kwargs)

    return wrapper


def _indexer(site: Site) -> Callable[..., Any]:
    """The wrapper of ``x[index]``: ints, slices, None and Ellipsis tell by their types alone."""
    original, call, learn = site.original, site.call, site.learn
    memo = site.quick[1]

    def wrapper(self: Any, index: Any) -> Any:
        names = self._names
        kind: Any = index.__class__
        if names is None:
            if kind in _SIMPLE:
                return original(self, index)
            for part in index if kind is tuple else (index,):
                if part.__class__ not in _SIMPLE and carries_names((part,)):
                    return call((self, index), {})
            return original(self, index)
        if kind is tuple:
            kind = tuple([part.__class__ for part in index])
        given = memo.get(names, _NOTHING).get(kind, MISSING)
        if given is MISSING:
            if kind in _SIMPLE or (kind.__class__ is tuple and _SIMPLE.issuperset(kind)):
                return learn((names, kind), (self, index), ())
            return call((self, index), {})
        result = original(self, index)
        result._names = given
        return result

    return wrapper


_NOTHING: Final[dict[Any, Any]] = {}
_SIMPLE: Final = frozenset({int, slice, NoneType, EllipsisType})


def _exact(site: Site, shape: Shape) -> Callable[..., Any]:
    dispatch = _dispatcher(site)

    def gathered(*values: Any) -> Any:
        args, kwargs = shape.gather(values)
        return dispatch(*args, **kwargs)

    space = {
        "__builtins__": vars(builtins),
        "M": MISSING,
        "original": site.original,
        "swift": _swift(site),
        **{f"memo{count}": memo for count, memo in enumerate(site.quick)},
        "learn": site.learn,
        "call": site.call,
        "refused": site.refused,
        "gathered": gathered,
        "REFUSALS": _REFUSALS,
    }
    # A copy for each: what the interpreter learns of a code object holds for one set of globals.
    code = _compiled(wrapper_source.write(shape)).replace(co_name=site.target.attribute)
    return FunctionType(code, space, argdefs=(MISSING,) * shape.optional)


@functools.cache
def _compiled(source: str) -> CodeType:
    """The code of the one function in a source text; many callables share theirs."""
    module = compile(source, "<namecheck wrapper>", "exec")
    return next(part for part in module.co_consts if isinstance(part, CodeType))


def _swift(site: Site) -> Callable[..., Any]:
    """What does the same on tensors, called sooner.

    A builtin function of torch is called in less time than a method of the same operator, where
    both take the same arguments in the same order.
    """
    target = site.target
    if target.form != "m" or (not target.special and isinstance(target.original, FunctionType)):
        return site.original
    function = getattr(torch, target.row.key, None)
    same = "f" in target.row.forms and all(line[:1] != "[" for line in target.row.params)
    return function if same and isinstance(function, BuiltinFunctionType) else site.original


def _parameters(target: Target) -> list[Parameter]:
    return [parameter for signature in _overloads(target) for parameter in signature]


def _overloads(target: Target) -> list[Signature]:
    letter = target.form if target.form in "mi" else "f"
    return [signature for _, signature in target.row.alternatives(letter)]


def shape_of(target: Target) -> Shape | None:
    """The shape of a callable; None where its overloads differ, or it takes no tensor first."""
    if target.special:
        others = [] if target.unary else [("other", "either")]
        places = (("self", "tensor"), *others)
        return Shape(places, (), bound=True, strict=True, reflected=target.reflected)
    if isinstance(target.original, FunctionType) and target.original.__code__.co_flags & CO_VARARGS:
        return None  # it looks at how an argument was passed (unique_consecutive)
    names: list[str] = []
    kinds: list[set[str]] = []
    words: list[str] = []
    for signature in _overloads(target):
        index = 0
        for parameter in signature:
            if parameter.variadic or parameter.mapping or parameter.positional_only:
                return None
            if parameter.keyword_only:
                words.append(parameter.name)
                continue
            if index == len(names):
                names.append(parameter.name)
                kinds.append(set())
            elif names[index] != parameter.name:
                return None
            kinds[index] |= parameter.kinds
            index += 1
    if not names or "tensor" not in kinds[0] or any(map(_is_vague, kinds[1:])):
        return None
    # What some overload takes by keyword alone is always passed so, and nothing after it by place.
    cut = min((names.index(word) for word in words if word in names), default=len(names))
    if len(names) - cut > 1:
        return None  # there is room for one argument beyond the places
    del names[cut:], kinds[cut:]
    words += [_ALIASES[name] for name in (*names, *words) if name in _ALIASES]
    words += _further(target)
    if "o" in target.row.forms:
        words.append("out")
    unique = tuple(word for word in dict.fromkeys(words) if word not in (*names, "self"))
    if any(map(keyword.iskeyword, (*names, *unique))) or "self" in names:
        return None
    pairs = tuple((name, _kind(kind)) for name, kind in zip(names, kinds, strict=True))
    return Shape(pairs, unique, bound=target.form in "mia", strict=False)


def _kind(kinds: set[str]) -> str:
    if "tensor" in kinds:
        return "either" if kinds - {"tensor"} else "tensor"
    return "value" if kinds & _TELLING else "number"


_TELLING: Final = NAMING | {"bool", "int", "ints", "false", "str", "none"}


def _is_vague(kinds: set[str]) -> bool:
    """Whether an argument may be anything, so that no key can be made of it."""
    return not kinds or bool(kinds & {"any", "tensors"})


def _further(target: Target) -> list[str]:
    """Keywords that this torch takes besides those of the table."""
    try:
        named = inspect.signature(target.original).parameters.values()
        found = [p.name for p in named if p.kind is not p.VAR_POSITIONAL]
    except (ValueError, TypeError):
        schemas = torch._C._jit_get_schemas_for_operator(f"aten::{target.attribute}")
        found = [a.name for s in schemas for a in s.arguments]
    return [name for name in found if name not in ("self", "input")]
