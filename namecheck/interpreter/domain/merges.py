"""Merges stores where paths meet, and compares them to see whether a loop has converged."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Sequence
from typing import Any, Final, TypeGuard

from namecheck.core import tensors
from namecheck.core.dataclasses import replace
from namecheck.interpreter.domain import equalities
from namecheck.interpreter.domain.cells import (
    EQUAL_SIZES,
    AttributeNames,
    CandidatesOf,
    Fact,
    Written,
    lacking,
)
from namecheck.interpreter.domain.joins import (
    Joiner,
    are_copies,
    caught_up,
    entries,
    held,
    items,
)
from namecheck.interpreter.domain.named_values import names_something
from namecheck.interpreter.domain.reachability import CellContents, Stretch
from namecheck.interpreter.domain.recordings import newest
from namecheck.interpreter.domain.store import Both, Store, common
from namecheck.interpreter.domain.values import (
    TRUE,
    Address,
    DictValue,
    Entries,
    Environment,
    Held,
    Instance,
    ListValue,
    Mutable,
    Opaque,
    Picked,
    Repeated,
    TensorValue,
    TorchModule,
    TupleValue,
    Union,
)

_MISSING: Final = object()
_UNKNOWN_YET: Final = object()
# How deep contents are compared.
_DEEPEST: Final = 6
_MERGED_AT_ONCE: Final = 64
# The steps of a fact on a path, on top of those of a cell: its key may hold a whole tensor.
_FACT: Final = 2


def merge(
    base: Store, stores: Sequence[Store], *, without: Environment | None = None
) -> dict[Hashable, Any]:
    """The joined contents of the cells that changed since `base`, where these paths meet.

    A variable bound on some paths only keeps its value: the other paths would fail on it. Facts
    that do not hold on all paths are dropped, and so are the variables of the frame `without`.
    """
    shared = common(stores)
    if shared is not base:
        # What all paths have in common is not joined; most cells are older than the last branch.
        changes = shared.changes_since(base)
        if len(stores) > 1:
            changes.update(_merged_changes(shared, stores, without))
        return _without_variables(changes, without)
    return _merged_changes(base, stores, without)


def changed_keys(base: Store, stores: Sequence[Store]) -> dict[Hashable, None]:
    """All keys that any of the stores changed since `base`, in a stable order."""
    keys: dict[Hashable, None] = {}
    for store in stores:
        keys.update(dict.fromkeys(store.changes_since(base)))
    return keys


def _without_variables(
    changes: dict[Hashable, Any], environment: Environment | None
) -> dict[Hashable, Any]:
    """The changed cells but for the variables of a frame."""
    if environment is None:
        return changes
    number = environment.number
    return {k: v for k, v in changes.items() if not (isinstance(k, tuple) and k[0] == number)}


def _merged_changes(
    base: Store, stores: Sequence[Store], without: Environment | None
) -> dict[Hashable, Any]:
    """The joined contents of the cells that any of several paths has changed."""
    keys = list(_without_variables(changed_keys(base, stores), without))
    merged: dict[Hashable, Any] = {}
    picked: list[Picked] = []
    fact_count = sum(isinstance(key, Fact) for key in keys)
    base.ledger.meter.spend((len(keys) + _FACT * fact_count) * len(stores))
    parted = min(store.born for store in stores)
    now = base.ledger.new()
    if len(stores) == 2:
        facts = stores[0].facts_since(base), stores[1].facts_since(base)
        chain = [Joiner(stores[0], stores[1], facts)]
    else:
        chain = joiners(stores)
    for key in keys:
        contents = _contents(key, base, stores, parted)
        if key is EQUAL_SIZES:
            every = [None if c is _MISSING else c for c in contents]
            merged[key] = equalities.met(base.get(key), every)
        elif isinstance(key, CandidatesOf):
            from namecheck.interpreter.domain import candidates  # few values have any

            listed = candidates.joined([None if c is _MISSING else c for c in contents])
            if listed is not None or base.get(key) is not None:
                merged[key] = listed
        elif isinstance(key, Fact):
            shared = contents[0] if all(c == contents[0] for c in contents) else None
            if shared is not None or base.get(key) is not None:
                merged[key] = shared
        elif isinstance(key, Written):
            # A read of a picked container writes what it has caught up with, perhaps to a layer
            # under others that are alive: these do not see it.
            numbers = [number for number in contents if number is not _MISSING]
            if numbers:
                merged[key] = max(numbers)
        else:
            if isinstance(key, Picked):
                pairs = zip(contents, stores, strict=True)
                contents = [c if c is _MISSING else caught_up(key, c, s) for c, s in pairs]
                picked.append(key)
            content = _joined(contents, chain)
            if content is not _MISSING:
                merged[key] = content
                if _MISSING in contents and _is_attribute(key, base, parted):
                    merged[key[0], lacking(key[1])] = TRUE
    merged.update((Written(address), now) for address in picked)
    base.ledger.written.update(dict.fromkeys(picked, now))
    return merged


def _is_attribute(key: Hashable, base: Store, parted: int) -> TypeGuard[tuple[int, str]]:
    """Whether a cell is an attribute of an object that is older than the paths."""
    if type(key) is not tuple or not isinstance(key[0], int) or key[0] >= parted:
        return False
    return AttributeNames(key[0]) in base.ledger.attributes


def _contents(key: Hashable, base: Store, stores: Sequence[Store], parted: int) -> list[Any]:
    """The content of a cell on each path.

    Paths of one layer that did not change it have that of `base`, which is looked up once.
    """
    contents: list[Any] = []
    content_before: Any = _UNKNOWN_YET
    for store in stores:
        if store.parent is not base:
            contents.append(store.content(key, parted, _MISSING))
            continue
        content = store.cells.get(key, _UNKNOWN_YET)
        if content is _UNKNOWN_YET:
            if content_before is _UNKNOWN_YET:
                content_before = base.content(key, parted, _MISSING)
            content = content_before
        contents.append(content)
    return contents


def _joined(contents: Sequence[Any], chain: Sequence[Joiner]) -> Any:
    """The join of the contents that a cell has on several paths; a path without one is skipped."""
    content = contents[0]
    for joiner, other in zip(chain, contents[1:], strict=True):
        if content is _MISSING:
            content = other
        elif other is not _MISSING and other is not content:
            content = joiner.cell(content, other)
    return content


def at_any_time(
    base: Store, log: Sequence[tuple[Hashable, Any]], stretch: Stretch | None = None
) -> Store:
    """A layer over a store that covers each state between the writes in a log.

    What the `stretch` has made, and put into nothing that was there before, is left out: nothing
    after it can look at that.
    """
    layer = base.fork()
    joiner = Joiner(layer, layer)
    mutable = {key.address for key, _ in log if isinstance(key, Written)}
    writes: dict[Hashable, dict[int, Any]] = {}
    for key, content in log:
        if not isinstance(key, (Fact, Written)):
            writes.setdefault(key, {})[id(content)] = content
    contents_of: CellContents = {key: tuple(contents.values()) for key, contents in writes.items()}
    if stretch is not None:
        contents_of = stretch.without_garbage(contents_of)
    for key, contents in contents_of.items():
        joined = base.get(key, _MISSING)
        if joined is _MISSING:
            joined = base.initial(key, _MISSING)
        base.ledger.meter.spend(2 * len(contents))
        for content in contents:
            joined = content if joined is _MISSING else joiner.cell(joined, content)
        if key in mutable and not isinstance(key, Picked):
            layer.mutate(key, None, joined, layer.ledger.new())
        else:
            layer.set(key, joined)
    return layer


def joiners(stores: Sequence[Store]) -> list[Joiner]:
    """For each store but the first, the joiner of it with all those before it."""
    chain: list[Joiner] = []
    merged_stores = stores[0]
    for store in stores[1:]:
        chain.append(Joiner(merged_stores, store))
        if store is not stores[-1]:
            merged_stores = Both(merged_stores, store)
    return chain


def merged(base: Store, stores: Sequence[Store]) -> Store:
    """One layer over `base` that covers all the stores.

    Many are merged in groups: the view of all stores before one has as many parts.
    """
    while len(stores) > _MERGED_AT_ONCE:
        starts = range(0, len(stores), _MERGED_AT_ONCE)
        stores = [merged(base, stores[start : start + _MERGED_AT_ONCE]) for start in starts]
    if len(stores) == 1:
        return stores[0]
    shared = common(stores)
    layer = shared.fork()
    layer.absorb(merge(shared, stores))
    return layer.flattened(base)


def few(
    base: Store, stores: list[Store], limit: int, unread: Collection[Hashable] = ()
) -> list[Store]:
    """The paths, merged unless that loses names; all are merged where there are too many.

    What the `unread` cells have does not matter.
    """
    if len(stores) > 1 and not differ_in_names(base, stores, unread):
        return [merged(base, stores)]
    if len(stores) <= limit:
        return stores
    clusters: list[list[Store]] = []
    for store in stores:
        alike_ = (
            group for group in clusters if not differ_in_names(base, [group[0], store], unread)
        )
        group = next(alike_, None)
        if group is not None:
            group.append(store)
        elif len(clusters) == limit:
            return [merged(base, stores)]
        else:
            clusters.append([store])
    return [merged(base, group) for group in clusters]


def rejoin(store: Store, joined_layers: Sequence[Store]) -> None:
    """Write the merge of some layers to the store below them, without their path facts."""
    over = [layer if layer is not store else store.fork() for layer in joined_layers]
    if len(over) > _MERGED_AT_ONCE:
        over = [merged(store, over)]
    changes = merge(store, over)
    store.absorb({k: v for k, v in changes.items() if not isinstance(k, Fact)})


def differ_in_names(
    base: Store, stores: Sequence[Store], unread: Collection[Hashable] = ()
) -> bool:
    """Whether merging the stores would lose names: a tensor, a string or None differs.

    Nothing reads the `unread` cells any more.
    """
    keys = changed_keys(base, stores)
    parting = base.ledger.parting
    for key in parting:
        if key in keys and key not in unread and _differs_in_names(key, base, stores):
            return True
    for key in keys:
        if isinstance(key, (Fact, Written)) or key in unread:
            continue
        if _differs_in_names(key, base, stores):
            parting.appendleft(key)
            return True
    return False


def _differs_in_names(key: Hashable, base: Store, stores: Sequence[Store]) -> bool:
    """Whether the contents of a cell differ, and one of them names something.

    Not where a path has what was there before, and the others only know more of its dims: what a
    test says of a tensor holds behind that test, and need not hold where the paths meet.
    """
    first_store = stores[0]
    first_content = first_store.get(key, _MISSING)
    contents = [first_content]
    is_alike = True
    for store in stores[1:]:
        content = store.get(key, _MISSING)
        contents.append(content)
        if is_alike and content is not first_content:
            is_alike = alike(first_content, first_store, content, store)
    if is_alike or not any(map(names_something, contents, stores)):
        return False
    return not _refine_dims(key, base, contents)


def _refine_dims(key: Hashable, base: Store, contents: Sequence[Any]) -> bool:
    """Whether a tensor is as in `base` on one path, and of dims that these cover on the others."""
    before = base.get(key, _MISSING)
    changed = [content for content in contents if content is not before]
    if before is _MISSING:
        before = base.initial(key, _MISSING)
    return (
        isinstance(before, Held)
        and len(changed) < len(contents)
        and all(
            isinstance(content, Held)
            and content.tensor.dims != before.tensor.dims
            and tensors.covers(before.tensor, content.tensor)
            for content in changed
        )
    )


def covers(store: Store, other_store: Store, base: Store) -> bool:
    """Whether a store holds all that another one may hold, but for path facts."""
    return not unsettled(store, merged(base, [store, other_store]), base)


def unsettled(store_before: Store, store_after: Store, base: Store) -> list[Hashable]:
    """The cells that a loop's body has widened, from the store before it and the one after."""
    return [
        key
        for key, content in store_after.changes_since(base).items()
        if not isinstance(key, (Fact, Written))
        and not _is_newer(key, store_before)
        and not _holds_more(_content_in(store_before, key), store_before, content, store_after)
    ]


