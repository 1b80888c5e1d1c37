"""The source text of an exact wrapper: explicit parameters, a path for each number of arguments.

Forwarding ``*args, **kwargs`` costs 20 % of a small operator, and each keyword-only parameter a
few percent. So every parameter is positional. The parameters ``_beyond`` come before those that
torch takes by keyword only; they are set if a call has more positional arguments than usual.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

MISSING: Final = object()

LONGEST: Final = 6  # arguments besides the tensor that have a path of their own


@dataclass(frozen=True, slots=True)
class Shape:
    """The parameters of a callable.

    `positional` parameters have a name and a kind: "tensor", "either" (a tensor or a number),
    "value" (the answer depends on it) or "number" (it does not). `keywords` are the names of
    keyword-only parameters. `bound` is True for a method, `strict` for a special method, which
    takes exactly its positional parameters, `reflected` if its receiver is the right operand.
    `names_result` is False for a query, whose result is no tensor. `by_layout` is True where the
    answer depends on the layout of a tensor, which has no names if it is not strided. An old
    overload takes some keywords as positional arguments, `beyond` is their number; at least one, so
    that torch itself refuses an argument too many.
    """

    positional: tuple[tuple[str, str], ...]
    keywords: tuple[str, ...]
    bound: bool
    strict: bool
    reflected: bool = False
    names_result: bool = True
    by_layout: bool = False
    beyond: int = 1

    @property
    def names(self) -> list[str]:
        """The names of the positional parameters; the receiver of a method is ``self``."""
        first, *rest = [name for name, _ in self.positional]
        return ["self" if self.bound else first, *rest]

    @property
    def rare(self) -> tuple[str, ...]:
        """The parameters after the positional ones."""
        if self.strict:
            return ()
        return (*(f"_beyond{index}" for index in range(self.beyond)), *self.keywords)

    @property
    def optional(self) -> int:
        """The number of parameters that a call may omit."""
        return 0 if self.strict else len(self.positional) - 1 + len(self.rare)

    def gather(self, values: Sequence[Any]) -> tuple[list[Any], dict[str, Any]]:
        """The positional and keyword arguments of a call, from the values of all parameters."""
        argument_list: list[Any] = []
        kwargs: dict[str, Any] = {}
        start = len(self.positional)
        end = start if self.strict else start + self.beyond
        for (name, _), value in zip(self.positional, values, strict=False):
            if value is MISSING:
                continue
            if kwargs or len(argument_list) < _position(self.positional, name):
                kwargs[name] = value
            else:
                argument_list.append(value)
        argument_list += [value for value in values[start:end] if value is not MISSING]
        for name, value in zip(self.keywords, values[end:], strict=False):
            if value is not MISSING:
                kwargs[name] = value
        return argument_list, kwargs


def _position(positional: Sequence[tuple[str, str]], name: str) -> int:
    return [parameter for parameter, _ in positional].index(name)


def write(shape: Shape) -> str:
    """The source of the wrapper.

    Its globals are M (MISSING), NUMBERS (the types of numbers, and of None), Tensor, strided,
    typed, original, swift (the same for tensors, with a faster call), learn, call, refused,
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
        "    except Exception:",  # no tensor; its class may raise any error
        f"        return gathered({everything})",
    ]
    if shape.strict:
        return "\n".join([*lines, *_path(shape, rest, 1)]) + "\n"
    fast = rest[:LONGEST]
    for count in range(len(fast), 0, -1):
        before, last = fast[: count - 1], fast[count - 1]
        lines.append(f"    if {last} is not M:")
        if before:
            lines.append(f"        if {' or '.join(f'{name} is M' for name in before)}:")
            lines.append(f"            return gathered({everything})")
        lines += _path(shape, fast[:count], 2)
    return "\n".join([*lines, *_path(shape, [], 1)]) + "\n"


# A result without names needs no attribute, unless it is an argument that has names.
_NAMING: Final = (
    "if _names is not None or _result._names is not None:",
    "    _result._names = _names",
)


