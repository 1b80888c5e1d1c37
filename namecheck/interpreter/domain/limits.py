"""The size up to which a value is followed part by part.

A program may double a list or a string in each line; beyond a limit the value is only summarised.
The ledger counts each limit that is reached.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from namecheck.core.dataclasses import replace
from namecheck.interpreter.domain import joins
from namecheck.interpreter.domain.provenance import Fresh, Version
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.values import (
    BoundMethod,
    BuiltinMethod,
    Entries,
    FunctionValue,
    Opaque,
    Partial,
    Repeated,
    SliceValue,
    Super,
    TorchMethod,
    TorchModule,
    TupleValue,
    Union,
    Value,
    Wrapped,
)

LONGEST_TEXT: Final = 1 << 16
"""Characters of a string that the program makes of others."""
_MOST_NESTED: Final = 1 << 10
_DEEPEST: Final = 64
LARGEST_KEY: Final = 512
"""Unknown values that an unknown value is made of; one that is part of two others counts twice."""

COMPOUND: Final[frozenset[type]] = frozenset(
    {
        BoundMethod,
        BuiltinMethod,
        FunctionValue,
        Partial,
        Repeated,
        SliceValue,
        Super,
        TorchMethod,
        TorchModule,
        TupleValue,
        Union,
        Wrapped,
    }
)
"""The values that are made of others."""


def is_long(text_length: int, store: Store) -> bool:
    """Whether a string of this length, made of others, is not worth keeping."""
    if text_length <= LONGEST_TEXT:
        return False
    store.ledger.reach("length of a string")
    return True


def chained(sequences: Sequence[tuple[Value, ...]], store: Store) -> tuple[Value, ...] | Repeated:
    """Known items concatenated; where they are very many, a cover for each of them.

    A single part is a literal of the program, and is kept whatever its length.
    """
    filled = [part for part in sequences if part]
    store.ledger.meter.spend(sum(map(len, filled)) >> 3)
    if len(filled) == 1:
        return filled[0]
    return gathered(tuple(itertools.chain.from_iterable(filled)), store)


def gathered(elements: Sequence[Value], store: Store) -> tuple[Value, ...] | Repeated:
    """These items; where they are very many, a cover for each of them."""
    if len(elements) <= joins.MOST_ITEMS:
        return tuple(elements)
    store.ledger.reach("items of a sequence")
    return Repeated(joins.either(elements, store))


def entries(value_of_key: dict[Value, Value], rest: Value | None, store: Store) -> Entries:
    """The entries of a dict that the program adds to; only their values where they are many."""
    if len(value_of_key) <= joins.MOST_ENTRIES:
        return Entries(tuple(value_of_key.items()), rest)
    store.ledger.reach("entries of a dict")
    values = [*value_of_key.values(), *(() if rest is None else (rest,))]
    return Entries((), joins.either(values, store))


def with_entry(dict_entries: Entries, index: Value, value: Value, store: Store) -> Entries:
    """The entries of a dict with one more, or with another value of one.

    The pairs of the others are the same objects, as each content of a dict may be kept.
    """
    value_of_key = dict(dict_entries.items)
    if len(value_of_key) == len(dict_entries.items) < joins.MOST_ENTRIES:
        if index not in value_of_key:
            others = dict_entries.without(index) if dict_entries.maybe else dict_entries
            return replace(others, items=(*dict_entries.items, (index, value)))
        pairs = list(dict_entries.items)
        pairs[[*value_of_key].index(index)] = index, value
        return replace(dict_entries, items=tuple(pairs))
    return entries({**value_of_key, index: value}, dict_entries.rest, store)


def shortened(opaque: Opaque, store: Store) -> Opaque:
    """An unknown value made of unknown values, many times over: only the last is followed."""
    key, ledger = opaque.key, store.ledger
    ledger.reach("unknown values in unknown values")
    if key.failed:
        return ledger.failed()
    made = Version(ledger.new()) if key.foreign else Fresh("chain", ledger.new())
    return Opaque(made, opaque.kind, opaque.link)


def is_bulky(value: Value, store: Store) -> bool:
    """Whether a value has more values within values than are worth following: 2^n for n lines.

    Values that are part of several others count each time. What mutable values hold does not count:
    it is found in the store.
    """
    inner = [part for part in _parts(value) if part.__class__ in COMPOUND]
    if not inner:
        return False
    nested = sum(1 for _ in itertools.islice(_nested(inner), _MOST_NESTED + 1))
    store.ledger.meter.spent += nested >> 2
    if nested <= _MOST_NESTED:
        return False
    store.ledger.reach("values in nested values")
    return True


def _nested(compounds: Iterable[Value]) -> Iterator[Value]:
    """The values within some values; more than are followed where they are nested very deep."""
    open_ = [iter(_parts(value)) for value in compounds]
    while open_:
        part = next(open_[-1], None)
        if part is None:
            open_.pop()
            continue
        yield part
        if part.__class__ in COMPOUND and len(open_) < _DEEPEST:
            open_.append(iter(_parts(part)))
        elif part.__class__ in COMPOUND:
            yield from itertools.repeat(part, _MOST_NESTED)


def _parts(value: Value) -> Sequence[Value]:
    """The values directly within an immutable value."""
    if isinstance(value, TupleValue):
        return value.items
    if isinstance(value, FunctionValue):
        return (*value.defaults, *(default for _, default in value.keyword_defaults))
    if isinstance(value, BoundMethod):
        return value.function, value.receiver
    if isinstance(value, (BuiltinMethod, Super, TorchMethod)):
        return (value.receiver,)
    if isinstance(value, Union):
        return tuple(choice.value for choice in value.alternatives)
    if isinstance(value, (Partial, TorchModule)):
        arguments = (*value.args, *(argument for _, argument in value.kwargs))
        return (value.function, *arguments) if isinstance(value, Partial) else arguments
    if isinstance(value, Repeated):
        return (value.each,)
    if isinstance(value, SliceValue):
        return value.lower, value.upper, value.step
    return (value.function,) if isinstance(value, Wrapped) else ()
