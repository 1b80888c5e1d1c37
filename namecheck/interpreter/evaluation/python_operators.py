"""Python's operators on abstract values: on constants by Python itself, on tensors by the table."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from namecheck.core import sizes
from namecheck.core.syntax import Located as Node
from namecheck.core.tensors import SOME_NUMBERS
from namecheck.interpreter.domain import class_lookup, equalities, identities, joins, limits
from namecheck.interpreter.domain.cells import CandidatesOf
from namecheck.interpreter.domain.provenance import Negation, Operation
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.values import (
    FALSE,
    NONE,
    TRANSPARENT,
    TRUE,
    BoundMethod,
    Const,
    DictValue,
    Entries,
    External,
    FunctionValue,
    Generator,
    Instance,
    Key,
    ListValue,
    Mutable,
    Opaque,
    Operand,
    Repeated,
    TensorValue,
    TupleValue,
    Union,
    Value,
    each_of,
    size_of,
    sized,
)
from namecheck.interpreter.evaluation import comparisons, shape_tests
from namecheck.operators import python_operators

if TYPE_CHECKING:
    from namecheck.interpreter.evaluation.frames import Frame
    from namecheck.interpreter.evaluation.interpreter import Interpreter

_PURE: Final[Mapping[str, Callable[..., Any]]] = {
    "Add": operator.add,
    "Sub": operator.sub,
    "Mult": operator.mul,
    "Div": operator.truediv,
    "FloorDiv": operator.floordiv,
    "Mod": operator.mod,
    "Pow": operator.pow,
    "LShift": operator.lshift,
    "RShift": operator.rshift,
    "BitAnd": operator.and_,
    "BitOr": operator.or_,
    "BitXor": operator.xor,
    "Eq": operator.eq,
    "NotEq": operator.ne,
    "Lt": operator.lt,
    "LtE": operator.le,
    "Gt": operator.gt,
    "GtE": operator.ge,
    "USub": operator.neg,
    "UAdd": operator.pos,
    "Invert": operator.invert,
}
_GROWING: Final = frozenset({"Mult", "Pow", "LShift"})
_COMPARISONS: Final = frozenset(
    {"Eq", "NotEq", "Lt", "LtE", "Gt", "GtE", "Is", "IsNot", "In", "NotIn"}
)
_ARITHMETIC: Final = frozenset({"Add", "Sub", "Mult", "FloorDiv", "Mod", "USub"})
_NEGATED: Final = frozenset({"IsNot", "NotIn"})
_ORDERINGS: Final = frozenset({"Lt", "LtE", "Gt", "GtE"})
_SPECIAL: Final[Mapping[str, tuple[str, str]]] = {
    "Add": ("__add__", "__radd__"),
    "Sub": ("__sub__", "__rsub__"),
    "Mult": ("__mul__", "__rmul__"),
    "Div": ("__truediv__", "__rtruediv__"),
    "FloorDiv": ("__floordiv__", "__rfloordiv__"),
    "Mod": ("__mod__", "__rmod__"),
    "Pow": ("__pow__", "__rpow__"),
    "MatMult": ("__matmul__", "__rmatmul__"),
    "BitAnd": ("__and__", "__rand__"),
    "BitOr": ("__or__", "__ror__"),
    "BitXor": ("__xor__", "__rxor__"),
    "LShift": ("__lshift__", "__rlshift__"),
    "RShift": ("__rshift__", "__rrshift__"),
    "Eq": ("__eq__", "__eq__"),
    "NotEq": ("__ne__", "__ne__"),
    "Lt": ("__lt__", "__gt__"),
    "LtE": ("__le__", "__ge__"),
    "Gt": ("__gt__", "__lt__"),
    "GtE": ("__ge__", "__le__"),
    "USub": ("__neg__", "__neg__"),
    "UAdd": ("__pos__", "__pos__"),
    "Invert": ("__invert__", "__invert__"),
}
# The operator of a special method, and whether its receiver is the right operand.
SPECIAL_METHODS: Final[Mapping[str, tuple[str, bool]]] = {
    method: (name, bool(reflected))
    for name, pair in reversed(tuple(_SPECIAL.items()))
    for reflected, method in reversed(tuple(enumerate(pair)))
}
_NUMBERS: Final = frozenset({"int", "float", "bool", "complex"})
_BIG: Final = 1 << 16
_WIDE: Final = r"\d{5}|\*"


def apply_to_each(
    interpreter: Interpreter,
    name: str,
    node: Node,
    operands: list[Operand],
    store: Store,
    frame: Frame,
) -> Value:
    """Apply an operator to each combination of the alternatives of two operands."""
    (left_node, left), (right_node, right) = operands
    if not isinstance(left, Union) and not isinstance(right, Union):
        return apply(interpreter, name, node, operands, store, frame)
    return interpreter.spread(
        store,
        [left, right],
        lambda layer, values: apply(
            interpreter,
            name,
            node,
            [(left_node, values[0]), (right_node, values[1])],
            layer,
            frame,
        ),
    )


def apply(
    interpreter: Interpreter,
    name: str,
    node: Node,
    operands: list[Operand],
    store: Store,
    frame: Frame,
) -> Value:
    """One operator, by the name of its syntax node, on one or two operands."""
    values = [value for _, value in operands]
    if name in ("Is", "IsNot", "In", "NotIn"):
        return _relation(interpreter, name, node, values, store, frame)
    special = _user_defined(interpreter, name, node, values, store, frame)
    if special is not None:
        return special
    if any(isinstance(value, TensorValue) for value in values):
        return _on_tensors(interpreter, name, node, operands, store, frame)
    if all(isinstance(value, Const) for value in values) and name in _PURE:
        return _on_constants(name, [v.value for v in values if isinstance(v, Const)], store)
    opened = [joins.opened(value, store) for value in values]
    return _on_sizes(name, values, store) or _on_containers(name, opened, store)


def _on_sizes(name: str, values: list[Value], store: Store) -> Value | None:
    """An operator on sizes with symbols; None where it cannot be computed."""
    sizes_ = (size_of(value) for value in values)
    operand_sizes = [equalities.size(size, store) for size in sizes_ if size is not None]
    if len(operand_sizes) != len(values):
        return None
    if name in _ARITHMETIC:
        by_zero = name in ("FloorDiv", "Mod") and operand_sizes[-1] == 0
        store.ledger.meter.spend(math.prod(map(sizes.cost, operand_sizes)))
        size = None if by_zero else sizes.computed(_PURE[name], *operand_sizes)
        return None if size is None else sized(size)
    if name in ("Eq", "NotEq"):
        answer = sizes.same(operand_sizes[0], operand_sizes[1])
        return None if answer is None else Const(answer is (name == "Eq"))
    if name in _ORDERINGS:
        return _ordered_sizes(name, operand_sizes[0], operand_sizes[1])
    return None


def _ordered_sizes(name: str, left_size: sizes.Known, right_size: sizes.Known) -> Value | None:
    if name in ("Gt", "GtE"):
        left_size, right_size, name = right_size, left_size, {"Gt": "Lt", "GtE": "LtE"}[name]
    strict = int(name == "Lt")
    if sizes.is_at_least(strict, right_size - left_size):
        return TRUE
    return FALSE if sizes.is_at_least(1 - strict, left_size - right_size) else None


def _on_tensors(
    interpreter: Interpreter,
    name: str,
    node: Node,
    operands: list[Operand],
    store: Store,
    frame: Frame,
) -> Value:
    key = python_operators().get(name)
    if key is None or key not in interpreter.context.rows:
        return store.ledger.fresh("operator")
    if not all(_may_meet_tensor(value) for _, value in operands):
        # Two kinds: a comparison has an answer; of all else the other operand makes something.
        return store.ledger.fresh("operator", "bool" if name in _COMPARISONS else None)
    args = [_operand(value, store) for _, value in operands]
    return interpreter.torch.call(key, args, {}, node, store, frame, operands)


def _may_meet_tensor(value: Value) -> bool:
    """Whether a tensor's operator accepts the value, instead of leaving it to the other operand."""
    if isinstance(value, Const):
        return isinstance(value.value, (bool, int, float, complex))
    if isinstance(value, External):
        return not value.path.startswith("builtins.")
    return isinstance(value, (TensorValue, Opaque))