def _path(shape: Shape, passed_names: Sequence[str], depth: int) -> list[str]:
    """The lines for a call with these arguments: without names, from the memo, or to learn."""
    head = shape.names[0]
    kinds = dict(shape.positional)
    tensors = [name for name in passed_names if kinds[name] in ("tensor", "either")]
    values = [name for name in passed_names if kinds[name] == "value"]
    passed = ", ".join([head, *passed_names])
    lines: list[str] = []
    if tensors:
        lines += [
            "try:",
            *(f"    m{i} = {_names_of(name)}" for i, name in enumerate(tensors)),
            "except Exception:",  # the shim was uninstalled, or a class raises another error
            f"    return gathered({', '.join([*shape.names, *shape.rare])})",
        ]
    if shape.strict and tensors:
        swiftly = "swift(other, self)" if shape.reflected else "swift(self, other)"
        lines += [
            "if n0 is None:",
            f"    if m0 is None: return {swiftly}",
            "    if m0 is M: return original(self, other)",
            f"    n0 = {_rank_of('self', shape)}",
            f"elif m0 is None: m0 = {_rank_of('other', shape)}",
        ]
    else:
        plain = ["n0 is None", *(_is_plain(i, name) for i, name in enumerate(tensors))]
        lines += [
            f"if {' and '.join(plain)}:",
            "    try:",
            f"        return swift({passed})",
            "    except REFUSALS as error:",
            f"        return refused(error, ({passed},), {{}})",
        ]
    texts = " or ".join(f"{name}.__class__ is str" for name in values)
    if texts:
        # Names that are not as many as the dims must not be used to look up an index.
        lines += [
            f"if {'n0 is not None and ' if tensors else ''}({texts}):",
            f"    try: is_stale = {head}.ndim != len(n0)",
            "    except Exception: is_stale = True",  # what a file holds may have no length
            f"    if is_stale: return call(({passed},), {{}})",
        ]
    for index, name in enumerate(values):
        is_plain = f"{name}.__class__ is int or {name}.__class__ is str"
        lines.append(f"k{index} = {name} if {is_plain} else typed({name})")
    if tensors and not shape.strict:
        lines.append(f"if n0 is None: n0 = {_rank_of(head, shape)}")
        lines += [
            f"if m{i} is None: m{i} = {_rank_of(name, shape)}" for i, name in enumerate(tensors)
        ]
    # The memo has calls with numbers: another object may override torch's functions.
    lines += [
        f"if m{i} is M and {name}.__class__ not in NUMBERS: return call(({passed},), {{}})"
        for i, name in enumerate(tensors)
    ]
    # Nested look-ups are faster than one look-up of a tuple, which hashes all of its parts.
    keys = [f"k{index}" for index in range(len(values))]
    key = [*keys, "n0", *(f"m{i}" for i in range(len(tensors)))]
    subscripts = "".join(f"[{part}]" for part in key)
    arguments = [f"v{i}" if name in values else name for i, name in enumerate(passed_names)]
    unpacked = [f"v{passed_names.index(name)}" for name in values]
    lines += [
        "try:",
        f"    {', '.join([*unpacked, '_names'])} = memo{len(passed_names)}{subscripts}",
        "except Exception:",  # no entry, or what a file holds in place of names has no hash
        "    _names = M",
        "if _names is M:",
        f"    return learn(({', '.join(key)},), ({passed},), {_indices(passed_names, values)})",
        f"_result = {_run(shape, [head, *arguments])}",
        *(["if _result is NotImplemented: return _result"] if shape.strict else []),
        *(_NAMING if shape.names_result else []),
        "return _result",
    ]
    return ["    " * depth + line for line in lines]


def _is_plain(index: int, parameter: str) -> str:
    """Whether an argument is an unnamed tensor or a number: other objects may override torch."""
    return f"(m{index} is None or (m{index} is M and {parameter}.__class__ in NUMBERS))"


def _names_of(parameter: str) -> str:
    """The names of an argument that may be no tensor; ``getattr`` is slow, so most do without."""
    return (
        f"{parameter}._names if type({parameter}) is Tensor else getattr({parameter}, '_names', M)"
    )


def _rank_of(parameter: str, shape: Shape) -> str:
    """What an unnamed tensor adds to the key; `plan_keys.rank_of` where layouts count."""
    rank = f"{parameter}.ndim"
    if not shape.by_layout:
        return rank
    return f"{rank} if {parameter}.layout is strided else ({rank}, {parameter}.layout)"


def _run(shape: Shape, passed_names: Sequence[str]) -> str:
    """The call of the original; a special method of two tensors is called as a function."""
    if not shape.strict or len(passed_names) == 1:
        return f"swift({', '.join(passed_names)})"
    swiftly = "swift(other, self)" if shape.reflected else "swift(self, other)"
    return f"original(self, other) if m0 is M else {swiftly}"


def _indices(passed_names: Sequence[str], replaced: Sequence[str]) -> str:
    """The indices of the arguments that the memo replaces, as a tuple display."""
    return f"({''.join(f'{passed_names.index(name) + 1}, ' for name in replaced)})"
