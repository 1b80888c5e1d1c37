"""What the parts of a test say: the flags of ``a or b``, of ``a != b``, a bound of ``n < 2``."""

from __future__ import annotations

import ast
from collections.abc import Hashable
from typing import Final

from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.values import Const, Opaque
from namecheck.interpreter.evaluation import narrowing, remaining, shape_tests
from namecheck.interpreter.evaluation.frames import Frame
from namecheck.interpreter.evaluation.interpreter import Interpreter


def literals(
    interpreter: Interpreter, test: ast.BoolOp, store: Store, frame: Frame
) -> tuple[tuple[Hashable, bool], ...]:
    """The parts of ``a or b`` of which one holds at least, of ``a and b`` of which one fails.

    Each is an identity and its truth; there are none where a part is more than a flag, or a test
    for None.
    """
    flag_literals: list[tuple[Hashable, bool]] = []
    for part in test.values:
        flag, truth = part, isinstance(test.op, ast.Or)
        if isinstance(flag, ast.UnaryOp) and isinstance(flag.op, ast.Not):
            flag, truth = flag.operand, not truth
        match flag:
            case ast.Name() | ast.Attribute():
                pass
            case ast.Compare(ast.Name() | ast.Attribute(), [ast.Is() | ast.IsNot()], [right]):
                if not isinstance(right, ast.Constant):
                    return ()
            case _:
                return ()
        with interpreter.findings.silenced():
            value = interpreter.evaluate(flag, store, frame)
        if not isinstance(value, Opaque):
            return ()
        flag_literals.append(narrowing.positive(value.key, truth))
    return tuple(flag_literals)


def is_of_rank(test: ast.expr) -> bool:
    """Whether a test compares the rank of a tensor alone: ``x.dim() == 2``."""
    return isinstance(test, ast.Compare) and shape_tests.subject_of_rank(test.left) is not None


def compared_flags(
    interpreter: Interpreter, test: ast.expr, store: Store, frame: Frame
) -> tuple[ast.expr, ast.expr] | None:
    """The operands of ``a ^ b``, ``a != b``, ``a == b`` if they are variables of unknown truth."""
    if isinstance(test, ast.BinOp) and isinstance(test.op, ast.BitXor):
        operands = test.left, test.right
    elif isinstance(test, ast.Compare) and isinstance(test.ops[0], (ast.Eq, ast.NotEq)):
        if len(test.ops) > 1:
            return None
        operands = test.left, test.comparators[0]
    else:
        return None
    if not all(isinstance(operand, (ast.Name, ast.Attribute)) for operand in operands):
        return None
    with interpreter.findings.silenced():
        values = [interpreter.evaluate(operand, store, frame) for operand in operands]
    flags = [isinstance(value, Opaque) and value.kind == "bool" for value in values]
    return operands if all(flags) else None


def asks_equality(test: ast.expr) -> bool:
    """Whether a test asks if its operands are equal, and not if they differ."""
    return isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.Eq)


def decide_difference(
    interpreter: Interpreter, left_node: ast.expr, right_node: ast.expr, store: Store, frame: Frame
) -> tuple[list[Store], list[Store]]:
    """The paths on which one of two flags holds alone, and those on which both do or neither."""
    holds, fails = narrowing.decide(interpreter, left_node, store, frame)
    apart, alike = list[Store](), list[Store]()
    for truth, paths in ((True, holds), (False, fails)):
        for path in paths:
            both, one = narrowing.decide(interpreter, right_node, path, frame)
            apart += one if truth else both
            alike += both if truth else one
    return apart, alike


# How much less the left operand is at least: for ``<`` and ``<=``, and turned for the others.
_ORDERS: Final[dict[type[ast.cmpop], tuple[bool, int]]] = {
    ast.Lt: (False, 1),
    ast.LtE: (False, 0),
    ast.Gt: (True, 1),
    ast.GtE: (True, 0),
}


def learn_bounds(
    interpreter: Interpreter,
    relation: ast.cmpop,
    nodes: tuple[ast.expr, ast.expr],
    truth: bool,
    store: Store,
    frame: Frame,
) -> None:
    """``0 <= n < 2`` of an int: each comparison with a constant bounds it."""
    is_turned, gap = _ORDERS[type(relation)]
    less_node, more_node = nodes if is_turned is not truth else nodes[::-1]
    gap = gap if truth else 1 - gap
    with interpreter.findings.silenced():
        less, more = (interpreter.evaluate(node, store, frame) for node in (less_node, more_node))
    match less, more:
        case Opaque(kind="int") as opaque, Const(value=int() as most):
            remaining.learn_bounds(opaque.key, (None, most - gap), store)
        case Const(value=int() as least), Opaque(kind="int") as opaque:
            remaining.learn_bounds(opaque.key, (least + gap, None), store)