def _operand(value: Value, store: Store) -> Value:
    """An operand; an unknown number is some number to a rule: it broadcasts and has no names."""
    if isinstance(value, External):
        return store.ledger.fresh("imported")  # `from config import EPS`
    number = SOME_NUMBERS.get(value.kind or "") if isinstance(value, Opaque) else None
    return value if number is None else Const(number)


def augmented(
    interpreter: Interpreter,
    name: str,
    node: Node,
    operands: list[Operand],
    store: Store,
    frame: Frame,
) -> Value:
    """``target op= value``: in place on mutable values that support it."""
    target = operands[0][1]
    key = python_operators().get(name)
    if isinstance(target, TensorValue) and key is not None:
        in_place = f"{key}_"
        if interpreter.torch.method(in_place) or in_place in interpreter.context.rows:
            args = [_operand(value, store) for _, value in operands]
            return interpreter.torch.call(in_place, args, {}, node, store, frame, operands)
    if isinstance(target, ListValue) and name == "Add":
        more = interpreter.iterate(operands[1][1], node, store, frame)
        joins.write(target, store, _concatenate(joins.items(target, store), more, store))
        return target
    if isinstance(target, Instance):
        method = _SPECIAL[name][0].replace("__", "__i", 1) if name in _SPECIAL else ""
        special_method = class_lookup.method(target, method, store)
        if special_method is not None:
            return interpreter.call_values(
                BoundMethod(special_method, target), [operands[1][1]], node, store, frame
            )
    return apply(interpreter, name, node, operands, store, frame)


