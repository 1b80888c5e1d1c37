"""Narrowing: the facts that follow from the outcome of a test."""

from __future__ import annotations

import ast
from collections.abc import Callable, Hashable, Iterator
from types import NoneType
from typing import Final

from namecheck.annotations.declarations import Declaration
from namecheck.core import devices, dtypes
from namecheck.core.dataclasses import replace
from namecheck.core.dims import Dims, of_rank
from namecheck.core.dtypes import COMPLEXES, FLOATINGS, KINDS
from namecheck.core.names import UNKNOWN, Unknown
from namecheck.core.tensors import Constant, Tensor
from namecheck.core.trees import compared_pairs, grouped_operands, last_word
from namecheck.interpreter.domain import (
    device_values,
    equalities,
    identities,
    joins,
    merges,
    opaque_tensors,
)
from namecheck.interpreter.domain.cells import (
    FOREIGN,
    MOST_CANDIDATES,
    RankOf,
    TensorTest,
    Truth,
    Unless,
)
from namecheck.interpreter.domain.provenance import (
    Chain,
    Negation,
    Operation,
    OperatorResult,
    Result,
)
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.values import (
    NONE,
    Const,
    External,
    Held,
    Instance,
    Key,
    ListValue,
    Opaque,
    Repeated,
    TensorValue,
    TupleValue,
    Union,
    Value,
)
from namecheck.interpreter.evaluation import comparisons, shape_tests
from namecheck.interpreter.evaluation.frames import Frame, PathEnds
from namecheck.interpreter.evaluation.interpreter import Interpreter

# How many paths through the parts of one test are followed side by side.
_PATHS: Final = 32


def decide(
    interpreter: Interpreter, test: ast.expr, store: Store, frame: Frame
) -> tuple[list[Store], list[Store]]:
    """The paths on which a test holds, and those on which it does not.

    A certain outcome returns the store itself, alone; otherwise each path is a new layer.
    """
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        holds, fails = decide(interpreter, test.operand, store, frame)
        return fails, holds
    if isinstance(test, ast.BoolOp):
        return _decide_parts(interpreter, test, store, frame)
    if isinstance(test, (ast.BinOp, ast.Compare)):
        from namecheck.interpreter.evaluation import test_parts  # not every program has tests

        compared = test_parts.compared_flags(interpreter, test, store, frame)
        if compared is not None:
            apart, alike = test_parts.decide_difference(interpreter, *compared, store, frame)
            return (alike, apart) if test_parts.asks_equality(test) else (apart, alike)
    value = interpreter.evaluate(test, store, frame)
    ask(interpreter, test, value, store, frame)
    truth = interpreter.truth(value, store)
    if truth is not None:
        return ([store], []) if truth else ([], [store])
    both = list(outcomes(interpreter, test, value, store, frame))
    return [p for _, p, outcome in both if outcome], [p for _, p, outcome in both if not outcome]


def ask(interpreter: Interpreter, test: ast.expr, value: Value, store: Store, frame: Frame) -> None:
    """Take the truth of a tensor, as a test does: more than one element is an error."""
    if isinstance(value, TensorValue):
        operands = [(test, value)]
        with interpreter.findings.judged.stage("truth"):  # beside the operator at the same node
            interpreter.torch.call("__bool__", [value], {}, test, store, frame, operands)


def _decide_parts(
    interpreter: Interpreter, test: ast.BoolOp, store: Store, frame: Frame
) -> tuple[list[Store], list[Store]]:
    """``a and b``, ``a or b``: the later parts run on the paths that the earlier ones continue."""
    stop = isinstance(test.op, ast.Or)
    going, decided = [store], list[Store]()
    from namecheck.interpreter.evaluation import test_parts  # not every program combines tests

    literals = test_parts.literals(interpreter, test, store, frame)
    ranks_alone = True
    for part in grouped_operands(test):
        entered, going = going, []
        for path in entered:
            try:
                holds, fails = decide(interpreter, part, path, frame)
                ends, others = (holds, fails) if stop else (fails, holds)
                if ranks_alone and ends and path is not store and _is_flag(part):
                    # ``x.dim() == 2 and self.flag`` tells of no rank where the flag is not set.
                    ends = decide(interpreter, part, store, frame)[not stop]
            except PathEnds:
                continue
            decided += ends
            going += others
        ranks_alone = ranks_alone and test_parts.is_of_rank(part)
        decided, going = few(decided, store), few(going, store)
    if not going and not decided:
        raise PathEnds
    for path in decided:
        for key, truth in literals:
            path.set(Unless(key, not truth), tuple(one for one in literals if one != (key, truth)))
    return (decided, going) if stop else (going, decided)


