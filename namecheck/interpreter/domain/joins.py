"""The contents of mutable values on a path, and the join of values where paths meet."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import reduce
from typing import Any, Final

from namecheck.core import tensors as values
from namecheck.core.dataclasses import dataclass, field, replace
from namecheck.interpreter.domain import device_values, equalities
from namecheck.interpreter.domain.addresses import OpaqueTensor
from namecheck.interpreter.domain.cells import AttributeNames
from namecheck.interpreter.domain.meter import EXPRESSION
from namecheck.interpreter.domain.opaque_tensors import known_tensor
from namecheck.interpreter.domain.provenance import Item
from namecheck.interpreter.domain.store import Both, Ledger, Store, unknown_of
from namecheck.interpreter.domain.tags import common_tags
from namecheck.interpreter.domain.values import (
    NONE,
    Address,
    Alternative,
    Const,
    DictValue,
    Entries,
    Facts,
    Held,
    Instance,
    ListValue,
    Mutable,
    Opaque,
    Picked,
    Repeated,
    SliceValue,
    TensorValue,
    TorchModule,
    TupleValue,
    Union,
    Value,
    size_of,
)

_MISSING: Final = object()
_ANY: Final = Held(values.Tensor())
# The attribute of an instance that holds its library part.
INHERITED: Final = "<inherited>"
_WIDTH: Final = 4
# How deep containers in containers are joined.
_DEEPEST: Final = 64
MOST_ITEMS: Final = 1 << 13
"""Items of a list or tuple that the program makes of others; a literal may have more."""
MOST_ENTRIES: Final = 1 << 10
"""Entries of a dict that the program adds to; a literal may have more."""
# Of how many facts an alternative is known to depend on.
_MOST_FACTS: Final = 32


def held(tensor_value: TensorValue, store: Store) -> Held:
    """The current content of a tensor's cell."""
    cell_content: Held = _content(tensor_value, store)
    return cell_content


def items(list_value: ListValue, store: Store) -> tuple[Value, ...] | Repeated:
    """The current items of a list."""
    content: tuple[Value, ...] | Repeated = _content(list_value, store)
    return content


def entries(dict_value: DictValue, store: Store) -> Entries:
    """The current entries of a dict."""
    dict_entries: Entries = _content(dict_value, store)
    length = len(dict_entries.items)
    store.ledger.meter.spent += length >> 5 if length <= MOST_ENTRIES else length >> 3
    return dict_entries


def inherited(value: Value, store: Store) -> Value | None:
    """The library part of an instance: the list, dict or layer that its class derives from."""
    if not isinstance(value, Instance):
        return None
    library_part: Value | None = store.get((value.address, INHERITED))
    return library_part


def inherit(value: Instance, inherited_value: Value, store: Store) -> None:
    """Set the library part of an instance."""
    store.set((value.address, INHERITED), inherited_value)


def opened(value: Value, store: Store) -> Value:
    """The list or dict that an instance derives from; any other value unchanged."""
    own = inherited(value, store)
    return own if isinstance(own, (ListValue, DictValue)) else value


def _content(mutable: Mutable, store: Store) -> Any:
    """The current content of a mutable value.

    The content of a picked value is joined with everything written to any of its origins since.
    """
    address = mutable.address
    if type(address) is int:
        return store.written_content(address, mutable.initial)
    own = store.get(address, mutable.initial)
    if not isinstance(address, Picked):
        return own
    content = caught_up(address, own, store)
    if content is not own and not isinstance(mutable, TensorValue):
        # The joined items have new addresses, which must stay the same from now on.
        store.mutate(address, mutable.initial, content, store.ledger.new())
    return content


def caught_up(address: Picked, content: Any, store: Store) -> Any:
    """The content of a picked value, joined with everything written to its origins since."""
    block = store.ledger.block
    since: int = store.last_write(address, address.born)
    if since not in block:
        since = block.start - 1  # it was picked before this analysis
    if store.ledger.last_write <= since:
        return content
    joiner = Joiner(store, store)
    store.ledger.meter.spend(len(address.origins))
    for origin in address.origins:
        if not store.may_have_written(origin.address, since):
            continue
        number: int = store.last_write(origin.address, -1)
        if number > since and number in block:
            other = store.get(origin.address, origin.initial)
            if _sort_of(other) is _sort_of(content):
                store.ledger.meter.spend(EXPRESSION)
                content = joiner.cell(content, other)
    return content


