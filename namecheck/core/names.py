"""The algebra of dimension names: match, unify, look-up, alignment, and native torch's wording.

A name is one of four things:

- ``None``: known to be unnamed, the specification's wildcard, which matches everything;
- ``UNKNOWN``: might be anything, so nothing can be said of it;
- a label, a plain ``str``, given by ``names=`` or ``refine_names``;
- an ``Axis``, given by an annotation, with the occurrence that tells ``"t t"`` apart.

Labels and axes follow different laws (docs/semantics.md, "Two kinds of name"): whether two axes
that differ may stand in one position depends on their sizes, see `namecheck.rules.broadcasting`.

Every question has three answers (`Answer`): a contradiction is reported only on NO.
Source of the laws: named_tensor.rst, "match semantics"; name_inference.rst,
"Unifies names from inputs".
"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Final, TypeAlias


class Unknown(enum.Enum):
    """The value of which nothing is known; never equal to ``None``, the wildcard."""

    UNKNOWN = "?"

    # It stands in every key under which an inference is remembered.
    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN: Final = Unknown.UNKNOWN


class Answer(enum.Enum):
    """The answer to a question about values that may be partly unknown."""

    NO = 0
    MAYBE = 1
    YES = 2


SOME: Final = -1


@dataclass(frozen=True, slots=True)
class Axis:
    """A name that an annotation gives to a dimension.

    A merged dimension has its factors, the outermost first: ``heads*dim``; in whatever order they
    may be where it is not `ordered`, as that of ``zeros(h*w)``. In a tensor that has a name more
    than once the occurrences are 1, 2, …, see `told_apart`; 0 is the only one, and SOME is one of
    them of which it is not known which. A `scoped` axis is told apart from those of its name
    elsewhere. Its `size` is that which its name is declared with: ``rgb=3``.
    """

    name: str
    occurrence: int = 0
    ordered: bool = True
    size: int | None = None

    @property
    def factors(self) -> tuple[str, ...]:
        """The names of what is merged in it, outermost first; of others its own."""
        return tuple(self.name.split("*"))


Label: TypeAlias = str
Name: TypeAlias = Label | Axis | Unknown | None


class Contradiction(Exception):
    """Names, sizes or arguments that cannot go together: what native torch would have raised.

    `code` is a code of `namecheck.core.findings`, `error` the type of the exception that torch
    raises, `message` its text (the native wording where native has one), `names` the labels that
    it is about, most telling first, `help` the way out in one sentence.
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        error: str = "RuntimeError",
        names: Sequence[str] = (),
        help: str | None = None,
    ) -> None:
        message = bare(message)
        super().__init__(message)
        self.code = code
        self.message = message
        self.error = error
        self.names = tuple(names)
        self.help = help

    def alone(self) -> Contradiction:
        """The same without the frames it went through: one that is kept must not keep them alive.

        A frame holds what it was doing: torch's, while it prints a tensor, holds functorch off.
        """
        self.__cause__ = self.__context__ = None
        return self.with_traceback(None)


def scoped(name: str, scope: int) -> str:
    """The name of an axis that holds in one scope only: for one call, or for one instance.

    Whether it is one of another scope cannot be told. It is a Python identifier, as names are.
    """
    return f"{name}{_SCOPE}{scope}"


_SCOPE: Final = "·"
_SCOPES: Final = re.compile(f"{_SCOPE}([0-9]+)")
_SEVERAL: Final = "several"


def is_scoped(text: str, scope: int) -> bool:
    """Whether an axis in a text is one of a scope."""
    return str(scope) in _SCOPES.findall(text)


def is_foreign(name: Name) -> bool:
    """Whether an axis is one of another scope, so that nothing here tells its size."""
    return isinstance(name, Axis) and _SCOPE in name.name


def unscoped(name: str, scope: int) -> str:
    """The name of an axis without this scope, if it has it."""
    return name.removesuffix(f"{_SCOPE}{scope}")


def bare(text: str) -> str:
    """A text with the axes in it as their author wrote them, without their scopes."""
    return _SCOPES.sub("", text) if _SCOPE in text else text


def word(name: Name) -> str | None:
    """The bare word of a label or an axis, None for what has none."""
    if isinstance(name, Axis):
        return bare(name.name)
    return name if isinstance(name, str) else None


def match(left: Name, right: Name) -> Answer:
    """Whether two names can stand in one position (named_tensor.rst, "match semantics")."""
    if left is None or right is None:
        return Answer.YES
    if left is UNKNOWN or right is UNKNOWN:
        return Answer.MAYBE
    if isinstance(left, Axis) and isinstance(right, Axis):
        if left.name == right.name or _same_factors(left, right):
            return Answer.YES
        return Answer.NO if _scope(left) == _scope(right) != _SEVERAL else Answer.MAYBE
    if word(left) == word(right):
        return Answer.YES
    return Answer.NO if _is_unscoped(left) and _is_unscoped(right) else Answer.MAYBE


def _scope(axis: Axis) -> str:
    """The scope of an axis: "" for that of the code being read, one word for more than one."""
    if _is_unscoped(axis):
        return ""
    found = {"".join(_SCOPES.findall(factor)[:1]) for factor in axis.factors}
    return found.pop() if len(found) == 1 else _SEVERAL


def _is_unscoped(name: Name) -> bool:
    return not is_foreign(name)