def _is_flag(test: ast.expr) -> bool:
    """Whether a test reads a variable or an attribute alone."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test = test.operand
    return isinstance(test, (ast.Name, ast.Attribute))


def few(paths: list[Store], base: Store) -> list[Store]:
    """The paths of a test, joined where its parts have multiplied them."""
    if len(paths) <= _PATHS:
        return paths
    base.ledger.reach("paths of a test")
    return [merges.merged(base, paths)]


def outcomes(
    interpreter: Interpreter, test: ast.expr, value: Value, store: Store, frame: Frame
) -> Iterator[tuple[Value, Store, bool]]:
    """The possible outcomes of a test: the alternative, the path, whether the test holds."""
    for choice in joins.alternatives(value):
        if not store.allows(choice.facts):
            continue
        for outcome in (True, False):
            layer = store.assume(choice.facts)
            if assume(interpreter, test, choice.value, outcome, layer, frame):
                yield choice.value, layer, outcome


def assume(
    interpreter: Interpreter,
    test: ast.expr,
    value: Value,
    truth: bool,
    store: Store,
    frame: Frame,
) -> bool:
    """Write the facts of a test's outcome to the store; False where the outcome is impossible."""
    certain = interpreter.truth(value, store)
    if certain is not None and certain is not truth:
        return False
    if certain is None and isinstance(value, (Opaque, TensorValue)):
        learn_truth(identities.of(value, store), truth, store)
    return _refine(interpreter, test, truth, store, frame)


def learn_truth(identity: object, truth: bool, store: Store) -> None:
    """Write that an opaque value is true, or that it is not, and what follows from that."""
    key, outcome = positive(identity, truth)
    store.set(Truth(key), outcome)
    alternatives: tuple[tuple[Hashable, bool], ...] = store.get(Unless(key, outcome)) or ()
    left = [one for one in alternatives if store.fact(Truth, one[0]) is not (not one[1])]
    # What is known already tells nothing more, and two such facts would tell each other for ever.
    if len(left) == 1 and store.fact(Truth, left[0][0]) is not left[0][1]:
        learn_truth(*left[0], store)
    if isinstance(key, Key):
        if key.foreign:
            store.set(FOREIGN, True)
        _imply(key, outcome, store)


def learn_equal(key: Key, value: Value, store: Store, *, truth: bool = True) -> None:
    """Write what follows from an opaque value being equal to another value, or not."""
    _imply(Key(Operation("Eq", (key, value))), truth, store)