def _sort_of(content: Any) -> type:
    """The kind of a content: that of a tensor, a dict, or a list."""
    return type(content) if isinstance(content, (Held, Entries)) else tuple


def write(mutable: Mutable, store: Store, content: Any) -> None:
    """Write the new content of a tensor, a list or a dict.

    A write to a picked value may be a write to any of its origins, each of which then has that
    content or its own.
    """
    number = store.ledger.new()
    store.ledger.meter.spent += _steps_of_write(content)
    if isinstance(mutable.address, Picked):
        joiner = Joiner(store, store)
        origins = [origin for origin in mutable.address.origins if type(origin) is type(mutable)]
        store.ledger.meter.spend(EXPRESSION * len(origins))
        either = [joiner.cell(_content(origin, store), content) for origin in origins]
        for origin, joined in zip(origins, either, strict=True):
            store.mutate(origin.address, origin.initial, joined, number)
    # The rank of an unknown value is a fact of this path: on another one nothing is known of it.
    initial = _ANY if isinstance(mutable.address, OpaqueTensor) else mutable.initial
    store.mutate(mutable.address, initial, content, number)


def _steps_of_write(content: Any) -> int:
    """The steps of one more copy of the items of a list, or of the entries of a dict."""
    if isinstance(content, Entries):
        length = len(content.items)
        return length >> 5 if length <= MOST_ENTRIES else length >> 2
    length = len(content) if isinstance(content, tuple) else 0
    return length >> 7 if length <= MOST_ITEMS else length >> 3


def either(choices: Sequence[Value], store: Store) -> Value:
    """The join of all these values of one store."""
    if not choices:
        return store.ledger.fresh("item")
    return Joiner(store, store).every(choices)


def either_across(returned_values: Sequence[tuple[Store, Value]]) -> Value:
    """The join of values at the ends of several paths."""
    (end, value), *others = returned_values
    for other_end, other in others:
        value = Joiner(end, other_end).value(value, other)
    return value


def overlaid(
    underlying: Mapping[Value, Value], entries: Entries, store: Store
) -> dict[Value, Value]:
    """The items of a dict after an update; unknown entries may replace any of them."""
    merged = dict(underlying)
    if entries.rest is not None:
        merged = {key: either((value, entries.rest), store) for key, value in merged.items()}
    merged.update(entries.items)
    return merged


def pick(content: tuple[Value, ...] | Repeated, where: Hashable, store: Store) -> Value:
    """One of some items; `where` distinguishes it from other picks of the same items."""
    candidates = _each(content)
    if len(set(candidates)) == 1 and not isinstance(content, Repeated):
        return candidates[0]
    return _picked(either(candidates, store), candidates, where, store)


def _picked(each: Value, of: tuple[Value, ...], where: Hashable, store: Store) -> Value:
    if isinstance(each, Opaque):
        link = None if each.link is None else Picked(each.link.of, where, store.ledger.new())
        return Opaque(Item(each.key, where), each.kind, link)
    if isinstance(each, (TensorValue, ListValue, DictValue)):
        sort = type(each)
        links = [value for value in of if type(value) is sort]
        address = Picked(links, (sort.__name__, where), store.ledger.new())
        return replace(each, address=address, initial=_content(each, store))
    if isinstance(each, TupleValue):
        rows = [row.items for row in of if isinstance(row, TupleValue)]
        items = [
            _picked(item, tuple(row[n] for row in rows if n < len(row)), (where, n), store)
            for n, item in enumerate(each.items)
        ]
        return replace(each, items=tuple(items))
    if isinstance(each, Union):
        callables = (TorchModule, Instance)
        if sum(isinstance(choice.value, callables) for choice in each.alternatives) > 1:
            return store.ledger.fresh("layer")  # which of them is meant, the index does not say
        flat = tuple(choice.value for value in of for choice in alternatives(value))
        return Union(
            tuple(
                Alternative(_picked(choice.value, flat, where, store), choice.facts)
                for choice in each.alternatives
            )
        )
    return each


