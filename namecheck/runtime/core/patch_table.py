"""The patch table: which attributes of torch are replaced, and their original values."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import FunctionType, ModuleType
from typing import Any, Final

from namecheck.core.semantics import Semantics
from namecheck.runtime.core import sequence_slots
from namecheck.runtime.core.modes import Mode, Record

ABSENT: Final = object()


@dataclass(frozen=True, slots=True)
class Patch:
    """One attribute of an object, or one item of a dict, and its replacement."""

    owner: Any
    attribute: Any
    replacement: Any


@dataclass(frozen=True, slots=True)
class Deferred:
    """The patches of a module that is too expensive to import before the program does.

    `patches` is called with the module after its import. A module marked `bare` is imported
    while the table is suspended, so that it sees torch's original functions.
    """

    module: str
    patches: Callable[[ModuleType], Iterable[Patch]]
    bare: bool = False


@dataclass(slots=True)
class PatchTable:
    """The patches in force and their users. This is the only global state of the shim.

    `originals` are the values before patching, in patch order. `deferred` maps the name of each
    module that is patched after its import to its patches; the `watcher` waits for that import.
    `default` is the mode outside of every `runtime` block, `record` collects its findings.
    `holders` counts the users of the patches, which are `install`, `host` and each open block;
    all of them share one `semantics`. `generation` counts the calls of `apply`. `prepared` caches
    the patches of each semantics, each with the value that it replaced when it was prepared.
    `warns` is True until the warning about experimental features, if it was requested.
    """

    originals: list[Patch] = field(default_factory=list)
    deferred: dict[str, Deferred] = field(default_factory=dict)
    watcher: Watcher | None = None
    default: Mode = "off"
    semantics: Semantics = Semantics.NAMECHECK
    record: Record = field(default_factory=Record)
    installed: bool = False
    hosted: bool = False
    warns: bool = False
    holders: int = 0
    generation: int = 0
    prepared: dict[Semantics, list[tuple[Patch | Deferred, Any]]] = field(default_factory=dict)
    lock: threading.RLock = field(default_factory=threading.RLock)

    @property
    def applied(self) -> bool:
        """Whether anything is replaced."""
        return bool(self.originals)

    def apply(self, patches: Iterable[Patch | Deferred]) -> None:
        """Apply patches in order, and keep the value that each owner itself had."""
        with self.lock:
            self.generation += 1
            # Prepare all patches before the first is applied: wrappers are made of the originals.
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
        """Apply the deferred patches of a module that has just been imported."""
        with self.lock:
            patch = self.deferred.pop(module.__name__, None)
            if patch is not None:
                self.apply(patch.patches(module))

    def added_to(self, cls: type) -> frozenset[str]:
        """The attributes of a class that only the patches give it."""
        return frozenset(p.attribute for p in self.originals if p.owner is cls and _is_new(p))

    def importing(self, name: str) -> AbstractContextManager[None]:
        """The context in which a module is imported: suspended if its patches are `bare`."""
        with self.lock:
            bare = name in self.deferred and self.deferred[name].bare
        return self.suspended() if bare else nullcontext()

    @contextmanager
    def suspended(self) -> Iterator[None]:
        """Restore torch's own functions for a block; attributes that torch lacks stay."""
        with self.lock:
            replaceable = [patch for patch in self.originals if not _is_new(patch)]
            replaced = [
                Patch(p.owner, p.attribute, read(p.owner, p.attribute)) for p in replaceable
            ]
            for patch in reversed(replaceable):
                _write(patch.owner, patch.attribute, patch.replacement)
        try:
            yield
        finally:
            with self.lock:
                for patch in replaced:
                    _write(patch.owner, patch.attribute, patch.replacement)

    def restore(self) -> None:
        """Undo every patch, in reverse order, and stop watching imports."""
        with self.lock:
            while self.originals:
                patch = self.originals.pop()
                _write(patch.owner, patch.attribute, patch.replacement)
            self.deferred.clear()
            if self.watcher in sys.meta_path:
                sys.meta_path.remove(self.watcher)
            self.watcher = None


def read(owner: Any, attribute: Any) -> Any:
    """The value that the owner itself has, without inheritance; ABSENT if it has none."""
    if isinstance(owner, FunctionType):  # its defaults are in no dict
        return getattr(owner, attribute, ABSENT)
    return (owner if isinstance(owner, dict) else vars(owner)).get(attribute, ABSENT)


def _write(owner: Any, attribute: Any, value: Any) -> None:
    if isinstance(owner, dict):
        owner[attribute] = value
        return
    slots = sequence_slots.empty_slots(owner, attribute)
    if value is ABSENT:
        delattr(owner, attribute)
    else:
        setattr(owner, attribute, value)
    sequence_slots.empty_again(slots)


def _is_new(patch: Patch) -> bool:
    """Whether an entry of `originals` is of a name that neither owner nor base class had."""
    bases = patch.owner.__mro__[1:] if isinstance(patch.owner, type) else ()
    inherited = any(patch.attribute in vars(base) for base in bases)
    return patch.replacement is ABSENT and not inherited


class Watcher(MetaPathFinder):
    """Finds the modules with deferred patches as Python does, and notifies the table."""

    def __init__(self, table: PatchTable) -> None:
        self.table = table

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: Any = None
    ) -> ModuleSpec | None:
        """The spec of the next finder, with a loader that notifies the table."""
        if fullname not in self.table.deferred:
            return None
        finders = [finder for finder in sys.meta_path if finder is not self]
        specs = (finder.find_spec(fullname, path, target) for finder in finders)
        spec = next(filter(None, specs), None)
        if spec is not None and spec.loader is not None:
            spec.loader = _NotifyingLoader(spec.loader, self.table)
        return spec


class _NotifyingLoader(Loader):
    """Loads a module with its own loader, then applies the deferred patches."""

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

# Hold the lock while forking: the child process gets a table that is not half changed. Windows has
# no fork.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=TABLE.lock.acquire,
        after_in_parent=TABLE.lock.release,
        after_in_child=TABLE.lock.release,
    )
