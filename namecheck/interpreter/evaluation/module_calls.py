"""Calls of modules that are not torch's own: after hooks, and after patches of torch.

A forward hook that returns a value replaces the result of the module, one before the call its
arguments. A patch replaces the method `forward` of a class, or a function that layers call.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Final

from namecheck.core.dataclasses import replace
from namecheck.interpreter.domain import class_lookup
from namecheck.interpreter.domain.cells import MODULE_CALLS, AttributeNames, ModuleHook
from namecheck.interpreter.domain.scopes import own_nodes
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.values import (
    NONE,
    TRUE,
    Address,
    BoundMethod,
    FunctionValue,
    Instance,
    Partial,
    TorchModule,
    Value,
    Wrapped,
)
from namecheck.interpreter.evaluation.frames import Call
from namecheck.interpreter.evaluation.interpreter import Interpreter

# Methods of containers, and functions, that return nothing.
_RETURNING_NOTHING: Final = frozenset(
    {"__setitem__", "append", "clear", "extend", "insert", "print", "setattr", "update"}
)
_FUNCTIONAL: Final = "torch.nn.functional"


def add_hook(kind: str, address: Address | None, hook: Value, store: Store) -> None:
    """A hook was added to a module, or to all; one that returns nothing changes no call."""
    if _may_return(hook, store):
        store.write(MODULE_CALLS, NONE, TRUE)
        store.write(ModuleHook(kind, address), NONE, TRUE)


def _may_return(hook: Value, store: Store) -> bool:
    """Whether a function may return something other than None."""
    while isinstance(hook, (BoundMethod, Partial, Wrapped)):
        hook = hook.function
    if isinstance(hook, Instance):
        method = class_lookup.method(hook, "__call__", store)
        return method is None or _may_return(method, store)
    if not isinstance(hook, FunctionValue):
        return True
    if isinstance(hook.node, ast.Lambda):
        return not _gives_nothing(hook.node)
    results = (node.value for node in own_nodes(hook.node) if isinstance(node, ast.Return))
    return any(each is not None and not _is_none(each) for each in results)


def _gives_nothing(lambda_node: ast.Lambda) -> bool:
    """``lambda module, args, output: outputs.append(output)``."""
    body = lambda_node.body
    if not isinstance(body, ast.Call):
        return _is_none(body)
    if isinstance(body.func, ast.Name):
        return body.func.id in _RETURNING_NOTHING
    if not isinstance(body.func, ast.Attribute):
        return False
    root: ast.expr = body.func.value
    while isinstance(root, (ast.Attribute, ast.Subscript)):
        root = root.value
    own = {parameter.arg for parameter in lambda_node.args.args}
    is_outer = isinstance(root, ast.Name) and root.id not in own
    return is_outer and body.func.attr in _RETURNING_NOTHING


def _is_none(expression: ast.expr) -> bool:
    return isinstance(expression, ast.Constant) and expression.value is None


def follow(
    interpreter: Interpreter,
    called_module: Instance | TorchModule,
    call: Call,
    proceed: Callable[[Call], Value],
) -> Value:
    """Call a module as its hooks and the patches of torch change it."""
    store, address = call.store, called_module.address
    if _has_hook(ModuleHook.BEFORE, address, store):
        unknown_args: list[Value] = [interpreter.fresh("argument") for _ in call.args]
        call = replace(call, arguments=replace(call.arguments, args=unknown_args))
    result = _unhooked(interpreter, called_module, call, proceed)
    return interpreter.fresh("hooked") if _has_hook(ModuleHook.AFTER, address, store) else result


def _has_hook(kind: str, address: Address, store: Store) -> bool:
    cells = (ModuleHook(kind, each) for each in (address, None))
    return any(store.get(cell, NONE) != NONE for cell in cells)


def _unhooked(
    interpreter: Interpreter,
    called_module: Instance | TorchModule,
    call: Call,
    proceed: Callable[[Call], Value],
) -> Value:
    if not isinstance(called_module, TorchModule):
        return proceed(call)
    set_: Value | None = call.store.get((called_module.address, "forward"))
    if set_ is not None:
        return interpreter.call(set_, call)
    patched: Value | None = call.store.get((f"torch.{called_module.key}", "forward"))
    if patched is not None:
        return interpreter.call(BoundMethod(patched, called_module), call)
    result = proceed(call)
    names = call.store.get(AttributeNames(_FUNCTIONAL), ())
    if any(call.store.get((_FUNCTIONAL, name)) is not None for name in names):
        return interpreter.fresh("patched")
    return result
