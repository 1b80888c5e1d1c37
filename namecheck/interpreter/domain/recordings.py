"""What a stretch of an analysis read of what was there before it, and what it wrote."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING, Any, Final

from namecheck.interpreter.domain.values import newest

if TYPE_CHECKING:
    from namecheck.interpreter.domain.store import Store

OWN: Final = object()
"""What stands for the content of a cell that the stretch has made itself."""


class Recording:
    """Notes which cells are read, with what was first found in each, and what is written to them.

    What the stretch makes itself is `since`: these numbers are given to nothing else. `outer` is
    the recording of a longer stretch that this one is part of. A `whole` one can be told again;
    one that looked for all cells there are cannot.
    """

    __slots__ = ("outer", "reads", "since", "whole", "written")

    def __init__(self, since: range, outer: Recording | None) -> None:
        self.since = since
        self.outer = outer
        self.reads: dict[Hashable, Any] = {}
        # By identity, as what is written again is most often the same.
        self.written: dict[Hashable, dict[int, Any]] = {}
        self.whole = True

    def has_made(self, key: Hashable) -> bool:
        """Whether a cell belongs to what the stretch has made."""
        since = self.since
        if type(key) is tuple and type(key[0]) is int:
            return since.start <= key[0] < since.stop
        return any(since.start <= number < since.stop for number in newest(key))

    def read(self, store: Store, key: Hashable, content: Any) -> None:
        """Note the first look into a cell."""
        if self.has_made(key):
            self.reads[key] = OWN
        elif key not in self.written or not self._has_written(store, key):
            self.reads[key] = content

    def read_all(self, store: Store, cells: Iterable[tuple[Hashable, Any]]) -> None:
        """Note looks into cells that a part of the stretch has noted."""
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
        """Whether what a path finds in a cell was written in this stretch."""
        layer: Store | None = store
        while layer is not None and layer.born >= self.since.start:
            if key in layer.cells:
                return True
            layer = layer.parent
        return False

    def ends(self, base: Store) -> None:
        """Tell the longer stretch what this one, which began on `base`, has read and written."""
        outer = self.outer
        if outer is None:
            return
        outer.whole &= self.whole
        outer.read_all(base, self.reads.items())
        for key, contents in self.written.items():
            for content in contents.values():
                outer.wrote(key, content)
