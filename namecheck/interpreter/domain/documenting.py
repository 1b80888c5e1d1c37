"""Decorators that only look at what they decorate, write its docstring, and return it.

They are told by their syntax, and by that of the functions of the same file that they pass it to.
"""

from __future__ import annotations

import ast
from collections import Counter
from typing import Final

from namecheck.core.trees import nodes
from namecheck.interpreter.domain.scopes import Function, examine, own_nodes

# Functions that only look at their arguments, and the modules of such functions.
_LOOKING: Final = frozenset(
    {"callable", "getattr", "hasattr", "id", "isinstance", "issubclass", "print", "repr", "type"}
)
_LOOKING_MODULES: Final = frozenset({"inspect", "typing"})
# The attributes that no call of a function or class depends on.
_DOCUMENTING: Final = frozenset({"__doc__", "__module__", "__name__", "__qualname__"})
_CHANGEABLE: Final = frozenset({"__dict__"})
# How the names of other functions begin that only look.
_ASKING: Final = ("get_", "has_", "is_")


class Documenting:
    """The functions of one file that document an argument.

    A function leaves an argument alone if each use of the parameter is a look at it, the
    documentation of it, or a call of a function that leaves it alone; a recursive call is not.
    """

    def __init__(self, tree: ast.Module) -> None:
        functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
        bound = Counter(node.name for node in functions)
        for node in nodes(tree):
            # Any other binding of a name, in whatever scope, makes it unclear.
            if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
                bound[node.id] += 1
        self._functions = {node.name: node for node in functions if bound[node.name] == 1}
        self._parents: dict[ast.AST, ast.AST] = {}
        self._uses: dict[Function, dict[str, list[ast.Name]]] = {}
        self._leaving: dict[tuple[Function, str], bool] = {}
        self._known: dict[Function, bool] = {}

    def documents(self, function_node: Function) -> bool:
        """Whether a function returns its first argument, and does no more than document it."""
        known = self._known.get(function_node)
        if known is None:
            positional = [*function_node.args.posonlyargs, *function_node.args.args]
            known = bool(positional) and self._returns(function_node, positional[0].arg, ())
            self._known[function_node] = known
        return known

    def _returns(
        self, function_node: Function, parameter: str, callers: tuple[Function, ...]
    ) -> bool:
        """Whether every result of a function is the argument, which it leaves alone."""
        if not isinstance(function_node, ast.FunctionDef) or function_node in callers:
            return False
        if examine(function_node).generator or not isinstance(
            function_node.body[-1], (ast.Return, ast.If)
        ):
            return False
        returns = [node for node in own_nodes(function_node) if isinstance(node, ast.Return)]
        return (
            _always_ends(function_node.body)
            and self._leaves(function_node, parameter)
            and all(
                self._is_argument(node.value, parameter, (*callers, function_node))
                for node in returns
            )
        )

    def _is_argument(
        self, returned_expression: ast.expr | None, parameter: str, callers: tuple[Function, ...]
    ) -> bool:
        if isinstance(returned_expression, ast.Name):
            return returned_expression.id == parameter
        if not isinstance(returned_expression, ast.Call):
            return False
        for argument in (
            *returned_expression.args,
            *(word.value for word in returned_expression.keywords),
        ):
            if isinstance(argument, ast.Name) and argument.id == parameter:
                passed = self._passed(returned_expression, argument)
                return passed is not None and self._returns(*passed, callers)
        return False

    def _leaves(self, function_node: Function, parameter: str) -> bool:
        """Whether a function does no more than look at an argument, and document it."""
        key = function_node, parameter
        known = self._leaving.get(key)
        if known is None:
            self._leaving[key] = False
            uses = self._names_in(function_node).get(parameter, [])
            known = self._leaving[key] = all(map(self._is_harmless, uses))
        return known

    def _names_in(self, function_node: Function) -> dict[str, list[ast.Name]]:
        """The uses of each variable in a function_node, those of nested functions included."""
        uses = self._uses.get(function_node)
        if uses is None:
            uses = self._uses[function_node] = {}
            for node in nodes(function_node):
                for child in ast.iter_child_nodes(node):
                    self._parents[child] = node
                if isinstance(node, ast.Name):
                    uses.setdefault(node.id, []).append(node)
        return uses

    def _is_harmless(self, use: ast.Name) -> bool:
        """Whether one use of a parameter is a look at it, or documents it."""
        parent = self._parents[use]
        if not isinstance(use.ctx, ast.Load):
            return False
        if isinstance(parent, ast.Attribute):
            return self._is_harmless_attribute(parent)
        if isinstance(parent, ast.keyword):
            parent = self._parents[parent]
        if isinstance(parent, ast.Call) and use is not parent.func:
            return self._is_look(parent.func) or self._leaves_passed(parent, use)
        if isinstance(parent, ast.BoolOp):
            while isinstance(parent, (ast.BoolOp, ast.UnaryOp)):
                use_, parent = parent, self._parents[parent]
            return isinstance(parent, (ast.If, ast.IfExp)) and parent.test is use_
        if isinstance(parent, (ast.If, ast.IfExp)):
            return parent.test is use
        return isinstance(parent, (ast.Return, ast.Compare, ast.FormattedValue)) or (
            isinstance(parent, ast.UnaryOp) and isinstance(parent.op, ast.Not)
        )

    def _is_harmless_attribute(self, access: ast.Attribute) -> bool:
        outer = self._parents[access]
        if isinstance(access.ctx, ast.Store):
            return access.attr in _DOCUMENTING
        if not isinstance(access.ctx, ast.Load):
            return False
        if isinstance(outer, ast.Call) and outer.func is access:
            return access.attr.startswith(_ASKING)
        return access.attr.startswith("__") and access.attr not in _CHANGEABLE

    def _is_look(self, called: ast.expr) -> bool:
        if isinstance(called, ast.Name):
            asks = called.id in _LOOKING or called.id.lstrip("_").startswith(_ASKING)
            return asks and called.id not in self._functions
        return (
            isinstance(called, ast.Attribute)
            and isinstance(called.value, ast.Name)
            and called.value.id in _LOOKING_MODULES
        )

    def _leaves_passed(self, call_node: ast.Call, use: ast.Name) -> bool:
        passed = self._passed(call_node, use)
        return passed is not None and self._leaves(*passed)

    def _passed(self, call_node: ast.Call, argument: ast.expr) -> tuple[Function, str] | None:
        """The function of the file that a call passes an argument to, and its parameter there."""
        callee = (
            self._functions.get(call_node.func.id) if isinstance(call_node.func, ast.Name) else None
        )
        if callee is None or callee.decorator_list:
            return None
        if any(isinstance(each, ast.Starred) for each in call_node.args):
            return None
        for word in call_node.keywords:
            if word.value is argument:
                named = [*callee.args.args, *callee.args.kwonlyargs]
                return (callee, word.arg) if word.arg in [each.arg for each in named] else None
        positional = [*callee.args.posonlyargs, *callee.args.args]
        place = next(index for index, each in enumerate(call_node.args) if each is argument)
        return (callee, positional[place].arg) if place < len(positional) else None


def _always_ends(body: list[ast.stmt]) -> bool:
    """Whether a block ends in a result or an error on every path."""
    last = body[-1]
    if isinstance(last, ast.If):
        return bool(last.orelse) and _always_ends(last.body) and _always_ends(last.orelse)
    return isinstance(last, (ast.Return, ast.Raise))
