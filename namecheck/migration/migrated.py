"""The files of a migration: as they come in, and what becomes of each."""

from __future__ import annotations

from typing import NamedTuple

from namecheck.core.dataclasses import dataclass
from namecheck.editing.documents import Document
from namecheck.migration.compilation import LeftPlace
from namecheck.project import Entry


class InputFile(NamedTuple):
    """A file of a run that is migrated, with its contents."""

    entry: Entry
    document: Document


@dataclass(frozen=True)
class Migrated:
    """One file before and after, how many places are rewritten, and which are left.

    `failure` is why the file could not be analysed, or not be changed; `waits` means that it uses
    names, and that no file is seen that puts them on torch.
    """

    path: str
    before: Document | None
    after: Document | None
    sites: int = 0
    left: tuple[LeftPlace, ...] = ()
    failure: str | None = None
    waits: bool = False

    @property
    def changed(self) -> bool:
        """Whether it becomes another."""
        return self.after is not None and self.after != self.before
