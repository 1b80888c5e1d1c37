"""What the analysis of one file costs, in steps: a file that costs too much is judged in part.

A step is a look at one item of a container; an expression counts as several. Counts depend on the
program alone, so that the same part of it is judged on every machine.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from namecheck.core.faults import Exhausted
from namecheck.core.syntax import Source

EXPRESSION: Final = 8
"""The steps of one expression."""
CALL: Final = 24
"""The steps of one call whose body is run, without those of the body."""
ENTRY: Final = 128
"""The steps of one call of an entry point, on top of these."""
PARAMETER: Final = 32
"""The steps of one parameter of a function that declares dims, in each of its calls."""
INFERENCE: Final = 64
"""The steps of one application of a rule to operands to which the file applies it first."""
CONTRADICTION: Final = 48
"""The steps of one call that is refused."""
FIELD: Final = 4
"""The steps of one field of an instance that a class makes."""

# One function, or one statement at the top level, may cost so many steps: some seconds.
_PART: Final = 1_500_000
# The whole file, and more for each of its lines, up to a limit: none takes more than 10 seconds.
_WHOLE: Final = 2_000_000
_LINE: Final = 200
_MOST: Final = 3_200_000
# Of these, its top level may take so many, as the files that it imports are counted after it.
_TOP: Final = 2_000_000
# Of these, the files that it imports may take so many; then no further ones are run.
_IMPORTS: Final = 1_000_000
# What it imports, and all that this imports in turn, may take so many; otherwise no file is run for
# it. Real files take up to 3,200,000.
_CLOSURE: Final = 4_000_000
# However much they take, so many are left for the file itself.
_LEAST: Final = 1_000_000
# The file, all that is read for it, and its brief run may take so many together.
_TOGETHER: Final = 6_000_000
# The file may cost so many where each function is run by itself.
_BRIEF: Final = 1_000_000
# The analyses of a file that is analysed again may cost so many together: those that record what
# they see take twice the time.
_AGAIN: Final = 1_800_000
# Characters of source that cost one step, to be parsed and indexed.
_PARSED: Final = 4
# The steps of parsing one node, and the memory that it takes.
_NODE: Final = 8
# The square of the number of axes that costs one step where they are bound.
_PAIRS_OF_AXES: Final = 1_024
# A program that is followed from its first line to its last may cost as much as so many files.
_OF_PROGRAM: Final = 40


class Purse:
    """The steps that several analyses of one file may take together."""

    __slots__ = ("left",)

    def __init__(self, limit: int) -> None:
        self.left = limit

    @classmethod
    def of_again(cls, text: str) -> Purse:
        """The steps of a file that is analysed again."""
        return cls(min(_most(text), _AGAIN))

    @classmethod
    def after(cls, cost: int) -> Purse:
        """The steps that a file may take after an analysis that cost so many."""
        return cls(_TOGETHER - cost)

    @property
    def is_spent(self) -> bool:
        """Whether nothing more may be done for the file."""
        return self.left <= 0

    def spend(self, cost: int) -> None:
        """Count what an analysis has cost."""
        self.left -= cost

    def require(self, cost: int) -> None:
        """Count what something will cost; raises `Exhausted` if it costs more than is left."""
        self.left -= cost
        if self.is_spent:
            raise Exhausted


class Meter:
    """Counts steps.

    `spent` is their number so far; at `end` the function or statement that is being run is given
    up. The file is given up at `whole`, which is less by what the files cost that it imports, and
    less while its top level runs. It is never more than a `purse` has left, from which nothing is
    taken here.
    """

    __slots__ = ("_files", "_limit", "_of_imports", "end", "is_brief", "spent", "whole")

    def __init__(
        self, text: str = "", purse: Purse | None = None, *, is_program: bool = False
    ) -> None:
        self.spent = len(text) // _PARSED
        self._files = _OF_PROGRAM if is_program else 1
        limit = _most(text) * self._files
        self._limit = limit if purse is None else min(limit, max(purse.left, 0))
        self._of_imports = 0
        self.is_brief = False
        self.whole = min(self._limit, _TOP * self._files)
        self.end = min(self.spent + _PART * self._files, self.whole)

    def run_briefly(self) -> None:
        """Limit the steps of the file to those of a brief run."""
        self.is_brief = True
        self._limit = min(self._limit, _BRIEF)
        self.whole = min(self.whole, self._limit)

    def end_top(self) -> None:
        """Allow more steps after the top level of the file, if they were not spent there."""
        if not self.is_spent:
            self.whole = self._rest()

    @property
    def may_import(self) -> bool:
        """Whether a further file may be run for this one."""
        return self._of_imports <= _IMPORTS * self._files

    def add_imports(self, cost: int) -> None:
        """Count what files cost that this one imports."""
        self._of_imports += cost
        self.whole = min(self.whole, self._rest())
        self.end = min(self.end, self.whole)

    def _rest(self) -> int:
        """What the file itself may cost, beside what it imports."""
        return max(self._limit - self._of_imports, min(_LEAST, self._limit))

    def exceed_imports(self) -> None:
        """Count imports that cost too much: no further file may be run."""
        self.add_imports(max(_CLOSURE, _IMPORTS + 1))

    @property
    def is_spent(self) -> bool:
        """Whether nothing more of the file is judged."""
        return self.spent > self.whole

    def begin(self) -> None:
        """Begin with the next function, or the next statement at the top level."""
        self.end = min(self.spent + _PART * self._files, self.whole)

    @contextmanager
    def unlimited(self) -> Iterator[None]:
        """Count, but do not limit, the steps within a block that nothing could give up."""
        end, self.end = self.end, sys.maxsize
        try:
            yield
        finally:
            self.end = end

    def spend_on_axes(self, count: int) -> None:
        """Count the steps of binding the axes of annotations; raises `Exhausted`."""
        self.spend(count * count // _PAIRS_OF_AXES)

    def spend(self, cost: int) -> None:
        """Count some steps; raises `Exhausted`."""
        self.spent += cost
        if self.spent > self.end:
            raise Exhausted


def limit_of_closure(cost: int, *, is_program: bool = False) -> int:
    """The steps that all files may cost that are run for a file, which itself has this cost.

    Those that are run for a program have a limit of their own.
    """
    return _CLOSURE * _OF_PROGRAM if is_program else min(_CLOSURE, _TOGETHER - cost)


def of_parsing(source: Source) -> int:
    """The steps with which the analysis of a file begins."""
    return len(source.text) // _PARSED


def unpaid(source: Source) -> int:
    """The steps of parsing a file that its characters do not tell: those of dense code."""
    return max(_NODE * source.nodes - of_parsing(source), 0)


def _most(text: str) -> int:
    """The steps that the analysis of a file may take."""
    return min(_WHOLE + _LINE * text.count("\n"), max(_MOST, _WHOLE))
