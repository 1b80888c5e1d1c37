"""The functions that replace torch's, each made for its callable.

A call without names reads one attribute of each tensor before the original runs; a call with
names also looks in the memo of its site. Callables whose overloads have the same parameters get
generated code (`wrapper_source`), all others forward ``*args, **kwargs``.
"""

from __future__ import annotations

import builtins
import functools
import inspect
import keyword
from collections.abc import Callable, Iterable
from dataclasses import replace
from inspect import CO_VARARGS
from types import BuiltinFunctionType, CodeType, EllipsisType, FunctionType, NoneType
from typing import Any, Final

import torch

from namecheck.effects.words import Parameter, Signature
from namecheck.runtime.core import tensor_names
from namecheck.runtime.patching import (
    gates,
    overriding_classes,
    plan_keys,
    stand_ins,
    targets,
    wrapper_source,
)
from namecheck.runtime.patching.gates import Style
from namecheck.runtime.patching.sites import NAMING, REFUSALS, Site
from namecheck.runtime.patching.targets import Target
from namecheck.runtime.patching.wrapper_source import MISSING, Shape

_ALIASES: Final = {"dim": "axis", "keepdim": "keepdims"}


def make(site: Site) -> Callable[..., Any]:
    """The wrapper of a callable."""
    if site.target.attribute == "__getitem__":
        wrapper = _resembling(_indexer(site), site)
        return _standing(gates.in_front(site, wrapper, Style.INDEXER), site)
    shape = shape_of(site.target)
    if shape is None:
        wrapper, takes_names = _resembling(_general(site), site), _takes_names(site)
        return _standing(
            gates.in_front(site, wrapper, Style.GENERAL, takes_names=takes_names), site
        )
    shape = replace(shape, by_layout=site.reads_layouts)
    wrapper, swift = _resembling(_exact(site, shape), site), _swift(site)
    return _standing(gates.in_front(site, wrapper, Style.EXACT, shape=shape, swift=swift), site)


def make_recorder(site: Site) -> Callable[..., Any]:
    """A wrapper that passes every call to its site, with names or without."""

    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return site.call(args, kwargs)

    return _standing(_resembling(wrapper, site), site)


def make_namer(site: Site) -> Callable[..., Any]:
    """The wrapper of a method of the naming API, which names unnamed tensors too."""
    call, learn, memo = site.call, site.learn_general, site.general_memo
    run = site.remembered
    rank_of: Any = plan_keys.rank_of if site.reads_layouts else torch.Tensor.dim

    def wrapper(*args: Any, **kwargs: Any) -> Any:
        if not args or not isinstance(args[0], torch.Tensor):
            return call(args, kwargs)
        tensor = args[0]
        names = tensor._names  # type: ignore[attr-defined]
        key = rank_of(tensor) if names is None else names
        try:
            changed, result_names = memo[key, args[1:], tuple(kwargs.items())]
            is_stale = names is not None and tensor.ndim != len(names)
        except Exception:  # no entry, or what a file holds in place of names has no hash or length
            return learn(args, kwargs)
        if is_stale:
            return learn(args, kwargs)
        positional, keywords = changed or (args[1:], kwargs)
        result = run(tensor, *positional, **keywords)
        if result_names is not None or result._names is not None:
            result._names = result_names
        return result

    swift = tensor_names.subscript() if site.target.move is tensor_names.alias else None
    return _standing(
        gates.in_front(site, _resembling(wrapper, site), Style.NAMER, swift=swift), site
    )


def _resembling(wrapper: Callable[..., Any], site: Site) -> Callable[..., Any]:
    """Give the wrapper the metadata of the original: pickle finds both by name."""
    target = site.target
    owner = target.owner
    functools.update_wrapper(wrapper, target.original, updated=())
    wrapper.__name__ = target.attribute
    wrapper.__module__, wrapper.__qualname__ = (
        (owner.__module__, f"{owner.__qualname__}.{target.attribute}")
        if isinstance(owner, type)
        else (owner.__name__, target.attribute)
    )
    return wrapper


def _standing(wrapper: Callable[..., Any], site: Site) -> Callable[..., Any]:
    """Note what stands for the original: the wrapper, or what is in front of it."""
    if not site.binds and hasattr(wrapper, "__get__"):
        wrapper = stand_ins.of(wrapper)
    site.wrapper = wrapper
    return wrapper


def concerns_site(values: Iterable[Any]) -> bool:
    """Whether any value is, or contains, a tensor with names, or an object that overrides torch."""
    for value in values:
        if isinstance(value, torch.Tensor):
            if getattr(value, "_names", None) is not None:
                return True
        elif issubclass(type(value), (list, tuple)):
            if concerns_site(value):
                return True
        elif hasattr(type(value), overriding_classes.HANDLER):
            return True
    return False


