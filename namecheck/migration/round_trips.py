"""Round trips: calls that strip the names of a tensor, followed to those that restore them.

A data-flow analysis of one scope: the environment holds for each variable the calls that stripped
the names of its value, or of what that was made of. It follows branches, loops and handlers as long
as the tensors are only operands of operators. Where one goes elsewhere (a return, an attribute, a
container, a function), the call that stripped its names is needed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from namecheck import operators
from namecheck.core.dataclasses import dataclass, field
from namecheck.core.names import Answer
from namecheck.core.tensors import Many, Tensor
from namecheck.interpreter.workspace.analysis import Application
from namecheck.migration.name_arguments import is_of_names
from namecheck.migration.observations import Observed
from namecheck.migration.observed_file import ObservedFile
from namecheck.migration.side_effects import reshapes

# The calls that stripped the names of a value, or of its operands.
Strips: TypeAlias = frozenset[ast.Call]
Environment: TypeAlias = Mapping[str, Strips]
Scope: TypeAlias = ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda

_NONE: Final[Strips] = frozenset()
_SCOPES: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_MADE_OF: Final = (
    *(ast.BinOp, ast.UnaryOp, ast.Compare, ast.BoolOp, ast.Subscript, ast.Slice),
    *(ast.Tuple, ast.List, ast.Starred, ast.keyword, ast.operator, ast.unaryop, ast.cmpop),
)
_OF_ANY: Final = frozenset({"device", "dtype", "is_cuda", "layout", "ndim", "shape"})


@dataclass
class RoundTrips:
    """The round trips of one scope: the calls that restore names, and the needed strips."""

    restores: dict[ast.Call, Strips] = field(default_factory=dict)
    needed: set[ast.Call] = field(default_factory=set)

    @property
    def strips(self) -> set[ast.Call]:
        """The calls that stripped names which everything computed from them gets back."""
        return {strip for strips in self.restores.values() for strip in strips} - self.needed


def round_trips(observed_file: ObservedFile) -> Iterator[RoundTrips]:
    """The round trips of every scope of a file."""
    for scope in ast.walk(observed_file.source.tree):
        if isinstance(scope, Scope):
            result = _Flow(scope, observed_file).round_trips()
            if result.strips:
                yield result


class _Flow:
    """Follows the variables of one scope."""

    def __init__(self, scope: Scope, observed_file: ObservedFile) -> None:
        self._scope = scope
        self._file = observed_file
        self._shared = frozenset(_shared(scope))
        self._environment: dict[str, Strips] = {}
        # The environments of early exits of the loops, and those in which a handler may start.
        self._exits: list[list[Environment]] = []
        self._raised: list[list[Environment]] = []
        self._result = RoundTrips()

    def round_trips(self) -> RoundTrips:
        """Follow the statements of the scope; other scopes may read a variable of a module."""
        body = self._scope.body
        if isinstance(body, ast.expr):
            self._need(self._of(body))
        else:
            self._block(body)
        if isinstance(self._scope, ast.Module):
            self._need(*self._environment.values())
        return self._result

    def _need(self, *strips: Strips) -> None:
        self._result.needed.update(*strips)

    # Statements

    def _block(self, statements: Iterable[ast.stmt]) -> None:
        for statement in statements:
            self._statement(statement)
            for environments in self._raised:
                environments.append(dict(self._environment))

    def _statement(self, statement: ast.stmt) -> None:
        if isinstance(statement, ast.Assign):
            for target in statement.targets:
                self._assign(target, statement.value)
        elif isinstance(statement, ast.AnnAssign):
            if statement.value is not None:
                self._assign(statement.target, statement.value)
        elif isinstance(statement, ast.AugAssign):
            self._augmented(statement.target, statement.value)
        elif isinstance(statement, ast.Expr):
            self._of(statement.value)
        elif isinstance(statement, (ast.Break, ast.Continue)):
            self._exits[-1].append(dict(self._environment))
        elif isinstance(statement, ast.Delete):
            for target in statement.targets:
                self._bind(target, _NONE)
        elif not isinstance(statement, _SCOPES):
            self._compound(statement)

    def _compound(self, statement: ast.stmt) -> None:
        if isinstance(statement, ast.If):
            self._of(statement.test)
            self._branches([statement.body, statement.orelse])
        elif isinstance(statement, (ast.For, ast.AsyncFor)):
            self._need(self._of(statement.iter))
            self._bind(statement.target, _NONE)
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
        before, ends = self._environment, []
        for block in blocks:
            self._environment = dict(before)
            self._block(block)
            ends.append(self._environment)
        self._environment = _join(ends)

    def _loop(self, any_loop: ast.For | ast.AsyncFor | ast.While) -> None:
        """The body, until the environment does not change any more."""
        self._exits.append([])
        previous: Environment | None = None
        while previous != self._environment:
            previous = dict(self._environment)
            self._block(any_loop.body)
            if isinstance(any_loop, ast.While):
                self._of(any_loop.test)
            self._environment = _join([previous, self._environment, *self._exits[-1]])
        self._exits.pop()
        self._block(any_loop.orelse)

    def _try(self, statement: ast.Try) -> None:
        self._raised.append([dict(self._environment)])
        self._block(statement.body)
        self._block(statement.orelse)
        raised, ends = _join(self._raised.pop()), [self._environment]
        for handler in statement.handlers:
            self._environment = dict(raised)
            self._block(handler.body)
            ends.append(self._environment)
        self._environment = _join([*ends, raised] if statement.finalbody else ends)
        self._block(statement.finalbody)

    # Variables

    def _assign(self, assignee: ast.expr, assigned: ast.expr) -> None:
        if (
            isinstance(assignee, (ast.Tuple, ast.List))
            and isinstance(assigned, (ast.Tuple, ast.List))
            and len(assignee.elts) == len(assigned.elts)
        ):
            each = [self._of(one) for one in assigned.elts]
            for one, strips in zip(assignee.elts, each, strict=True):
                self._bind(one, strips)
        else:
            self._bind(assignee, self._of(assigned))

    def _bind(self, assignee: ast.expr, strips: Strips) -> None:
        if isinstance(assignee, ast.Name):
            self._environment.pop(assignee.id, None)
            if strips:
                self._environment[assignee.id] = strips
            if assignee.id in self._shared:
                self._need(strips)
        elif isinstance(assignee, (ast.Tuple, ast.List)):
            for one in assignee.elts:
                self._bind(one, strips)
        elif isinstance(assignee, ast.Subscript):
            self._need(strips)
            self._of(assignee)
        else:
            self._need(strips, *map(self._of, _expressions(assignee)))

    def _augmented(self, assignee: ast.expr, assigned: ast.expr) -> None:
        """``y += z``: the target keeps its names, since all its dims have one."""
        strips = self._of(assigned)
        if isinstance(assignee, ast.Name) and assignee.id in self._environment:
            self._bind(assignee, self._environment[assignee.id] | strips)
        else:
            self._need(strips, self._of(assignee))

    # Expressions

    def _of(self, node: ast.AST) -> Strips:
        """The calls that stripped the names of an expression's operands."""
        if isinstance(node, ast.Name):
            return self._environment.get(node.id, _NONE)
        if isinstance(node, ast.Call):
            return self._call(node)
        if isinstance(node, ast.Attribute):
            strips = self._of(node.value)
            return self._applied(node, strips) if node.attr not in _OF_ANY else _NONE
        each = [self._of(inner) for inner in _expressions(node)]
        if isinstance(node, _MADE_OF):
            return _NONE.union(*each)
        if isinstance(node, ast.IfExp):
            return _NONE.union(*(self._of(value) for value in (node.body, node.orelse)))
        self._need(*each)
        return _NONE

    def _call(self, call_node: ast.Call) -> Strips:
        called = call_node.func.value if isinstance(call_node.func, ast.Attribute) else None
        receiver = _NONE if called is None else self._of(called)
        passed = _NONE.union(*map(self._of, (*call_node.args, *call_node.keywords)))
        observed = self._file.at(call_node)
        if is_strip(call_node, observed):
            return receiver | {call_node}
        if receiver and is_restore(call_node, observed):
            self._need(passed)
            restores = self._result.restores
            restores[call_node] = restores.get(call_node, _NONE) | receiver
            return _NONE
        if passed and not receiver and _writes(observed):
            self._need(passed)
        return self._applied(call_node, receiver | passed)

    def _applied(self, expression: ast.expr, strips: Strips) -> Strips:
        """The result of an operator; operands of anything else are not followed further."""
        if not strips:
            return _NONE
        observed = self._file.at(expression)
        if not observed.always(self._is_harmless):
            self._need(strips)
            return _NONE
        return strips if any(_has_tensor(one.result) for one in observed.decisive.each) else _NONE

    def _is_harmless(self, application: Application) -> bool:
        return not (
            operators.row_of(application.operator, self._file.rows) is None
            or is_of_names(application)
            or reshapes(application, self._file.rows)
            or "out" in dict(application.keywords)
        )