def too_big(values: Sequence[Any]) -> bool:
    """Whether growth by these constants may exceed the size that is worth computing."""
    return any(
        isinstance(v, (int, str, bytes)) and (v if isinstance(v, int) else len(v)) > _BIG
        for v in values
    )


def too_wide(template: str) -> bool:
    """Whether a template has fields wider than is worth formatting."""
    return re.search(_WIDE, template) is not None


def _on_constants(name: str, constants: list[Any], store: Store) -> Value:
    wide = name == "Mod" and isinstance(constants[0], str) and too_wide(constants[0])
    if wide or (name in _GROWING and too_big(constants)):
        return store.ledger.fresh("big")
    texts = constants if name == "Add" and isinstance(constants[0], str) else []
    if texts and isinstance(texts[1], str) and limits.is_long(sum(map(len, texts)), store):
        return store.ledger.fresh("big", "str")
    try:
        result = _PURE[name](*constants)
    except (TypeError, ValueError, ArithmeticError):
        return store.ledger.fresh("failed")
    if isinstance(result, int) and not sizes.fits(result):
        return store.ledger.fresh("big", "int")
    if isinstance(result, (bool, int, float, complex, str, bytes)):
        return Const(result)
    return store.ledger.fresh("constant")


def _on_containers(name: str, values: list[Value], store: Store) -> Value:
    if len(values) == 2:
        left, right = values
        if name == "Add" and isinstance(left, TupleValue) and isinstance(right, TupleValue):
            chained = limits.chained((left.items, right.items), store)
            return chained if isinstance(chained, Repeated) else TupleValue(chained)
        if name == "Add" and isinstance(left, ListValue) and isinstance(right, ListValue):
            content = _concatenate(joins.items(left, store), joins.items(right, store), store)
            return ListValue(store.ledger.new(), content)
        if name == "Add" and _sequences(left, right):
            return Repeated(store.ledger.fresh("item"))
        if name == "Mult":
            return _repeat(left, right, store)
        if name in _ORDERINGS:
            return _ordered(name, left, right, store)
        if name in ("BitOr", "BitAnd", "Sub") and _all_sets(values):
            return _on_sets(name, values, store)
        if name == "BitOr" and isinstance(left, DictValue) and isinstance(right, DictValue):
            return _merge_dicts(left, right, store)
        if name in ("Eq", "NotEq"):
            return _equal(name, left, right, store)
        if name == "Mod" and isinstance(left, Const) and isinstance(left.value, str):
            return _percent(left.value, right, store)
    provenance = Operation(name, tuple(identities.of(value, store) for value in values))
    if name in _COMPARISONS:
        return Opaque(provenance, _kind_of_test(values))
    kinds = {kind_of(value) for value in values}
    kind = kinds.pop() if len(kinds) == 1 else "float" if kinds <= {"int", "float"} else None
    return Opaque(provenance, "float" if name == "Div" and kind in _NUMBERS else kind)


def kind_of(value: Value) -> str | None:
    """The type of a constant, or of an opaque value; None where it is unknown."""
    if isinstance(value, Const):
        return type(value.value).__name__
    return value.kind if isinstance(value, Opaque) else None


def _sequences(left: Value, right: Value) -> bool:
    return all(isinstance(v, (TupleValue, Repeated, ListValue)) for v in (left, right))


def _all_sets(values: list[Value]) -> bool:
    return all(isinstance(value, ListValue) and value.kind == "set" for value in values)


