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
        names: Sequence[Name] = (),
        help: str | None = None,
    ) -> None:
        message = bare(message)
        super().__init__(message)
        self.code = code
        self.message = message
        self.error = error
        self.names = tuple(name for name in names if isinstance(name, str))
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


def match(name: Name, other_name: Name) -> Answer:
    """Whether two names can stand in one position (named_tensor.rst, "match semantics")."""
    if name is None or other_name is None:
        return Answer.YES
    if name is UNKNOWN or other_name is UNKNOWN:
        return Answer.MAYBE
    if isinstance(name, Axis) and isinstance(other_name, Axis):
        if name.name == other_name.name or _same_factors(name, other_name):
            return Answer.YES
        return Answer.NO if _scope(name) == _scope(other_name) != _SEVERAL else Answer.MAYBE
    if word(name) == word(other_name):
        return Answer.YES
    return Answer.NO if _is_unscoped(name) and _is_unscoped(other_name) else Answer.MAYBE


def _scope(axis: Axis) -> str:
    """The scope of an axis: "" for that of the code being read, one word for more than one."""
    if _is_unscoped(axis):
        return ""
    found = {"".join(_SCOPES.findall(factor)[:1]) for factor in axis.factors}
    return found.pop() if len(found) == 1 else _SEVERAL


def _is_unscoped(name: Name) -> bool:
    return not is_foreign(name)


def _same_factors(name: Name, other_name: Name) -> bool:
    """Whether two merged axes, of which one may be in any order, have the same factors."""
    if not isinstance(name, Axis) or not isinstance(other_name, Axis):
        return False
    return not (name.ordered and other_name.ordered) and sorted(name.factors) == sorted(
        other_name.factors
    )


def unify(name: Name, other_name: Name) -> Name:
    """The more specific of two matching names; what an unknown one leaves is the known label.

    Defined only where `match` is not NO.
    """
    if name is None:
        return other_name
    if other_name is None:
        return name
    if name is UNKNOWN or other_name is UNKNOWN:
        return either(other_name if name is UNKNOWN else name)
    if isinstance(name, Axis) and isinstance(other_name, Axis):
        if match(name, other_name) is Answer.MAYBE:
            return min(name, other_name, key=lambda axis: (not _is_unscoped(axis), axis.name))
        return _unified_axes(name, other_name)
    return name if isinstance(name, Axis) else other_name


def either(name: Name) -> Name:
    """A name of which it is not known which occurrence it is."""
    return replace(name, occurrence=SOME) if isinstance(name, Axis) else name


def _unified_axes(axis: Axis, other_axis: Axis) -> Axis:
    """What both say of one axis: its occurrence, and the order of its factors."""
    ordered = axis if axis.ordered else other_axis
    occurrence = axis.occurrence or other_axis.occurrence
    return replace(ordered, occurrence=occurrence, size=axis.size or other_axis.size)


def join(name: Name, other_name: Name) -> Name:
    """The least that covers both names."""
    if name == other_name:
        return name
    if not isinstance(name, Axis) or not isinstance(other_name, Axis):
        return UNKNOWN
    if name.name == other_name.name and name.ordered and other_name.ordered:
        return replace(name, occurrence=SOME, size=name.size or other_name.size)
    if sorted(name.factors) == sorted(other_name.factors):
        return replace(unordered(name.factors), occurrence=SOME)
    return UNKNOWN


def unordered(factors: Sequence[str]) -> Axis:
    """The axis that is merged of these, in whatever order."""
    return Axis("*".join(sorted(factors)), ordered=len(factors) < 2)


def covers(general_name: Name, specific_name: Name) -> bool:
    """Whether `general_name` says nothing that `specific_name` contradicts."""
    if general_name is UNKNOWN or general_name == specific_name:
        return True
    if not isinstance(general_name, Axis) or not isinstance(specific_name, Axis):
        return False
    told = general_name.occurrence <= 0 or general_name.occurrence == specific_name.occurrence
    return (
        told
        and match(general_name, specific_name) is Answer.YES
        and general_name.ordered <= specific_name.ordered
    )


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


def read_name(given_name: object) -> Name:
    """What a caller gives as a name, as torch reads it: ``'*'`` is None (recorded: zeros, names).

    Raises `Contradiction` for a string that is no identifier and, a TypeError, for other values.
    """
    if isinstance(given_name, str):
        if given_name == "*":
            return None
        check_label(given_name)
        return given_name
    if given_name is None or isinstance(given_name, (Axis, Unknown)):
        return given_name
    raise Contradiction(
        "NC114",
        f"expected None or string for Dimname but got {type(given_name).__name__}",
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


def show(dim_names: Iterable[Name]) -> str:
    """A list of names as torch prints it: ``['N', None]``."""
    return "[" + ", ".join(show_name(name) for name in dim_names) + "]"