def _content_in(store: Store, key: Hashable) -> Any:
    """The content of a cell, which is the initial one where nothing has been written."""
    content = store.get(key, _MISSING)
    return store.initial(key, _MISSING) if content is _MISSING else content


def forget(key: Hashable, content: Any, store: Store) -> None:
    """Widen a cell to unknown; for a variable with a mutable value only the content of that."""
    fresh, number = store.ledger.fresh("forgotten"), store.ledger.new()
    if isinstance(content, (Held, Entries, tuple, Repeated)):
        if not isinstance(key, (int, Picked)):
            store.set(key, _nothing_known(content, fresh))
        else:
            store.mutate(key, None, _nothing_known(content, fresh), number)
    elif isinstance(content, Mutable):
        unknown = _nothing_known(content.initial, fresh)
        address = Picked((content,), number, number)
        store.set(key, replace(content, address=address, initial=unknown))
    else:
        store.set(key, fresh)


def _nothing_known(content: Any, fresh: Opaque) -> Any:
    """The top content of the same kind."""
    if isinstance(content, Held):
        return Held(tensors.Tensor())
    return Entries((), fresh) if isinstance(content, Entries) else Repeated(fresh)


def _is_newer(key: Hashable, store: Store) -> bool:
    """Whether a cell belongs to an object made after a store, which has no content for it."""
    later = any(store.ledger.made_after(number, store.born) for number in newest(key))
    return later and store.get(key, _MISSING) is _MISSING