def _imply(key: Key, truth: bool, store: Store) -> None:
    """The facts about an opaque value, or about what it compares with constants."""
    from namecheck.interpreter.evaluation import remaining  # not every program tests values

    remaining.learn_truth(key, truth, store)
    match key.provenance:
        case Operation("Eq", (left, right)):
            shape_tests.learn_equal(left, right, truth, store)
            if truth:
                equalities.learn(left, right, store)
            else:
                equalities.learn_unequal(left, right, store)
                remaining.learn_order((left, right), store)
            for opaque, other in ((left, right), (right, left)):
                if isinstance(opaque, Key) and isinstance(other, (Const, Instance)):
                    remaining.learn_among(opaque, (other,), truth, store)
                    _learn_dtype(opaque, _dtypes(other, store), truth, store)
                    _learn_device(opaque, other, truth, store)
        case Operation("Lt", (left, right)):
            shape_tests.learn_less(left, right, truth, store)
            turned = Key(Operation("Lt", (right, left)))
            if not truth and store.fact(Truth, turned) is False:
                equalities.learn(left, right, store)
            if not truth:
                remaining.learn_order((left, right), store)
        case Operation("In", (Const() as name, container)) if truth:
            shape_tests.learn_member(name, container, store)
        case Operation("In", (Key() as opaque, container)):
            listed = comparisons.constants_of(container)
            if listed and len(listed) <= MOST_CANDIDATES:
                remaining.learn_among(opaque, listed, truth, store)
        case OperatorResult("equal" | "torch.equal" | "Tensor.equal", ((_, one), (_, other))) if (
            truth and isinstance(one, Tensor) and isinstance(other, Tensor)
        ):
            equalities.equate_dims(one.dims, other.dims, store)
        case OperatorResult():
            _learn_cuda(key, truth, store)
        case Chain(links) if truth:
            for link in links:
                learn_truth(link, True, store)
        case Result("isinstance", (Key() as value, kinds)):
            if truth and kinds == External("torch.Tensor"):
                store.set(TensorTest(value), True)
            remaining.learn_type(value, kinds, store, truth=truth)
        case Result("all" | "any" as function, parts) if truth is (function == "all"):
            for part in parts:
                learn_truth(part, truth, store)


def positive(entry_key: object, truth: bool) -> tuple[object, bool]:
    """What a test negates, and the truth of that."""
    while isinstance(entry_key, Key) and isinstance(entry_key.provenance, Negation):
        entry_key, truth = entry_key.provenance.value, not truth
    return entry_key, truth


def _refine(
    interpreter: Interpreter, test: ast.expr, truth: bool, store: Store, frame: Frame
) -> bool:
    _refine_dtype(interpreter, test, truth, store, frame)
    if isinstance(test, ast.Compare):
        if not truth and len(test.ops) > 1:
            return True  # one of them does not hold, whichever it is
        return all(
            _refine_comparison(interpreter, *pair, truth, store, frame)
            for pair in compared_pairs(test)
        )
    if isinstance(test, ast.Call):
        return _refine_call(interpreter, test, truth, store, frame)
    if isinstance(test, ast.NamedExpr):
        return _refine(interpreter, test.target, truth, store, frame)
    return _keep(interpreter, test, store, frame, lambda v: _may_be(interpreter, v, truth, store))


def _may_be(interpreter: Interpreter, value: Value, truth: bool, store: Store) -> bool:
    return interpreter.truth(value, store) in (truth, None)


def _keep(
    interpreter: Interpreter,
    expression: ast.expr,
    store: Store,
    frame: Frame,
    keep: Callable[[Value], bool],
) -> bool:
    """Restrict a variable or attribute to the alternatives that a test allows."""
    if not isinstance(expression, (ast.Name, ast.Attribute)):
        return True
    with interpreter.findings.silenced():
        value = interpreter.evaluate(expression, store, frame)
        if not isinstance(value, Union):
            return keep(value)
        choices = [
            choice
            for choice in value.alternatives
            if store.allows(choice.facts) and keep(choice.value)
        ]
        if not choices:
            return False
        interpreter.bind(expression, joins.union(choices, store.ledger), store, frame)
        for fact, content in choices[0].facts:
            if isinstance(fact, Truth) and all((fact, content) in c.facts for c in choices):
                store.set(fact, content)
        return True


def _refine_comparison(
    interpreter: Interpreter,
    relation: ast.cmpop,
    left_node: ast.expr,
    right_node: ast.expr,
    truth: bool,
    store: Store,
    frame: Frame,
) -> bool:
    if isinstance(relation, (ast.Lt, ast.LtE, ast.Gt, ast.GtE)):
        if any(isinstance(node, (ast.Constant, ast.UnaryOp)) for node in (left_node, right_node)):
            from namecheck.interpreter.evaluation import test_parts  # not every program orders

            operands = (left_node, right_node)
            test_parts.learn_bounds(interpreter, relation, operands, truth, store, frame)
        return True
    if isinstance(left_node, ast.Constant):
        left_node, right_node = right_node, left_node
    negated = isinstance(relation, (ast.IsNot, ast.NotEq))
    if isinstance(relation, (ast.Is, ast.IsNot, ast.Eq, ast.NotEq)):
        if isinstance(right_node, ast.Constant) and right_node.value is None:
            is_none = truth is not negated
            return _keep(interpreter, left_node, store, frame, lambda v: _is_none(v, is_none))
        if truth is not negated:
            if not _refine_rank(interpreter, left_node, right_node, store, frame):
                return False
            _refine_names(interpreter, left_node, right_node, store, frame)
            _refine_sizes(interpreter, left_node, right_node, store, frame)
            if interpreter.context.evidence.is_observed:
                from namecheck.interpreter.evaluation import observed_equalities  # on request

                observed_equalities.learn(interpreter, left_node, right_node, store, frame)
    return True


