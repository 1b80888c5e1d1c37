"""One file that uses names, compiled to plain torch: names become indices and annotations."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from namecheck.core.dims import Dims
from namecheck.core.findings import Span
from namecheck.core.names import Answer, Label
from namecheck.core.syntax import position
from namecheck.core.tensors import Tensor
from namecheck.editing.documents import Document
from namecheck.editing.edits import Edit
from namecheck.editing.outline import Outline
from namecheck.editing.sites import is_stable
from namecheck.interpreter.workspace.analysis import Application, Applications
from namecheck.migration import candidates
from namecheck.migration.annotations import Annotations
from namecheck.migration.idle import bound_in, is_idle, lost
from namecheck.migration.plain_calls import ALIAS, Becomes, Rows, Unsettled, becomes, reshapes
from namecheck.migration.survey import Survey


@dataclass(frozen=True, slots=True, order=True)
class Left:
    """A place that is left as it was, and why."""

    span: Span
    source: str
    reason: str


@dataclass(slots=True)
class Rewritten:
    """What becomes of one file: its edits, how many places they rewrite, and what is left."""

    edits: list[Edit] = field(default_factory=list)
    sites: int = 0
    left: list[Left] = field(default_factory=list)


class Plain:
    """Takes the names out of one document."""

    def __init__(
        self, document: Document, location: str, survey: Survey, rows: Rows, *, annotate: bool
    ) -> None:
        self._document = document
        self._source = document.source
        self._location = location
        self._survey = survey
        self._rows = rows
        # Whether it makes a difference which variables are the same tensor.
        self._tells_apart = any(reshapes(one, rows) for one in survey.in_file(location))
        self._tells_apart |= any(map(self._begins_gradient, ast.walk(document.source.tree)))
        self._labels = survey.labels(location)
        self._bound = bound_in(document.source.tree)
        self._own = candidates.own_names(document.source.tree)
        self._outline = Outline(document.source)
        self._annotations = Annotations(document.source, self._outline, annotate)
        self._changes: dict[ast.AST, Becomes] = {}
        self._gone: list[Span] = []
        self._result = Rewritten()

    def rewritten(self) -> Rewritten:
        """The edits; raises `ValueError` where libcst cannot parse the file."""
        for node in ast.walk(self._source.tree):
            if isinstance(node, (ast.Call, ast.Attribute)):
                self._look_at(node)
        for statement in self._outline.statements:
            self._statement(statement)
        for node in [*self._changes] if self._tells_apart else ():
            self._alias(node)
        result = self._result
        result.sites += len(self._changes)
        result.edits += self._of_changes()
        result.edits += self._outline.removals()
        result.edits += self._annotations.edits()
        result.left = sorted(left for left in result.left if not self._has_gone(left))
        return result

    def _begins_gradient(self, node: ast.AST) -> bool:
        """Whether it has the gradient of a tensor with names, which may be another's too, kept.

        Or it asks where in the graph a tensor is: another of the same elements is no leaf.
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
        each = self._survey.at(self._location, position(node)).decisive.each
        tensors = [one.given[0] for one in each if one.given]
        return any(isinstance(t, Tensor) and t.dims.named() is Answer.YES for t in tensors)

    def _look_at(self, node: ast.Call | ast.Attribute) -> None:
        if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
            return
        seen = self._survey.at(self._location, position(node))
        try:
            found = becomes(node, seen, self._source, self._rows)
        except Unsettled as unsettled:
            self._leave(node, str(unsettled))
            return
        if found is not None and found.text is not None and not self._survey.doubts:
            self._leave(node, "its names went with an earlier run")
        elif found is not None:
            self._change(node, found)
        elif self._survey.doubts and not seen.decisive.each:
            reason = candidates.doubt(node, seen, self._labels, self._own)
            if reason is not None:
                self._leave(node, reason)

    def _change(self, node: ast.expr, found: Becomes) -> None:
        """Rewrite a place; a call that may do more than give a value does not go with it."""
        for change in (found, replace(found, beside=found.text is not None)):
            gone = list(lost(node, change))
            if all(map(self._is_idle, gone)):
                self._changes[node] = change
                self._gone += map(self._source.span, gone)
                return
        self._leave(node, "what would go with its names is a call that may do more")

    def _is_idle(self, node: ast.expr) -> bool:
        return is_idle(node, self._applied, self._rows, self._bound)

    def _applied(self, node: ast.expr) -> Applications:
        return self._survey.at(self._location, position(node)).decisive

    def _leave(self, node: ast.expr, reason: str) -> None:
        span = self._source.span(node)
        self._result.left.append(Left(span, self._source.segment(span), reason))

    def _has_gone(self, left: Left) -> bool:
        """Whether a place stood in an expression that goes."""
        return any(
            gone.start <= left.span.start and left.span.end <= gone.end for gone in self._gone
        )

    # Statements

    def _statement(self, statement: ast.stmt) -> None:
        if isinstance(statement, ast.Expr):
            self._expression(statement)
        elif isinstance(statement, ast.Assert):
            self._assertion(statement)
        elif isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            self._assignment(statement, statement.targets[0], statement.value)
        elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
            self._assignment(statement, statement.target, statement.value)

    def _expression(self, statement: ast.Expr) -> None:
        """``x.rename_("N", "C")`` by itself."""
        if self._goes(statement.value) and is_stable(self._bare(statement.value)):
            self._remove(statement)

    def _assignment(self, statement: ast.stmt, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Attribute) and target.attr == "names":
            self._naming(statement, target)
            return
        change = self._changes.get(value)
        if change is None:
            return
        same = ast.unparse(self._bare(value)) == ast.unparse(target) and not self._tells_apart
        both = isinstance(target, ast.Attribute) and isinstance(self._bare(value), ast.Attribute)
        if both and not same:
            self._alias(value)  # a module would have a parameter under two names
        dims = change.dims
        if dims is not None and _can_be_told(dims):
            noted = self._annotations.assignment(statement, target, _labels(dims), whole=same)
            if noted and same:
                self._drop(value)
                return
        if same:
            self._remove(statement)

    def _naming(self, statement: ast.stmt, target: ast.Attribute) -> None:
        """``x.names = …``."""
        seen = self._survey.at(self._location, position(target))
        each = seen.decisive.each
        if not each:
            if candidates.may_be_tensor(target.value):
                self._leave(target, "it is not known to be the names of a tensor")
        elif bad := next((one for one in each if one.contradiction is not None), None):
            assert bad.contradiction is not None
            self._leave(target, bad.contradiction.message.splitlines()[0])
        else:
            self._remove(statement)
            self._result.sites += 1

    def _assertion(self, statement: ast.Assert) -> None:
        """``assert x.names == ("N", "C")`` goes, and tells what to annotate."""
        test = statement.test
        self._message(statement)
        if not (isinstance(test, ast.Compare) and [type(op) for op in test.ops] == [ast.Eq]):
            return
        read = next((side for side in (test.left, *test.comparators) if _reads_names(side)), None)
        if read is None:
            return
        assert isinstance(read, ast.Attribute)
        other = test.comparators[0] if read is test.left else test.left
        names = _written_names(other)
        if names is None or not self._is_idle(read.value):
            return
        for application in self._survey.at(self._location, position(read)).decisive.each:
            if _contradicts(application, names):
                return
        self._forget(statement)
        self._annotations.assertion(statement, read.value, names)
        self._remove(statement)
        self._result.sites += 1

    def _message(self, statement: ast.Assert) -> None:
        """``assert "N" in x.names, x.names``: a message is not reached where all is well."""
        changes = {
            ast.unparse(node): self._changes[node]
            for node in ast.walk(statement.test)
            if node in self._changes
        }
        for node in ast.walk(statement.msg) if statement.msg else ():
            if not isinstance(node, ast.Attribute) or not _reads_names(node):
                continue
            change = changes.get(ast.unparse(node))
            if change is not None and node not in self._changes:
                self._changes[node] = change
                span = self._source.span(node)
                self._result.left = [left for left in self._result.left if left.span != span]

    def _forget(self, statement: ast.stmt) -> None:
        """What was found inside of a statement that goes is no site of its own."""
        for node in ast.walk(statement):
            self._changes.pop(node, None)
        span = self._source.span(statement)
        self._result.left = [
            left for left in self._result.left if not span.line <= left.span.line <= span.end_line
        ]

    def _remove(self, statement: ast.stmt) -> None:
        self._drop(statement)
        self._outline.remove(statement)

    def _drop(self, gone: ast.AST) -> None:
        """The places in what goes are rewritten with it."""
        for node in ast.walk(gone):
            if self._changes.pop(node, None) is not None:
                self._result.sites += 1

    def _alias(self, node: ast.AST) -> None:
        """What goes leaves another tensor of the same elements, if it was called on a variable."""
        change = self._changes.get(node)
        if change is None or change.suffix != "" or not isinstance(node, ast.Call):
            return
        function = node.func
        if not isinstance(function, ast.Attribute) or isinstance(function.value, ast.Call):
            return
        if function.attr != "rename_":
            self._changes[node] = replace(change, suffix=ALIAS)

    def _goes(self, node: ast.expr) -> bool:
        change = self._changes.get(node)
        return change is not None and change.suffix == ""

    def _bare(self, node: ast.expr) -> ast.expr:
        """An expression without the calls that go."""
        while self._goes(node):
            assert isinstance(node, ast.Call)
            assert isinstance(node.func, ast.Attribute)
            node = node.func.value
        return node

    # Edits

    def _of_changes(self) -> Iterator[Edit]:
        if not self._changes:
            return
        from namecheck.editing.trees import Tree
        from namecheck.migration.nodes import change_of

        tree = Tree(self._document)
        changes = {}
        for node, change in self._changes.items():
            assert isinstance(node, ast.expr)
            found = tree.expression(self._source.span(node))
            if found is None:
                self._leave(node, "libcst has no such expression")
                self._result.sites -= 1
            else:
                changes[found] = change_of(self._quoted(node, change))
        yield from tree.edits(changes)

    def _quoted(self, node: ast.expr, change: Becomes) -> Becomes:
        """Inside of an f-string the other quotes are written."""
        if self._outline.quotes.get(node) != "'":
            return change
        text = change.text and change.text.replace("'", '"')
        arguments = {key: told and told.replace("'", '"') for key, told in change.arguments.items()}
        return replace(change, text=text, arguments=arguments)


_OF_GRAPHS: Final = frozenset({"is_leaf", "retain_grad", "retains_grad"})


def _labels(dims: Dims) -> tuple[str | None, ...]:
    return tuple(str(name) if name is not None else None for name in dims.names)


def _reads_names(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "names"


def _written_names(node: ast.expr) -> tuple[str | None, ...] | None:
    try:
        value = ast.literal_eval(node)
    except ValueError:
        return None
    if isinstance(value, tuple) and all(isinstance(name, Label | None) for name in value):
        return value
    return None


def _contradicts(application: Application, names: tuple[str | None, ...]) -> bool:
    result = application.result
    return isinstance(result, tuple) and any(
        isinstance(a, Label | None) and a != b for a, b in zip(result, names, strict=False)
    )


def _can_be_told(dims: Dims) -> bool:
    """Whether an annotation can tell the names: an axis is not declared for a dim of size 1."""
    return dims.complete and any(_labels(dims)) and all(dim.size != 1 for dim in dims.prefix)