def _choices_of(content: Any) -> tuple[Any, ...]:
    if isinstance(content, Union):
        return tuple(choice.value for choice in content.alternatives)
    return (content,)


def alike(left_content: Any, left_store: Store, right_content: Any, right_store: Store) -> bool:
    """Whether two contents are equal up to addresses, as deep as they are followed."""
    if left_content is right_content:
        return True
    return _Likeness(left_store, right_store).holds(left_content, right_content)


def _holds_more(
    left_content: Any, left_store: Store, right_content: Any, right_store: Store
) -> bool:
    """Whether a content is equal to another, or has an alternative like each of the other's."""
    return left_content is right_content or _Covering(left_store, right_store).holds(
        left_content, right_content
    )


def _parts_of(entries: Entries) -> tuple[Any, ...]:
    return entries.items, entries.rest, entries.maybe


class _Likeness:
    """Compares contents of two stores; a container is compared with another once at each depth."""

    __slots__ = ("_left", "_met", "_right")

    def __init__(self, left_store: Store, right_store: Store) -> None:
        self._left = left_store
        self._right = right_store
        self._met: set[tuple[Address, Address, int]] = set()

    def holds(self, left_content: Any, right_content: Any, depth: int = 0) -> bool:
        """Whether two contents are equal up to addresses."""
        if left_content is right_content or depth > _DEEPEST:
            return True
        if isinstance(left_content, Union) or isinstance(right_content, Union):
            choices = _choices_of(left_content), _choices_of(right_content)
            return self._choices(*choices, depth + 1)
        if type(left_content) is not type(right_content):
            return False
        if isinstance(left_content, TensorValue):
            return bool(
                held(left_content, self._left).tensor == held(right_content, self._right).tensor
            )
        if isinstance(left_content, Opaque):
            return bool(left_content.kind == right_content.kind)
        if isinstance(left_content, (ListValue, DictValue)):
            return self._containers(left_content, right_content, depth)
        if isinstance(left_content, Repeated):
            return self.holds(left_content.each, right_content.each, depth + 1)
        if isinstance(left_content, TupleValue):
            return self.holds(left_content.items, right_content.items, depth + 1)
        if isinstance(left_content, Entries):
            parts = zip(_parts_of(left_content), _parts_of(right_content), strict=True)
            return all(self.holds(left, right, depth + 1) for left, right in parts)
        if isinstance(left_content, TorchModule):
            return are_copies(left_content, self._left, right_content, self._right)
        if isinstance(left_content, Instance):
            return bool(left_content.cls == right_content.cls)
        if isinstance(left_content, tuple):
            self._left.ledger.meter.spend(len(left_content))
            return len(left_content) == len(right_content) and all(
                self.holds(x, y, depth + 1)
                for x, y in zip(left_content, right_content, strict=True)
            )
        return bool(left_content == right_content)

    def _choices(
        self, left_values: tuple[Any, ...], right_values: tuple[Any, ...], depth: int
    ) -> bool:
        """Whether the alternatives of two values are equal."""
        return self.holds(left_values, right_values, depth)

    def _containers(
        self, mutable: ListValue | DictValue, other_mutable: ListValue | DictValue, depth: int
    ) -> bool:
        """Whether two lists, or two dicts, hold what is alike; what differs ends the comparison."""
        pair = mutable.address, other_mutable.address, depth
        if pair in self._met:
            return True
        self._met.add(pair)
        read: Callable[[Any, Store], Any] = items if isinstance(mutable, ListValue) else entries
        contents = read(mutable, self._left), read(other_mutable, self._right)
        return self.holds(*contents, depth + 1)


class _Covering(_Likeness):
    """Compares the state of a loop with a later one: values of further rounds may be like earlier.

    A loop that makes an object in each round, and keeps one of them or all, makes no new kind.
    """

    __slots__ = ()

    def _choices(
        self, left_values: tuple[Any, ...], right_values: tuple[Any, ...], depth: int
    ) -> bool:
        """Whether the alternatives are equal, or each of one value is a copy of one of another."""
        return super()._choices(left_values, right_values, depth) or all(
            any(are_copies(value, self._left, other, self._right) for value in left_values)
            for other in right_values
        )
