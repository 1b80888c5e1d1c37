"""What variables, attributes and mutable values hold on one path through the program.

A store is a layer over the one it was forked from, so that a branch costs what it changes, and
branches are joined by comparing what they changed. Keys are ``(frame number, name)`` for
variables, ``(address, name)`` for attributes, an address for the content of a tensor, a list or a
dict; all others are in `namecheck.interpreter.domain.cells`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

from namecheck.interpreter.domain.cells import EQUAL_SIZES, Fact, Written
from namecheck.interpreter.domain.provenance import Failed, Fresh
from namecheck.interpreter.domain.values import Facts, Opaque, Picked

ABSENT: Final = object()
"""What stands for the content of a cell that there is not."""

_DEEP: Final = 4
_STRIDE: Final = 6
# How many numbers one analysis may give.
_BLOCK: Final = 1 << 40


def owner_of(key: Hashable) -> Hashable:
    """What a cell belongs to: the number of what was made first of it, a frame or an address."""
    owner = key.address if isinstance(key, Written) else key[0] if isinstance(key, tuple) else key
    return owner.born if isinstance(owner, Picked) else owner


class Ledger:
    """What all layers of one analysis share: it counts what is made, and keeps what is written.

    Each number is higher than all before, so an address made before a layer is lower than the
    number of the layer. The numbers are those of a `block`: what has a number of another one was
    made elsewhere, and before. `ground` holds the cells of the files whose top level was run
    before this analysis. `last_write` is the number of the last write to any mutable value; `log`
    has all cells that were written, in order, while somebody wants to know, and `reads` what was
    found at the first look into each cell. `subjects` are the keys of all values of which some path
    has assumed anything, `written` the addresses of all mutable values that were written; `limits`
    counts what was given up as too large.
    """

    __slots__ = (
        "_count",
        "block",
        "ground",
        "last_write",
        "limits",
        "log",
        "reads",
        "subjects",
        "written",
    )

    def __init__(self, block: int = 0, ground: Mapping[Hashable, Any] | None = None) -> None:
        self.block = range(block * _BLOCK, (block + 1) * _BLOCK)
        self.ground: Mapping[Hashable, Any] = {} if ground is None else ground
        self._count = itertools.count(self.block.start)
        self.last_write = -1
        self.limits: dict[str, int] = {}
        self.log: list[tuple[Hashable, Any]] | None = None
        self.reads: dict[Hashable, Any] | None = None
        self.subjects: set[Hashable] = set()
        self.written: set[Hashable] = set()

    def new(self) -> int:
        """The next number: an address that nothing else has."""
        return next(self._count)

    def reach(self, limit: str) -> None:
        """Count that something was given up as it had become too large."""
        self.limits[limit] = self.limits.get(limit, 0) + 1

    def made_after(self, made: object, moment: int) -> bool:
        """Whether an address was made in this analysis, and after a moment of it."""
        return isinstance(made, int) and moment < made < self.block.stop

    @contextmanager
    def logging(self) -> Iterator[list[tuple[Hashable, Any]]]:
        """Log what is written within a block: a list that has it all when the block is left."""
        outer, start = self.log, len(self.log or ())
        self.log = log = [] if outer is None else outer
        writes: list[tuple[Hashable, Any]] = []
        try:
            yield writes
        finally:
            writes += log[start:]
            self.log = outer

    @contextmanager
    def reading(self) -> Iterator[dict[Hashable, Any]]:
        """Note what is read within a block: the first content of each cell."""
        outer = self.reads
        reads: dict[Hashable, Any] = {}
        self.reads = reads
        try:
            yield reads
        finally:
            self.reads = outer
            if outer is not None:
                for key, content in reads.items():
                    outer.setdefault(key, content)

    def assumed(self, fact: Hashable) -> None:
        """Note that some path assumes a fact."""
        self.subjects.add(getattr(fact, "key", fact))

    def fresh(self, reason: str, kind: str | None = None) -> Opaque:
        """An opaque value equal to no other."""
        return Opaque(Fresh(reason, self.new()), kind)

    def failed(self) -> Opaque:
        """What an operator that found a contradiction would have given."""
        return Opaque(Failed(self.new()))


class Store:
    """One layer of cells over another.

    `born` numbers the layer among the addresses. All layers share `ledger`, and `first`, which
    holds what the mutable values that were written were made with.
    """

    __slots__ = ("_below", "_gap", "born", "cells", "depth", "first", "ledger", "parent")

    def __init__(self, parent: Store | None = None, ledger: Ledger | None = None) -> None:
        self.parent = parent
        self.ledger: Ledger = ledger or (Ledger() if parent is None else parent.ledger)
        self.cells: dict[Hashable, Any] = {}
        self.depth: int = 0 if parent is None else parent.depth + 1
        self.born: int = self.ledger.new()
        self.first: dict[Hashable, Any] = {} if parent is None else parent.first
        # Every few layers all that stands below is gathered, so that no look-up walks far. It
        # stays true, as no layer is written under one that lives.
        self._gap: int = 0 if parent is None else parent._gap + 1
        self._below: dict[Hashable, Any] | None = None
        if parent is not None and self._gap >= _STRIDE:
            self._below, self._gap = parent.gathered(), 0

    def gathered(self) -> dict[Hashable, Any]:
        """All cells of this layer and those below."""
        layers: list[dict[Hashable, Any]] = []
        layer: Store | None = self
        while layer is not None:
            layers.append(layer.cells)
            if layer._below is not None:
                layers.append(layer._below)
                break
            layer = layer.parent
        every = dict(layers[-1])
        for cells in layers[-2::-1]:
            every.update(cells)
        return every

    def get(self, key: Hashable, default: Any = None) -> Any:
        """The content of a cell, of the innermost layer that has it."""
        if self.ledger.reads is not None:
            return self._noted(key, default)
        layer: Store | None = self
        while layer is not None:
            if layer.cells:  # most keys take longer to hash than this takes
                found = layer.cells.get(key, ABSENT)
                if found is not ABSENT:
                    return found
            if layer._below is not None:
                found = layer._below.get(key, ABSENT)
                if found is not ABSENT:
                    return found
                break
            layer = layer.parent
        return self.ledger.ground.get(key, default)

    def fact(self, kind: Callable[[Hashable], Fact], subject: Hashable, default: Any = None) -> Any:
        """The content of a fact about the value with this key; of most values there is none."""
        return self.get(kind(subject), default) if self.may_assume(subject) else default

    def may_assume(self, subject: Hashable) -> bool:
        """Whether there may be a fact about this; while reads are noted, those of none are too."""
        return subject in self.ledger.subjects or self.ledger.reads is not None

    def _noted(self, key: Hashable, default: Any) -> Any:
        """The same, and note what was found."""
        reads, self.ledger.reads = self.ledger.reads, None
        try:
            found = self.get(key, ABSENT)
        finally:
            self.ledger.reads = reads
        if reads is not None:
            reads.setdefault(key, found)
        return default if found is ABSENT else found

    def set(self, key: Hashable, content: Any) -> None:
        """Write a cell in this layer."""
        self.cells[key] = content
        if isinstance(key, Fact):
            self.ledger.assumed(key)
        if self.ledger.log is not None:
            self.ledger.log.append((key, content))

    def write(self, address: Hashable, initial: Any, content: Any) -> None:
        """Write what has become of a value that was made with `initial`."""
        if initial is not None:
            self.first.setdefault(address, initial)
        self.set(address, content)

    def mutate(self, address: Hashable, initial: Any, content: Any, number: int) -> None:
        """Write the content of a mutable value, under the number of the write."""
        self.write(address, initial, content)
        self.set(Written(address), number)
        self.ledger.written.add(address)
        self.ledger.last_write = number

    def last_write(self, address: Hashable, default: int) -> int:
        """The number of the last write to a mutable value; of most there is none."""
        if address not in self.ledger.written and self.ledger.reads is None:
            return default
        number: int = self.get(Written(address), default)
        return number

    def may_hold(self, address: Hashable) -> bool:
        """Whether there may be a content that was written to this address."""
        ledger = self.ledger
        return address in ledger.written or address in ledger.ground or ledger.reads is not None

    def content(self, key: Hashable, parted: int, default: Any = None) -> Any:
        """The content of a cell; of a value made before the paths parted, what it was made with."""
        found = self.get(key, ABSENT)
        if found is not ABSENT:
            return found
        owner = key[0] if isinstance(key, tuple) else key
        made = owner.born if isinstance(owner, Picked) else owner
        if self.ledger.made_after(made, parted):
            return default
        return self.first.get(key, default)

    def copied(self) -> Store:
        """The same content on the same layers: what is written to the one the other has not."""
        copy = Store(self.parent, self.ledger)
        copy.cells = dict(self.cells)
        copy.first = self.first
        return copy

    def fork(self) -> Store:
        """A new layer over this one; this one must not be written while the new one lives."""
        return Store(self)

    def changes_since(self, base: Store) -> dict[Hashable, Any]:
        """What the layers above `base` hold."""
        layers: list[dict[Hashable, Any]] = []
        layer = self
        while layer is not base:
            layers.append(layer.cells)
            assert layer.parent is not None, "base is not below this store"
            layer = layer.parent
        if len(layers) == 1:
            return layers[0]
        changes: dict[Hashable, Any] = {}
        for cells in reversed(layers):
            changes.update(cells)
        return changes

    def flattened(self, base: Store) -> Store:
        """The same content in one layer over `base`, once the layers have become many."""
        if self.depth - base.depth < _DEEP:
            return self
        flat = base.fork()
        flat.cells = self.changes_since(base)
        return flat

    def absorb(self, new_cells: Mapping[Hashable, Any]) -> None:
        """Write many cells."""
        self.cells.update(new_cells)

    def assume(self, facts: Facts) -> Store:
        """A layer in which these facts hold."""
        layer = self.fork()
        for fact, content in facts:
            held = self.get(EQUAL_SIZES) if fact is EQUAL_SIZES else None
            layer.cells[fact] = content if held is None else held.joined(content)
            layer.ledger.assumed(fact)
        return layer

    def allows(self, facts: Facts) -> bool:
        """Whether nothing assumed here contradicts these facts."""
        return all(
            self.get(fact, content) in (content, None)
            for fact, content in facts
            if fact is not EQUAL_SIZES
        )

    def facts_since(self, base: Store) -> Facts:
        """The facts that the layers above `base` assume."""
        return tuple(
            (key, content)
            for key, content in self.changes_since(base).items()
            if isinstance(key, Fact) and content is not None
        )


def common(stores: Sequence[Store]) -> Store:
    """The innermost layer that all the stores stand on."""
    if len(stores) == 1:
        return stores[0]
    paths = []
    for store in stores:
        ancestors: list[Store] = []
        layer: Store | None = store
        while layer is not None:
            ancestors.append(layer)
            layer = layer.parent
        paths.append(ancestors[::-1])
    shared = paths[0][0]
    for layers in zip(*paths, strict=False):
        if any(layer is not layers[0] for layer in layers):
            break
        shared = layers[0]
    return shared


def changed_keys(base: Store, stores: Iterable[Store]) -> dict[Hashable, None]:
    """All keys that any of the stores changed since `base`, in a stable order."""
    keys: dict[Hashable, None] = {}
    for store in stores:
        keys.update(dict.fromkeys(store.changes_since(base)))
    return keys
