"""Importers: what the files that a file imports may cost it, and a note where that is too much.

The top level of a file is run once, whoever imports it. An importer still counts what it costs, so
that the outcome is the same whichever file was analysed first. For the same reason a top level
follows all its imports: files that import each other in a cycle are run from one of them, which may
be any. Where they cost too much together, it is run without them.
"""

from __future__ import annotations

from typing import Final

from namecheck.core.findings import Finding, Span
from namecheck.core.syntax import Source
from namecheck.interpreter.domain import meter
from namecheck.interpreter.evaluation.findings import NOT_JUDGED
from namecheck.interpreter.workspace.assembly import Assembly

# The nodes of files of so many characters are not counted: they are few.
_UNCOUNTED: Final = 500_000


class TooMuch(Exception):
    """The files that are read and run for one file cost more than they may."""


class Closure:
    """The files that are read and run for one file, and what they cost together.

    The file itself is not counted, but what its functions have cost, `importer_cost`, leaves less
    for these. `complete` are the files whose imports are counted as well.
    """

    def __init__(self, location: str, *, is_program: bool = False) -> None:
        self.complete: set[str] = set()
        self._is_program = is_program
        self.importer_cost = 0
        self._importer = location
        self._steps: dict[str, int] = {}
        self._unpaid: dict[str, int] = {}
        self._uncounted: dict[str, Source] = {}
        self._lengths: dict[str, int] = {}
        self._total = self._characters = self._in_vain = 0
        self._is_closed = False

    def __len__(self) -> int:
        """How many files there are."""
        return len(self._steps)

    @property
    def cost(self) -> int:
        """What the files have cost, with those that were given up."""
        return max(self._total, self._in_vain)

    @property
    def _limit(self) -> int:
        return meter.limit_of_closure(self.importer_cost, is_program=self._is_program)

    def require(self, location: str) -> None:
        """Raise `TooMuch` for a file that may not be read."""
        if self._is_closed and location not in self._steps and location != self._importer:
            raise TooMuch

    def add(self, location: str, source: Source, cost: int) -> None:
        """Count a file and the steps that it has cost so far; raises `TooMuch`."""
        self.require(location)
        if self._is_closed or location == self._importer:
            return
        known = self._steps.get(location)
        if known is None:
            self._lengths[location] = len(source.text)
            self._characters += len(source.text)
            self._uncounted[location] = source
        self._steps[location] = max(cost, known or 0)
        self._total += self._steps[location] - (known or 0)
        if self._characters > _UNCOUNTED:
            self._count_nodes()
        if self._total > self._limit:
            raise TooMuch

    def _count_nodes(self) -> None:
        for location, source in self._uncounted.items():
            self._unpaid[location] = meter.unpaid(source)
            self._total += self._unpaid[location]
        self._uncounted.clear()

    def shrink(self, count: int) -> None:
        """Forget all files but the first."""
        while len(self._steps) > count:
            location, steps = self._steps.popitem()
            self._total -= steps + self._unpaid.pop(location, 0)
            self._characters -= self._lengths.pop(location)
            self._uncounted.pop(location, None)
        self.complete.clear()

    def close(self, count: int) -> None:
        """Keep the first files, and refuse all others."""
        self.shrink(count)
        self._is_closed = True
        self._in_vain = self._limit


class Importer:
    """A file after its top level, and the files whose cost is counted, itself among them."""

    def __init__(self, location: str, interpreter: Assembly) -> None:
        self.location = location
        self.counted = {location}
        self._interpreter = interpreter
        self._is_noted = False

    @property
    def spent(self) -> int:
        """What the file itself has cost so far."""
        return self._interpreter.context.ledger.meter.spent

    def may_run(self, location: str, name: str) -> bool:
        """Whether a file may be run for this one; notes the first that may not."""
        may_import = self._interpreter.context.ledger.meter.may_import
        if may_import or location in self.counted:
            return True
        self._note(name)
        return False

    def refuse(self, name: str) -> None:
        """Note that a file is not run, as it would cost too much; no further one may be run."""
        self.follow_none()
        self._note(name)

    def follow_none(self) -> None:
        """Run no further file: as many steps were spent in vain as imports may take."""
        self._interpreter.context.ledger.meter.exceed_imports()

    def add(self, location: str, cost: int) -> None:
        """Count what the top level of a file costs, which was not counted before."""
        self.counted.add(location)
        self._interpreter.context.ledger.meter.add_imports(cost)

    def _note(self, name: str) -> None:
        if self._is_noted:
            return
        self._is_noted = True
        interpreter = self._interpreter
        interpreter.context.ledger.reach("steps of imports")
        source = interpreter.source
        message = (
            f"'{name}' is not followed, nor are later imports: "
            "the analysis of what this file imports takes more steps than it may."
        )
        line, column = (1, 1)
        if source.filename == self.location and interpreter.file.statement is not None:
            line, column = source.span(interpreter.file.statement).start
        place = Span(line, column, line, column + 1)
        interpreter.findings.add_note(Finding(NOT_JUDGED, message, self.location, place))
