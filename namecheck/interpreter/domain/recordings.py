"""Recordings: which cells the run of a call reads of the store before it, and which it writes.

What the run itself has made is known by the newest numbers in the keys of the cells.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from namecheck.core import names
from namecheck.interpreter.domain.cells import Fact, MembersOf
from namecheck.interpreter.domain.values import (
    FIRST_NUMBER,
    NUMBERS_OF_BLOCK,
    ClassValue,
    DictValue,
    Environment,
    Key,
    ListValue,
    Opaque,
    Picked,
)

if TYPE_CHECKING:
    from namecheck.interpreter.domain.store import Store

OWN: Final = object()
"""The content that is noted for a cell of an object that the run itself has made."""


FactType: TypeAlias = Callable[[Hashable], Fact]


class Recording:
    """The cells that a run reads, each with its content at the first read, and those it writes.

    `initials` are the contents with which the written values were made, as each write gave them.
    `since` is the range of numbers of the objects that the run makes, `base` the store before it,
    `outer` the recording of the run around it. `attributes` are the names of those that instances
    had before the run added to them. `untouched` are the cells read of which the analysis had
    written none: what they hold is the same for every call until one is written. `unassumed` are
    the values of which the run has asked facts, with the types of these, while no path assumed any,
    `unwritten` the addresses that it has read while no path had written to them.
    """

    __slots__ = (
        "attributes",
        "base",
        "initials",
        "outer",
        "reads",
        "since",
        "unassumed",
        "untouched",
        "unwritten",
        "written",
    )

    def __init__(self, since: range, base: Store, outer: Recording | None) -> None:
        self.since = since
        self.base = base
        self.outer = outer
        self.reads: dict[Hashable, Any] = {}
        # By identity, as the same content is often written again.
        self.written: dict[Hashable, dict[int, Any]] = {}
        self.initials: dict[Hashable, Any] = {}
        self.attributes: dict[Hashable, Any] = {}
        self.untouched: set[Hashable] = set()
        self.unassumed: dict[Hashable, dict[FactType, None]] = {}
        self.unwritten: dict[Hashable, None] = {}

    def has_made(self, key: Hashable) -> bool:
        """Whether a cell belongs to an object that the run has made."""
        since = self.since
        owner = key[0] if type(key) is tuple else key
        if type(owner) is int:
            return since.start <= owner < since.stop
        return bool([number for number in newest(key) if number in since])

    def read(self, store: Store, key: Hashable, content: Any) -> None:
        """Note the first read of a cell."""
        ledger = store.ledger
        if ledger.is_foreign(key) and key not in ledger.touched:
            self.untouched.add(key)
        elif self.has_made(key):
            self.reads[key] = OWN
        elif key in self.attributes:
            self.reads[key] = self.attributes[key]
        elif type(key) is MembersOf:
            # The run may have added some.
            self.reads[key] = self.base.list_members(key.address)
        elif key not in self.written or not self._has_written(store, key):
            self.reads[key] = content

    def read_all(self, store: Store, cells: Iterable[tuple[Hashable, Any]]) -> None:
        """Note the reads of a run within this one."""
        for key, content in cells:
            if content is not OWN and key not in self.reads:
                self.read(store, key, content)

    def finds_unassumed(self, subject: Hashable, *fact_types: FactType) -> None:
        """Note that facts about a value were asked which no path assumes."""
        asked = self.unassumed.get(subject)
        if asked is None:
            asked = self.unassumed[subject] = {}
        for fact_type in fact_types:
            asked[fact_type] = None

    def adds_attribute(self, key: Hashable, content: Any) -> None:
        """Note the names of an instance before one is added, in the recordings around too."""
        recording: Recording | None = self
        while recording is not None and key not in recording.attributes:
            recording.attributes[key] = content
            recording = recording.outer

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

    def ends(self) -> None:
        """Add the reads and writes to the outer recording."""
        has_made = self.has_made
        self.unassumed = {s: types for s, types in self.unassumed.items() if not has_made(s)}
        self.unwritten = {each: None for each in self.unwritten if not has_made(each)}
        outer = self.outer
        if outer is None:
            return
        for subject, fact_types in self.unassumed.items():
            outer.finds_unassumed(subject, *fact_types)
        outer.unwritten |= self.unwritten
        outer.untouched |= self.untouched
        outer.read_all(self.base, self.reads.items())
        for key, contents in self.written.items():
            for content in contents.values():
                outer.wrote(key, content)
        for address, initial in self.initials.items():
            outer.initials.setdefault(address, initial)


_Newest: TypeAlias = Callable[[Any], tuple[int, ...]]


def newest(part: object) -> tuple[int, ...]:
    """The highest number in a value, or in what identifies it, of each block of numbers."""
    cls = part.__class__
    find = _NEWEST.get(cls)
    if find is None:
        find = _NEWEST[cls] = _newest_in(cls)
    return find(part)


def _newest_in(cls: type) -> _Newest:
    """What finds the newest numbers in the values of a type."""
    for general, find in _NEWEST_BY_KIND.items():
        if issubclass(cls, general):
            return find
    fields: tuple[str, ...] = getattr(cls, "__match_args__", ())
    if not fields:
        return lambda part: ()
    parts_of = attrgetter(*fields)
    return lambda part: newest(parts_of(part))


def _newest_of(members: Iterable[object]) -> tuple[int, ...]:
    numbers: tuple[int, ...] = ()
    for part in members:
        more = newest(part)
        if more and more is not numbers:
            numbers = _newest_by_block((*numbers, *more)) if numbers else more
    return numbers


def _newest_by_block(numbers: tuple[int, ...]) -> tuple[int, ...]:
    by_block: dict[int, int] = {}
    for number in numbers:
        block = number // NUMBERS_OF_BLOCK
        by_block[block] = max(number, by_block.get(block, 0))
    return tuple(by_block.values())


def _of_key(key: Key) -> tuple[int, ...]:
    if key.newest is None:
        key.newest = _newest_of(key.provenance.parts())
    return key.newest


_NEWEST_BY_KIND: Final[Mapping[type, _Newest]] = {
    Key: _of_key,
    int: lambda number: (number,) if number >= FIRST_NUMBER else (),
    tuple: _newest_of,
    str: lambda text: _newest_by_block(names.scopes(text)),
    Opaque: lambda opaque: _of_key(opaque.key),
    Picked: lambda picked: (picked.born,),
    # What these were made with does not identify them.
    ListValue: lambda list_value: newest(list_value.address),
    DictValue: lambda dict_value: newest(dict_value.address),
    ClassValue: lambda cls: _newest_of((cls.address, cls.fields)),
    Environment: lambda environment: newest(environment.number),
}
# The same with all types that were met.
_NEWEST: dict[type, _Newest] = dict(_NEWEST_BY_KIND)