def _same_factors(left: Name, right: Name) -> bool:
    """Whether two merged axes, of which one may be in any order, have the same factors."""
    if not isinstance(left, Axis) or not isinstance(right, Axis):
        return False
    return not (left.ordered and right.ordered) and sorted(left.factors) == sorted(right.factors)


def unify(left: Name, right: Name) -> Name:
    """The more specific of two matching names; what an unknown one leaves is the known label.

    Defined only where `match` is not NO.
    """
    if left is None:
        return right
    if right is None:
        return left
    if left is UNKNOWN or right is UNKNOWN:
        return either(right if left is UNKNOWN else left)
    if isinstance(left, Axis) and isinstance(right, Axis):
        if match(left, right) is Answer.MAYBE:
            return min(left, right, key=lambda axis: (not _is_unscoped(axis), axis.name))
        return _unified_axes(left, right)
    return left if isinstance(left, Axis) else right


def either(name: Name) -> Name:
    """A name of which it is not known which occurrence it is."""
    return replace(name, occurrence=SOME) if isinstance(name, Axis) else name


def _unified_axes(left: Axis, right: Axis) -> Axis:
    """What both say of one axis: its occurrence, and the order of its factors."""
    ordered = left if left.ordered else right
    occurrence = left.occurrence or right.occurrence
    return replace(ordered, occurrence=occurrence, size=left.size or right.size)


def join(left: Name, right: Name) -> Name:
    """The least that covers both names."""
    if left == right:
        return left
    if not isinstance(left, Axis) or not isinstance(right, Axis):
        return UNKNOWN
    if left.name == right.name and left.ordered and right.ordered:
        return replace(left, occurrence=SOME, size=left.size or right.size)
    if sorted(left.factors) == sorted(right.factors):
        return replace(unordered(left.factors), occurrence=SOME)
    return UNKNOWN


def unordered(factors: Sequence[str]) -> Axis:
    """The axis that is merged of these, in whatever order."""
    return Axis("*".join(sorted(factors)), ordered=len(factors) < 2)


def covers(general: Name, specific: Name) -> bool:
    """Whether `general` says nothing that `specific` contradicts."""
    if general is UNKNOWN or general == specific:
        return True
    if not isinstance(general, Axis) or not isinstance(specific, Axis):
        return False
    told = general.occurrence <= 0 or general.occurrence == specific.occurrence
    return told and match(general, specific) is Answer.YES and general.ordered <= specific.ordered


def told_apart(names: Sequence[Name]) -> tuple[Name, ...]:
    """The names of one tensor, where an axis that stands in it twice has its occurrences.

    They count from 1 on the left, but a square that has been told apart stays so when transposed.
    """
    axes = [name for name in names if isinstance(name, Axis)]
    words = [axis.name for axis in axes]
    doubtful = {axis.name for axis in axes if axis.occurrence == SOME}
    several = {word for word in words if words.count(word) > 1} - doubtful
    numbers = {word: _numbers(word, axes) for word in several}
    return tuple(
        replace(name, occurrence=next(numbers[name.name]))
        if isinstance(name, Axis) and not name.occurrence and name.name in numbers
        else name
        for name in names
    )


def _numbers(word: str, axes: Sequence[Axis]) -> Iterator[int]:
    """The occurrences of an axis that none has yet."""
    told = {axis.occurrence for axis in axes if axis.name == word}
    return (number for number in count(1) if number not in told)


_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


def check_label(label: str) -> None:
    """Refuse what is no identifier (recorded: ``''``, ``'1a'``, ``'N C'``, ``'é'``)."""
    if not _IDENTIFIER.match(label):
        raise Contradiction(
            "NC105",
            "Invalid name: a valid identifier contains only digits, alphabetical characters, "
            f"and/or underscore and starts with a non-digit. got: '{label}'.",
            names=(label,),
            help="Name the dimension with letters, digits and underscores, as a Python variable.",
        )


def read_name(value: object) -> Name:
    """What a caller gives as a name, as torch reads it: ``'*'`` is None (recorded: zeros, names).

    Raises `Contradiction` for a string that is no identifier and, a TypeError, for other values.
    """
    if isinstance(value, str):
        if value == "*":
            return None
        check_label(value)
        return value
    if value is None or isinstance(value, (Axis, Unknown)):
        return value
    raise Contradiction(
        "NC114",
        f"expected None or string for Dimname but got {type(value).__name__}",
        error="TypeError",
    )


def nameless(help: str) -> Contradiction:
    """What torch says where None is looked up as a name (recorded: cumsum, sum)."""
    message = "Please look up dimensions by name, got: name = None."
    return Contradiction("NC109", message, help=help)


def check_distinct(names: Sequence[Name]) -> None:
    """Refuse a label that stands twice in one tensor; an axis may."""
    labels = [name for name in names if isinstance(name, str)]
    for label in labels:
        if labels.count(label) > 1:
            raise Contradiction(
                "NC104",
                f"Cannot construct a tensor with duplicate names. Got names: {show(names)}.",
                names=(label,),
                help=f"Give one of the dimensions '{label}' another name with `rename`.",
            )


def show_name(name: Name) -> str:
    """One name as torch prints it: ``'N'`` or ``None``; an unknown one as ``?``."""
    if name is None:
        return "None"
    return "?" if name is UNKNOWN else f"'{word(name)}'"


def show(names: Iterable[Name]) -> str:
    """A list of names as torch prints it: ``['N', None]``."""
    return "[" + ", ".join(show_name(name) for name in names) + "]"
