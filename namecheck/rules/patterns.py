"""The patterns of einops: ``b (h w) c -> b h w c``, parsed once.

A side is a list of groups, one for each dim: a single letter (which may be a word), several in
brackets, none for a dim of size 1; ``...`` matches any number of dims. A number is a letter without
a name. The error messages are einops' own.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import chain
from types import EllipsisType
from typing import Final, TypeAlias

from namecheck.core import names as naming
from namecheck.core.dataclasses import dataclass
from namecheck.core.names import UNKNOWN, Contradiction


@dataclass(frozen=True, slots=True, eq=False)
class Number:
    """A size in a pattern; each number is a dim of its own."""

    size: int


Letter: TypeAlias = str | Number
Group: TypeAlias = tuple[Letter | EllipsisType, ...] | EllipsisType
REDUCTIONS: Final = ("min", "max", "sum", "mean", "prod", "any", "all")


@dataclass(frozen=True, slots=True)
class Side:
    """One side of the arrow."""

    groups: tuple[Group, ...]

    @property
    def letters(self) -> tuple[Letter, ...]:
        """All letters in their order."""
        return tuple(letter for letters in self.letter_groups for letter in letters)

    @property
    def letter_groups(self) -> list[tuple[Letter, ...]]:
        """The letters of each group, without an ellipsis outside brackets."""
        return [
            tuple(one for one in group if not isinstance(one, EllipsisType))
            for group in self.groups
            if not isinstance(group, EllipsisType)
        ]

    @property
    def has_ellipsis(self) -> bool:
        """Whether the side has an ellipsis."""
        return ... in self.groups or self.merges_ellipsis

    @property
    def merges_ellipsis(self) -> bool:
        """Whether ``...`` is in brackets."""
        groups = (group for group in self.groups if not isinstance(group, EllipsisType))
        return ... in chain.from_iterable(groups)

    def around_ellipsis(self) -> tuple[Sequence[Group], Sequence[Group]]:
        """The groups left and right of the ellipsis; all are left where there is none."""
        if ... not in self.groups:
            return self.groups, ()
        place = self.groups.index(...)
        return self.groups[:place], self.groups[place + 1 :]


def wrong(reason: str, *, code: str = "NC114", help: str | None = None) -> Contradiction:
    """The error of einops for a pattern, or for a tensor that does not fit it."""
    return Contradiction(
        code, reason, help=help or "Compare the pattern with the dims of the tensor."
    )


@cache
def sides(pattern: str) -> tuple[Side, Side]:
    """Both sides of ``left -> right``; raises `Contradiction` NC114 as einops does."""
    left, arrow, right = pattern.partition("->")
    if not arrow or "->" in right:
        raise wrong(f"Pattern '{pattern}' must have one '->'", help="Write `before -> after`.")
    return side(left), side(right)


@cache
def side(text: str, *, underscore: bool = False, repeats: bool = False) -> Side:
    """One side of a pattern.

    With `underscore` the word ``_`` stands for a dim that is ignored; with `repeats` any letter may
    stand twice.
    """
    if "." in text and (text.count("...") != 1 or text.count(".") != 3):
        raise wrong(
            "Expression may contain dots only inside ellipsis (...); only one ellipsis for tensor"
        )
    pattern_groups: list[Group] = []
    opened: list[Letter | EllipsisType] | None = None
    for word in _words(text):
        if word == "(":
            if opened is not None:
                raise wrong("Axis composition is one-level (brackets inside brackets not allowed)")
            opened = []
        elif word == ")":
            if opened is None:
                raise wrong("Brackets are not balanced")
            pattern_groups.append(tuple(opened))
            opened = None
        elif opened is not None:
            opened += _read(word)
        else:
            pattern_groups.append(... if word == "..." else tuple(_read(word)))
    if opened is not None:
        raise wrong(f'Imbalanced parentheses in expression: "{text}"')
    result = Side(tuple(pattern_groups))
    if not underscore and "_" in result.letters:
        raise _invalid("_", "axis name should not start or end with underscore")
    if not repeats:
        _check_distinct(result)
    return result


def _words(text: str) -> list[str]:
    spaced = text.replace("...", " ... ").replace("(", " ( ").replace(")", " ) ")
    words = spaced.split()
    for word in words:
        for letter in "" if word in ("(", ")", "...") else word:
            if not letter.isalnum() and letter != "_":
                raise wrong(f"Unknown character '{letter}'")
    return words


def _read(word: str) -> list[Letter | EllipsisType]:
    """A word as a letter; 1 is no letter."""
    if word == "...":
        return [...]
    if word.isdecimal():
        size = int(word)
        if size < 1:
            raise wrong(f"Anonymous axis should have positive length, not {size}")
        return [Number(size)] if size > 1 else []
    if not word.isidentifier():
        raise _invalid(word, "not a valid python identifier")
    if word != "_" and word.strip("_") != word:
        raise _invalid(word, "axis name should not start or end with underscore")
    return [word]


def _invalid(word: str, reason: str) -> Contradiction:
    return wrong(f"Invalid axis identifier: {word}: {reason}")


def _check_distinct(read: Side) -> None:
    for letter in naming.repeated(read.letters):
        if letter != "_":
            raise wrong(
                f'Indexing expression contains duplicate dimension "{letter}"',
                help="Give each dimension a letter of its own.",
            )


def listed(letters: Sequence[Letter]) -> str:
    """Letters as einops prints them: ``{'h', 'w'}``."""
    words = [f"'{one}'" if isinstance(one, str) else f"{one.size}-axis" for one in letters]
    return "{" + ", ".join(sorted(words)) + "}"


def without(letters: Sequence[Letter], others: Sequence[Letter]) -> list[Letter]:
    """The letters that are not among others."""
    excluded = set(others)
    return [letter for letter in letters if letter not in excluded]


def _lost(left: Side, right: Side) -> list[Letter]:
    """The letters that only the left side has; an ellipsis as einops prints it."""
    dots = left.has_ellipsis and not right.has_ellipsis
    return without(left.letters, right.letters) + ["…"] * dots


def check_rearrangement(left: Side, right: Side) -> None:
    """Check that both sides have all letters, and no numbers but 1."""
    if any(isinstance(letter, Number) for letter in (*left.letters, *right.letters)):
        raise wrong(
            "Non-unitary anonymous axes are not supported in rearrange (exception is length 1)",
            help="Give the size a letter, and the letter its size by keyword.",
        )
    lone = _lost(left, right) + without(right.letters, left.letters)
    if lone:
        raise wrong(
            f"Identifiers only on one side of expression (should be on both): {listed(lone)}",
            help="Use `reduce` to remove a letter, and `repeat` to add one.",
        )


def check_repetition(left: Side, right: Side, sized: Sequence[str]) -> None:
    """Check that no letter is removed, and that every new one has a size."""
    lost = _lost(left, right)
    if lost:
        raise wrong(
            f"Unexpected identifiers on the left side of repeat: {listed(lost)}",
            help="Every letter of the left side must be on the right side too.",
        )
    fresh = [one for one in without(right.letters, left.letters) if isinstance(one, str)]
    sizeless = without(fresh, sized)
    if sizeless:
        raise wrong(
            f"Specify sizes for new axes in repeat: {listed(sizeless)}",
            help="Give the size of a new letter by keyword.",
        )


def check_reduction(left: Side, right: Side, reduction: object) -> None:
    """Check that no letter is new, and that einops has the reduction.

    An unknown one may be a repetition, which has new letters, but loses none.
    """
    fresh = without(right.letters, left.letters)
    if fresh and (reduction is not UNKNOWN or _lost(left, right)):
        raise wrong(
            f"Unexpected identifiers on the right side of reduce {reduction}: {listed(fresh)}",
            help="Every letter of the right side must be on the left side too.",
        )
    if isinstance(reduction, str) and reduction not in REDUCTIONS:
        raise wrong(f"Unknown reduction {reduction}. Expect one of {REDUCTIONS}.")


def check_ellipsis(left: Side, right: Side, pattern: str) -> None:
    """Check that an ellipsis of the right side is on the left side too, outside brackets."""
    if right.has_ellipsis and not left.has_ellipsis:
        raise wrong(
            f"Ellipsis found in right side, but not left side of a pattern {pattern}",
            help="Write '...' on both sides.",
        )
    if left.merges_ellipsis:
        raise wrong(f"Ellipsis inside parenthesis in the left side is not allowed: {pattern}")
