"""What is known of files by themselves, before any of their code is run; each is examined once."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Final

from namecheck.core.syntax import Source
from namecheck.interpreter.domain import scopes
from namecheck.interpreter.workspace import relevance

# Up to how many lines all functions of a file are run: choosing among them would cost more.
_SMALL: Final = 200


class FileFacts:
    """The files of an analysis, by their trees.

    `names_dims` tells whether a file names dimensions, `imported_words` the words under which it
    imports from files that do.
    """

    def __init__(
        self,
        names_dims: Callable[[Source], bool] = lambda source: True,
        imported_words: Callable[[Source], frozenset[str]] = lambda source: frozenset(),
    ) -> None:
        self.names_dims = names_dims
        self.sources: dict[ast.AST, Source] = {}
        self._imported_words = imported_words
        self._scopes: dict[ast.AST, scopes.ScopeInfo] = {}
        self._relevant: dict[ast.AST, frozenset[ast.AST]] = {}
        self._renames: dict[ast.AST, bool] = {}
        self._tells: dict[ast.AST, bool] = {}

    def scope(self, node: ast.AST) -> scopes.ScopeInfo:
        """The names that a scope binds."""
        info = self._scopes.get(node)
        if info is None:
            info = self._scopes[node] = scopes.examine(node)
        return info

    def can_matter(self, node: ast.AST, source: Source) -> bool:
        """Whether a definition of a file can matter to names."""
        if len(source.lines) <= _SMALL:
            return True
        relevant = self._relevant.get(source.tree)
        if relevant is None:
            words = self._imported_words(source)
            if self.names_dims(source):
                words |= relevance.naming_words()
            relevant = relevance.relevant_definitions(source.tree, words)
            self._relevant[source.tree] = relevant
        return node in relevant

    def tells_of_attributes(self, node: ast.AST) -> bool:
        """Whether a definition says anything of the attributes of tensors."""
        return relevance.tells_of_attributes(node, self._tells)

    def renames_in_place(self, source: Source) -> bool:
        """Whether a file changes the names that a tensor has, or their order."""
        renames = self._renames.get(source.tree)
        if renames is None:
            renames = self._renames[source.tree] = relevance.renames_in_place(source)
        return renames
