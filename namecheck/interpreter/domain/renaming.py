"""Renamings: compare values except for their numbers, and replace the numbers in values.

An analysis numbers the objects that it makes: environments, addresses, opaque values, the scopes of
axes. Two calls of the same kind differ only in these numbers. A `Renaming` pairs each number of one
call with a number of the other, and makes from the outcome of the one the outcome of the other.
"""

from __future__ import annotations

import ast
import enum
import re
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from operator import is_
from types import MappingProxyType
from typing import Any, Final, Generic, TypeAlias, TypeVar

from namecheck.core import names as naming
from namecheck.core import sizes
from namecheck.core.dataclasses import names_of
from namecheck.core.findings import Place
from namecheck.core.names import Axis, Unknown
from namecheck.core.sizes import Expression, symbols
from namecheck.core.syntax import Source
from namecheck.core.tensors import Tensor
from namecheck.interpreter.domain.store import Ledger
from namecheck.interpreter.domain.values import (
    ClassValue,
    Const,
    DictValue,
    Environment,
    FunctionValue,
    Generator,
    Held,
    Key,
    ListValue,
    Opaque,
    Picked,
)

Part = TypeVar("Part")
Numbers: TypeAlias = frozenset[int]

NO_NUMBERS: Final[Numbers] = frozenset()
_NONE: Final[frozenset[Any]] = frozenset()


class NotRenamable(Exception):
    """A value with state outside the store: it cannot be renamed."""


class Unpaired(Exception):
    """A number that is paired with no other."""


