"""Recordings: which cells the run of a call reads of the store before it, and which it writes."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING, Any, Final

from namecheck.interpreter.domain.values import newest

if TYPE_CHECKING:
    from namecheck.interpreter.domain.store import Store

OWN: Final = object()
"""The content that is noted for a cell of an object that the run itself has made."""


class Recording:
    """The cells that a run reads, each with its content at the first read, and those it writes.

    `initials` are the contents with which the written values were made, as each write gave them.
    `since` is the range of numbers of the objects that the run makes. `outer` is the recording of
    the run around it. A recording is `whole` unless the run has listed all cells of the store: then
    it cannot become a summary. `untouched` are the cells read of which the analysis had written
    none: what they hold is the same for every call until one is written.
    """

    __slots__ = ("initials", "outer", "reads", "since", "untouched", "whole", "written")

    def __init__(self, since: range, outer: Recording | None) -> None:
        self.since = since
        self.outer = outer
        self.reads: dict[Hashable, Any] = {}
        # By identity, as the same content is often written again.
        self.written: dict[Hashable, dict[int, Any]] = {}
        self.initials: dict[Hashable, Any] = {}
        self.untouched: set[Hashable] = set()
        self.whole = True

    def has_made(self, key: Hashable) -> bool:
        """Whether a cell belongs to an object that the run has made."""
        since = self.since
        if type(key) is tuple and type(key[0]) is int:
            return since.start <= key[0] < since.stop
        return any(since.start <= number < since.stop for number in newest(key))

    def read(self, store: Store, key: Hashable, content: Any) -> None:
        """Note the first read of a cell."""
        ledger = store.ledger
        if ledger.is_foreign(key) and key not in ledger.touched:
            self.untouched.add(key)
        elif self.has_made(key):
            self.reads[key] = OWN
        elif key not in self.written or not self._has_written(store, key):
            self.reads[key] = content

    def read_all(self, store: Store, cells: Iterable[tuple[Hashable, Any]]) -> None:
        """Note the reads of a run within this one."""
        for key, content in cells:
            if content is not OWN and key not in self.reads:
                self.read(store, key, content)

    def wrote(self, key: Hashable, content: Any) -> None:
        """Note a write."""
        contents = self.written.get(key)
        if contents is not None:
            contents[id(content)] = content
        elif not self.has_made(key):
            self.written[key] = {id(content): content}

    def _has_written(self, store: Store, key: Hashable) -> bool:
        """Whether the content that a path has in a cell was written in this run."""
        layer: Store | None = store
        while layer is not None and layer.born >= self.since.start:
            if key in layer.cells:
                return True
            layer = layer.parent
        return False

    def ends(self, base: Store) -> None:
        """Add the reads and writes to the outer recording; `base` is the store before the run."""
        outer = self.outer
        if outer is None:
            return
        outer.whole &= self.whole
        outer.untouched |= self.untouched
        outer.read_all(base, self.reads.items())
        for key, contents in self.written.items():
            for content in contents.values():
                outer.wrote(key, content)
        for address, initial in self.initials.items():
            outer.initials.setdefault(address, initial)
