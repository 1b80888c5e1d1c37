"""Removes round trips of names where the operators in between keep the names.

``x.rename(None).flip(0).refine_names(*x.names)`` is ``x.flip(0)``, if that has exactly these names:
the file is analysed again without the strip. Every evaluation must have these names at the call
that restores them, and there must be no new contradiction.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Any, TypeAlias

from namecheck import operators
from namecheck.core.regular_files import real_path
from namecheck.core.syntax import Source, position
from namecheck.core.tensors import Tensor
from namecheck.editing.edits import Edit
from namecheck.editing.outline import Outline, Scope
from namecheck.editing.sites import is_stable
from namecheck.interpreter.workspace.analysis import Application, Purse
from namecheck.migration.expenses import pay_for_tree
from namecheck.migration.observations import Observations, Observed
from namecheck.migration.observed_file import ObservedFile
from namecheck.migration.replacements import Replacement
from namecheck.migration.round_trips import Strips, round_trips
from namecheck.migration.side_effects import reshapes

Again: TypeAlias = Callable[[Source], Observations]


class RoundTripRemoval:
    """The round trips of one file to remove; `again` observes the files with it changed.

    What its tree costs is taken from a purse.
    """

    def __init__(self, observed_file: ObservedFile, again: Again, purse: Purse) -> None:
        self._file = observed_file
        self._again = again
        self._purse = purse

    def edits(self) -> tuple[Edit, ...]:
        """The edits that remove these calls; raises `ValueError` where libcst cannot parse.

        Raises `Exhausted`, too.
        """
        removed = self._removed()
        if not removed:
            return ()
        from namecheck.editing.trees import Tree
        from namecheck.migration.cst_changes import change_of

        pay_for_tree(self._file.document, self._purse)
        source = self._file.source
        outline = Outline(source)
        for statement in [*_idle_statements(outline, removed)]:
            outline.remove(statement)
            removed.difference_update(ast.walk(statement))
        tree, change = Tree(self._file.document), change_of(Replacement(suffix=""))
        nodes = {tree.expression(source.span(node)) for node in removed}
        edits = tree.edits({node: change for node in nodes if node is not None})
        return (*edits, *outline.removals())

    def _removed(self) -> set[ast.Call]:
        """The unneeded calls that strip names, and those that restore them."""
        if any(map(self._depends_on_identity, self._file.applications())):
            return set()
        each = list(round_trips(self._file))
        while strips := {strip for one in each for strip in one.strips}:
            restores = {call: its & strips for one in each for call, its in one.restores.items()}
            restores = {call: its for call, its in restores.items() if its}
            needed = self._needed(strips, restores)
            if not needed:
                return {*strips, *restores}
            for one in each:
                one.needed |= needed
        return set()

    def _depends_on_identity(self, application: Application) -> bool:
        """Whether the identity of tensors between variables matters to a call."""
        named = operators.key_of(application.operator) in ("rename_", "names=")
        return named or reshapes(application, self._file.rows)

    def _needed(
        self, strips: AbstractSet[ast.Call], restores: Mapping[ast.Call, Strips]
    ) -> set[ast.Call]:
        """The strips without which other names, or a contradiction, would result."""
        source = self._file.source
        again = self._again(_without(source, strips))
        needed = {
            strip
            for restore, its in restores.items()
            if not (
                self._restores_purely(restore)
                and _restores_same_names(
                    again.at(source.filename, position(restore)), self._file.at(restore)
                )
            )
            for strip in its
        }
        for location, line in again.contradicted - self._file.observations.contradicted:
            here = location == real_path(source.filename)
            needed |= (here and _around(line, restores)) or strips
        return needed

    def _restores_purely(self, restore: ast.Call) -> bool:
        arguments = [*restore.args, *(word.value for word in restore.keywords)]
        return all(map(self._file.is_pure, arguments))


def _restores_same_names(observed: Observed, stripped: Observed) -> bool:
    """Whether a call restores names that are present already, and equal those of before."""
    names = {_names(one) for one in observed.decisive.each}
    return observed.always(_has_names_already) and names == {
        _names(one) for one in stripped.decisive.each
    }


def _has_names_already(application: Application) -> bool:
    tensor, result = (application.positional or (None,))[0], application.result
    return (
        isinstance(tensor, Tensor)
        and isinstance(result, Tensor)
        and application.contradiction is None
        and tensor.dims.complete
        and tensor.dims.names == result.dims.names
    )


def _names(application: Application) -> tuple[object, ...] | None:
    result = application.result
    return result.dims.names if isinstance(result, Tensor) else None


def _around(line: int, restores: Mapping[ast.Call, Strips]) -> Strips:
    """The calls that stripped names before a line, where they are restored behind it."""
    return frozenset(
        strip
        for restore, strips in restores.items()
        for strip in strips
        if strip.lineno <= line <= (restore.end_lineno or restore.lineno)
    )


def _without(source: Source, calls: AbstractSet[ast.Call]) -> Source:
    """The file with the calls replaced by their receivers; all positions are preserved."""
    copies: dict[int, Any] = {}
    tree = copy.deepcopy(source.tree, copies)
    without = _Without({copies[id(call)] for call in calls})
    return Source(source.filename, source.text, without.visit(tree))


class _Without(ast.NodeTransformer):
    def __init__(self, calls: AbstractSet[ast.Call]) -> None:
        self._calls = calls

    def visit_Call(self, call_node: ast.Call) -> ast.expr:
        self.generic_visit(call_node)
        if call_node in self._calls:
            assert isinstance(call_node.func, ast.Attribute)
            return call_node.func.value
        return call_node


# Statements that are removed with the calls


def _idle_statements(outline: Outline, removed: AbstractSet[ast.Call]) -> Iterator[ast.stmt]:
    """The statements that have no effect any more: ``y = y``, ``names = x.names``."""
    for statement in outline.statements:
        if not isinstance(statement, ast.Assign) or len(statement.targets) > 1:
            continue
        variable, bare = statement.targets[0], _bare(statement.value, removed)
        if not isinstance(variable, ast.Name):
            continue
        same = isinstance(bare, ast.Name) and bare.id == variable.id and bare is not statement.value
        scope = outline.scopes[statement]
        if same or (_reads_names(bare) and _is_unused(variable.id, scope, removed)):
            yield statement


def _bare(expression: ast.expr, removed: AbstractSet[ast.Call]) -> ast.expr:
    while expression in removed:
        assert isinstance(expression, ast.Call)
        assert isinstance(expression.func, ast.Attribute)
        expression = expression.func.value
    return expression


def _reads_names(expression: ast.expr) -> bool:
    return (
        isinstance(expression, ast.Attribute)
        and expression.attr == "names"
        and is_stable(expression.value)
    )


def _is_unused(name: str, scope: Scope, removed: AbstractSet[ast.Call]) -> bool:
    """Whether a variable of a function is used only in removed calls."""
    if not isinstance(scope, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return False
    going = {
        inner
        for call in removed
        for argument in (*call.args, *call.keywords)
        for inner in ast.walk(argument)
    }
    uses = [node for node in ast.walk(scope) if isinstance(node, ast.Name) and node.id == name]
    loads = [node for node in uses if not isinstance(node.ctx, ast.Store)]
    return bool(loads) and len(uses) == len(loads) + 1 and going.issuperset(loads)
