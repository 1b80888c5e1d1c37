"""The patch table: what of torch is replaced, and what stood there before."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, Final

from namecheck.core.semantics import Semantics
from namecheck.runtime.core.modes import Mode, Record

ABSENT: Final = object()


@dataclass(frozen=True, slots=True)
class Patch:
    """One attribute of an object, or item of a dict, and what replaces it."""

    owner: Any
    attribute: Any
    replacement: Any


@dataclass(frozen=True, slots=True)
class Deferred:
    """Patches of a module that costs too much to be imported before the program does it.

    A `bare` one is imported while torch's own functions are in their places.
    """

    module: str
    patches: Callable[[ModuleType], Iterable[Patch]]
    bare: bool = False


@dataclass(slots=True)
class PatchTable:
    """The attributes that are replaced now, and for whom; the one piece of global state.

    `default` is the mode outside of every `runtime` block, `holders` counts those who need the
    patches: `install` and each block, all of them in one `semantics`. `deferred` has, by its
    name, every module that is to be patched when it has been imported, for which the `watcher`
    waits. `generation` counts how often patches were applied, `made` has those of a semantics
    that was in force before, each with what stood there when it was made.
    """

    originals: list[Patch] = field(default_factory=list)
    deferred: dict[str, Deferred] = field(default_factory=dict)
    watcher: Watcher | None = None
    default: Mode = "off"
    semantics: Semantics = Semantics.NAMECHECK
    record: Record = field(default_factory=Record)
    installed: bool = False
    hosted: bool = False
    holders: int = 0
    generation: int = 0
    made: dict[Semantics, list[tuple[Patch | Deferred, Any]]] = field(default_factory=dict)
    lock: threading.RLock = field(default_factory=threading.RLock)

    @property
    def applied(self) -> bool:
        """Whether anything is replaced."""
        return bool(self.originals)

    def apply(self, patches: Iterable[Patch | Deferred]) -> None:
        """Replace attributes, remembering what stood in the owner itself."""
        with self.lock:
            self.generation += 1
            # All are made before the first is put in place: they are made of the originals.
            for patch in list(patches):
                if isinstance(patch, Patch):
                    before = read(patch.owner, patch.attribute)
                    _write(patch.owner, patch.attribute, patch.replacement)
                    self.originals.append(Patch(patch.owner, patch.attribute, before))
                elif patch.module in sys.modules:
                    self.apply(patch.patches(sys.modules[patch.module]))
                else:
                    self._wait_for(patch)

    def _wait_for(self, patch: Deferred) -> None:
        self.deferred[patch.module] = patch
        if self.watcher is None:
            self.watcher = Watcher(self)
            sys.meta_path.insert(0, self.watcher)

    def imported(self, module: ModuleType) -> None:
        """Patch a module that has just been imported."""
        with self.lock:
            patch = self.deferred.pop(module.__name__, None)
            if patch is not None:
                self.apply(patch.patches(module))

    def importing(self, name: str) -> AbstractContextManager[None]:
        """What a module that is waited for is imported in."""
        with self.lock:
            bare = name in self.deferred and self.deferred[name].bare
        return self.suspended() if bare else nullcontext()

    @contextmanager
    def suspended(self) -> Iterator[None]:
        """torch's own functions in their places, for a block; what torch lacks stays there."""
        with self.lock:
            own = [patch for patch in self.originals if not _is_new(patch)]
            replaced = [Patch(p.owner, p.attribute, read(p.owner, p.attribute)) for p in own]
            for patch in reversed(own):
                _write(patch.owner, patch.attribute, patch.replacement)
        try:
            yield
        finally:
            with self.lock:
                for patch in replaced:
                    _write(patch.owner, patch.attribute, patch.replacement)

    def restore(self) -> None:
        """Put every original back, the last replaced first."""
        with self.lock:
            while self.originals:
                original = self.originals.pop()
                _write(original.owner, original.attribute, original.replacement)
            self.deferred.clear()
            if self.watcher in sys.meta_path:
                sys.meta_path.remove(self.watcher)
            self.watcher = None


def read(owner: Any, attribute: Any) -> Any:
    """What stands in the owner itself."""
    return (owner if isinstance(owner, dict) else vars(owner)).get(attribute, ABSENT)


def _write(owner: Any, attribute: Any, value: Any) -> None:
    if isinstance(owner, dict):
        owner[attribute] = value
    elif value is ABSENT:
        delattr(owner, attribute)
    else:
        setattr(owner, attribute, value)


def _is_new(original: Patch) -> bool:
    """Whether there was nothing of the name, in the owner or in a class that it inherits from."""
    bases = original.owner.__mro__[1:] if isinstance(original.owner, type) else ()
    inherited = any(original.attribute in vars(base) for base in bases)
    return original.replacement is ABSENT and not inherited


class Watcher(MetaPathFinder):
    """Finds the modules that a table waits for as Python would, and tells it of their import."""

    def __init__(self, table: PatchTable) -> None:
        self.table = table

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec that the next finder has, with a loader that tells the table."""
        if fullname not in self.table.deferred:
            return None
        finders = [finder for finder in sys.meta_path if finder is not self]
        found = (finder.find_spec(fullname, path, target) for finder in finders)
        spec = next(filter(None, found), None)
        if spec is not None and spec.loader is not None:
            spec.loader = _TellingLoader(spec.loader, self.table)
        return spec


class _TellingLoader(Loader):
    """Loads a module as its own loader does, and leaves it to that loader thereafter."""

    def __init__(self, loader: Loader, table: PatchTable) -> None:
        self.loader = loader
        self.table = table

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self.loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        module.__loader__ = self.loader
        if module.__spec__ is not None:
            module.__spec__.loader = self.loader
        with self.table.importing(module.__name__):
            self.loader.exec_module(module)
        self.table.imported(module)


TABLE: Final = PatchTable()

# A process that is forked has this table as it is when nobody is at work on it.
os.register_at_fork(
    before=TABLE.lock.acquire,
    after_in_parent=TABLE.lock.release,
    after_in_child=TABLE.lock.release,
)