def alternatives(value: Value) -> tuple[Alternative, ...]:
    """The value as a list of alternatives."""
    return value.alternatives if isinstance(value, Union) else (Alternative(value),)


def under(facts: Facts, value: Value) -> Iterator[Alternative]:
    """The alternatives of a value that holds under some facts."""
    for choice in alternatives(value):
        both = itertools.islice(dict.fromkeys((*facts, *choice.facts)), _MOST_FACTS)
        yield Alternative(choice.value, tuple(both))


def shared_facts(facts: Facts, other_facts: Facts) -> Facts:
    """The facts under which either of two alternatives holds."""
    return tuple(fact for fact in facts if fact in other_facts)


def union(choices: Sequence[Alternative], ledger: Ledger) -> Value:
    """The union of these values; a single opaque value where there are too many."""
    distinct: list[Alternative] = []
    for choice in choices:
        for inner in under(choice.facts, choice.value):
            twin = next((c for c in distinct if c.value == inner.value), None)
            if twin is None:
                distinct.append(inner)
            elif twin.facts != inner.facts:
                shared = shared_facts(twin.facts, inner.facts)
                distinct[distinct.index(twin)] = Alternative(inner.value, shared)
    if len(distinct) == 1:
        return distinct[0].value
    if len(distinct) > _WIDTH:
        return unknown_of([choice.value for choice in distinct], ledger)
    return Union(tuple(distinct))


def _are_tests(a: Value, b: Value) -> bool:
    """Whether both values are outcomes of tests, which path facts determine."""
    return all(isinstance(value, Opaque) and value.kind == "bool" for value in (a, b))


