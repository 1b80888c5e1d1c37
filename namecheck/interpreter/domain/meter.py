"""What the analysis of one file costs, in steps: a file that costs too much is judged in part.

A step is a look at one item of a container; an expression counts as several. Counts depend on the
program alone, so that the same part of it is judged on every machine.
"""

from __future__ import annotations

from typing import Final

EXPRESSION: Final = 8
"""The steps of one expression."""

# One function, or one statement at the top level, may cost so many steps: some seconds.
_PART: Final = 2_000_000
# The whole file, and more for each of its lines.
_WHOLE: Final = 4_000_000
_LINE: Final = 400


class Exhausted(Exception):
    """The code that is being run has cost more steps than it may."""


class Meter:
    """Counts steps.

    `spent` is their number so far; at `end` the function or statement that is being run is given
    up. The file is given up at `whole`.
    """

    __slots__ = ("end", "spent", "whole")

    def __init__(self, line_count: int = 0) -> None:
        self.spent = 0
        self.whole = _WHOLE + _LINE * line_count
        self.end = min(_PART, self.whole)

    @property
    def is_spent(self) -> bool:
        """Whether nothing more of the file is judged."""
        return self.spent > self.whole

    def begin(self) -> None:
        """Begin with the next function, or the next statement at the top level."""
        self.end = min(self.spent + _PART, self.whole)

    def spend(self, cost: int) -> None:
        """Count some steps; raises `Exhausted`."""
        self.spent += cost
        if self.spent > self.end:
            raise Exhausted
