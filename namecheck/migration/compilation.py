"""Compiles a file that uses names to plain torch: names become indices and annotations."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from namecheck.core.dataclasses import dataclass, field, replace
from namecheck.core.dims import Dims
from namecheck.core.findings import Span
from namecheck.core.names import Answer, Label
from namecheck.core.tensors import Tensor
from namecheck.editing.edits import Edit
from namecheck.editing.outline import Outline
from namecheck.editing.sites import is_stable
from namecheck.interpreter.workspace.analysis import Application, Purse
from namecheck.migration import name_uses
from namecheck.migration.annotations import Annotations, Names
from namecheck.migration.dim_indices import Unsettled
from namecheck.migration.expenses import pay_for_tree
from namecheck.migration.observed_file import ObservedFile
from namecheck.migration.replacements import ArgumentChange, PlaceAmong, Replacement, replacement_of
from namecheck.migration.side_effects import reshapes


@dataclass(frozen=True, slots=True, order=True)
class LeftPlace:
    """A place that is not rewritten, and the reason."""

    span: Span
    source: str
    reason: str


@dataclass(slots=True)
class Compiled:
    """The edits of one file, the number of rewritten places, and the places that are left."""

    edits: list[Edit] = field(default_factory=list)
    sites: int = 0
    left: list[LeftPlace] = field(default_factory=list)


class Compilation:
    """Removes the names from one file; what its tree costs is taken from a purse."""

    def __init__(self, observed_file: ObservedFile, purse: Purse, *, annotate: bool) -> None:
        self._file = observed_file
        self._purse = purse
        self._source = observed_file.source
        # Whether the identity of tensors between variables matters.
        self._tells_apart = any(
            reshapes(one, observed_file.rows) for one in observed_file.applications()
        )
        self._tells_apart |= any(map(self._begins_gradient, ast.walk(observed_file.source.tree)))
        self._doubts = observed_file.observations.doubts
        self._labels = observed_file.observations.labels(observed_file.location)
        self._own = name_uses.own_names(observed_file.source.tree)
        self._outline = Outline(observed_file.source)
        self._annotations = Annotations(observed_file.source, self._outline, annotate)
        self._replacements: dict[ast.AST, Replacement] = {}
        self._gone: list[Span] = []
        self._result = Compiled()

    def compiled(self) -> Compiled:
        """The edits; raises `ValueError` where libcst cannot parse the file, and `Exhausted`."""
        for node in ast.walk(self._source.tree):
            if isinstance(node, (ast.Call, ast.Attribute)):
                self._visit(node)
        for statement in self._outline.statements:
            self._statement(statement)
        for node in [*self._replacements] if self._tells_apart else ():
            self._alias(node)
        result = self._result
        result.sites += len(self._replacements)
        result.edits += self._edits()
        result.edits += self._outline.removals()
        result.edits += self._annotations.edits()
        result.left = sorted(place for place in result.left if not self._has_gone(place.span))
        return result

    def _begins_gradient(self, node: ast.AST) -> bool:
        """Whether a call retains the gradient of a named tensor, which may be another object's too.

        Or it asks for the place of a tensor in the graph: another tensor with the same elements is
        no leaf.
        """
        if isinstance(node, ast.Attribute) and node.attr in _OF_GRAPHS:
            return True
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            return False
        receiver = node.func.value
        while isinstance(receiver, ast.Call) and isinstance(receiver.func, ast.Attribute):
            receiver = receiver.func.value
        if node.func.attr != "requires_grad_" or not is_stable(receiver):
            return False
        each = self._file.applied(node).each
        tensors = [one.positional[0] for one in each if one.positional]
        return any(isinstance(t, Tensor) and t.dims.named() is Answer.YES for t in tensors)

    def _visit(self, use: ast.Call | ast.Attribute) -> None:
        if isinstance(use, ast.Attribute) and not isinstance(use.ctx, ast.Load):
            return
        observed = self._file.at(use)
        try:
            replacement = replacement_of(use, observed, self._file.rows)
        except Unsettled as unsettled:
            self._leave(use, str(unsettled))
            return
        if replacement is not None and replacement.text is not None and not self._doubts:
            self._leave(use, "an earlier run removed its names")
        elif replacement is not None:
            self._replace(use, replacement)
        elif self._doubts and not observed.decisive.each:
            reason = name_uses.doubt(use, observed, self._labels, self._own)
            if reason is not None:
                self._leave(use, reason)

    def _replace(self, expression: ast.expr, replacement: Replacement) -> None:
        """Rewrite a place; a call with side effects is not removed with it."""
        for choice in (replacement, replace(replacement, beside=replacement.text is not None)):
            discarded = list(choice.discarded(expression))
            if all(map(self._file.is_pure, discarded)):
                self._replacements[expression] = choice
                self._gone += map(self._source.span, discarded)
                return
        self._leave(expression, "removing the names would remove a call with side effects")

    def _leave(self, expression: ast.expr, reason: str) -> None:
        span = self._source.span(expression)
        self._result.left.append(LeftPlace(span, self._source.segment(span), reason))

    def _has_gone(self, span: Span) -> bool:
        """Whether a place was in an expression that was removed."""
        return any(gone.start <= span.start and span.end <= gone.end for gone in self._gone)

    # Statements

    def _statement(self, statement: ast.stmt) -> None:
        if isinstance(statement, ast.Expr):
            self._expression(statement, statement.value)
        elif isinstance(statement, ast.Assert):
            self._assertion(statement)
        elif isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            self._assignment(statement, statement.targets[0], statement.value)
        elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
            self._assignment(statement, statement.target, statement.value)

    def _expression(self, statement: ast.stmt, assigned: ast.expr) -> None:
        """``x.rename_("N", "C")`` by itself."""
        if self._goes(assigned) and is_stable(self._bare(assigned)):
            self._remove(statement)

    def _assignment(self, statement: ast.stmt, assignee: ast.expr, assigned: ast.expr) -> None:
        if isinstance(assignee, ast.Attribute) and assignee.attr == "names":
            self._naming(statement, assignee)
            return
        replacement = self._replacements.get(assigned)
        if replacement is None:
            return
        stripped = self._bare(assigned)
        same = ast.unparse(stripped) == ast.unparse(assignee) and not self._tells_apart
        if not same and isinstance(assignee, ast.Attribute) and isinstance(stripped, ast.Attribute):
            self._alias(assigned)  # a module would have the same parameter under two names
        dims = replacement.dims
        if dims is not None and _can_be_annotated(dims):
            names = _labels(dims)
            annotated = self._annotations.assignment(statement, assignee, names, whole=same)
            if annotated and same:
                self._drop(assigned)
                return
        if same:
            self._remove(statement)

    def _naming(self, statement: ast.stmt, assignee: ast.Attribute) -> None:
        """``x.names = …``."""
        each = self._file.applied(assignee).each
        if not each:
            if name_uses.may_be_tensor(assignee.value):
                self._leave(assignee, "it is not known to be the names of a tensor")
        elif bad := next((one for one in each if one.contradiction is not None), None):
            assert bad.contradiction is not None
            self._leave(assignee, bad.contradiction.message.splitlines()[0])
        else:
            self._remove(statement)
            self._result.sites += 1

    def _assertion(self, statement: ast.Assert) -> None:
        """``assert x.names == ("N", "C")`` is removed, and becomes an annotation."""
        test = statement.test
        self._message(statement)
        if not (isinstance(test, ast.Compare) and [type(op) for op in test.ops] == [ast.Eq]):
            return
        read = next((side for side in (test.left, *test.comparators) if _reads_names(side)), None)
        if read is None:
            return
        assert isinstance(read, ast.Attribute)
        names = _literal_names(test.comparators[0] if read is test.left else test.left)
        if names is None or not self._file.is_pure(read.value):
            return
        if any(_contradicts(one, names) for one in self._file.applied(read).each):
            return
        self._forget(statement)
        self._annotations.assertion(statement, read.value, names)
        self._remove(statement)
        self._result.sites += 1

    def _message(self, statement: ast.Assert) -> None:
        """``assert "N" in x.names, x.names``: the message runs only if the assertion fails."""
        replacements = {
            ast.unparse(node): self._replacements[node]
            for node in ast.walk(statement.test)
            if node in self._replacements
        }
        for node in ast.walk(statement.msg) if statement.msg else ():
            if not isinstance(node, ast.Attribute) or not _reads_names(node):
                continue
            replacement = replacements.get(ast.unparse(node))
            if replacement is not None and node not in self._replacements:
                self._replacements[node] = replacement
                span = self._source.span(node)
                self._result.left = [place for place in self._result.left if place.span != span]

    def _forget(self, statement: ast.stmt) -> None:
        """Skip the places inside a removed statement."""
        for node in ast.walk(statement):
            self._replacements.pop(node, None)
        span = self._source.span(statement)
        self._result.left = [
            place
            for place in self._result.left
            if not span.line <= place.span.line <= span.end_line
        ]

    def _remove(self, statement: ast.stmt) -> None:
        self._drop(statement)
        self._outline.remove(statement)

    def _drop(self, dropped: ast.AST) -> None:
        """Rewrite the places in a removed expression together with it."""
        for node in ast.walk(dropped):
            if self._replacements.pop(node, None) is not None:
                self._result.sites += 1

    def _alias(self, node: ast.AST) -> None:
        """A removed call on a variable leaves another tensor with the same elements."""
        replacement = self._replacements.get(node)
        if replacement is None or replacement.suffix != "" or not isinstance(node, ast.Call):
            return
        function = node.func
        if not isinstance(function, ast.Attribute) or isinstance(function.value, ast.Call):
            return
        if function.attr != "rename_":
            self._replacements[node] = replace(replacement, suffix=None, alias=True)

    def _goes(self, expression: ast.expr) -> bool:
        replacement = self._replacements.get(expression)
        return replacement is not None and replacement.suffix == ""

    def _bare(self, expression: ast.expr) -> ast.expr:
        """An expression without the removed calls."""
        while self._goes(expression):
            assert isinstance(expression, ast.Call)
            assert isinstance(expression.func, ast.Attribute)
            expression = expression.func.value
        return expression

    # Edits

    def _edits(self) -> Iterator[Edit]:
        if not self._replacements:
            return
        from namecheck.editing.trees import Tree
        from namecheck.migration.cst_changes import change_of

        pay_for_tree(self._file.document, self._purse)
        tree = Tree(self._file.document)
        changes = {}
        for node, replacement in self._replacements.items():
            assert isinstance(node, ast.expr)
            original = tree.expression(self._source.span(node))
            if original is None:
                self._leave(node, "libcst has no such expression")
                self._result.sites -= 1
            else:
                changes[original] = change_of(self._quoted(node, replacement))
        yield from tree.edits(changes)

    def _quoted(self, expression: ast.expr, replacement: Replacement) -> Replacement:
        """Use the other quotes inside an f-string."""
        if self._outline.quotes.get(expression) != "'":
            return replacement
        text = replacement.text and replacement.text.replace("'", '"')
        changes = {key: _double_quoted(one) for key, one in replacement.arguments.items()}
        return replace(replacement, text=text, arguments=changes)


def _double_quoted(argument_change: ArgumentChange | None) -> ArgumentChange | None:
    if isinstance(argument_change, PlaceAmong):
        return PlaceAmong(argument_change.names.replace("'", '"'))
    if isinstance(argument_change, str):
        return argument_change.replace("'", '"')
    return argument_change


_OF_GRAPHS: Final = frozenset({"is_leaf", "retain_grad", "retains_grad"})


def _labels(dims: Dims) -> Names:
    return tuple(str(name) if name is not None else None for name in dims.names)


def _reads_names(expression: ast.expr) -> bool:
    return isinstance(expression, ast.Attribute) and expression.attr == "names"


def _literal_names(expression: ast.expr) -> Names | None:
    try:
        value = ast.literal_eval(expression)
    except ValueError:
        return None
    if isinstance(value, tuple) and all(isinstance(name, Label | None) for name in value):
        return value
    return None


def _contradicts(application: Application, names: Names) -> bool:
    result = application.result
    return isinstance(result, tuple) and any(
        isinstance(a, Label | None) and a != b for a, b in zip(result, names, strict=False)
    )


def _can_be_annotated(dims: Dims) -> bool:
    """Whether an annotation can state the names: an axis is not declared for a dim of size 1."""
    return dims.complete and any(_labels(dims)) and all(dim.size != 1 for dim in dims.prefix)
