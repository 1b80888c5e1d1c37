"""Names that were taken off for one operator, and put back: not needed where it keeps them.

``x.rename(None).flip(0).refine_names(*x.names)`` is ``x.flip(0)``, if that has these very names.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from namecheck import operators
from namecheck.interpreter import Application
from namecheck.rewrite.documents import Document
from namecheck.rewrite.edits import Edit
from namecheck.rewrite.plain_calls import Becomes, Rows
from namecheck.rewrite.survey import Survey
from namecheck.semantics import Semantics
from namecheck.syntax import Source, position
from namecheck.values import Tensor


class Restorations:
    """Finds, in one file, names that are put back after one operator."""

    def __init__(self, source: Source, survey: Survey, rows: Rows, semantics: Semantics) -> None:
        self._source = source
        self._survey = survey
        self._rows = rows
        self._semantics = semantics

    def edits(self, document: Document) -> tuple[Edit, ...]:
        """The edits that leave these calls out; raises `ValueError` where libcst cannot parse."""
        changes = self.changes()
        if not changes:
            return ()
        from namecheck.rewrite.nodes import change_of
        from namecheck.rewrite.trees import Tree

        tree = Tree(document)
        nodes = {tree.expression(self._source.span(n)): change_of(c) for n, c in changes.items()}
        return tree.edits({node: change for node, change in nodes.items() if node is not None})

    def changes(self) -> dict[ast.expr, Becomes]:
        """What becomes of the calls that take names off, and of those that put them back."""
        found: dict[ast.expr, Becomes] = {}
        for node in ast.walk(self._source.tree):
            pair = self._restored(node) if isinstance(node, ast.Call) else None
            if pair is not None:
                found.update(dict.fromkeys(pair, Becomes(suffix="")))
        return found

    def _restored(self, outer: ast.Call) -> tuple[ast.Call, ast.Call] | None:
        """The call itself, and the one that took the names off, if neither is needed."""
        inner = _receiver(outer)
        if not isinstance(inner, ast.Call):
            return None
        back, between = self._only(outer), self._only(inner)
        if back is None or between is None or not _is(back, "refine_names", "rename"):
            return None
        for place, operand in _operands(inner, len(between.given)):
            off = self._only(operand)
            if off is not None and _is(off, "rename") and off.given[1:] == (None,):
                return (outer, operand) if self._keeps(off, between, place, back) else None
        return None

    def _only(self, node: ast.Call) -> Application | None:
        """What was applied at a call, where that was the same every time."""
        seen = self._survey.at(self._source.filename, position(node))
        each = [*seen.decisive.each, *seen.further]
        known = bool(each) and not seen.decisive.otherwise
        known = known and all(one == each[0] for one in each)
        return each[0] if known and each[0].contradiction is None else None

    def _keeps(self, off: Application, between: Application, place: int, back: Application) -> bool:
        """Whether the operator gives the names that are put back, when it is given them."""
        named, wanted = off.given[0], back.result
        if not isinstance(named, Tensor) or not isinstance(wanted, Tensor):
            return False
        given = list(between.given)
        if given[place] != off.result:
            return False
        given[place] = replace(given[place], dims=named.dims)
        answer = operators.infer(
            between.operator,
            *given,
            semantics=self._semantics,
            rows=self._rows,
            **dict(between.keywords),
        )
        result = answer.result
        return (
            answer.contradiction is None
            and isinstance(result, Tensor)
            and result.dims.complete
            and result.dims.names == wanted.dims.names
        )


def _receiver(call: ast.Call) -> ast.expr | None:
    return call.func.value if isinstance(call.func, ast.Attribute) else None


def _is(application: Application, *operators_: str) -> bool:
    return operators.key_of(application.operator) in operators_


def _operands(call: ast.Call, count: int) -> Iterator[tuple[int, ast.Call]]:
    """The arguments that are calls, the receiver of a method first, with their places."""
    nodes: list[ast.expr] = list(call.args)
    receiver = _receiver(call)
    if receiver is not None and count == len(nodes) + 1:
        nodes.insert(0, receiver)
    if len(nodes) == count and not any(isinstance(node, ast.Starred) for node in nodes):
        for place, node in enumerate(nodes):
            if isinstance(node, ast.Call):
                yield place, node