@dataclass(frozen=True, slots=True)
class Joiner:
    """Joins the values of two stores; mutable values that differ get a new address.

    `facts` are the path facts under which the values of either store hold.
    """

    left: Store
    right: Store
    facts: tuple[Facts, Facts] = ((), ())
    _picked: dict[tuple[Address, Address], Picked] = field(default_factory=dict)
    _containers: dict[tuple[Address, Address], ListValue | DictValue] = field(default_factory=dict)
    _unknowns: dict[tuple[Value, Value], Value] = field(default_factory=dict)
    # Those of the joiners that join the items of containers of another length.
    _inner: dict[tuple[Address, Address], ListValue | DictValue] = field(default_factory=dict)
    # The containers around those that are being joined.
    _around: list[Picked] = field(default_factory=list)

    def value(self, a: Value, b: Value) -> Value:
        """The least upper bound of both."""
        if a == b:
            return a
        if isinstance(a, TensorValue) and isinstance(b, TensorValue):
            content = self.tensors(held(a, self.left), held(b, self.right))
            return TensorValue(self._either(a, b), content, common_tags(a.tags, b.tags))
        if isinstance(a, TupleValue) and isinstance(b, TupleValue):
            return self._tuples(a, b)
        if isinstance(a, ListValue) and isinstance(b, ListValue) and a.kind == b.kind:
            return self._lists(a, b)
        if isinstance(a, (TupleValue, Repeated)) and isinstance(b, (TupleValue, Repeated)):
            left = a if isinstance(a, Repeated) else a.items
            right = b if isinstance(b, Repeated) else b.items
            shared = self.sequences(left, right)
            return shared if isinstance(shared, Repeated) else TupleValue(shared)
        if isinstance(a, DictValue) and isinstance(b, DictValue):
            return self._dicts(a, b)
        if isinstance(a, (TorchModule, Instance)) and are_copies(a, self.left, b, self.right):
            # The layers that a loop makes: one stands for all.
            self.left.ledger.several.add(a.address)
            return a
        if isinstance(a, Union) or isinstance(b, Union):
            return self._unions(a, b)
        if isinstance(a, Opaque) or isinstance(b, Opaque):
            if self.facts != ((), ()) and _are_tests(a, b):
                return self._one_of(a, b)
            one = known_tensor(a, self.left)
            other = None if one is None else known_tensor(b, self.right)
            if one is None or other is None:
                return self._unknown(a, b)
            return self.value(one, other)
        if device_values.is_device(a) and device_values.is_device(b):
            return self._one_of(a, b)
        if isinstance(a, Const) and isinstance(b, Const) and NONE not in (a, b):
            return self._alike([a, b])
        if isinstance(a, Const) is not isinstance(b, Const) and NONE not in (a, b):
            return self.left.ledger.fresh("join")
        return self._one_of(a, b)

    def _unknown(self, a: Value, b: Value) -> Value:
        """Either of two values; of the same two it is the same, wherever they are kept."""
        if not isinstance(a, (Opaque, Const)) or not isinstance(b, (Opaque, Const)):
            return unknown_of((a, b), self.left.ledger)
        pair = a, b
        if pair not in self._unknowns:
            self._unknowns[pair] = unknown_of(pair, self.left.ledger)
        return self._unknowns[pair]

    def _one_of(self, a: Value, b: Value) -> Value:
        """The union of both, each under its facts."""
        choices = [Alternative(a, self.facts[0]), Alternative(b, self.facts[1])]
        return union(choices, self.left.ledger)

    def every(self, choices: Sequence[Value]) -> Value:
        """The least upper bound of all: constants at once, and tuples item by item."""
        if len(choices) == 1:
            return choices[0]
        self.left.ledger.meter.spend(len(choices) + (EXPRESSION >> 1))
        by_sort: dict[Hashable, list[Value]] = {}
        for number, choice in enumerate(choices):
            by_sort.setdefault(_sort(choice, number), []).append(choice)
        return reduce(self.value, map(self._alike, by_sort.values()))

    def _alike(self, group: list[Value]) -> Value:
        """The join of values of one kind."""
        first = group[0]
        if all(value == first for value in group):
            return first
        if isinstance(first, TupleValue):
            rows = [value.items for value in group if isinstance(value, TupleValue)]
            columns = zip(*rows, strict=True)
            return TupleValue(tuple(map(self.every, columns)), first.fields, first.cls)
        kinds = {_kind(value) for value in group}
        return self.left.ledger.fresh("join", kinds.pop() if len(kinds) == 1 else None)

    def _lists(self, left_list: ListValue, right_list: ListValue) -> Value:
        """Either of two lists; the same two are joined once, as they may hold themselves."""
        pair, address = (left_list.address, right_list.address), self._either(left_list, right_list)
        if pair not in self._containers:
            unknown = Repeated(self.left.ledger.fresh("item"))
            self._containers[pair] = ListValue(address, unknown, left_list.kind)
            if len(self._around) < _DEEPEST:
                self._around.append(address)
                content = self.sequences(items(left_list, self.left), items(right_list, self.right))
                self._containers[pair] = ListValue(address, content, left_list.kind)
                self._around.pop()
        return self._containers[pair]

    def _dicts(self, left_dict: DictValue, right_dict: DictValue) -> Value:
        """Either of two dicts, likewise."""
        pair, address = (left_dict.address, right_dict.address), self._either(left_dict, right_dict)
        if pair not in self._containers:
            unknown = Entries((), self.left.ledger.fresh("entry"))
            self._containers[pair] = DictValue(address, unknown, left_dict.factory)
            if len(self._around) < _DEEPEST:
                self._around.append(address)
                content = self.dicts(entries(left_dict, self.left), entries(right_dict, self.right))
                self._containers[pair] = DictValue(address, content, left_dict.factory)
                self._around.pop()
        return self._containers[pair]

    def _either(self, a: Mutable, b: Mutable) -> Picked:
        """The address of the join of two values; for the same two it is the same."""
        pair = a.address, b.address
        if pair not in self._picked:
            number = self.left.ledger.new()
            address = self._picked[pair] = Picked((a, b), number, number)
            self.left.ledger.meter.spend(EXPRESSION + len(address.origins))
        return self._picked[pair]

    def _tuples(self, left_tuple: TupleValue, right_tuple: TupleValue) -> Value:
        if (
            len(left_tuple.items) == len(right_tuple.items)
            and left_tuple.fields == right_tuple.fields
        ):
            return TupleValue(
                tuple(map(self.value, left_tuple.items, right_tuple.items)),
                left_tuple.fields,
                left_tuple.cls,
            )
        content = self.sequences(left_tuple.items, right_tuple.items)
        return content if isinstance(content, Repeated) else TupleValue(content)

    def _unions(self, a: Value, b: Value) -> Value:
        """Join alternatives of one kind, so that a loop cannot add alternatives for ever."""
        choices = list(under(self.facts[0], a))
        for addition in under(self.facts[1], b):
            for index, choice in enumerate(choices):
                if type(choice.value) is type(addition.value):
                    shared = shared_facts(choice.facts, addition.facts)
                    choices[index] = Alternative(self.value(choice.value, addition.value), shared)
                    break
            else:
                choices.append(addition)
        if any(isinstance(choice.value, Opaque) for choice in choices):
            return unknown_of([choice.value for choice in choices], self.left.ledger)
        return union(choices, self.left.ledger)

    def tensors(self, left_tensor: Held, right_tensor: Held) -> Held:
        """The join of both tensors, with the origins of both."""
        tensors = equalities.under_both(
            left_tensor.tensor, right_tensor.tensor, self.left, self.right
        )
        return Held(
            values.join(*tensors),
            {**right_tensor.origins, **left_tensor.origins},
            common_tags(left_tensor.tags, right_tensor.tags),
        )

    def sequences(
        self, left_items: tuple[Value, ...] | Repeated, right_items: tuple[Value, ...] | Repeated
    ) -> tuple[Value, ...] | Repeated:
        """Join items position by position; for different lengths, all items are joined into one."""
        if (
            not isinstance(left_items, Repeated)
            and not isinstance(right_items, Repeated)
            and len(left_items) == len(right_items)
        ):
            self.left.ledger.meter.spend(len(left_items))
            return tuple(map(self.value, left_items, right_items))
        parts = _each(left_items), _each(right_items)
        either = self._of_items(((), ()))
        if all(parts) and self.facts != ((), ()):
            return Repeated(self._of_items(self.facts).value(*map(either.every, parts)))
        each = [*parts[0], *parts[1]]
        return Repeated(either.every(each)) if each else ()

    def _of_items(self, facts: tuple[Facts, Facts]) -> Joiner:
        """A joiner of the items of two containers of other lengths."""
        both = Both(self.left, self.right)
        return Joiner(both, both, facts, {}, self._inner, {}, self._inner, self._around)

    def dicts(self, left_entries: Entries, right_entries: Entries) -> Entries:
        """Join entries key by key; an entry that one side lacks may be missing."""
        self.left.ledger.meter.spend(4 + len(left_entries.items))
        own, others = dict(left_entries.items), dict(right_entries.items)
        joined = [(k, self.value(v, others[k])) for k, v in left_entries.items if k in others]
        maybe = left_entries.missing(right_entries, self.value)
        if maybe is not None:
            rest = self.every([value for _, value in maybe]) if maybe else None
            return Entries(tuple(joined), rest, maybe)
        left_over = [v for k, v in left_entries.items if k not in others]
        left_over += [v for k, v in right_entries.items if k not in own]
        left_over += [rest for rest in (left_entries.rest, right_entries.rest) if rest is not None]
        return Entries(tuple(joined), self.every(left_over) if left_over else None)

    def cell(self, left_content: Any, right_content: Any) -> Any:
        """The join of two contents of one cell."""
        if left_content is right_content:
            return left_content
        if isinstance(left_content, Held) and isinstance(right_content, Held):
            return self.tensors(left_content, right_content)
        if isinstance(left_content, Entries) and isinstance(right_content, Entries):
            return self.dicts(left_content, right_content)
        if isinstance(left_content, (tuple, Repeated)) and isinstance(
            right_content, (tuple, Repeated)
        ):
            return self.sequences(left_content, right_content)
        return self.value(left_content, right_content)