def _refine_sizes(
    interpreter: Interpreter, left_node: ast.expr, right_node: ast.expr, store: Store, frame: Frame
) -> None:
    """``self.rows == self.columns``: an attribute with the name of an axis is its size."""
    words = map(last_word, (left_node, right_node))
    one, other = (interpreter.declarations.size_of_axis(word, store, frame) for word in words)
    if not isinstance(one, Unknown) and not isinstance(other, Unknown):
        equalities.equate(one, other, store)


def _is_none(value: Value, is_none: bool) -> bool:
    if isinstance(value, Opaque):
        return True
    return (value == NONE) is is_none


def _tensor(
    interpreter: Interpreter, expression: ast.expr, store: Store, frame: Frame
) -> TensorValue | None:
    value = interpreter.evaluate(expression, store, frame)
    if isinstance(value, Opaque) and opaque_tensors.is_tensor(value, store):
        return interpreter.torch.promote(value, store)
    return value if isinstance(value, TensorValue) else None


def _refine_rank(
    interpreter: Interpreter, left_node: ast.expr, right_node: ast.expr, store: Store, frame: Frame
) -> bool:
    """``x.dim() == 3``, ``x.ndim == 3``, ``len(x.shape) == 3``; False where it cannot be."""
    if not isinstance(right_node, ast.Constant) or not isinstance(right_node.value, int):
        return True
    subject = shape_tests.subject_of_rank(left_node)
    value = None if subject is None else interpreter.evaluate(subject, store, frame)
    if isinstance(value, Opaque):
        if isinstance(left_node, ast.Call) and isinstance(left_node.func, ast.Attribute):
            store.set(TensorTest(value.key), True)  # a value with a method `dim` is a tensor
        if not opaque_tensors.is_tensor(value, store):
            rank: int | None = store.fact(RankOf, value.key)
            if rank is None:
                store.set(RankOf(value.key), right_node.value)
            return rank in (None, right_node.value)
        value = interpreter.torch.promote(value, store)
    if not isinstance(value, TensorValue):
        return True
    content = joins.held(value, store)
    closed = of_rank(content.tensor.dims, right_node.value)
    if content.tensor.dims.open and closed is not None:
        joins.write(value, store, replace(content, tensor=replace(content.tensor, dims=closed)))
    return closed is not None


def _refine_dtype(
    interpreter: Interpreter, test: ast.expr, truth: bool, store: Store, frame: Frame
) -> None:
    """``x.dtype == torch.bool``, ``x.dtype in (…)``, ``x.is_floating_point()``.

    Where the declared dtype contradicts the test, the test counts: the program asks because the
    declaration need not hold, and its dims need not hold there either.
    """
    if isinstance(test, ast.Compare) and isinstance(test.ops[0], (ast.NotEq, ast.IsNot, ast.NotIn)):
        truth = not truth
    subject, tested = _tested_dtypes(interpreter, test, store, frame)
    if subject is None and truth and isinstance(test, ast.Compare):
        subject, tested = _named_type(test)
    value = None if subject is None else _tensor(interpreter, subject, store, frame)
    if value is None or not tested:
        return
    _narrow_dtype(value, tested, truth, store)


