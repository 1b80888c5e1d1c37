"""The size up to which a value is followed part by part.

A program may double a list or a string in each line; beyond a limit the value is only summarised.
The ledger counts each limit that is reached.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from namecheck.interpreter.domain import joins
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.values import Entries, Repeated, TupleValue, Value

LONGEST_TEXT: Final = 1 << 16
"""Characters of a string that the program makes of others."""
MOST_ITEMS: Final = 1 << 13
"""Items of a list or tuple that the program makes of others."""
MOST_ENTRIES: Final = 1 << 10
"""Entries of a dict that the program adds to."""
_MOST_LEAVES: Final = 1 << 10


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
    if len(filled) == 1:
        return filled[0]
    return gathered(tuple(itertools.chain.from_iterable(filled)), store)


def gathered(elements: Sequence[Value], store: Store) -> tuple[Value, ...] | Repeated:
    """These items; where they are very many, a cover for each of them."""
    if len(elements) <= MOST_ITEMS:
        return tuple(elements)
    store.ledger.reach("items of a sequence")
    return Repeated(joins.either(elements, store))


def entries(value_of_key: dict[Value, Value], rest: Value | None, store: Store) -> Entries:
    """The entries of a dict that the program adds to; only their values where they are many."""
    if len(value_of_key) <= MOST_ENTRIES:
        return Entries(tuple(value_of_key.items()), rest)
    store.ledger.reach("entries of a dict")
    values = [*value_of_key.values(), *(() if rest is None else (rest,))]
    return Entries((), joins.either(values, store))


def is_bushy(tuple_items: Iterable[Value], store: Store) -> bool:
    """Whether nested tuples have more leaves than are worth following: 2^n for n lines."""
    if next(itertools.islice(_leaves(tuple_items), _MOST_LEAVES, None), None) is None:
        return False
    store.ledger.reach("values in nested tuples")
    return True


def _leaves(tuple_items: Iterable[Value]) -> Iterator[Value]:
    """The items of the tuples among some values that are no tuples, at any depth."""
    open_ = [iter(item.items) for item in tuple_items if isinstance(item, TupleValue)]
    while open_:
        item = next(open_[-1], None)
        if item is None:
            open_.pop()
        elif isinstance(item, TupleValue):
            open_.append(iter(item.items))
        else:
            yield item
