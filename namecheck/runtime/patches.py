"""The patch table: what of torch is replaced, and what stood there before."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from namecheck.runtime.modes import Mode, Record

ABSENT: Final = object()


@dataclass(frozen=True, slots=True)
class Patch:
    """One attribute of an object, or item of a dict, and what replaces it."""

    owner: Any
    attribute: Any
    replacement: Any


@dataclass(slots=True)
class PatchTable:
    """The attributes that are replaced now, and for whom; the one piece of global state.

    `default` is the mode outside of every `runtime` block, `holders` counts those who need the
    patches: `install` and each block.
    """

    originals: list[Patch] = field(default_factory=list)
    default: Mode = "off"
    record: Record = field(default_factory=Record)
    installed: bool = False
    holders: int = 0
    lock: threading.RLock = field(default_factory=threading.RLock)

    @property
    def applied(self) -> bool:
        """Whether anything is replaced."""
        return bool(self.originals)

    def apply(self, patches: Iterable[Patch]) -> None:
        """Replace attributes, remembering what stood in the owner itself."""
        with self.lock:
            # All are made before the first is put in place: they are made of the originals.
            for patch in list(patches):
                before = _read(patch.owner, patch.attribute)
                self.originals.append(Patch(patch.owner, patch.attribute, before))
                _write(patch.owner, patch.attribute, patch.replacement)

    def restore(self) -> None:
        """Put every original back, the last replaced first."""
        with self.lock:
            while self.originals:
                original = self.originals.pop()
                _write(original.owner, original.attribute, original.replacement)


def _read(owner: Any, attribute: Any) -> Any:
    """What stands in the owner itself."""
    return (owner if isinstance(owner, dict) else vars(owner)).get(attribute, ABSENT)


def _write(owner: Any, attribute: Any, value: Any) -> None:
    if isinstance(owner, dict):
        owner[attribute] = value
    elif value is ABSENT:
        delattr(owner, attribute)
    else:
        setattr(owner, attribute, value)


TABLE: Final = PatchTable()