def _learn_dtype(key: Key, tested: frozenset[str], truth: bool, store: Store) -> None:
    """A dtype that was read before it is compared: ``kind = x.dtype; if kind == torch.bool``."""
    match key.provenance:
        case OperatorResult("dtype", ((address, Tensor() as tensor),)) if tested:
            _narrow_dtype(TensorValue(address, Held(tensor)), tested, truth, store)


def _learn_device(key: Key, other_value: Value, truth: bool, store: Store) -> None:
    """``x.device.type == "cuda"``, ``x.device == device``; inequality implies nothing."""
    question = device_values.device_query(key)
    if truth and question is not None and device_values.is_device(other_value):
        _place(question, devices.of_tensor(device_values.name_of(other_value)), store)


def _learn_cuda(key: Key, truth: bool, store: Store) -> None:
    """``x.is_cuda``."""
    match key.provenance:
        case OperatorResult("is_cuda" | "Tensor.is_cuda", ((address, Tensor() as tensor),)) if (
            truth
        ):
            _place((address, tensor), "cuda", store)


def _place(question: tuple[Hashable, Tensor], device: str, store: Store) -> None:
    """Narrow a tensor to a device.

    `question` is the address and the content of the queried tensor. Where the device is one of
    several that the program chose from, it is unknown from here on.
    """
    address, tensor = question
    value = TensorValue(address, Held(tensor))
    content = joins.held(value, store)
    before = content.tensor.device
    both = devices.meet(before, device) if isinstance(before, str) else device
    if both is not UNKNOWN:
        narrowed = UNKNOWN if isinstance(before, devices.Chosen) else both
        joins.write(value, store, replace(content, tensor=replace(content.tensor, device=narrowed)))


def _narrow_dtype(
    tensor_value: TensorValue, tested: frozenset[str], truth: bool, store: Store
) -> None:
    content = joins.held(tensor_value, store)
    allowed = tested if truth else KINDS.keys() - tested
    before = dtypes.possible(content.tensor.dtype)
    if before or truth:
        possible = allowed.intersection(before)
        tensor = content.tensor
        if truth and not possible:
            possible = tested
            tensor = Tensor() if before else tensor
        narrowed = replace(tensor, dtype=dtypes.one_of(possible))
        joins.write(tensor_value, store, replace(content, tensor=narrowed))


def _tested_dtypes(
    interpreter: Interpreter, test: ast.expr, store: Store, frame: Frame
) -> tuple[ast.expr | None, frozenset[str]]:
    """The tensor whose dtype is tested, and the dtypes of the test."""
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        left, right = test.left, test.comparators[0]
        if not _reads_dtype(left) and not isinstance(test.ops[0], (ast.In, ast.NotIn)):
            left, right = right, left
        if isinstance(left, ast.Attribute) and _reads_dtype(left):
            listed = interpreter.evaluate(right, store, frame)
            return left.value, _dtypes(listed, store)
        return None, frozenset()
    query = test.func if isinstance(test, ast.Call) else test
    if not isinstance(query, ast.Attribute) or query.attr not in _CATEGORIES:
        return None, frozenset()
    subject = test.args[0] if isinstance(test, ast.Call) and test.args else query.value
    if isinstance(subject, ast.Attribute) and _reads_dtype(subject):
        subject = subject.value
    return subject, _CATEGORIES[query.attr]


def _named_type(comparison: ast.Compare) -> tuple[ast.expr | None, frozenset[str]]:
    """``x.type() == "torch.LongTensor"``: the tensor, and its dtype."""
    sides = comparison.left, comparison.comparators[0]
    for called, word in (sides, sides[::-1]) if len(comparison.ops) == 1 else ():
        match called, word:
            case ast.Call(ast.Attribute(subject, "type"), []), ast.Constant(str() as path):
                from namecheck.interpreter.evaluation import tensor_types  # few ask for it

                return subject, tensor_types.dtypes_of_name(path)
    return None, frozenset()


_CATEGORIES: Final = {"is_floating_point": FLOATINGS, "is_complex": COMPLEXES}


def _reads_dtype(expression: ast.expr) -> bool:
    return isinstance(expression, ast.Attribute) and expression.attr == "dtype"


