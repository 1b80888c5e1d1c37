"""The functions that stand in torch's place, written out for each callable.

A call without names costs one look at each tensor's attribute before the original runs; one with
names a look into the site's memo besides. To cost no more, the code is exact: named parameters,
no forwarding of ``*args, **kwargs``, and a path of its own for each number of arguments. Whatever
is not one of these paths, and whatever the memo does not know, goes to the `Site`.
"""

from __future__ import annotations

import functools
import inspect
import keyword
from collections.abc import Callable, Iterable
from typing import Any, Final

import torch

from namecheck.runtime.sites import NAMING, Site
from namecheck.runtime.targets import Target
from namecheck.signatures import Parameter, Signature

MISSING: Final = object()
_REFUSALS: Final = (TypeError, RuntimeError)
_LONGEST: Final = 3  # arguments besides the tensor that have a path of their own
_ALIASES: Final = {"dim": "axis", "keepdim": "keepdims"}


def make(site: Site) -> Callable[..., Any]:
    """The function that stands in for a callable."""
    shape = _Shape.of(site.target)
    wrapper = _general(site) if shape is None else shape.compile(site)
    return _dressed(wrapper, site.target)


def make_recorder(site: Site) -> Callable[..., Any]:
    """The function that takes every call to the site, whether there are names in it or not."""

    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return site.call(args, kwargs)

    return _dressed(wrapper, site.target)


def _dressed(wrapper: Callable[..., Any], target: Target) -> Callable[..., Any]:
    """Let the function pass for the original: pickle finds both by their name."""
    functools.update_wrapper(wrapper, target.original, updated=())
    wrapper.__wrapped_operator__ = target.operator  # type: ignore[attr-defined]
    wrapper.__name__ = target.attribute
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
    """The wrapper for any signature."""
    original, call, refused = site.original, site.call, site.refused
    makes_names = any(p.kinds & {"names"} and p.name == "names" for p in _all(site.target))

    def wrapper(*args: Any, **kwargs: Any) -> Any:
        if carries_names(args) or (kwargs and carries_names(kwargs.values())):
            return call(args, kwargs)
        try:
            return original(*args, **kwargs)
        except _REFUSALS as error:
            return refused(error, args, kwargs)

    def factory(*args: Any, **kwargs: Any) -> Any:
        if "names" in kwargs or carries_names(args) or carries_names(kwargs.values()):
            return call(args, kwargs)
        return original(*args, **kwargs)

    return factory if makes_names else wrapper


def _all(target: Target) -> list[Parameter]:
    return [parameter for signature in _overloads(target) for parameter in signature]


def _overloads(target: Target) -> list[Signature]:
    letter = target.form if target.form in "mi" else "f"
    return [signature for _, signature in target.row.alternatives(letter)]


