"""Calls that take the names off a tensor, followed to the calls that put them back.

Followed are the variables of one scope, through its branches and loops, as long as nothing is done
with their tensors but to give them to operators. Where one goes elsewhere (a return, an attribute,
a container, a function), the call that took its names off is needed.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from namecheck import operators
from namecheck.core.names import Answer
from namecheck.core.tensors import Many, Tensor
from namecheck.interpreter.workspace.analysis import Application
from namecheck.migration.plain_calls import Rows, is_of_names, reshapes
from namecheck.migration.survey import Seen

# The calls that took the names off a value, or off what it was made of.
Offs: TypeAlias = frozenset[ast.Call]
Scope: TypeAlias = ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
Held: TypeAlias = Mapping[str, Offs]

_NO_OFFS: Final[Offs] = frozenset()
_SCOPES: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_MADE_OF: Final = (
    *(ast.BinOp, ast.UnaryOp, ast.Compare, ast.BoolOp, ast.Subscript, ast.Slice),
    *(ast.Tuple, ast.List, ast.Starred, ast.keyword, ast.operator, ast.unaryop, ast.cmpop),
)
_OF_ANY: Final = frozenset({"device", "dtype", "is_cuda", "layout", "ndim", "shape"})


@dataclass
class Detours:
    """What one scope does: the calls that put names back, and those that are needed as they are."""

    backs: dict[ast.Call, Offs] = field(default_factory=dict)
    needed: set[ast.Call] = field(default_factory=set)

    @property
    def offs(self) -> set[ast.Call]:
        """The calls that took off what all that was made of it is given back."""
        return {off for offs in self.backs.values() for off in offs} - self.needed


def detours(tree: ast.Module, at: Callable[[ast.expr], Seen], rows: Rows) -> Iterator[Detours]:
    """The detours of every scope of a file."""
    for scope in ast.walk(tree):
        if isinstance(scope, Scope):
            walk = _Walk(scope, at, rows)
            walk.whole()
            if walk.found.offs:
                yield walk.found


class _Walk:
    """Follows the variables of one scope."""

    def __init__(
        self,
        scope: Scope,
        at: Callable[[ast.expr], Seen],
        rows: Rows,
    ) -> None:
        self._scope = scope
        self._at = at
        self._rows = rows
        self._shared = frozenset(_shared(scope))
        self._held: dict[str, Offs] = {}
        # What the variables may hold where a loop is left, and where an error is caught.
        self._jumps: list[list[Held]] = []
        self._caught: list[list[Held]] = []
        self.found = Detours()

    def whole(self) -> None:
        """Follow the statements of the scope; a variable of a module is there for others."""
        body = self._scope.body
        if isinstance(body, ast.expr):
            self._need(self._of(body))
        else:
            self._block(body)
        if isinstance(self._scope, ast.Module):
            self._need(*self._held.values())

    def _need(self, *each: Offs) -> None:
        self.found.needed.update(*each)

    # Statements

    def _block(self, statements: Iterable[ast.stmt]) -> None:
        for statement in statements:
            self._statement(statement)
            for states in self._caught:
                states.append(dict(self._held))

    def _statement(self, statement: ast.stmt) -> None:
        if isinstance(statement, ast.Assign):
            for target in statement.targets:
                self._assign(target, statement.value)
        elif isinstance(statement, ast.AnnAssign):
            if statement.value is not None:
                self._assign(statement.target, statement.value)
        elif isinstance(statement, ast.AugAssign):
            self._augmented(statement)
        elif isinstance(statement, ast.Expr):
            self._of(statement.value)
        elif isinstance(statement, (ast.Break, ast.Continue)):
            self._jumps[-1].append(dict(self._held))
        elif isinstance(statement, ast.Delete):
            for target in statement.targets:
                self._bind(target, _NO_OFFS)
        elif not isinstance(statement, _SCOPES):
            self._compound(statement)

    def _compound(self, statement: ast.stmt) -> None:
        if isinstance(statement, ast.If):
            self._of(statement.test)
            self._branches([statement.body, statement.orelse])
        elif isinstance(statement, (ast.For, ast.AsyncFor)):
            self._need(self._of(statement.iter))
            self._bind(statement.target, _NO_OFFS)
            self._loop(statement)
        elif isinstance(statement, ast.While):
            self._of(statement.test)
            self._loop(statement)
        elif isinstance(statement, (ast.With, ast.AsyncWith)):
            for item in statement.items:
                self._need(self._of(item.context_expr))
            self._block(statement.body)
        elif isinstance(statement, ast.Try):
            self._try(statement)
        elif isinstance(statement, ast.Match):
            self._need(self._of(statement.subject))
            self._branches([*(case.body for case in statement.cases), []])
        elif isinstance(statement, ast.Assert):
            self._of(statement.test)
        else:
            self._need(*map(self._of, _expressions(statement)))

    def _branches(self, blocks: Sequence[Sequence[ast.stmt]]) -> None:
        before, after = self._held, []
        for block in blocks:
            self._held = dict(before)
            self._block(block)
            after.append(self._held)
        self._held = _joined(after)

    def _loop(self, loop: ast.For | ast.AsyncFor | ast.While) -> None:
        """The body, as often as more comes of it."""
        self._jumps.append([])
        known: Held | None = None
        while known != self._held:
            known = dict(self._held)
            self._block(loop.body)
            if isinstance(loop, ast.While):
                self._of(loop.test)
            self._held = _joined([known, self._held, *self._jumps[-1]])
        self._jumps.pop()
        self._block(loop.orelse)

    def _try(self, statement: ast.Try) -> None:
        self._caught.append([dict(self._held)])
        self._block(statement.body)
        self._block(statement.orelse)
        states = self._caught.pop()
        raised, after = _joined(states), [self._held]
        for handler in statement.handlers:
            self._held = dict(raised)
            self._block(handler.body)
            after.append(self._held)
        self._held = _joined([*after, raised] if statement.finalbody else after)
        self._block(statement.finalbody)

    # Variables

    def _assign(self, target: ast.expr, value: ast.expr) -> None:
        if (
            isinstance(target, (ast.Tuple, ast.List))
            and isinstance(value, (ast.Tuple, ast.List))
            and len(target.elts) == len(value.elts)
        ):
            each = [self._of(one) for one in value.elts]
            for one, offs in zip(target.elts, each, strict=True):
                self._bind(one, offs)
        else:
            self._bind(target, self._of(value))

    def _bind(self, target: ast.expr, offs: Offs) -> None:
        if isinstance(target, ast.Name):
            self._held.pop(target.id, None)
            if offs:
                self._held[target.id] = offs
            if target.id in self._shared:
                self._need(offs)
        elif isinstance(target, (ast.Tuple, ast.List)):
            for one in target.elts:
                self._bind(one, offs)
        elif isinstance(target, ast.Subscript):
            self._need(offs)
            self._of(target)
        else:
            self._need(offs, *map(self._of, _expressions(target)))

    def _augmented(self, statement: ast.AugAssign) -> None:
        """``y += z``: what has its names written to keeps them, as all of its dims have one."""
        target, offs = statement.target, self._of(statement.value)
        if isinstance(target, ast.Name) and target.id in self._held:
            self._bind(target, self._held[target.id] | offs)
        else:
            self._need(offs, self._of(target))

    # Expressions

    def _of(self, node: ast.AST) -> Offs:
        """The calls that took the names off what an expression is made of."""
        if isinstance(node, ast.Name):
            return self._held.get(node.id, _NO_OFFS)
        if isinstance(node, ast.Call):
            return self._call(node)
        if isinstance(node, ast.Attribute):
            offs = self._of(node.value)
            return self._applied(node, offs) if node.attr not in _OF_ANY else _NO_OFFS
        each = [self._of(inner) for inner in _expressions(node)]
        if isinstance(node, _MADE_OF):
            return _NO_OFFS.union(*each)
        if isinstance(node, ast.IfExp):
            return _NO_OFFS.union(*(self._of(value) for value in (node.body, node.orelse)))
        self._need(*each)
        return _NO_OFFS

    def _call(self, node: ast.Call) -> Offs:
        called = node.func.value if isinstance(node.func, ast.Attribute) else None
        receiver = _NO_OFFS if called is None else self._of(called)
        given = _NO_OFFS.union(*map(self._of, (*node.args, *node.keywords)))
        seen = self._at(node)
        if is_off(node, seen):
            return receiver | {node}
        if receiver and is_back(node, seen):
            self._need(given)
            self.found.backs[node] = self.found.backs.get(node, _NO_OFFS) | receiver
            return _NO_OFFS
        if given and not receiver and _writes(seen):
            self._need(given)
        return self._applied(node, receiver | given)

    def _applied(self, node: ast.expr, offs: Offs) -> Offs:
        """What an operator gives; what is given to anything else can be followed no more."""
        if not offs:
            return _NO_OFFS
        seen = self._at(node).decisive
        if not seen.each or seen.otherwise or not all(map(self._is_harmless, seen.each)):
            self._need(offs)
            return _NO_OFFS
        return offs if any(_has_tensor(one.result) for one in seen.each) else _NO_OFFS

    def _is_harmless(self, application: Application) -> bool:
        return not (
            operators.row_of(application.operator, self._rows) is None
            or is_of_names(application)
            or reshapes(application, self._rows)
            or "out" in dict(application.keywords)
        )


def is_off(node: ast.Call, seen: Seen) -> bool:
    """Whether a call is ``x.rename(None)`` of a tensor all of whose dims have names."""
    return (
        isinstance(node.func, ast.Attribute)
        and len(node.args) == 1
        and _is_always(seen, "rename")
        and all(
            one.given[1:] == (None,)
            and isinstance(one.given[0], Tensor)
            and one.given[0].dims.complete
            and None not in one.given[0].dims.names
            for one in seen.decisive.each
        )
    )


def is_back(node: ast.Call, seen: Seen) -> bool:
    """Whether a call gives names to a tensor that has none."""
    return (
        isinstance(node.func, ast.Attribute)
        and _is_always(seen, "refine_names", "rename")
        and all(
            isinstance(one.given[0], Tensor)
            and one.given[0].dims.named() is Answer.NO
            and isinstance(one.result, Tensor)
            and one.result.dims.complete
            for one in seen.decisive.each
        )
    )


def _is_always(seen: Seen, *keys: str) -> bool:
    each = seen.decisive.each
    return (
        bool(each)
        and not seen.decisive.otherwise
        and all(
            operators.key_of(one.operator) in keys and one.given and one.contradiction is None
            for one in each
        )
    )


def _writes(seen: Seen) -> bool:
    return any(operators.key_of(one.operator).endswith("_") for one in seen.decisive.each)


def _has_tensor(value: Any) -> bool:
    if isinstance(value, (tuple, list)):
        return any(map(_has_tensor, value))
    return isinstance(value, (Tensor, Many))


def _shared(scope: ast.AST) -> Iterator[str]:
    """The variables that are seen by inner scopes, or are of outer ones."""
    for node in ast.walk(scope):
        if isinstance(node, (ast.Global, ast.Nonlocal)):
            yield from node.names
        elif node is not scope and isinstance(node, _SCOPES):
            yield from (inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name))


def _expressions(node: ast.AST) -> Iterator[ast.AST]:
    """What is evaluated in a node; an inner scope is not, here."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.expr, ast.keyword, ast.comprehension, ast.FormattedValue)):
            yield from () if isinstance(child, ast.Lambda) else (child,)


def _joined(states: Sequence[Held]) -> dict[str, Offs]:
    names = dict.fromkeys(name for state in states for name in state)
    return {name: _NO_OFFS.union(*(s.get(name, _NO_OFFS) for s in states)) for name in names}
