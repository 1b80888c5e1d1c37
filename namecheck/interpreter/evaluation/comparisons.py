"""Whether values are certainly equal, certainly not, or neither."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from namecheck.core import sizes
from namecheck.interpreter.domain import joins
from namecheck.interpreter.domain.cells import CandidatesOf, Truth
from namecheck.interpreter.domain.meter import EXPRESSION
from namecheck.interpreter.domain.provenance import Operation, SizeOf
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.values import (
    ClassValue,
    Const,
    DictValue,
    External,
    Instance,
    ListValue,
    Opaque,
    Repeated,
    TupleValue,
    Value,
)
from namecheck.interpreter.evaluation import shape_tests

_BARE: Final = (External("builtins.object"), External("abc.ABC"), External("typing.Protocol"))
# Types of which none is another one.
_BUILTINS: Final = ("bool", "bytes", "dict", "float", "int", "list", "set", "str", "tuple")
_TYPES: Final = frozenset({"torch.Tensor", *(f"builtins.{name}" for name in _BUILTINS)})
# Values that may be equal to others, and are no objects of their own.
_VAGUE: Final = (Opaque, TupleValue)
# How deep lists in lists are compared: a list may hold itself.
_DEEPEST: Final = 8
# How many pairs of items of a set are compared.
_MOST_PAIRS: Final = 1_000


def equal(left: Value, right: Value, store: Store) -> bool | None:
    """Whether two values are equal; None where that is unknown, as for lists very deep in lists."""
    return _Comparison(store).equal(left, right)


def among(value: Value, set_items: Sequence[Value], store: Store) -> bool | None:
    """Whether a set of these items has a value; None where that is unknown."""
    if value in set_items:
        return True
    vague = isinstance(value, _VAGUE)
    others = set_items if vague else [item for item in set_items if isinstance(item, _VAGUE)]
    if len(others) > _MOST_PAIRS:
        return None
    answers = {equal(value, item, store) for item in others if _can_be_compared(value, item)}
    return True if True in answers else None if None in answers else False


def _can_be_compared(left: Value, right: Value) -> bool:
    """Whether it is not the identity of objects that decides."""
    return isinstance(left, Opaque) or isinstance(right, Opaque) or type(left) is type(right)


def distinct(set_items: Sequence[Value], store: Store) -> tuple[Value, ...] | Repeated:
    """The items of a set; any number of one that stands for all where some may be equal."""
    unique = tuple(dict.fromkeys(set_items))
    vague = [item for item in unique if isinstance(item, _VAGUE)]
    are_few = len(vague) * len(unique) <= _MOST_PAIRS
    if are_few and all(
        equal(item, one, store) is False
        for item in vague
        for one in unique
        if one is not item and _can_be_compared(item, one)
    ):
        return unique
    return Repeated(joins.either(unique, store))


class _Comparison:
    """Compares two values; a part that occurs several times is compared once."""

    __slots__ = ("_answers", "_depth", "_store")

    def __init__(self, store: Store) -> None:
        self._store = store
        self._depth = 0
        # By the identities of two containers; None while they are compared: they hold themselves.
        self._answers: dict[tuple[int, int], tuple[Value, Value, bool | None]] = {}

    def equal(self, left: Value, right: Value) -> bool | None:
        """Whether two values are equal; None where that is unknown."""
        store = self._store
        if isinstance(left, Const) and isinstance(right, Const):
            return bool(left.value == right.value)
        if isinstance(left, Opaque) or isinstance(right, Opaque):
            if left == right or _are_one_size(left, right):
                return True
            return False if _are_other_sizes(left, right, store) else excluded(left, right, store)
        items = [_content(value, store) for value in (left, right)]
        if items[0] is not None and items[1] is not None:
            if type(left) is not type(right) or len(items[0]) != len(items[1]):
                return False
            return self._item_by_item(left, right, zip(items[0], items[1], strict=True))
        if isinstance(left, Const) or isinstance(right, Const):
            sequences = (TupleValue, ListValue, DictValue)
            if isinstance(left, sequences) or isinstance(right, sequences):
                return False
            other, constant = (right, left) if isinstance(left, Const) else (left, right)
            if isinstance(other, Instance) and other.cls.style == "enum":
                from namecheck.interpreter.domain import candidates  # not every program has enums

                return candidates.equals(other, constant, store)
            return False if isinstance(other, Instance) and _is_only_itself(other, store) else None
        if isinstance(left, Instance) and isinstance(right, Instance) and left.cls.style == "enum":
            return left == right
        if left == right:
            return True
        return False if are_other_types(left, right) else None

    def _item_by_item(
        self, left: Value, right: Value, paired: Iterable[tuple[Value, Value]]
    ) -> bool | None:
        """Whether the items of two containers are equal, each with its counterpart."""
        key = id(left), id(right)
        if key in self._answers:
            return self._answers[key][2]
        self._answers[key] = left, right, None
        self._store.ledger.meter.spend(EXPRESSION)
        if self._depth < _DEEPEST:
            self._depth += 1
            answers = [self.equal(a, b) for a, b in paired]
            self._depth -= 1
            answer = False if False in answers else None if None in answers else True
            self._answers[key] = left, right, answer
        return self._answers[key][2]


def _are_one_size(left: Value, right: Value) -> bool:
    """Whether a size of a tensor is, as an expression of other sizes, another value."""
    if not _is_size(left) and not _is_size(right):
        return False
    from namecheck.interpreter.domain.size_symbols import symbolic  # few files compare sizes

    size = symbolic(left)
    return size is not None and size == symbolic(right)


def _are_other_sizes(left: Value, right: Value, store: Store) -> bool:
    """Whether two numbers that the code uses as sizes certainly differ: ``dim * 2 != dim``."""
    if not isinstance(left, Opaque) or not isinstance(right, Opaque):
        return False
    if not isinstance(left.key.provenance, Operation) and not isinstance(
        right.key.provenance, Operation
    ):
        return False  # nothing is computed of the other one
    from namecheck.interpreter.domain.size_symbols import is_number, symbolic  # as above

    sizes_ = symbolic(left), symbolic(right)
    return (
        sizes_[0] is not None
        and sizes_[1] is not None
        and sizes.same(sizes_[0], sizes_[1]) is False
        and all(is_number(value.key, store) for value in (left, right))
    )


def _is_size(value: Value) -> bool:
    return isinstance(value, Opaque) and isinstance(value.key.provenance, SizeOf)


def are_other_types(left: Value, right: Value) -> bool:
    """Whether two values are types that are known to differ: ``type(x) is dict`` of a tensor."""
    if not isinstance(left, External) or not isinstance(right, External):
        return False
    return left.path != right.path and {left.path, right.path} <= _TYPES


def _is_only_itself(value: Instance, store: Store) -> bool:
    """Whether an instance equals no constant: no class of it is unknown or defines equality."""
    classes = [value.cls]
    for cls in classes:
        if cls.style not in ("plain", "dataclass") or store.get((cls.address, "__eq__")):
            return False
        for base in cls.bases:
            if isinstance(base, ClassValue):
                classes.append(base)
            elif base not in _BARE:
                return False
    return True


def excluded(left: Value, right: Value, store: Store) -> bool | None:
    """False where a fact says that an opaque value is not this constant; else None."""
    for opaque, other in ((left, right), (right, left)):
        if not isinstance(opaque, Opaque) or isinstance(other, Opaque):
            continue
        if not shape_tests.may_be_equal(opaque.key, other):
            return False
        if not store.may_assume(opaque.key):
            continue
        among = store.get(CandidatesOf(opaque.key))
        if among is not None:
            from namecheck.interpreter.domain import candidates  # few values have any

            if not candidates.admits(among, other, store):
                return False
        truth: bool | None = store.get(Truth(opaque.key))
        if isinstance(other, Const) and truth is not None and bool(other.value) is not truth:
            return False
    return None


def _content(value: Value, store: Store) -> tuple[Value, ...] | None:
    if isinstance(value, TupleValue):
        return value.items
    if isinstance(value, ListValue) and value.kind == "list":
        content = joins.items(value, store)
        return None if isinstance(content, Repeated) else content
    return None


def constants_of(container: object) -> tuple[Value, ...]:
    """The items of a container of constants, from its identity."""
    if isinstance(container, TupleValue):
        elements: object = container.items
    else:
        elements = container[1] if isinstance(container, tuple) else ()
    if isinstance(elements, tuple) and all(isinstance(i, (Const, Instance)) for i in elements):
        return elements
    return ()
