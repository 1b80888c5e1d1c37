"""Names that were taken off for some operators, and put back: not needed where those keep them.

``x.rename(None).flip(0).refine_names(*x.names)`` is ``x.flip(0)``, if that has these very names:
the file is looked at again with the names left on, and has to give them at the call that puts them
back, every time, with no contradiction anywhere that was not there.
"""

from __future__ import annotations

import ast
import copy
import os
from collections.abc import Callable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Any, TypeAlias

from namecheck import operators
from namecheck.core.syntax import Source, position
from namecheck.core.tensors import Tensor
from namecheck.editing.documents import Document
from namecheck.editing.edits import Edit
from namecheck.editing.outline import Outline
from namecheck.editing.sites import is_stable
from namecheck.interpreter.workspace.analysis import Application
from namecheck.migration.detours import Offs, detours
from namecheck.migration.idle import bound_in, is_idle
from namecheck.migration.plain_calls import Becomes, Rows, reshapes
from namecheck.migration.survey import Seen, Survey

Again: TypeAlias = Callable[[Source], Survey]


class Restorations:
    """Finds, in one file, names that are put back; `again` surveys the files with it changed."""

    def __init__(self, document: Document, survey: Survey, rows: Rows, again: Again) -> None:
        self._document = document
        self._source = document.source
        self._survey = survey
        self._rows = rows
        self._again = again
        self._bound = bound_in(document.source.tree)

    def edits(self) -> tuple[Edit, ...]:
        """The edits that leave these calls out; raises `ValueError` where libcst cannot parse."""
        gone = self._gone()
        if not gone:
            return ()
        from namecheck.editing.trees import Tree
        from namecheck.migration.nodes import change_of

        outline = Outline(self._source)
        for statement in [*self._idle(outline, gone)]:
            outline.remove(statement)
            gone.difference_update(ast.walk(statement))
        tree, change = Tree(self._document), change_of(Becomes(suffix=""))
        nodes = {tree.expression(self._source.span(node)) for node in gone}
        edits = tree.edits({node: change for node in nodes if node is not None})
        return (*edits, *outline.removals())

    # Which calls go

    def _gone(self) -> set[ast.Call]:
        """The calls that take names off, and those that put them back, that are not needed."""
        if any(self._tells_apart(one) for one in self._survey.in_file(self._source.filename)):
            return set()
        each = list(detours(self._source.tree, self._at, self._rows))
        while offs := {off for one in each for off in one.offs}:
            backs = {b: taken & offs for one in each for b, taken in one.backs.items()}
            backs = {back: taken for back, taken in backs.items() if taken}
            needed = self._needed(offs, backs)
            if not needed:
                return {*offs, *backs}
            for one in each:
                one.needed |= needed
        return set()

    def _tells_apart(self, application: Application) -> bool:
        """Whether it makes a difference to a call which variables are the same tensor."""
        named = operators.key_of(application.operator) in ("rename_", "names=")
        return named or reshapes(application, self._rows)

    def _at(self, node: ast.expr) -> Seen:
        return self._survey.at(self._source.filename, position(node))

    def _needed(self, offs: set[ast.Call], backs: dict[ast.Call, Offs]) -> set[ast.Call]:
        """Those without which other names come to be, or a contradiction."""
        survey = self._again(_without(self._source, offs))
        needed = {
            off
            for back, taken in backs.items()
            if not (
                self._is_idle(back)
                and _gives_the_same(
                    survey.at(self._source.filename, position(back)), self._at(back)
                )
            )
            for off in taken
        }
        for location, line in survey.contradicted - self._survey.contradicted:
            here = location == os.path.realpath(self._source.filename)
            needed |= (here and _around(line, backs)) or offs
        return needed

    def _is_idle(self, back: ast.Call) -> bool:
        given = [*back.args, *(word.value for word in back.keywords)]
        return all(
            is_idle(node, lambda n: self._at(n).decisive, self._rows, self._bound) for node in given
        )

    # Which statements go with them

    def _idle(self, outline: Outline, gone: AbstractSet[ast.Call]) -> Iterator[ast.stmt]:
        """The statements that do nothing any more: ``y = y``, ``names = x.names``."""
        for statement in outline.statements:
            if not isinstance(statement, ast.Assign) or len(statement.targets) > 1:
                continue
            target, bare = statement.targets[0], _bare(statement.value, gone)
            if not isinstance(target, ast.Name):
                continue
            same = (
                isinstance(bare, ast.Name) and bare.id == target.id and bare is not statement.value
            )
            scope = outline.scopes[statement]
            if same or (_reads_names(bare) and _is_unused(target.id, scope, gone)):
                yield statement


def _gives_the_same(now: Seen, before: Seen) -> bool:
    """Whether the names that a call gives are there when it is called, and are those of before."""
    each = now.decisive.each
    return (
        bool(each)
        and not now.decisive.otherwise
        and all(
            isinstance(one.given[0], Tensor)
            and isinstance(one.result, Tensor)
            and one.contradiction is None
            and one.given[0].dims.complete
            and one.given[0].dims.names == one.result.dims.names
            for one in each
        )
        and {_names(one) for one in each} == {_names(one) for one in before.decisive.each}
    )


def _names(application: Application) -> tuple[object, ...]:
    return application.result.dims.names  # type: ignore[no-any-return]


def _around(line: int, backs: Mapping[ast.Call, Offs]) -> Offs:
    """The calls that took names off before a line, where they are put back behind it."""
    return frozenset(
        off
        for back, taken in backs.items()
        for off in taken
        if off.lineno <= line <= (back.end_lineno or back.lineno)
    )


def _without(source: Source, calls: AbstractSet[ast.Call]) -> Source:
    """The file with what methods are called on in place of the calls; all stands where it stood."""
    copies: dict[int, Any] = {}
    tree = copy.deepcopy(source.tree, copies)
    without = _Without({copies[id(call)] for call in calls})
    return Source(source.filename, source.text, without.visit(tree))


class _Without(ast.NodeTransformer):
    def __init__(self, calls: AbstractSet[ast.Call]) -> None:
        self._calls = calls

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        if node in self._calls:
            assert isinstance(node.func, ast.Attribute)
            return node.func.value
        return node


def _bare(node: ast.expr, gone: AbstractSet[ast.Call]) -> ast.expr:
    while node in gone:
        assert isinstance(node, ast.Call)
        assert isinstance(node.func, ast.Attribute)
        node = node.func.value
    return node


def _reads_names(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "names" and is_stable(node.value)


def _is_unused(name: str, scope: ast.AST, gone: AbstractSet[ast.Call]) -> bool:
    """Whether a variable of a function was used for calls that go, and for nothing else."""
    if not isinstance(scope, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return False
    going = {
        inner for call in gone for arg in (*call.args, *call.keywords) for inner in ast.walk(arg)
    }
    uses = [node for node in ast.walk(scope) if isinstance(node, ast.Name) and node.id == name]
    loads = [node for node in uses if not isinstance(node.ctx, ast.Store)]
    return bool(loads) and len(uses) == len(loads) + 1 and going.issuperset(loads)
