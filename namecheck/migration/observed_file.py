"""One file of a migration, with the applications observed at its expressions."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from namecheck.core.syntax import position
from namecheck.editing.documents import Document
from namecheck.interpreter.workspace.analysis import Application, Applications
from namecheck.migration.name_arguments import Rows
from namecheck.migration.observations import Observations, Observed
from namecheck.migration.side_effects import bound_names, is_pure


class ObservedFile:
    """A document, the observations of a run in which it took part, and the rows of its settings."""

    def __init__(self, document: Document, observations: Observations, rows: Rows) -> None:
        self.document = document
        self.source = document.source
        self.location = document.location
        self.observations = observations
        self.rows = rows
        self._bound = bound_names(document.source.tree)

    def at(self, expression: ast.expr) -> Observed:
        """The applications at an expression."""
        return self.observations.at(self.location, position(expression))

    def applied(self, expression: ast.expr) -> Applications:
        """The applications at an expression in the decisive runs."""
        return self.at(expression).decisive

    def applications(self) -> Iterator[Application]:
        """All applications in the file."""
        return self.observations.in_file(self.location)

    def is_pure(self, expression: ast.expr) -> bool:
        """Whether an expression has no side effects."""
        return is_pure(expression, self.applied, self.rows, self._bound)