class Walk(Generic[Part]):
    """Finds parts of one kind in values; of shared values once."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        # By identity, because the hash of a value would visit all its parts. The value is kept, so
        # that no other object gets its identity.
        self._cache: dict[int, tuple[object, frozenset[Part]]] = {}

    def of_int(self, number: int) -> frozenset[Part]:
        """The parts in an int."""
        raise NotImplementedError

    def of_text(self, text: str) -> frozenset[Part]:
        """The parts in a text, which may be the name of an axis."""
        raise NotImplementedError

    def of(self, part: object) -> frozenset[Part]:
        """The parts in a value; raises `NotRenamable`."""
        kind = type(part)
        if kind not in _SHARED:
            return _HANDLING[kind][0](part, self)
        cached = self._cache.get(id(part))
        if cached is not None:
            return cached[1]
        found = _HANDLING[kind][0](part, self)
        self._cache[id(part)] = part, found
        return found

    def of_all(self, members: Iterable[object]) -> frozenset[Part]:
        """The parts in any of some values."""
        of = self.of
        found = [
            parts
            for member in members
            if member.__class__ not in _WITHOUT and (parts := of(member))
        ]
        if not found:
            return _NONE
        if len(found) == 1:
            return found[0]
        self._ledger.meter.spent += sum(map(len, found)) >> 6
        return frozenset().union(*found)


class Numbering(Walk[int]):
    """Finds the numbers in values that are within the range of one analysis.

    An object with a number outside the range was made in an earlier analysis: it is not renamed.
    `wording` finds the words in values.
    """

    def __init__(self, ledger: Ledger) -> None:
        super().__init__(ledger)
        self.range = ledger.block
        self.wording = Wording(ledger)

    def of_int(self, number: int) -> Numbers:
        """The number itself, if it is in the range."""
        return frozenset((number,)) if number in self.range else NO_NUMBERS

    def of_text(self, text: str) -> Numbers:
        """The numbers of the scopes in it."""
        scopes = naming.scopes(text)
        return frozenset(n for n in scopes if n in self.range) if scopes else NO_NUMBERS


class Wording(Walk[str]):
    """Finds the words in values that may be axes: axes of one scope have one number."""

    def of_int(self, number: int) -> frozenset[str]:
        """Nothing: a number is no axis."""
        return _NONE

    def of_text(self, text: str) -> frozenset[str]:
        """The factors of the name that it may be."""
        return frozenset(text.split("*"))


class Renaming:
    """A one-to-one map from the numbers of one call to those of another.

    The places where names were read are mapped too; several of them may have one counterpart.
    """

    def __init__(self, numbering: Numbering) -> None:
        self.numbering = numbering
        self.numbers: dict[int, int] = {}
        self._back: dict[int, int] = {}
        self._places: dict[Place, Place] = {}
        self._renamed: dict[int, tuple[object, Any]] = {}
        self._matched: dict[tuple[int, int], tuple[object, object]] = {}

    @property
    def steps(self) -> int:
        """What it has cost, in steps."""
        return _SHARED_PART * len(self._renamed)

    @property
    def counterparts(self) -> Collection[int]:
        """The numbers of the other call that are paired."""
        return self._back

    def pair(self, number: int, counterpart: int) -> bool:
        """Pair two numbers; False if either is paired with a third.

        Results of `renamed` are cached, so all numbers must be paired before its first call.
        """
        paired = self.numbers.get(number)
        if paired is not None:
            return paired == counterpart
        if counterpart in self._back:
            return False
        self.numbers[number] = counterpart
        self._back[counterpart] = number
        return True

    def place(self, place: Place) -> Place:
        """The counterpart of a place."""
        return self._places.get(place, place)

    def matches(self, part: object, counterpart: object) -> bool:
        """Whether two values are equal but for their numbers; pairs the numbers in them."""
        kind = type(part)
        if kind is not type(counterpart):
            return False
        if kind not in _SHARED:
            return _HANDLING[kind][1](part, counterpart, self)
        # A part of many values is compared once.
        pair = id(part), id(counterpart)
        if pair in self._matched:
            return True
        if part is counterpart:
            is_match = all(self.pair(number, number) for number in self.numbering.of(part))
        else:
            is_match = _HANDLING[kind][1](part, counterpart, self)
        if is_match:
            self._matched[pair] = part, counterpart
        return is_match

    def match_places(self, place: Place, other_place: Place) -> bool:
        """Whether two places can be paired; pairs them."""
        return self._places.setdefault(place, other_place) == other_place

    def renamed(self, value: Any) -> Any:
        """A value with its numbers replaced by their counterparts; itself if it has none."""
        kind = type(value)
        if kind not in _SHARED:
            return _HANDLING[kind][2](value, self)
        cached = self._renamed.get(id(value))
        if cached is not None:
            return cached[1]
        if self.numbering.of(value) or (kind is Held and self._places):
            counterpart = _HANDLING[kind][2](value, self)
        else:
            counterpart = value
        self._renamed[id(value)] = value, counterpart
        return counterpart

    def entries(self, cells: Iterable[tuple[Hashable, Any]]) -> Iterator[tuple[Hashable, Any]]:
        """Keys and contents of cells, renamed."""
        for key, content in cells:
            yield self.renamed(key), self.renamed(content)

    def text(self, text: str) -> str:
        """A text with the scopes in it renamed."""
        return naming.rescoped(text, lambda scope: _rename_int(scope, self))


_Find: TypeAlias = Callable[[Any, Walk[Any]], frozenset[Any]]
_Match: TypeAlias = Callable[[Any, Any, Renaming], bool]
_Rename: TypeAlias = Callable[[Any, Renaming], Any]

# Types whose values are shared by many others: their numbers are cached.
_SHARED: Final = frozenset(
    {Key, Picked, Environment, FunctionValue, ClassValue, Held, ListValue, DictValue, Tensor}
)
# The steps of one such value: it has many others in it.
_SHARED_PART: Final = 3
# A field that a class computes from its other fields, and that refers to the value itself.
_DERIVED: Final = "linear"
_PLAIN: Final = (ast.AST, Source, enum.Enum, type, range, re.Pattern)
# Types without numbers that many values have as parts: these are passed over.
_WITHOUT: Final = frozenset({bool, type(None), Unknown, Place})


def _no_numbers(part: object, walk: Walk[Part]) -> frozenset[Part]:
    return _NONE


def _equal(part: object, counterpart: object, renaming: Renaming) -> bool:
    return bool(part == counterpart)


def _same(value: Any, renaming: Renaming) -> Any:
    return value


# Numbers themselves, and the text of axes


def _of_int(number: int, walk: Walk[Part]) -> frozenset[Part]:
    return walk.of_int(number)


def _match_ints(number: int, counterpart: int, renaming: Renaming) -> bool:
    numbers = renaming.numbering.range
    if number in numbers:
        return counterpart in numbers and renaming.pair(number, counterpart)
    return number == counterpart


def _rename_int(number: int, renaming: Renaming) -> int:
    counterpart = renaming.numbers.get(number)
    if counterpart is not None:
        return counterpart
    if number in renaming.numbering.range:
        raise Unpaired
    return number


def _of_text(text: str, walk: Walk[Part]) -> frozenset[Part]:
    return walk.of_text(text)


def _match_texts(text: str, other_text: str, renaming: Renaming) -> bool:
    if not naming.scopes(text):
        return text == other_text
    pieces, scopes = naming.parted(text)
    other_pieces, other_scopes = naming.parted(other_text)
    if pieces != other_pieces:
        return False
    pairs = zip(scopes, other_scopes, strict=True)
    return all(_match_ints(own, other, renaming) for own, other in pairs)


def _rename_text(text: str, renaming: Renaming) -> str:
    return renaming.text(text)


def _of_const(const: Const, walk: Walk[Part]) -> frozenset[Part]:
    return _NONE if type(const.value) is str else walk.of(const.value)


def _match_consts(const: Const, other_const: Const, renaming: Renaming) -> bool:
    if type(const.value) is str:
        return const == other_const
    return renaming.matches(const.value, other_const.value)


def _rename_const(const: Const, renaming: Renaming) -> Const:
    value = const.value
    if type(value) is str:
        return const
    renamed = renaming.renamed(value)
    return const if renamed is value else Const(renamed)


def _rename_axis(axis: Axis, renaming: Renaming) -> Axis:
    name = renaming.text(axis.name)
    if name == axis.name:
        return axis
    if not axis.ordered:  # its factors are sorted as texts
        name = "*".join(sorted(name.split("*")))
    return Axis(name, axis.occurrence, axis.ordered, axis.size)


def _rename_expression(expression: Expression, renaming: Renaming) -> Any:
    if not any(map(naming.scopes, symbols(expression))):
        return expression
    return sizes.renamed(expression, renaming.text)


# Containers


def _of_items(members: Iterable[object], walk: Walk[Part]) -> frozenset[Part]:
    return walk.of_all(members)


def _match_tuples(
    items: tuple[object, ...], other_items: tuple[object, ...], renaming: Renaming
) -> bool:
    return len(items) == len(other_items) and all(map(renaming.matches, items, other_items))


def _rename_tuple(items: tuple[object, ...], renaming: Renaming) -> tuple[object, ...]:
    renamed = _renamed_all(items, renaming)
    return items if all(map(is_, items, renamed)) else tuple(renamed)


def _renamed_all(members: Iterable[object], renaming: Renaming) -> list[Any]:
    rename = renaming.renamed
    return [part if part.__class__ in _WITHOUT else rename(part) for part in members]


def _match_sets(
    elements: frozenset[Any], other_elements: frozenset[Any], renaming: Renaming
) -> bool:
    # Sets have no order, so unequal ones are not compared member by member.
    return elements == other_elements and renaming.matches(tuple(elements), tuple(elements))


def _rename_set(elements: frozenset[Any], renaming: Renaming) -> frozenset[Any]:
    return frozenset([renaming.renamed(element) for element in elements])


def _of_mapping(mapping: Mapping[Any, Any], walk: Walk[Part]) -> frozenset[Part]:
    return walk.of_all(mapping) | walk.of_all(mapping.values())


def _match_mappings(
    mapping: Mapping[Any, Any], other_mapping: Mapping[Any, Any], renaming: Renaming
) -> bool:
    return (
        len(mapping) == len(other_mapping)
        and all(map(renaming.matches, mapping, other_mapping))
        and all(map(renaming.matches, mapping.values(), other_mapping.values()))
    )


def _rename_mapping(mapping: Mapping[Any, Any], renaming: Renaming) -> Mapping[Any, Any]:
    return {renaming.renamed(key): renaming.renamed(mapping[key]) for key in mapping}


# Values that are no dataclasses


def _of_key(key: Key, walk: Walk[Part]) -> frozenset[Part]:
    return walk.of_all(key.provenance.parts())


def _match_keys(key: Key, other_key: Key, renaming: Renaming) -> bool:
    return renaming.matches(key.provenance, other_key.provenance)


def _rename_key(key: Key, renaming: Renaming) -> Key:
    return Key(renaming.renamed(key.provenance))


def _of_opaque(opaque: Opaque, walk: Walk[Part]) -> frozenset[Part]:
    numbers = walk.of(opaque.key)
    return numbers if opaque.link is None else numbers | walk.of(opaque.link)


def _match_opaques(opaque: Opaque, other_opaque: Opaque, renaming: Renaming) -> bool:
    return (
        opaque.kind == other_opaque.kind
        and renaming.matches(opaque.key, other_opaque.key)
        and renaming.matches(opaque.link, other_opaque.link)
    )


def _rename_opaque(opaque: Opaque, renaming: Renaming) -> Opaque:
    key = renaming.renamed(opaque.key)
    link = None if opaque.link is None else renaming.renamed(opaque.link)
    if key is opaque.key and link is opaque.link:
        return opaque
    return Opaque(key, opaque.kind, link)


def _of_picked(picked: Picked, walk: Walk[Part]) -> frozenset[Part]:
    return walk.of_all((picked.of, picked.where, picked.born))


def _match_picked(picked: Picked, other_picked: Picked, renaming: Renaming) -> bool:
    return (
        renaming.matches(picked.of, other_picked.of)
        and renaming.matches(picked.where, other_picked.where)
        and renaming.matches(picked.born, other_picked.born)
        and len(picked.origins) == len(other_picked.origins)
    )


def _rename_picked(picked: Picked, renaming: Renaming) -> Picked:
    of, where, born = map(renaming.renamed, (picked.of, picked.where, picked.born))
    return Picked(of, where, born)


def _of_generator(generator: Generator, walk: Walk[Part]) -> frozenset[Part]:
    if generator.changes:
        raise NotRenamable
    return walk.of_all((generator.environment, generator.function))


def _match_held(held: Held, other_held: Held, renaming: Renaming) -> bool:
    origins, others = held.origins, other_held.origins
    return (
        renaming.matches(held.tensor, other_held.tensor)
        and renaming.matches(held.tags, other_held.tags)
        and len(origins) == len(others)
        and all(map(renaming.matches, origins, others))
        and all(map(renaming.match_places, origins.values(), others.values()))
    )


def _rename_held(held: Held, renaming: Renaming) -> Held:
    origins = {renaming.text(name): renaming.place(place) for name, place in held.origins.items()}
    return Held(renaming.renamed(held.tensor), origins, renaming.renamed(held.tags))


def _not_renamable(part: object, walk: Walk[Part]) -> frozenset[Part]:
    raise NotRenamable


_FIELDS: dict[type, tuple[str, ...]] = {}


def _of_dataclass(value: Any, walk: Walk[Part]) -> frozenset[Part]:
    return walk.of_all([getattr(value, name) for name in _FIELDS[type(value)]])


def _match_dataclasses(value: Any, counterpart: object, renaming: Renaming) -> bool:
    matches = renaming.matches
    for name in _FIELDS[type(value)]:
        if not matches(getattr(value, name), getattr(counterpart, name)):
            return False
    return True


def _rename_dataclass(value: Any, renaming: Renaming) -> Any:
    kind = type(value)
    parts = [getattr(value, name) for name in _FIELDS[kind]]
    renamed = _renamed_all(parts, renaming)
    return value if all(map(is_, parts, renamed)) else kind(*renamed)


_Handling: TypeAlias = tuple[_Find, _Match, _Rename]
_AS_IT_IS: Final[_Handling] = (_no_numbers, _equal, _same)
_MAPPING: Final[_Handling] = (_of_mapping, _match_mappings, _rename_mapping)


class _Handlings(dict[type, _Handling]):
    """How values are numbered, matched and renamed, by their types; found when first asked for."""

    def __missing__(self, cls: type) -> _Handling:
        handling = self[cls] = _new_handling(cls)
        return handling


_HANDLING: Final = _Handlings(
    {
        int: (_of_int, _match_ints, _rename_int),
        str: (_of_text, _match_texts, _rename_text),
        bool: _AS_IT_IS,
        float: _AS_IT_IS,
        complex: _AS_IT_IS,
        bytes: _AS_IT_IS,
        type(None): _AS_IT_IS,
        type(Ellipsis): _AS_IT_IS,
        object: _AS_IT_IS,
        Place: _AS_IT_IS,
        Const: (_of_const, _match_consts, _rename_const),
        tuple: (_of_items, _match_tuples, _rename_tuple),
        frozenset: (_of_items, _match_sets, _rename_set),
        dict: _MAPPING,
        MappingProxyType: _MAPPING,
        Key: (_of_key, _match_keys, _rename_key),
        Opaque: (_of_opaque, _match_opaques, _rename_opaque),
        Picked: (_of_picked, _match_picked, _rename_picked),
    }
)


def _new_handling(cls: type) -> _Handling:
    fields = names_of(cls)
    if fields is not None:
        _FIELDS[cls] = tuple(name for name in fields if name != _DERIVED)
        whole = (_of_dataclass, _match_dataclasses, _rename_dataclass)
        special: dict[type, _Handling] = {
            Axis: (_of_dataclass, _match_dataclasses, _rename_axis),
            Expression: (_of_dataclass, _match_dataclasses, _rename_expression),
            Generator: (_of_generator, _match_dataclasses, _rename_dataclass),
            Held: (_of_dataclass, _match_held, _rename_held),
            Source: _AS_IT_IS,
        }
        return special.get(cls, whole)
    if issubclass(cls, _PLAIN):
        return _AS_IT_IS
    if issubclass(cls, tuple):
        make: Any = getattr(cls, "_make", cls)
        rename: _Rename = lambda items, renaming: make(_rename_tuple(items, renaming))  # noqa: E731
        return _of_items, _match_tuples, rename
    if issubclass(cls, (int, float, str)):  # such as `SomeNumber`
        return _AS_IT_IS
    return _not_renamable, _equal, _same