def _general(site: Site) -> Callable[..., Any]:
    """A wrapper for any signature; that of a factory looks for ``names=`` first."""
    if not _takes_names(site):
        return _dispatcher(site)
    call, dispatch = site.call, _dispatcher(site)

    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return call(args, kwargs) if "names" in kwargs else dispatch(*args, **kwargs)

    return wrapper


def _takes_names(site: Site) -> bool:
    return any(p.name == "names" and "names" in p.kinds for p in _parameters(site.target))


def _dispatcher(site: Site) -> Callable[..., Any]:
    original, call, refused, learn = (
        site.original,
        site.call,
        site.handle_refusal,
        site.learn_general,
    )
    run, memo, tensor_class = site.remembered, site.general_memo, torch.Tensor

    def wrapper(*args: Any, **kwargs: Any) -> Any:
        first = args[0] if args else None
        names = getattr(first, "_names", None) if isinstance(first, tensor_class) else None
        if names is not None:
            try:
                changed, result_names = memo[names, args[1:], tuple(kwargs.items())]
                is_stale = args[0].ndim != len(names)
            except Exception:  # no entry, or what a file holds has no hash or length
                is_stale = True
            if is_stale:
                return learn(args, kwargs)
            if changed is None:
                result = run(*args, **kwargs)
            else:
                result = run(args[0], *changed[0], **changed[1])
            if result_names is not None or result._names is not None:
                result._names = result_names
            return result
        if concerns_site(args) or (kwargs and concerns_site(kwargs.values())):
            return call(args, kwargs)
        try:
            return original(*args, **kwargs)
        except REFUSALS as error:
            return refused(error, args, kwargs)

    return wrapper


def _indexer(site: Site) -> Callable[..., Any]:
    """The wrapper of ``x[index]``: of ints, slices, None and Ellipsis only the type is a key."""
    original, call, learn = site.original, site.call, site.learn_exact
    memo = site.exact_memos[1]

    def wrapper(self: Any, index: Any) -> Any:
        names = self._names
        kind: Any = index.__class__
        if names is None:
            if kind in _SIMPLE:
                return original(self, index)
            for part in index if kind is tuple else (index,):
                if part.__class__ not in _SIMPLE and concerns_site((part,)):
                    return call((self, index), {})
            return original(self, index)
        if kind is tuple:
            kind = tuple([part.__class__ for part in index])
        try:
            result_names = memo.get(names, _NOTHING).get(kind, MISSING)
        except Exception:  # the attribute holds something without a hash, and no names
            return call((self, index), {})
        if result_names is MISSING:
            if kind in _SIMPLE or (kind.__class__ is tuple and _SIMPLE.issuperset(kind)):
                return learn((names, kind), (self, index), ())
            return call((self, index), {})
        result = original(self, index)
        if result_names is not None or result._names is not None:
            result._names = result_names
        return result

    return wrapper


_NOTHING: Final[dict[Any, Any]] = {}
_NUMBERS: Final = frozenset({bool, int, float, complex, NoneType})
_SIMPLE: Final = frozenset({int, slice, NoneType, EllipsisType})


def _exact(site: Site, shape: Shape) -> Callable[..., Any]:
    dispatch = _dispatcher(site)

    def gathered(*passed: Any) -> Any:
        args, kwargs = shape.gather(passed)
        return dispatch(*args, **kwargs)

    space = {
        "__builtins__": vars(builtins),
        "M": MISSING,
        "NUMBERS": _NUMBERS,
        "Tensor": torch.Tensor,
        "strided": torch.strided,
        "typed": plan_keys.typed,
        "original": site.original,
        "swift": _swift(site),
        **{f"memo{count}": memo for count, memo in enumerate(site.exact_memos)},
        "learn": site.learn_exact,
        "call": site.call,
        "refused": site.handle_refusal,
        "gathered": gathered,
        "REFUSALS": REFUSALS,
    }
    # A copy for each site: CPython specialises a code object for one set of globals.
    code = _compiled(wrapper_source.write(shape)).replace(co_name=site.target.attribute)
    return FunctionType(code, space, argdefs=(MISSING,) * shape.optional)


@functools.cache
def _compiled(source: str) -> CodeType:
    """The code of the only function in a source text; many callables have the same source."""
    module = compile(source, "<namecheck wrapper>", "exec")
    return next(part for part in module.co_consts if isinstance(part, CodeType))