class _Shape:
    """The parameters of a callable of which all overloads agree, and how a call passes them.

    `places` go by place or keyword, `words` by keyword alone; `kinds` tells for each place
    whether it is a tensor ("tensor"), a tensor or a number ("either"), a value that the answer
    depends on ("value"), or one that it does not depend on ("number").
    """

    def __init__(self, target: Target, places: list[str], kinds: list[str], words: list[str]):
        self.target = target
        self.places = places
        self.kinds = kinds
        self.words = words

    @staticmethod
    def of(target: Target) -> _Shape | None:
        """The shape of a callable; None where its overloads differ, or it takes no tensor first."""
        overloads = _overloads(target)
        if not overloads or (target.reflected and len(overloads) > 1):
            return None
        places: list[str] = []
        kinds: list[set[str]] = []
        words: list[str] = []
        for signature in overloads:
            index = 0
            for parameter in signature:
                if parameter.variadic or parameter.mapping or parameter.positional_only:
                    return None
                if parameter.keyword_only:
                    words.append(parameter.name)
                    continue
                if index == len(places):
                    places.append(parameter.name)
                    kinds.append(set())
                elif places[index] != parameter.name:
                    return None
                kinds[index] |= parameter.kinds
                index += 1
        if not places or kinds[0] != {"tensor"} or any("tensors" in kind for kind in kinds):
            return None
        words += [_ALIASES[name] for name in (*places, *words) if name in _ALIASES]
        words += _further(target, {*places, *words})
        if "o" in target.row.forms and "out" not in words:
            words.append("out")
        unique = [word for word in dict.fromkeys(words) if word not in places]
        if any(map(keyword.iskeyword, (*places, *unique))) or "self" in (*places, *unique):
            return None
        return _Shape(target, places, [_kind(kind) for kind in kinds], unique)

    def compile(self, site: Site) -> Callable[..., Any]:
        """The wrapper's source, run with the site's functions at hand."""
        space: dict[str, Any] = {
            "M": MISSING,
            "original": site.original,
            "memo": site.quick,
            "learn": site.learn,
            "call": site.call,
            "refused": site.refused,
            "REFUSALS": _REFUSALS,
            "gather": self._gatherer(),
        }
        text = self.source()
        exec(compile(text, f"<namecheck wrapper of {self.target.attribute}>", "exec"), space)
        wrapper: Callable[..., Any] = space["wrapper"]
        return wrapper

    def _gatherer(self) -> Callable[..., tuple[tuple[Any, ...], dict[str, Any]]]:
        """What was given of all parameters, as a call passes it on."""
        places, words = self.places, self.words

        def gather(*values: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
            args: list[Any] = []
            kwargs: dict[str, Any] = {}
            gap = False
            for name, value in zip(places, values, strict=False):
                if value is MISSING:
                    gap = True
                elif gap:
                    kwargs[name] = value
                else:
                    args.append(value)
            beyond = values[len(places)]
            if beyond is not MISSING:
                args.append(beyond)  # one argument too many: torch will say so
            for name, value in zip(words, values[len(places) + 1 :], strict=True):
                if value is not MISSING:
                    kwargs[name] = value
            return tuple(args), kwargs

        return gather

    def source(self) -> str:
        """One function with a path for each number of arguments."""
        first, *rest = self.places
        head = self._own(first)
        parameters = [head]
        parameters += [f"{name}=M" for name in (*rest, "_beyond", *self.words)]
        if self.target.form in "mia":
            parameters.insert(1, "/")
        lines = [f"def wrapper({', '.join(parameters)}):"]
        others = ["_beyond", *self.words, *rest[_LONGEST:]]
        everything = ", ".join([head, *rest, "_beyond", *self.words])
        lines.append(f"    if {' is '.join([*others, 'M'])}:")
        lines.append("        try:")
        lines.append(f"            n0 = {head}._names")
        lines.append("        except AttributeError:")
        lines.append(f"            args, kwargs = gather({everything})")
        lines.append("            return original(*args, **kwargs)")
        lines += self._paths(head, rest[:_LONGEST], 2)
        lines.append(f"    args, kwargs = gather({everything})")
        lines.append("    return call(args, kwargs)")
        return "\n".join(lines) + "\n"

    def _own(self, first: str) -> str:
        return "self" if self.target.form in "mia" else first

    def _paths(self, head: str, rest: list[str], depth: int) -> list[str]:
        """A path for each number of arguments, from the fewest on."""
        lines: list[str] = []
        for count in range(len(rest) + 1):
            given = rest[:count]
            conditions = [f"{name} is M" for name in rest[count:]]
            conditions += [f"{name} is not M" for name in given]
            pad = "    " * depth
            lines.append(f"{pad}if {' and '.join(conditions) or 'True'}:")
            lines += [f"{pad}    {line}" for line in self._path(head, given)]
        return lines

    def _path(self, head: str, given: list[str]) -> list[str]:
        kinds = dict(zip(self.places[1:], self.kinds[1:], strict=True))
        tensors = [name for name in given if kinds[name] in ("tensor", "either")]
        values = [name for name in given if kinds[name] == "value"]
        passed = ", ".join([head, *given])
        lines = [f"m{i} = getattr({name}, '_names', M)" for i, name in enumerate(tensors)]
        plain = ["n0 is None", *(f"(m{i} is None or m{i} is M)" for i in range(len(tensors)))]
        lines += [
            f"if {' and '.join(plain)}:",
            "    try:",
            f"        return original({passed})",
            "    except REFUSALS as error:",
            f"        return refused(error, ({passed},), {{}})",
        ]
        if tensors:
            lines.append(f"if n0 is None: n0 = {head}.ndim")
        lines += [f"if m{i} is None: m{i} = {name}.ndim" for i, name in enumerate(tensors)]
        key = ", ".join(["n0", *(f"m{i}" for i in range(len(tensors))), *values])
        key = f"({key})" if tensors or values else key
        unpacked = [f"v{i}" for i in range(len(given) + 1)]
        used = [f"v{i + 1}" if name in values else name for i, name in enumerate(given)]
        looked = " or ".join(f"{name}.__class__ is str" for name in values)
        if looked:
            lines.append(f"if ({looked}) and {head}.ndim != len(n0):")
            lines.append(f"    return call(({passed},), {{}})")
        lines += [
            "try:",
            f"    {', '.join(unpacked)}, names = memo[{key}]",
            "except (KeyError, TypeError):",
            f"    return learn({key}, ({passed},))",
            f"result = original({', '.join([head, *used])})",
            "result._names = names",
            "return result",
        ]
        return lines


def _kind(kinds: set[str]) -> str:
    if "tensor" in kinds:
        return "either" if kinds - {"tensor"} else "tensor"
    if kinds & NAMING or kinds & {"bool", "int", "ints", "false", "str", "any", "none"}:
        return "value"
    return "number" if kinds else "value"


def _further(target: Target, known: set[str]) -> list[str]:
    """Keywords that this torch takes besides those of the table."""
    try:
        named = inspect.signature(target.original).parameters.values()
        found = [p.name for p in named if p.kind is not p.VAR_POSITIONAL]
    except (ValueError, TypeError):
        name = target.attribute
        schemas = torch._C._jit_get_schemas_for_operator(f"aten::{name}")
        found = [a.name for s in schemas for a in s.arguments if a.name != "self"]
    return [name for name in dict.fromkeys(found) if name not in {*known, "self", "input"}]
