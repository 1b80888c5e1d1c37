"""Reachability: removes the cells of objects that nothing refers to any more.

A call leaves objects behind that nothing refers to, and environments that no function closes over.
Their cells would be joined and compared wherever paths meet later.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Any, Final, TypeAlias

from namecheck.core.dataclasses import dataclass
from namecheck.interpreter.domain.recordings import newest
from namecheck.interpreter.domain.renaming import NotRenamable, Numbering

CellContents: TypeAlias = Mapping[Hashable, Any]

# Joining so few cells takes less time than searching them for references.
_FEW: Final = 16


def reachable(
    final_cells: CellContents, roots: Iterable[object], made: range, numbering: Numbering
) -> tuple[set[Hashable], set[int]]:
    """The keys of the reachable cells, and the numbers in them and in the roots.

    The cells of objects that are older than the numbers `made` are reachable. A cell of an object
    with such a number is reachable if the number is in a root, or in a reachable cell. Raises
    `NotRenamable`.
    """
    by_owner: dict[int, list[Hashable]] = {}
    kept: set[Hashable] = set()
    open_: list[object] = [*roots]
    start, stop = made.start, made.stop
    for key, content in final_cells.items():
        if type(key) is tuple and type(key[0]) is int:
            owner = key[0] if start <= key[0] < stop else None
        else:
            owner = max((n for n in newest(key) if start <= n < stop), default=None)
        if owner is None:
            kept.add(key)
            open_ += (key, content)
        else:
            by_owner.setdefault(owner, []).append(key)
    met: set[int] = set()
    while open_:
        for number in numbering.of(open_.pop()):
            if number not in met:
                met.add(number)
                for key in by_owner.get(number, ()):
                    kept.add(key)
                    open_ += (key, final_cells[key])
    return kept, met


@dataclass(frozen=True, slots=True)
class Stretch:
    """A part of an analysis, by the numbers of the objects that it makes."""

    made: range
    numbering: Numbering

    def without_garbage(
        self, final_cells: CellContents, roots: Iterable[object] = ()
    ) -> CellContents:
        """The cells without those of unreachable objects that this part has made.

        Older objects are reachable, and so are those that the roots refer to.
        """
        if len(final_cells) <= _FEW:
            return final_cells
        try:
            kept, _ = reachable(final_cells, roots, self.made, self.numbering)
        except NotRenamable:
            return final_cells
        if len(kept) == len(final_cells):
            return final_cells
        return {key: content for key, content in final_cells.items() if key in kept}