def _swift(site: Site) -> Callable[..., Any]:
    """The fastest callable that does the same on tensors.

    Calling a builtin function of torch is faster than calling a method of the same operator. The
    function is used if both take the same arguments in the same order.
    """
    target = site.target
    if target.attribute in _FUNCTIONS:
        return _FUNCTIONS[target.attribute]
    if target.form != "m" or (not target.special and isinstance(target.original, FunctionType)):
        return site.original
    function = getattr(torch, target.row.key, None)
    same = "f" in target.row.forms and all(line[:1] != "[" for line in target.row.params)
    return function if same and isinstance(function, BuiltinFunctionType) else site.original


# What runs methods that refuse other dtypes than the function of their row, or with another error.
_FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "__invert__": torch.Tensor.__invert__,
    "__matmul__": torch.matmul,
}


def _parameters(patched: Target) -> list[Parameter]:
    return [parameter for signature in _overloads(patched) for parameter in signature]


def _overloads(patched: Target) -> list[Signature]:
    letter = patched.form if patched.form in "mi" else "f"
    return [signature for _, signature in patched.row.alternatives(letter)]


def shape_of(patched: Target) -> Shape | None:
    """The shape of a callable, None if its overloads differ or it takes no tensor first."""
    if patched.special:
        others = [] if patched.unary else [("other", "either")]
        operands = (("self", "tensor"), *others)
        return Shape(operands, (), bound=True, strict=True, reflected=patched.reflected)
    if (
        isinstance(patched.original, FunctionType)
        and patched.original.__code__.co_flags & CO_VARARGS
    ):
        return None  # it inspects how arguments are passed (unique_consecutive)
    positional_names: list[str] = []
    kinds: list[set[str]] = []
    keyword_names: list[str] = []
    beyond = 1
    for signature in _overloads(patched):
        index = 0
        # An old overload has factors (alpha of the old `add`) among its arguments, which are one or
        # two more than the usual ones. An argument is passed on at its own place, whatever its
        # parameter is called.
        factors = [each for each in signature if each.name in keyword_names and _is_factor(each)]
        beyond = max(beyond, len(factors))
        for parameter in (each for each in signature if each not in factors):
            if parameter.variadic or parameter.mapping or parameter.positional_only:
                return None
            if parameter.keyword_only:
                keyword_names.append(parameter.name)
                continue
            if index == len(positional_names):
                positional_names.append(parameter.name)
                kinds.append(set())
            elif positional_names[index] != parameter.name:
                return None
            kinds[index] |= parameter.kinds
            index += 1
    if not positional_names or "tensor" not in kinds[0] or any(map(_is_vague, kinds[1:])):
        return None
    # A parameter that is keyword-only in some overload is passed by keyword, and so are later ones.
    shared = [positional_names.index(name) for name in keyword_names if name in positional_names]
    cut = min(shared, default=len(positional_names))
    if len(positional_names) - cut > beyond:
        return None
    del positional_names[cut:], kinds[cut:]
    keyword_names += [
        _ALIASES[name] for name in (*positional_names, *keyword_names) if name in _ALIASES
    ]
    keyword_names += _undocumented_keywords(patched)
    if "o" in patched.row.forms:
        keyword_names.append("out")
    unique = tuple(
        name for name in dict.fromkeys(keyword_names) if name not in (*positional_names, "self")
    )
    if any(map(keyword.iskeyword, (*positional_names, *unique))) or "self" in positional_names:
        return None
    pairs = tuple((name, _kind(kind)) for name, kind in zip(positional_names, kinds, strict=True))
    tensor = patched.row.names not in targets.QUERIES
    bound = patched.form in "mia"
    return Shape(pairs, unique, bound=bound, strict=False, names_result=tensor, beyond=beyond)


def _is_factor(parameter: Parameter) -> bool:
    return parameter.kinds <= {"number"} and not parameter.keyword_only


def _kind(kinds: set[str]) -> str:
    if "tensor" in kinds:
        return "either" if kinds - {"tensor"} else "tensor"
    return "value" if kinds & _RELEVANT else "number"


# Kinds of arguments that the names of a result depend on.
_RELEVANT: Final = NAMING | {"bool", "flag", "unset", "int", "ints", "str", "none"}


def _is_vague(kinds: set[str]) -> bool:
    """Whether a parameter accepts arbitrary values, which cannot be part of a key."""
    return not kinds or bool(kinds & {"any", "tensors"})


def _undocumented_keywords(patched: Target) -> list[str]:
    """Keywords that this version of torch accepts besides those of the table."""
    try:
        parameters = inspect.signature(patched.original).parameters.values()
        names = [p.name for p in parameters if p.kind is not p.VAR_POSITIONAL]
    except (ValueError, TypeError):
        schemas = torch._C._jit_get_schemas_for_operator(f"aten::{patched.attribute}")
        names = [a.name for s in schemas for a in s.arguments]
    return [name for name in names if name not in ("self", "input")]