def _dtypes(value: Value, store: Store) -> frozenset[str]:
    """A dtype, or those in a list; empty where one of them is unknown."""
    case_items: object = (value,)
    if isinstance(value, (TupleValue, ListValue)):
        case_items = value.items if isinstance(value, TupleValue) else joins.items(value, store)
    if isinstance(case_items, Repeated) or not isinstance(case_items, tuple):
        return frozenset()
    constants = [item.value for item in case_items if isinstance(item, Const)]
    names = [each.name for each in constants if isinstance(each, Constant)]
    return frozenset(names if len(names) == len(case_items) and KINDS.keys() >= set(names) else ())


def _refine_names(
    interpreter: Interpreter, left_node: ast.expr, right_node: ast.expr, store: Store, frame: Frame
) -> None:
    """``x.names == ('N', 'C')``, ``x.names == y.names``."""
    if not _reads_names(left_node):
        left_node, right_node = right_node, left_node
    if not isinstance(left_node, ast.Attribute) or not _reads_names(left_node):
        return
    listed = interpreter.evaluate(right_node, store, frame)
    if not isinstance(listed, TupleValue) or not all(isinstance(i, Const) for i in listed.items):
        return
    names = [item.value for item in listed.items if isinstance(item, Const)]
    subject = interpreter.evaluate(left_node.value, store, frame)
    if isinstance(subject, Opaque) and all(isinstance(n, (str, NoneType)) for n in names):
        store.set(TensorTest(subject.key), True)  # few other values have such names
    tensor = _tensor(interpreter, left_node.value, store, frame)
    if tensor is None:
        return
    content = joins.held(tensor, store)
    dims = content.tensor.dims
    if dims.open or (dims.rank == len(names) and not dims.complete):
        refined = Dims.of(*names) if dims.open else dims.rename(names)
        if not dims.open:
            store.set(FOREIGN, True)  # perhaps none of the paths that have met has these names
        origins = {name: interpreter.place(right_node, "asserted here") for name in names if name}
        named = replace(
            content, tensor=replace(content.tensor, dims=refined, likely=None), origins=origins
        )
        joins.write(tensor, store, named)


def _reads_names(expression: ast.expr) -> bool:
    return isinstance(expression, ast.Attribute) and expression.attr == "names"


def _refine_call(
    interpreter: Interpreter, call_node: ast.Call, truth: bool, store: Store, frame: Frame
) -> bool:
    """``isinstance(x, T)``, ``torch.jit.isinstance(x, T)``."""
    if last_word(call_node.func) != "isinstance" or len(call_node.args) != 2:
        return True
    from namecheck.interpreter.evaluation import tensor_types  # not every program asks

    subject, type_node = call_node.args
    kinds = interpreter.evaluate(type_node, store, frame)
    tested = tensor_types.tested_by(interpreter, type_node, kinds, frame)

    def may_be(value: Value) -> bool:
        answer = tensor_types.is_instance(interpreter, value, kinds, tested, store, frame)
        return answer in (truth, None)

    if not _keep(interpreter, subject, store, frame, may_be):
        return False
    if truth and tested is not None:
        _refine_type(interpreter, subject, tested, store, frame)
    return True


def _refine_type(
    interpreter: Interpreter,
    subject_node: ast.expr,
    tested: Declaration | frozenset[str],
    store: Store,
    frame: Frame,
) -> None:
    """``isinstance(x, Float[Tensor, "h w"])``, ``isinstance(x, torch.LongTensor)``."""
    value = interpreter.evaluate(subject_node, store, frame)
    if isinstance(value, Opaque):
        store.set(TensorTest(value.key), True)
        value = interpreter.torch.promote(value, store)
    if not isinstance(value, TensorValue):
        return
    dtype_names = tested if isinstance(tested, frozenset) else tested.dtypes
    if dtype_names is not None:
        _narrow_dtype(value, dtype_names, True, store)
    if isinstance(tested, Declaration) and tested.pattern.several is None:
        content = joins.held(value, store)
        dims = of_rank(content.tensor.dims, tested.pattern.min_rank) or content.tensor.dims
        joins.write(value, store, replace(content, tensor=replace(content.tensor, dims=dims)))
