"""The files of a migration: before and after."""

from __future__ import annotations

from typing import NamedTuple

from namecheck.core.dataclasses import dataclass
from namecheck.editing.documents import Document
from namecheck.migration.compilation import LeftPlace
from namecheck.project import Entry


class InputFile(NamedTuple):
    """A file of a migration, with its contents."""

    entry: Entry
    document: Document


@dataclass(frozen=True)
class Migrated:
    """One file before and after, the number of rewritten places, and the places that are left.

    `failure` is the reason why the file could not be analysed or changed; `waits` means that it
    uses names, and that no file is known that installs them on torch. `target` is the file that
    was written through a link.
    """

    path: str
    before: Document | None
    after: Document | None
    sites: int = 0
    left: tuple[LeftPlace, ...] = ()
    failure: str | None = None
    waits: bool = False
    target: str = ""

    @property
    def changed(self) -> bool:
        """Whether the file changes."""
        return self.after is not None and self.after != self.before
