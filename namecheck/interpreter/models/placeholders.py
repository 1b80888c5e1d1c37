"""Placeholders: what a variable has in place of a tensor until some code has run.

``best = None`` and ``total = 0`` are on the path on which a loop, a branch or a ``try`` never ran.
Nobody knows whether that path is ever taken, so a call that fits with a tensor is not refused.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from functools import lru_cache
from types import NoneType
from typing import Any

from namecheck.core.syntax import Located as Node
from namecheck.core.tensors import Tensor
from namecheck.core.trees import nodes
from namecheck.interpreter.domain import joins
from namecheck.interpreter.domain.unfollowed import filled_variables
from namecheck.interpreter.domain.values import Address, ListValue, Picked
from namecheck.interpreter.models.torch.operands import Inputs, OperatorCall


def filled(lowered_inputs: Inputs, node: Node, scope_node: ast.AST) -> Inputs | None:
    """The arguments of a call with tensors in place of placeholders; None without any.

    No placeholder is a constant in the call itself, or a variable that its scope binds but once.
    """
    constants: list[Any] = []
    if isinstance(node, ast.Call):
        for passed in (*node.args, *(keyword.value for keyword in node.keywords)):
            bindings = (
                _bound(scope_node).get(passed.id, ()) if isinstance(passed, ast.Name) else [passed]
            )
            if len(bindings) == 1 and isinstance(bindings[0], ast.Constant):
                constants.append(bindings[0].value)
    args, keywords = lowered_inputs
    after = Inputs(
        [_filled(value, constants) for value in args],
        {name: _filled(value, constants) for name, value in keywords.items()},
    )
    return None if after == lowered_inputs else after


def may_have_items(operator_call: OperatorCall) -> bool:
    """Whether a list that is empty in a call may have items when the code runs.

    Code that nobody sees may fill it, unless it was made in the code that runs, and nothing there
    fills it: a loop may always run once, in a function that returns the list, too. A list of the
    items of another container is as empty as that one.
    """
    store, environment = operator_call.store, operator_call.frame.environment
    empty_lists = [
        value
        for value in operator_call.every
        if isinstance(value, ListValue) and joins.items(value, store) == ()
    ]
    if not empty_lists:
        return False
    addresses = [address for each in empty_lists for address in _addresses(each)]
    if any(isinstance(one, int) and one < environment.number for one in addresses):
        return True
    filled_values = [
        store.get((environment.number, name)) for name in filled_variables(environment.scope)
    ]
    return any(each in filled_values for each in empty_lists) or _has_items_of_others(
        operator_call.node, environment.scope
    )


def _addresses(list_value: ListValue) -> Sequence[Address]:
    """The addresses of a list: of each that it may be, where it is one of several."""
    address = list_value.address
    return [one.address for one in address.origins] if isinstance(address, Picked) else [address]


def _has_items_of_others(node: Node, scope_node: ast.AST) -> bool:
    """Whether an argument of a call has what another container or a function gives.

    It is an expression in the call, or bound to a variable of the scope: ``[f(x) for x in xs]``,
    ``gather(xs)``.
    """
    if not isinstance(node, ast.Call):
        return False
    arguments = (*node.args, *(keyword.value for keyword in node.keywords))
    names = [each.id for each in arguments if isinstance(each, ast.Name)]
    bindings = (binding for name in names for binding in _bound(scope_node).get(name, ()))
    given = (ast.Call, ast.ListComp, ast.GeneratorExp)
    return any(isinstance(expression, given) for expression in (*arguments, *bindings))


@lru_cache(maxsize=16)
def _bound(scope_node: ast.AST) -> Mapping[str, Sequence[ast.expr | None]]:
    """What a scope assigns to its variables; None for a binding of another kind."""
    every = nodes(scope_node)
    right_hand_sides: dict[ast.expr, ast.expr] = {
        target: statement.value
        for statement in every
        if isinstance(statement, ast.Assign)
        for target in statement.targets
    }
    bound_expressions: dict[str, list[ast.expr | None]] = {}
    for node in every:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            bound_expressions.setdefault(node.id, []).append(right_hand_sides.get(node))
    return bound_expressions


def _filled(value: Any, constants: Sequence[Any]) -> Any:
    if isinstance(value, (tuple, list)):
        return type(value)(_filled(item, constants) for item in value)
    is_placeholder = isinstance(value, (int, float, NoneType)) and value not in constants
    return Tensor() if is_placeholder else value
