"""Importers: what the files that a file imports may cost it, and a note where that is too much.

The top level of a file is run once, whoever imports it. An importer still counts what it costs, so
that the outcome is the same whichever file was analysed first. For the same reason a top level
follows all its imports: files that import each other in a cycle are run from one of them, which may
be any.
"""

from __future__ import annotations

from namecheck.core.findings import Finding, Span
from namecheck.interpreter.evaluation.findings import NOT_JUDGED
from namecheck.interpreter.workspace.assembly import Assembly


class Importer:
    """A file after its top level, and the files whose cost is counted, itself among them."""

    def __init__(self, location: str, interpreter: Assembly) -> None:
        self.location = location
        self.counted = {location}
        self._interpreter = interpreter
        self._is_noted = False

    def may_run(self, location: str, name: str) -> bool:
        """Whether a file may be run for this one; notes the first that may not."""
        may_import = self._interpreter.context.ledger.meter.may_import
        if may_import or location in self.counted:
            return True
        if not self._is_noted:
            self._is_noted = True
            self._note(name)
        return False

    def add(self, location: str, cost: int) -> None:
        """Count what the top level of a file costs, which was not counted before."""
        self.counted.add(location)
        self._interpreter.context.ledger.meter.add_imports(cost)

    def _note(self, name: str) -> None:
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