def _on_sets(name: str, values: list[Value], store: Store) -> Value:
    left, right = (joins.items(v, store) for v in values if isinstance(v, ListValue))
    if isinstance(left, Repeated) or isinstance(right, Repeated):
        return ListValue(store.ledger.new(), Repeated(store.ledger.fresh("item")), "set")
    if name == "BitOr":
        content = comparisons.distinct((*left, *right), store)
        return ListValue(store.ledger.new(), content, "set")
    found = [comparisons.among(item, right, store) for item in left]
    if None in found:
        return ListValue(store.ledger.new(), Repeated(joins.either(left, store)), "set")
    kept = tuple(item for item, has in zip(left, found, strict=True) if has is (name == "BitAnd"))
    return ListValue(store.ledger.new(), kept, "set")


def _merge_dicts(left_dict: DictValue, right_dict: DictValue, store: Store) -> Value:
    a, b = joins.entries(left_dict, store), joins.entries(right_dict, store)
    merged = Entries(tuple(joins.overlaid(dict(a.items), b, store).items()), b.rest or a.rest)
    return DictValue(store.ledger.new(), merged)


def _percent(template: str, right: Value, store: Store) -> Value:
    if isinstance(right, Const):
        return _on_constants("Mod", [template, right.value], store)
    if too_wide(template):
        return store.ledger.fresh("formatted", "str")
    before, percent, after = template.partition("%")
    if not isinstance(right, TupleValue) and percent and "%" not in after:
        from namecheck.interpreter.domain import texts  # names that loops compute

        return texts.around(before, right, after[1:], store)
    if isinstance(right, TupleValue) and all(isinstance(item, Const) for item in right.items):
        try:
            return Const(template % tuple(i.value for i in right.items if isinstance(i, Const)))
        except (TypeError, ValueError):
            return store.ledger.fresh("formatted", "str")
    return store.ledger.fresh("formatted", "str")


def _concatenate(
    left_items: tuple[Value, ...] | Repeated,
    right_items: tuple[Value, ...] | Repeated,
    store: Store,
) -> tuple[Value, ...] | Repeated:
    if not isinstance(left_items, Repeated) and not isinstance(right_items, Repeated):
        return limits.chained((left_items, right_items), store)
    return Repeated(joins.either([*each_of(left_items), *each_of(right_items)], store))


def _repeat(left: Value, right: Value, store: Store) -> Value:
    for sequence, count in ((left, right), (right, left)):
        number = count.value if isinstance(count, Const) and isinstance(count.value, int) else None
        small = number is not None and number <= 64
        if isinstance(sequence, TupleValue):
            if small and number is not None:
                chained = limits.chained([sequence.items] * number, store)
                return chained if isinstance(chained, Repeated) else TupleValue(chained)
            return Repeated(sequence.items[0] if sequence.items else store.ledger.fresh("item"))
        if isinstance(sequence, ListValue):
            content = joins.items(sequence, store)
            if small and number is not None and not isinstance(content, Repeated):
                return ListValue(store.ledger.new(), limits.chained([content] * number, store))
            return (
                ListValue(store.ledger.new(), _concatenate(content, content, store))
                if (isinstance(content, Repeated))
                else ListValue(store.ledger.new(), Repeated(store.ledger.fresh("item")))
            )
    kinds = {kind_of(left), kind_of(right)}
    provenance = Operation("Mult", (identities.of(left, store), identities.of(right, store)))
    return Opaque(provenance, kinds.pop() if len(kinds) == 1 else None)


def _equal(name: str, left: Value, right: Value, store: Store) -> Value:
    answer = comparisons.equal(left, right, store)
    if answer is True and _may_be_tensor(left) and _may_be_tensor(right):
        answer = None  # they compare element by element
    if answer is None:
        kind = _kind_of_test((left, right))
        return _tested(equality(left, right, store), name == "Eq", kind)
    return TRUE if answer is (name == "Eq") else FALSE


def _may_be_tensor(value: Value) -> bool:
    return isinstance(value, Opaque) and value.kind is None


def _kind_of_test(compared_values: Sequence[Value]) -> str | None:
    """The kind of a comparison: any where one of its operands may be a tensor, an array, …"""
    may_be_any = any(map(_may_be_tensor, compared_values)) and all(
        map(_may_meet_tensor, compared_values)
    )
    return None if may_be_any else "bool"


def equality(left: Value, right: Value, store: Store) -> Key:
    """The key for the equality of two values, whatever their order."""
    return identities.equality_of(identities.of(left, store), identities.of(right, store))