def is_strip(call_node: ast.Call, observed: Observed) -> bool:
    """Whether a call is ``x.rename(None)`` of a tensor all of whose dims have names."""
    return (
        isinstance(call_node.func, ast.Attribute)
        and len(call_node.args) == 1
        and observed.always(_strips)
    )


def is_restore(call_node: ast.Call, observed: Observed) -> bool:
    """Whether a call gives names to a tensor that has none."""
    return isinstance(call_node.func, ast.Attribute) and observed.always(_restores)


def _strips(application: Application) -> bool:
    if not _is_naming(application, "rename") or application.positional[1:] != (None,):
        return False
    tensor = application.positional[0]
    return isinstance(tensor, Tensor) and tensor.dims.complete and None not in tensor.dims.names


def _restores(application: Application) -> bool:
    tensor, result = (application.positional or (None,))[0], application.result
    return (
        _is_naming(application, "refine_names", "rename")
        and isinstance(tensor, Tensor)
        and tensor.dims.named() is Answer.NO
        and isinstance(result, Tensor)
        and result.dims.complete
    )


def _is_naming(application: Application, *keys: str) -> bool:
    """Whether one of these operators was applied to something, without a contradiction."""
    is_one = operators.key_of(application.operator) in keys
    return is_one and bool(application.positional) and application.contradiction is None


def _writes(observed: Observed) -> bool:
    return any(operators.key_of(one.operator).endswith("_") for one in observed.decisive.each)


def _has_tensor(value: Any) -> bool:
    if isinstance(value, (tuple, list)):
        return any(map(_has_tensor, value))
    return isinstance(value, (Tensor, Many))


def _shared(scope: Scope) -> Iterator[str]:
    """The variables that inner scopes read, or that belong to outer scopes."""
    for node in ast.walk(scope):
        if isinstance(node, (ast.Global, ast.Nonlocal)):
            yield from node.names
        elif node is not scope and isinstance(node, _SCOPES):
            yield from (inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name))


def _expressions(node: ast.AST) -> Iterator[ast.AST]:
    """The expressions that are evaluated in a node, except those of an inner scope."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.expr, ast.keyword, ast.comprehension, ast.FormattedValue)):
            yield from () if isinstance(child, ast.Lambda) else (child,)


def _join(environments: Sequence[Environment]) -> dict[str, Strips]:
    variables = dict.fromkeys(name for each in environments for name in each)
    return {
        name: _NONE.union(*(each.get(name, _NONE) for each in environments)) for name in variables
    }
