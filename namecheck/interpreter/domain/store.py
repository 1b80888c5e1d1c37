"""The store: the contents of variables, attributes and mutable values on one path.

A store is a layer over the one it was forked from, so a branch costs only its changes, and a join
compares only changes. Keys are ``(environment number, name)`` for variables, ``(address, name)``
for attributes, an address for the content of a tensor, a list or a dict; all others are in
`namecheck.interpreter.domain.cells`.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

from namecheck.interpreter.domain.cells import (
    EQUAL_SIZES,
    AttributeNames,
    CandidatesOf,
    Fact,
    Initial,
    MembersOf,
    Written,
)
from namecheck.interpreter.domain.meter import Meter
from namecheck.interpreter.domain.provenance import Failed, Fresh
from namecheck.interpreter.domain.recordings import Recording
from namecheck.interpreter.domain.values import (
    FIRST_NUMBER,
    NUMBERS_OF_BLOCK,
    Facts,
    Mutable,
    Opaque,
    Picked,
    Value,
    has_failed,
)

ABSENT: Final = object()
"""The content of a cell that does not exist."""

_DEEP: Final = 4
_STRIDE: Final = 6
# How many cells are remembered that kept paths apart.
_PARTING: Final = 8
# The steps of one cell of a summary that is applied again.
_APPLIED: Final = 4


def owner_of(key: Hashable) -> Hashable:
    """The number of the environment or object that a cell belongs to; of a choice, its first."""
    owner = key.address if isinstance(key, Written) else key[0] if isinstance(key, tuple) else key
    return owner.born if isinstance(owner, Picked) else owner


class Ledger:
    """The state that all layers of one analysis share: it numbers objects, and notes writes.

    Numbers increase, so an address that is older than a layer is lower than the layer's number.
    They are from one `block`; an object with another number was made before, in another analysis:
    `ground` has the cells of the files whose top level was run then.

    - `last_write` is the number of the last write to any mutable value.
    - `log` has all writes, in order, within a block of `logging`; `recording` the reads and writes
      within a block of `recorded`.
    - `subjects` are the keys of all values with a fact on some path, `written` the addresses of all
      mutable values with a write on some path, each with the number of the last one on any path.
    - `limits` counts, by limit, the values that became unknown because they were too large.
    - `meter` counts what the analysis costs; `on_limit` is called with each limit.
    - `captured` are the numbers of the environments that functions close over.
    - `parameters` are the addresses of the parameters and buffers of modules.
    - `attributes` has the names of the attributes that any path wrote to each instance.
    - `parting` has the cells that last kept paths apart: these most often do so again.
    """

    __slots__ = (
        "_added",
        "_count",
        "attributes",
        "block",
        "captured",
        "ground",
        "last_write",
        "limits",
        "log",
        "meter",
        "on_limit",
        "parameters",
        "parting",
        "recording",
        "several",
        "subjects",
        "touched",
        "written",
    )

    def __init__(self, block: int = 0, ground: Mapping[Hashable, Any] | None = None) -> None:
        start = FIRST_NUMBER + block * NUMBERS_OF_BLOCK
        self.block = range(start, start + NUMBERS_OF_BLOCK)
        self.ground: Mapping[Hashable, Any] = {} if ground is None else ground
        self._count = itertools.count(self.block.start)
        self.last_write = -1
        self.limits: dict[str, int] = {}
        self.meter = Meter()
        self.on_limit: Callable[[str], None] | None = None
        self.log: list[tuple[Hashable, Any]] | None = None
        self.recording: Recording | None = None
        self.subjects: set[Hashable] = set()
        self.touched: dict[Hashable, int] = {}
        self.written: dict[Hashable, int] = {}
        self.attributes: dict[AttributeNames, dict[str, None]] = {}
        self._added: list[tuple[AttributeNames, str]] | None = None
        self.captured: set[int] = set()
        self.parameters: set[Hashable] = set()
        self.parting: deque[Hashable] = deque(maxlen=_PARTING)
        # The modules that stand for several, see `joins.are_copies`.
        self.several: set[Hashable] = set()

    def new(self) -> int:
        """A new number, which is a new address."""
        return next(self._count)

    def reach(self, limit: str) -> None:
        """Count that a value became unknown because it was too large."""
        self.limits[limit] = self.limits.get(limit, 0) + 1
        if self.on_limit is not None:
            self.on_limit(limit)

    def is_foreign(self, key: Hashable) -> bool:
        """Whether a variable or an attribute belongs to something made before this analysis."""
        if type(key) is not tuple:
            return False
        owner = key[0]
        if owner.__class__ is int:
            return owner not in self.block
        return owner.__class__ is str

    def made_after(self, address: Hashable, moment: int) -> bool:
        """Whether an address was made in this analysis, after the number `moment`."""
        return isinstance(address, int) and moment < address < self.block.stop

    def mark_alike(self, number: int, counterpart: int) -> None:
        """Give a number the properties of another: captured, a parameter, one of several."""
        for numbers in (self.captured, self.parameters, self.several):
            if number in numbers:
                numbers.add(counterpart)

    def attributes_in(self, cell_keys: Iterable[Hashable]) -> frozenset[Hashable]:
        """The cells among some that are attributes which a path has written."""
        return frozenset(
            key
            for key in cell_keys
            if type(key) is tuple and key[1] in self.attributes.get(AttributeNames(key[0]), ())
        )

    def add_attribute(self, address: Hashable, name: str) -> None:
        """Note a write to an attribute."""
        key = AttributeNames(address)
        names = self.attributes.setdefault(key, {})
        if name not in names:
            if self.recording is not None:
                self.recording.adds_attribute(key, tuple(names) if names else ABSENT)
            names[name] = None
            if self._added is not None:
                self._added.append((key, name))

    @contextmanager
    def forgetting_attributes(self) -> Iterator[None]:
        """Forget after the block which attributes were written in it: nothing can read them."""
        outer, self._added = self._added, []
        try:
            yield
        finally:
            for key, name in reversed(self._added):
                names = self.attributes[key]
                del names[name]
                if not names:
                    del self.attributes[key]
            self._added = outer

    @contextmanager
    def logging(self) -> Iterator[list[tuple[Hashable, Any]]]:
        """Log the writes within a block: a list that is filled when the block ends."""
        outer, start = self.log, len(self.log or ())
        self.log = log = [] if outer is None else outer
        writes: list[tuple[Hashable, Any]] = []
        try:
            yield writes
        finally:
            writes += log[start:]
            self.log = outer

    @contextmanager
    def recorded(self, base: Store) -> Iterator[Recording]:
        """Record the reads and writes within a block that starts from the store `base`."""
        outer = self.recording
        recording = Recording(range(self.new(), self.block.stop), base, outer)
        self.recording = recording
        try:
            yield recording
            self.meter.spend(len(recording.reads) >> 1)
        finally:
            self.recording = outer
            recording.ends()

    @contextmanager
    def unrecorded(self) -> Iterator[None]:
        """Read cells within a block without recording it."""
        outer, self.recording = self.recording, None
        try:
            yield
        finally:
            self.recording = outer

    def notes(self, key: Hashable) -> bool:
        """Whether a recording notes reads of a cell even if nothing was ever written there."""
        return self.recording is not None and not self.recording.has_made(key)

    def may_hold(self, address: Hashable) -> bool:
        """Whether any path has written a content to this address."""
        return address in self.written or address in self.ground

    def keeps_writes(self, written_key: Hashable) -> bool:
        """Whether anything keeps all that is written to a cell, and not only the last of it."""
        return self.log is not None or self.notes(written_key)

    def assumed(self, fact: Hashable) -> None:
        """Note that a path assumes a fact."""
        self.subjects.add(getattr(fact, "key", fact))

    def fresh(self, reason: str, kind: str | None = None) -> Opaque:
        """An opaque value equal to no other."""
        return Opaque(Fresh(reason, self.new()), kind)

    def failed(self) -> Opaque:
        """The result of an operator with a contradiction."""
        return Opaque(Failed(self.new()))


class Store:
    """One layer of cells over another.

    `born` is the number of the layer, in the order of the addresses. All layers share `ledger` and
    `first`, which has, for each mutable value that was written, the content it was made with.
    """

    __slots__ = ("_below", "_gap", "born", "cells", "depth", "first", "ledger", "parent")

    def __init__(self, parent: Store | None = None, ledger: Ledger | None = None) -> None:
        self.parent = parent
        self.ledger: Ledger = ledger or (Ledger() if parent is None else parent.ledger)
        self.cells: dict[Hashable, Any] = {}
        self.depth: int = 0 if parent is None else parent.depth + 1
        self.born: int = self.ledger.new()
        self.first: dict[Hashable, Any] = {} if parent is None else parent.first
        # Every few layers, the cells of all layers below are gathered, so that a look-up visits
        # few layers. That remains valid, for no layer is written while one above it is in use.
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
        self.ledger.meter.spend(len(every) >> 6)
        for cells in layers[-2::-1]:
            every.update(cells)
        return every

    def members_of(self, address: Hashable) -> tuple[Hashable, ...]:
        """What the cells of a scope or an object are called: the second parts of their keys."""
        found_members: tuple[Hashable, ...] = self.get(MembersOf(address), ())
        return found_members

    def list_members(self, address: Hashable) -> tuple[Hashable, ...]:
        """The same, which no recording notes."""
        keys = [key for key in self.gathered() if type(key) is tuple and len(key) == 2]
        return tuple([member for key_address, member in keys if key_address == address])

    def get(self, key: Hashable, default: Any = None) -> Any:
        """The content of a cell, from the innermost layer that has it."""
        layer: Store | None = self
        found: Any = ABSENT
        while layer is not None:
            if layer.cells:  # hashing most keys takes longer than this test
                found = layer.cells.get(key, ABSENT)
                if found is not ABSENT:
                    break
            if layer._below is not None:
                found = layer._below.get(key, ABSENT)
                break
            layer = layer.parent
        if found is ABSENT:
            ledger = self.ledger
            if type(key) is AttributeNames:
                names = ledger.attributes.get(key)
                found = ABSENT if names is None else tuple(names)
            elif type(key) is Initial:
                found = self.first.get(key.cell, ABSENT)
            elif type(key) is MembersOf:
                found = self.list_members(key.address) or ABSENT
            else:
                found = ledger.ground.get(key, ABSENT)
        recording = self.ledger.recording
        if recording is not None and key not in recording.reads and key not in recording.untouched:
            recording.read(self, key, found)
        return default if found is ABSENT else found

    def fact(
        self, fact_type: Callable[[Hashable], Fact], subject: Hashable, default: Any = None
    ) -> Any:
        """The content of a fact about the value with this key; most values have none."""
        ledger = self.ledger
        if subject in ledger.subjects:
            return self.get(fact_type(subject), default)
        if ledger.recording is not None:
            ledger.recording.finds_unassumed(subject, fact_type)
        return default

    def may_assume(self, subject: Hashable) -> bool:
        """Whether a path may assume a fact about this, or a recording notes that none does."""
        return subject in self.ledger.subjects or self.ledger.notes(subject)

    def set(self, key: Hashable, content: Any) -> None:
        """Write a cell in this layer."""
        self.cells[key] = content
        ledger = self.ledger
        if isinstance(key, Fact):
            ledger.assumed(key)
        elif ledger.is_foreign(key):
            ledger.touched.setdefault(key, len(ledger.touched))
        if ledger.log is not None:
            ledger.log.append((key, content))
        if ledger.recording is not None:
            ledger.recording.wrote(key, content)

    def write(self, address: Hashable, initial: Any, content: Any) -> None:
        """Write the new content of a value that was made with the content `initial`."""
        if initial is not None:
            self.note_initial(address, initial)
        if type(address) is tuple:
            self.ledger.add_attribute(*address)
        self.set(address, content)

    def note_initial(self, address: Hashable, initial: Any) -> None:
        """Note the content with which a value was made, before it is written."""
        self.first.setdefault(address, initial)
        recording = self.ledger.recording
        if recording is not None:
            recording.initials.setdefault(address, initial)

    def mutate(self, address: Hashable, initial: Any, content: Any, number: int) -> None:
        """Write the content of a mutable value, and the number of this write."""
        self.write(address, initial, content)
        self.set(Written(address), number)
        self.ledger.written[address] = self.ledger.last_write = number

    def last_write(self, address: Hashable, fallback: int) -> int:
        """The number of the last write to a mutable value; most have none."""
        if address not in self.ledger.written and not self.ledger.notes(address):
            return fallback
        number: int = self.get(Written(address), fallback)
        return number

    def may_have_written(self, address: Hashable, since: int) -> bool:
        """Whether a path may have written a mutable value after another write.

        A recording that began before that one notes whether this path has.
        """
        ledger = self.ledger
        if ledger.written.get(address, -1) > since:
            return True
        return ledger.recording is not None and since < ledger.recording.since.start

    def written_content(self, address: Hashable, default: Any = None) -> Any:
        """The content that was written to an address; most have none."""
        ledger = self.ledger
        if ledger.may_hold(address):
            return self.get(address, default)
        if ledger.recording is not None:
            ledger.recording.unwritten[address] = None
        return default

    def content(self, key: Hashable, parted: int, default: Any = None) -> Any:
        """The content of a cell; if unwritten, the initial one of a value older than `parted`."""
        found = self.get(key, ABSENT)
        if found is not ABSENT:
            return found
        if isinstance(key, Fact):
            return default  # no object is made with it
        owner = key[0] if isinstance(key, tuple) else key
        made = owner.born if isinstance(owner, Picked) else owner
        if self.ledger.made_after(made, parted):
            return default
        return self.initial(key, default)

    def initial(self, key: Hashable, default: Any) -> Any:
        """The content with which the value of a cell was made."""
        if self.ledger.notes(key):
            return self.get(Initial(key), default)
        return self.first.get(key, default)

    def copied(self) -> Store:
        """An independent copy of this layer, over the same layers."""
        copy = Store(self.parent, self.ledger)
        copy.cells = dict(self.cells)
        copy.first = self.first
        return copy

    def fork(self) -> Store:
        """A new layer over this one, which must not be written while the new one is in use."""
        return Store(self)

    def changes_since(self, base: Store) -> dict[Hashable, Any]:
        """The cells of the layers above `base`, copied.

        Who goes through them may read a picked container, and so write to a layer.
        """
        layers: list[dict[Hashable, Any]] = []
        layer = self
        while layer is not base:
            layers.append(layer.cells)
            assert layer.parent is not None, "base is not below this store"
            layer = layer.parent
        if len(layers) == 1:
            return layers[0].copy()
        changes: dict[Hashable, Any] = {}
        for cells in reversed(layers):
            changes.update(cells)
        return changes

    def flattened(self, base: Store) -> Store:
        """The layers above `base` as one layer, if they are many."""
        if self.depth - base.depth < _DEEP:
            return self
        flat = base.fork()
        flat.cells = self.changes_since(base)
        return flat

    def restore(self, cells: Iterable[tuple[Hashable, Any]]) -> None:
        """Write the cells that a call changed, from its summary."""
        ledger = self.ledger
        for key, content in cells:
            ledger.meter.spent += _APPLIED
            self.set(key, content)
            if type(key) is Written:
                ledger.written[key.address] = max(ledger.written.get(key.address, -1), content)
                ledger.last_write = max(ledger.last_write, content)

    def pass_through(self, key: Hashable, states: Iterable[Any]) -> None:
        """Note what a cell held for some time during a call, from its summary."""
        ledger = self.ledger
        for state in states:
            ledger.meter.spent += _APPLIED
            if ledger.log is not None:
                ledger.log.append((key, state))
            if ledger.recording is not None:
                ledger.recording.wrote(key, state)

    def absorb(self, new_cells: Mapping[Hashable, Any]) -> None:
        """Write many cells."""
        self.cells.update(new_cells)

    def assume(self, facts: Facts) -> Store:
        """A layer in which these facts hold."""
        layer = self.fork()
        for fact, content in facts:
            assumed = content
            if fact is EQUAL_SIZES or type(fact) is CandidatesOf:
                assumed = _both_assumed(self.get(fact), content)
            layer.cells[fact] = assumed
            layer.ledger.assumed(fact)
            if self.ledger.recording is not None:
                self.ledger.recording.wrote(fact, assumed)
        return layer

    def allows(self, facts: Facts) -> bool:
        """Whether nothing assumed here contradicts these facts."""
        return all(
            _are_compatible(fact, self.get(fact, content), content)
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


def _both_assumed(assumed: Any, content: Any) -> Any:
    """What two paths assume, of equal sizes or of the constants that a value may be."""
    if assumed is None or content is None:
        return content
    if isinstance(assumed, tuple):
        return tuple(item for item in content if item in assumed)
    return assumed.joined(content)


def _are_compatible(fact: Hashable, assumed: Any, content: Any) -> bool:
    """Whether a fact may hold where another content of it is assumed.

    Of the constants that a value may be, a test leaves some: `mode in ("a", "b")`, `mode == "a"`.
    """
    if assumed is None or assumed == content:
        return True
    return type(fact) is CandidatesOf and any(item in assumed for item in content or ())


def common(stores: Sequence[Store]) -> Store:
    """The innermost layer that all the stores share."""
    shared, *others = stores
    for store in others:
        while shared is not store:
            deeper = shared if shared.depth > store.depth else store
            assert deeper.parent is not None, "the stores have no layer in common"
            if deeper is shared:
                shared = deeper.parent
            else:
                store = deeper.parent
    return shared


def flattened_apart(stores: Sequence[Store], base: Store) -> list[Store]:
    """Each store with few layers above `base`; those that all stores share remain shared."""
    if len(stores) < 2:
        return [store.flattened(base) for store in stores]
    shared = common(stores)
    flat = shared.flattened(base)
    if flat is shared:
        return [store.flattened(shared) for store in stores]
    moved: list[Store] = []
    for store in stores:
        layer = flat.fork()
        layer.cells = store.changes_since(shared)
        moved.append(layer)
    return moved


def unknown_of(choices: Sequence[Value], ledger: Ledger) -> Opaque:
    """An unknown value that may be one of these."""
    number = ledger.new()
    kinds = {choice.kind if isinstance(choice, Opaque) else None for choice in choices}
    links: dict[Value, None] = {}
    for choice in choices:
        if isinstance(choice, Mutable):
            links[choice] = None
        elif isinstance(choice, Opaque) and choice.link is not None:
            links.update(dict.fromkeys(choice.link.of))
    link = Picked(links, number, number) if links else None
    ledger.meter.spend(0 if link is None else (len(links) + len(link.origins)) >> 1)
    # Which of them have failed does not matter, and would keep all values that a loop has joined.
    made = Failed(number) if any(map(has_failed, choices)) else Fresh("join", number)
    return Opaque(made, kinds.pop() if len(kinds) == 1 else None, link)


class Both(Store):
    """A view of two stores with disjoint addresses, which may be views themselves.

    Where containers in containers are joined, a view is of views of the same stores: each store is
    asked once.
    """

    __slots__ = ("stores",)

    def __init__(self, one_store: Store, other_store: Store) -> None:
        super().__init__(ledger=one_store.ledger)
        self.first = one_store.first
        self.stores = tuple(dict.fromkeys((*_viewed(one_store), *_viewed(other_store))))

    def get(self, key: Hashable, default: Any = None) -> Any:
        """The content of a cell of either."""
        for store in self.stores:
            content = store.get(key, ABSENT)
            if content is not ABSENT:
                return content
        return default


def _viewed(store: Store) -> tuple[Store, ...]:
    return store.stores if isinstance(store, Both) else (store,)