def _tested(key: Key, positive: bool, kind: str | None = "bool") -> Opaque:
    return Opaque(key if positive else Negation(key), kind)


def _ordered(name: str, left: Value, right: Value, store: Store) -> Value:
    """One key for ``a < b``, ``b > a``, ``not a >= b``, and ``not b <= a``."""
    pair = identities.of(left, store), identities.of(right, store)
    if name in ("Gt", "LtE"):
        pair = pair[1], pair[0]
    answer = shape_tests.is_less(*pair)
    if answer is not None:
        return TRUE if answer is (name in ("Lt", "Gt")) else FALSE
    kind = _kind_of_test((left, right))
    return _tested(Key(Operation("Lt", pair)), name in ("Lt", "Gt"), kind)


def _relation(
    interpreter: Interpreter,
    name: str,
    node: Node,
    values: list[Value],
    store: Store,
    frame: Frame,
) -> Value:
    """``is`` and ``in``, and their negations."""
    left, right = values
    positive = name not in _NEGATED
    if name in ("Is", "IsNot"):
        answer = _identical(left, right, store)
        key = equality(left, right, store)
    else:
        answer = _contains(interpreter, left, right, node, store, frame)
        pair = identities.of(left, store), identities.of(right, store)
        key = Key(Operation("In", pair))
    if answer is None:
        return _tested(key, positive)
    return TRUE if answer is positive else FALSE


def _identical(left: Value, right: Value, store: Store) -> bool | None:
    if isinstance(left, Opaque) or isinstance(right, Opaque):
        if (left, right).count(NONE) and any(
            isinstance(v, Opaque) and v.kind not in (None, TRANSPARENT) for v in (left, right)
        ):
            return False
        return True if left == right else comparisons.excluded(left, right, store)
    if isinstance(left, Const) or isinstance(right, Const):
        return left == right
    if left == right:
        return True
    if isinstance(left, Mutable) and isinstance(right, Mutable):
        return None if identities.may_be_one(left, right) else False
    if isinstance(left, FunctionValue) and isinstance(right, FunctionValue):
        return False if left.node is not right.node else None
    if isinstance(left, Instance) and isinstance(right, Instance) and left.cls.style == "enum":
        return False
    return False if comparisons.are_other_types(left, right) else None


def _contains(
    interpreter: Interpreter,
    item: Value,
    container: Value,
    node: Node,
    store: Store,
    frame: Frame,
) -> bool | None:
    if isinstance(container, Const) and isinstance(item, Const):
        try:
            return bool(item.value in container.value)
        except (TypeError, ValueError):  # `300 in b"a"`
            return None
    if isinstance(container, Instance):
        method = class_lookup.method(container, "__contains__", store)
        if method is not None:
            bound = BoundMethod(method, container)
            answer = interpreter.call_values(bound, [item], node, store, frame)
            return interpreter.truth(answer, store)
        container = joins.opened(container, store)
    if isinstance(container, DictValue):
        content = joins.entries(container, store)
        known_items: tuple[Value, ...] | Repeated = tuple(key for key, _ in content.items)
        complete = content.rest is None
    elif isinstance(container, (TupleValue, ListValue, Generator)):
        known_items = interpreter.iterate(container, node, store, frame, whole=False)
        complete = True
    else:
        return None
    if isinstance(known_items, Repeated):
        return None
    answers = [comparisons.equal(item, other, store) for other in known_items]
    if True in answers or _is_one_of(item, known_items, store):
        return True
    return False if complete and None not in answers else None


def _is_one_of(item: Value, known_items: tuple[Value, ...], store: Store) -> bool:
    """Whether a fact restricts an opaque value to constants that are all in this list."""
    if not isinstance(item, Opaque):
        return False
    among: tuple[Value, ...] | None = store.fact(CandidatesOf, item.key)
    return among is not None and all(choice in known_items for choice in among)


def _user_defined(
    interpreter: Interpreter,
    name: str,
    node: Node,
    values: list[Value],
    store: Store,
    frame: Frame,
) -> Value | None:
    """The special method of an instance that implements the operator."""
    if name not in _SPECIAL:
        return None
    for receiver, method, rest in (
        (values[0], _SPECIAL[name][0], values[1:]),
        (values[-1], _SPECIAL[name][1], values[:-1]),
    ):
        if isinstance(receiver, Instance):
            special_method = class_lookup.method(receiver, method, store)
            if special_method is not None:
                bound = BoundMethod(special_method, receiver)
                return interpreter.call_values(bound, rest, node, store, frame)
    return None
