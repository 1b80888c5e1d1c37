"""The source text of an exact wrapper: named parameters, a path for each number of arguments.

Forwarding ``*args, **kwargs`` would cost a fifth of a small operator, a keyword-only parameter a
few hundredths each. So every parameter goes by place, and a place that no caller fills
(``_beyond``) stands before those that torch takes by keyword alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

MISSING: Final = object()

LONGEST: Final = 6  # arguments besides the tensor that have a path of their own


@dataclass(frozen=True, slots=True)
class Shape:
    """The parameters of a callable, as a call passes them.

    `places` go by place or keyword, each with what it is: a "tensor", "either" a tensor or a
    number, a "value" that the answer depends on, or a "number" that it does not depend on;
    `words` go by keyword alone. A `bound` one is a method. A `strict` one takes exactly its
    places, for it is a special method, and a `reflected` one has its receiver on the right.
    """

    places: tuple[tuple[str, str], ...]
    words: tuple[str, ...]
    bound: bool
    strict: bool
    reflected: bool = False

    @property
    def names(self) -> list[str]:
        """The parameters by place; the receiver of a method is ``self``."""
        first, *rest = [name for name, _ in self.places]
        return ["self" if self.bound else first, *rest]

    @property
    def rare(self) -> tuple[str, ...]:
        """The parameters behind those by place."""
        return () if self.strict else ("_beyond", *self.words)

    @property
    def optional(self) -> int:
        """How many parameters may be left out."""
        return 0 if self.strict else len(self.places) - 1 + len(self.rare)

    def gather(self, values: Sequence[Any]) -> tuple[list[Any], dict[str, Any]]:
        """What was given of all parameters, as a call passes it on."""
        args: list[Any] = []
        kwargs: dict[str, Any] = {}
        beyond = len(self.places)
        for (name, _), value in zip(self.places, values, strict=False):
            if value is MISSING:
                continue
            if kwargs or len(args) < _position(self.places, name):
                kwargs[name] = value
            else:
                args.append(value)
        if not self.strict and values[beyond] is not MISSING:
            args.append(values[beyond])  # one argument too many, which torch will say
        for name, value in zip(self.words, values[beyond + 1 :], strict=False):
            if value is not MISSING:
                kwargs[name] = value
        return args, kwargs


def _position(places: Sequence[tuple[str, str]], name: str) -> int:
    return [place for place, _ in places].index(name)


def write(shape: Shape) -> str:
    """The source of the wrapper.

    It finds M, original, swift (the same for tensors, called sooner), learn, call, refused,
    gathered, and a memo for each number of arguments.
    """
    head, *rest = shape.names
    parameters = [head, *(["/"] if shape.bound else []), *rest, *shape.rare]
    everything = ", ".join([head, *rest, *shape.rare])
    lines = [f"def wrapper({', '.join(parameters)}):"]
    unusual = [*shape.rare, *rest[LONGEST:]]
    if unusual:
        lines += [
            f"    if not ({' is '.join([*unusual, 'M'])}):",
            f"        return gathered({everything})",
        ]
    lines += [
        "    try:",
        f"        n0 = {head}._names",
        "    except AttributeError:",
        f"        return gathered({everything})",
    ]
    if shape.strict:
        return "\n".join([*lines, *_path(shape, rest, 1)]) + "\n"
    shown = rest[:LONGEST]
    for count in range(len(shown), 0, -1):
        before, last = shown[: count - 1], shown[count - 1]
        lines.append(f"    if {last} is not M:")
        if before:
            lines.append(f"        if {' or '.join(f'{name} is M' for name in before)}:")
            lines.append(f"            return gathered({everything})")
        lines += _path(shape, shown[:count], 2)
    return "\n".join([*lines, *_path(shape, [], 1)]) + "\n"


def _path(shape: Shape, given: list[str], depth: int) -> list[str]:
    """One call with these arguments: without names, from the memo, or to be learnt."""
    head = shape.names[0]
    kinds = dict(shape.places)
    tensors = [name for name in given if kinds[name] in ("tensor", "either")]
    values = [name for name in given if kinds[name] == "value"]
    passed = ", ".join([head, *given])
    lines = [f"m{i} = getattr({name}, '_names', M)" for i, name in enumerate(tensors)]
    if shape.strict and tensors:
        swiftly = "swift(other, self)" if shape.reflected else "swift(self, other)"
        lines += [
            "if n0 is None:",
            f"    if m0 is None: return {swiftly}",
            "    if m0 is M: return original(self, other)",
            "    n0 = self.ndim",
            "elif m0 is None: m0 = other.ndim",
        ]
    else:
        plain = ["n0 is None", *(f"(m{i} is None or m{i} is M)" for i in range(len(tensors)))]
        lines += [
            f"if {' and '.join(plain)}:",
            "    try:",
            f"        return swift({passed})",
            "    except REFUSALS as error:",
            f"        return refused(error, ({passed},), {{}})",
        ]
    looked = " or ".join(f"{name}.__class__ is str" for name in values)
    if looked:
        # Names that no longer fit the tensor must not tell where a dim stands.
        lines += [
            f"if {'n0 is not None and ' if tensors else ''}({looked}) and {head}.ndim != len(n0):",
            f"    return call(({passed},), {{}})",
        ]
    if tensors and not shape.strict:
        lines.append(f"if n0 is None: n0 = {head}.ndim")
        lines += [f"if m{i} is None: m{i} = {name}.ndim" for i, name in enumerate(tensors)]
    # One look-up after the other costs less than one of a tuple, which hashes all of its parts.
    key = [*values, "n0", *(f"m{i}" for i in range(len(tensors)))]
    found = "".join(f"[{part}]" for part in key)
    places = [f"v{i}" if name in values else name for i, name in enumerate(given)]
    unpacked = [f"v{given.index(name)}" for name in values]
    lines += [
        "try:",
        f"    {', '.join([*unpacked, '_names'])} = memo{len(given)}{found}",
        "except (KeyError, TypeError):",
        "    _names = M",
        "if _names is M:",
        f"    return learn(({', '.join(key)},), ({passed},), {_indices(given, values)})",
        f"_result = {_run(shape, [head, *places])}",
        *(["if _result is NotImplemented: return _result"] if shape.strict else []),
        "_result._names = _names",
        "return _result",
    ]
    return ["    " * depth + line for line in lines]


def _run(shape: Shape, arguments: list[str]) -> str:
    """The call of the original; a special method of two tensors is called as a function."""
    if not shape.strict or len(arguments) == 1:
        return f"swift({', '.join(arguments)})"
    swiftly = "swift(other, self)" if shape.reflected else "swift(self, other)"
    return f"original(self, other) if m0 is M else {swiftly}"


def _indices(given: list[str], values: list[str]) -> str:
    """Which of the arguments the memo tells anew, as a tuple display."""
    return f"({''.join(f'{given.index(name) + 1}, ' for name in values)})"