# How many pairs of values are compared to see whether two layers are made alike.
_COPIES: Final = 256


def are_copies(
    a: Value,
    one_store: Store,
    b: Value,
    other_store: Store,
    compared: set[tuple[Value, Value]] | None = None,
) -> bool:
    """Whether two values are made alike: as unknown as each other, or equal up to addresses.

    A pair is compared once: those that were `compared` before are alike if all others are.
    """
    if a == b:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, Opaque) and isinstance(b, Opaque):
        return a.kind == b.kind and size_of(a) is None and size_of(b) is None
    if isinstance(a, TensorValue) and isinstance(b, TensorValue):
        return held(a, one_store).tensor == held(b, other_store).tensor
    compared = set() if compared is None else compared
    if (a, b) in compared:
        return True
    compared.add((a, b))
    pairs = _paired_parts(a, one_store, b, other_store)
    return (
        pairs is not None
        and len(compared) <= _COPIES
        and all(are_copies(one, one_store, other, other_store, compared) for one, other in pairs)
    )


def _paired_parts(
    a: Value, one_store: Store, b: Value, other_store: Store
) -> list[tuple[Value, Value]] | None:
    """The parts of two values, side by side; None where these show that they are no copies."""
    if isinstance(a, TorchModule) and isinstance(b, TorchModule):
        own, others = dict(a.kwargs), dict(b.kwargs)
        if a.key != b.key or len(a.args) != len(b.args) or own.keys() != others.keys():
            return None
        return [*zip(a.args, b.args, strict=True), *((own[word], others[word]) for word in own)]
    if isinstance(a, Instance) and isinstance(b, Instance):
        names = (INHERITED, *one_store.get(AttributeNames(a.address), ()))
        if a.cls != b.cls or {*names} - {
            INHERITED,
            *other_store.get(AttributeNames(b.address), ()),
        }:
            return None
        return [
            (one_store.get((a.address, n), NONE), other_store.get((b.address, n), NONE))
            for n in names
        ]
    if isinstance(a, ListValue) and isinstance(b, ListValue):
        return (
            _paired_items(items(a, one_store), items(b, other_store)) if a.kind == b.kind else None
        )
    if isinstance(a, TupleValue) and isinstance(b, TupleValue):
        return _paired_items(a.items, b.items) if a.cls == b.cls else None
    if isinstance(a, SliceValue) and isinstance(b, SliceValue):
        return [(a.lower, b.lower), (a.upper, b.upper), (a.step, b.step)]
    if isinstance(a, DictValue) and isinstance(b, DictValue):
        both = entries(a, one_store), entries(b, other_store)
        mine, others_items = dict(both[0].items), dict(both[1].items)
        if any(content.rest for content in both) or mine.keys() != others_items.keys():
            return None
        return [(value, others_items[key]) for key, value in mine.items()]
    return None


def _paired_items(
    left_items: tuple[Value, ...] | Repeated, right_items: tuple[Value, ...] | Repeated
) -> list[tuple[Value, Value]] | None:
    if isinstance(left_items, Repeated) is not isinstance(right_items, Repeated):
        return None
    pairs = _each(left_items), _each(right_items)
    return list(zip(*pairs, strict=True)) if len(pairs[0]) == len(pairs[1]) else None


def _each(content: tuple[Value, ...] | Repeated) -> tuple[Value, ...]:
    return (content.each,) if isinstance(content, Repeated) else content


def _sort(value: Value, number: int) -> Hashable:
    """A key that is equal for values that can be joined at once; else the number."""
    if isinstance(value, Const) and value != NONE:
        return Const
    if isinstance(value, TupleValue):
        return len(value.items), value.fields, value.cls
    return number


def _kind(value: Value) -> str | None:
    return type(value.value).__name__ if isinstance(value, Const) else None
