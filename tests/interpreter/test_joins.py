"""Stores fork and merge; values join; a change on one path does not affect the others."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from namecheck.core.dims import Dims
from namecheck.core.tensors import Tensor, covers
from namecheck.interpreter.domain import joins, merges
from namecheck.interpreter.domain.cells import Truth
from namecheck.interpreter.domain.provenance import Fresh
from namecheck.interpreter.domain.store import Both, Store, common, unknown_of
from namecheck.interpreter.domain.values import (
    NONE,
    Const,
    DictValue,
    Entries,
    Held,
    ListValue,
    Opaque,
    Repeated,
    TensorValue,
    TupleValue,
    Union,
    Value,
)
from tests.interpreting import check


def tensor(*names: str | None) -> TensorValue:
    return TensorValue(object(), Held(Tensor(Dims.of(*names))))


@st.composite
def values(draw: st.DrawFn, depth: int = 2) -> Value:
    """A value of any kind of a variable."""
    kinds = ["constant", "tensor", "opaque"] + (["tuple", "list", "dict"] if depth else [])
    kind = draw(st.sampled_from(kinds))
    if kind == "constant":
        return Const(draw(st.sampled_from([None, True, 0, 1, "N", "C"])))
    if kind == "tensor":
        names = draw(st.lists(st.sampled_from(["N", "C", "T"]), max_size=3, unique=True))
        return tensor(*names)
    if kind == "opaque":
        return Opaque(Fresh("drawn", draw(st.integers(0, 3))))
    items = tuple(draw(st.lists(values(depth - 1), max_size=3)))
    if kind == "tuple":
        return TupleValue(items)
    if kind == "list":
        if draw(st.booleans()):
            return ListValue(object(), Repeated(items[0] if items else NONE))
        return ListValue(object(), items)
    entries = tuple((Const(index), item) for index, item in enumerate(items))
    return DictValue(object(), Entries(entries))


@given(values())
def test_a_value_joined_with_itself_is_itself(value: Value) -> None:
    store = Store()
    assert joins.Joiner(store, store).value(value, value) == value


@given(values(), values())
def test_joining_commutes(a: Value, b: Value) -> None:
    store = Store()
    one, other = (joins.Joiner(store, store).value(*pair) for pair in ((a, b), (b, a)))
    if isinstance(one, Union) and isinstance(other, Union):
        assert {c.value for c in one.alternatives} == {c.value for c in other.alternatives}
    else:
        assert merges.alike(one, store, other, store)


@given(values(), values(), values())
def test_joining_again_changes_nothing(a: Value, b: Value, c: Value) -> None:
    store = Store()
    join = joins.Joiner(store, store).value
    twice = join(join(a, b), a)
    once = join(a, b)
    if not isinstance(once, (Opaque, Union)) and not isinstance(twice, (Opaque, Union)):
        assert merges.alike(once, store, twice, store)
    assert merges.alike(join(once, c), store, join(once, c), store)


@given(st.lists(values(), min_size=1, max_size=12))
def test_a_chain_of_joins_comes_to_rest(chain: list[Value]) -> None:
    store = Store()
    join = joins.Joiner(store, store).value
    current = chain[0]
    for _ in range(4):
        for value in chain:
            current = join(current, value)
    after = current
    for value in chain:
        after = join(after, value)
    assert merges.alike(current, store, after, store)


def test_a_join_of_tensors_covers_both() -> None:
    store = Store()
    a, b = tensor("N", "C"), tensor("N", "T")
    joined = joins.Joiner(store, store).value(a, b)
    assert isinstance(joined, TensorValue)
    for one in (a, b):
        assert covers(joins.held(joined, store).tensor, one.initial.tensor)


def test_a_fork_sees_what_is_below_and_hides_what_it_writes() -> None:
    base = Store()
    base.set("a", 1)
    left, right = base.fork(), base.fork()
    left.set("a", 2)
    left.set("b", 3)
    assert (left.get("a"), right.get("a"), base.get("a")) == (2, 1, 1)
    assert list(merges.changed_keys(base, [left, right])) == ["a", "b"]
    assert common([left.fork(), right]) is base


@given(st.lists(st.tuples(st.integers(0, 9), st.sampled_from("abc"), st.integers()), max_size=60))
def test_a_flattened_store_holds_the_same(writes: list[tuple[int, str, int]]) -> None:
    base = Store()
    store = base
    for fork, key, content in writes:
        store = store.fork() if fork or store is base else store
        store.set(key, content)
    flat = store.flattened(base) if store is not base else store
    assert {key: flat.get(key) for key in "abc"} == {key: store.get(key) for key in "abc"}


def test_facts_hold_where_all_paths_hold_them() -> None:
    base = Store()
    first, second = Truth("a"), Truth("b")
    left = base.assume(((first, True), (second, True)))
    right = base.assume(((first, True), (second, False)))
    assert left.allows(((second, True),))
    assert not left.allows(((second, False),))
    merged = merges.merged(base, [left, right])
    assert merged.get(first) is True
    assert merged.get(second) is None


def test_what_is_joined_of_many_paths_has_an_address_of_its_own() -> None:
    base = Store()
    paths = [base.fork() for _ in range(4)]
    for path in paths:
        path.set((0, "x"), tensor("N"))
        path.set((0, "y"), tensor("C"))
    merged = merges.merged(base, paths)
    x, y = merged.get((0, "x")), merged.get((0, "y"))
    assert x.address != y.address
    assert merged.ledger is base.ledger
    assert all(joiner.left.ledger is base.ledger for joiner in merges.joiners(paths))


def test_many_stores_are_merged_in_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """A view of all stores before one would have as many parts, for each of them."""
    views: list[int] = []
    both = Both

    def recorded(left: Store, right: Store) -> Both:
        view = both(left, right)
        views.append(len(view.stores))
        return view

    monkeypatch.setattr(merges, "Both", recorded)
    base = Store()
    base.set((0, "x"), Const(0))
    base.set((0, "z"), Const("N"))
    paths = [base.fork() for _ in range(1_000)]
    for number, path in enumerate(paths):
        path.set((0, "x"), Const(number % 2))
        path.set((0, f"y{number}"), Const(number))
    merged = merges.merged(base, paths)
    assert max(views) < 100
    assert merged.get((0, "x")) not in (Const(0), Const(1))
    assert merged.get((0, "z")) == Const("N")
    assert all(merged.get((0, f"y{number}")) == Const(number) for number in range(1_000))


@pytest.mark.parametrize("failed", [False, True])
def test_a_value_joined_many_times_keeps_none_of_the_joined_values(failed: bool) -> None:
    ledger = Store().ledger
    make = ledger.failed if failed else lambda: ledger.fresh("drawn")
    joined = make()
    for _ in range(10):
        joined = unknown_of((joined, make()), ledger)
    assert joined.key.size == 1
    assert joined.key.failed is failed


def test_a_variable_bound_on_one_path_keeps_its_value() -> None:
    base = Store()
    left, right = base.fork(), base.fork()
    left.set((0, "x"), Const(1))
    assert merges.merged(base, [left, right]).get((0, "x")) == Const(1)


def test_what_one_path_changed_the_other_has_as_it_was_made() -> None:
    base = Store()
    value = ListValue(object(), (Const("N"),))
    left, right = base.fork(), base.fork()
    joins.write(value, left, (Const("C"),))
    content = joins.items(value, merges.merged(base, [left, right]))
    assert isinstance(content, tuple)
    assert isinstance(content[0], Opaque)


def test_of_many_paths_those_with_one_set_of_names_are_joined() -> None:
    base = Store()
    paths = []
    for index in range(20):
        path = base.fork()
        path.set((0, "x"), tensor("N") if index % 2 else tensor("C"))
        paths.append(path)
    assert len(merges.few(base, paths, 8)) == 2
    assert len(merges.few(base, paths[:2], 8)) == 2
    assert len(merges.few(base, paths[::2], 8)) == 1


CHANGED_ON_ONE_PATH = {
    "an attribute over that of the class": (
        "class Holder:\n        dim = 'C'\n    holder = Holder()",
        "holder.dim = 'T'",
        "holder.dim",
    ),
    "a method": (
        "class Holder:\n        def dim(self):\n            return 'C'\n    holder = Holder()",
        "holder.dim = lambda: 'T'",
        "holder.dim()",
    ),
    "an attribute of an unknown value": ("holder = unknown()", "holder.dim = 'T'", "holder.dim"),
    "an attribute of a module": ("import holder", "holder.dim = 'T'", "holder.dim"),
    "an item": ("names = ['C']", "names[0] = 'T'", "names[0]"),
    "a list": ("names = ['C']", "names.insert(0, 'T')", "names[0]"),
    "an entry": ("names = {'dim': 'C'}", "names['dim'] = 'T'", "names['dim']"),
    "a global": ("DIM = 'C'", "set_dim()", "DIM"),
    "names of a tensor": (
        "y = torch.zeros(2, names=('C',))",
        "y.rename_(C='T')",
        "y.names[0]",
    ),
}


@pytest.mark.parametrize("title", CHANGED_ON_ONE_PATH)
def test_a_callee_changed_it_on_one_path(title: str) -> None:
    """The finding on that path alone is not reported on the other."""
    made, changed, read = CHANGED_ON_ONE_PATH[title]
    check(f"""
    {made}

    def set_dim():
        global DIM
        DIM = 'T'

    def perhaps(flag):
        if flag:
            {changed}

    x = torch.zeros(2, 3, names=('N', 'C'))
    flag = unknown()
    perhaps(flag)
    if not flag:
        x.mean({read})
    """)


def test_a_view_of_views_asks_each_store_once() -> None:
    # Lists of other lengths in one another are joined in views of views of the same two stores.
    base = Store()
    one, other = base.fork(), base.fork()
    view = Both(one, other)
    for _ in range(60):
        view = Both(view, view)
    assert view.stores == (one, other)
    other.set("x", 1)
    assert view.get("x") == 1
    assert view.get("y", 2) == 2
