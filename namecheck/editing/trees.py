"""The libcst tree of a document: finds nodes by span, and makes edits from changed nodes.

Only the changed expressions take the code that libcst generates; the rest of the file is unchanged.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final, TypeAlias, TypeVar

import libcst
from libcst.metadata import CodeRange, MetadataWrapper, PositionProvider

from namecheck.core.call_stack import deeply
from namecheck.core.findings import Span
from namecheck.editing.documents import Document
from namecheck.editing.edits import Edit

# The change of a node. It takes the node with the changes of its descendants applied, without the
# parentheses around it, which are kept. A tuple or a generator needs its parentheses: it has no
# change.
Change: TypeAlias = Callable[[libcst.BaseExpression], libcst.BaseExpression]
Result = TypeVar("Result")


class Tree:
    """The tree of one document; raises `ValueError` where libcst cannot parse it."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._cut = _cut(document)
        self._spans: dict[libcst.BaseExpression, Span] = {}
        self._nodes: dict[Span, libcst.BaseExpression] = {}
        self.module: Final = _descending(lambda: self._parsed(document))

    def _parsed(self, document: Document) -> libcst.Module:
        lines = document.text.split("\n")
        for number, length in self._cut.items():
            lines[number - 1] = lines[number - 1][length:]
        try:
            module = libcst.parse_module("\n".join(lines))
        except libcst.ParserSyntaxError as error:
            raise ValueError(f"libcst cannot parse it: {error.message}") from error
        wrapper = MetadataWrapper(module, unsafe_skip_copy=True)
        for node, where in wrapper.resolve(PositionProvider).items():
            if isinstance(node, libcst.BaseExpression) and isinstance(where, CodeRange):
                span = self._span(where)
                self._spans[node] = span
                self._nodes.setdefault(span, node)
        return module

    def _span(self, where: CodeRange) -> Span:
        start, end = where.start, where.end
        return Span(
            start.line,
            start.column + self._cut.get(start.line, 0) + 1,
            end.line,
            end.column + self._cut.get(end.line, 0) + 1,
        )

    def expression(self, span: Span) -> libcst.BaseExpression | None:
        """The node of an expression by its span, as `Source.span` gives it for the `ast` node."""
        return self._nodes.get(span)

    def span(self, cst: libcst.BaseExpression) -> Span:
        """The span of a libcst node."""
        return self._spans[cst]

    def edits(self, changes: Mapping[libcst.BaseExpression, Change]) -> tuple[Edit, ...]:
        """The edits for these changes: one for each that is in no other; raises `ValueError`."""
        changing = _Changing(changes, self.module.default_indent)

        def changed() -> tuple[Edit, ...]:
            self.module.visit(changing)
            return tuple(
                Edit(self._spans[node], _code(fresh, indent))
                for node, fresh, indent in changing.outermost
            )

        return _descending(changed)


def _descending(work: Callable[[], Result]) -> Result:
    """The result of a walk over a tree; raises `ValueError` where that is nested too deeply."""
    try:
        return deeply(work)
    except RecursionError as error:
        raise ValueError("its code is nested too deeply for libcst") from error


def _code(cst: libcst.BaseExpression, indent: str) -> str:
    """The code of a node in a block with some indentation, for its continuation lines."""
    statement = libcst.SimpleStatementLine([libcst.Expr(cst)])
    if not indent:
        return libcst.Module([]).code_for_node(statement).removesuffix("\n")
    block = libcst.IndentedBlock([statement], indent=indent)
    code = libcst.Module([]).code_for_node(libcst.Else(block))
    return code.removeprefix(f"else:\n{indent}").removesuffix("\n")


class _Changing(libcst.CSTTransformer):
    """Applies changes from the innermost to the outermost, and keeps the outermost results."""

    def __init__(
        self, changes: Mapping[libcst.BaseExpression, Change], default_indent: str
    ) -> None:
        super().__init__()
        self._changes = changes
        self._default = default_indent
        self._open = 0
        self._indents: list[str] = []
        self._of_cases: list[str] = []
        self.outermost: list[tuple[libcst.BaseExpression, libcst.BaseExpression, str]] = []

    def on_visit(self, visited: libcst.CSTNode) -> bool:
        self._open += visited in self._changes
        if isinstance(visited, libcst.IndentedBlock):
            self._indents.append(self._default if visited.indent is None else visited.indent)
        elif isinstance(visited, libcst.Match):
            self._of_cases.append(self._default if visited.indent is None else visited.indent)
        elif isinstance(visited, libcst.MatchCase):
            self._indents.append(self._of_cases[-1])
        return True

    def on_leave(
        self, original_node: libcst.CSTNodeT, updated_node: libcst.CSTNodeT
    ) -> libcst.CSTNodeT:
        if isinstance(original_node, (libcst.IndentedBlock, libcst.MatchCase)):
            self._indents.pop()
        elif isinstance(original_node, libcst.Match):
            self._of_cases.pop()
        if not isinstance(original_node, libcst.BaseExpression):
            return updated_node
        change = self._changes.get(original_node)
        if change is None:
            return updated_node
        assert isinstance(updated_node, libcst.BaseExpression)
        self._open -= 1
        fresh = change(updated_node.with_changes(lpar=(), rpar=()))
        if not self._open:
            self.outermost.append((original_node, fresh, "".join(self._indents)))
        return fresh.with_changes(  # type: ignore[return-value]
            lpar=(*original_node.lpar, *fresh.lpar), rpar=(*fresh.rpar, *original_node.rpar)
        )


_FEED: Final = re.compile(r"[ \t\f]*\f")


def _cut(document: Document) -> dict[int, int]:
    """How many characters libcst must not see, by line.

    A form feed before the code of a line is no indentation to Python, but is to libcst.
    """
    if "\f" not in document.text:
        return {}
    inside = {
        number
        for node in ast.walk(document.source.tree)
        if isinstance(node, (ast.Constant, ast.JoinedStr))
        for number in range(node.lineno + 1, (node.end_lineno or node.lineno) + 1)
    }
    return dict(_fed(document.text.split("\n"), inside))


def _fed(lines: list[str], inside: set[int]) -> Iterator[tuple[int, int]]:
    for number, line in enumerate(lines, 1):
        match = _FEED.match(line)
        if match is not None and number not in inside:
            yield number, match.end()
