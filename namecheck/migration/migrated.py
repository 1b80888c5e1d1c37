"""The files of a migration: before and after."""

from __future__ import annotations

from typing import NamedTuple

from namecheck.core.dataclasses import dataclass
from namecheck.editing.documents import Document
from namecheck.interpreter.workspace.analysis import Purse
from namecheck.migration.compilation import LeftPlace
from namecheck.project import Entry


class InputFile(NamedTuple):
    """A file of a migration: its contents, and the steps that may be spent on it."""

    entry: Entry
    document: Document
    purse: Purse

    @classmethod
    def of(cls, entry: Entry, document: Document) -> InputFile:
        """A file on which nothing was spent."""
        return cls(entry, document, Purse.of_again(document.text))


@dataclass(frozen=True)
class Migrated:
    """One file before and after, the number of rewritten places, and the places that are left.

    `failure` is the reason why the file could not be analysed or changed; `waits` means that it
    uses names, and that no file is known that installs them on torch. `target` is the file that
    was written through a link. `unfinished` is the reason why not all of it was analysed.
    """

    path: str
    before: Document | None
    after: Document | None
    sites: int = 0
    left: tuple[LeftPlace, ...] = ()
    failure: str | None = None
    waits: bool = False
    target: str = ""
    unfinished: str | None = None

    @property
    def changed(self) -> bool:
        """Whether the file changes."""
        return self.after is not None and self.after != self.before
