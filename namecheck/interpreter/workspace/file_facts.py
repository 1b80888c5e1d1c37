"""Facts about files that follow from their syntax trees alone; each is computed once."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from namecheck.core import syntax
from namecheck.core.evidence import Evidence
from namecheck.core.syntax import Source
from namecheck.core.trees import nodes
from namecheck.interpreter.domain import scopes
from namecheck.interpreter.domain.scopes import Function

# What reads the trees of functions is imported where it is used: few small files need it.
if TYPE_CHECKING:
    from namecheck.interpreter.domain.documenting import Documenting
    from namecheck.interpreter.domain.unfollowed import Unfollowed

# In a file of at most so many lines all functions are run: selecting some would take longer.
_SMALL: Final = 200
_FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


class FileFacts:
    """Facts about the files of an analysis.

    `names_dims` says whether a file names dimensions, `imported_words` has the words that it
    imports from files that do. With observed `evidence`, reading sizes names dimensions;
    with claimed, so do docstrings.
    """

    def __init__(
        self,
        names_dims: Callable[[Source], bool] = lambda source: True,
        imported_words: Callable[[Source], frozenset[str]] = lambda source: frozenset(),
        evidence: Evidence = Evidence.DECLARED,
    ) -> None:
        self._find_names = names_dims
        self.sources: dict[ast.AST, Source] = {}
        self._imported_words = imported_words
        self._evidence = evidence
        self._naming: dict[ast.AST, bool] = {}
        self._scopes: dict[ast.AST, scopes.ScopeInfo] = {}
        self._relevant: dict[ast.AST, frozenset[ast.AST]] = {}
        self._renames: dict[ast.AST, bool] = {}
        self._arrays: dict[ast.AST, bool] = {}
        self._mentions: dict[ast.AST, bool] = {}
        self._unfollowed: dict[ast.AST, Unfollowed] = {}
        self._documenting: dict[ast.AST, Documenting] = {}

    def names_dims(self, source: Source) -> bool:
        """Whether a file names dimensions; its text is searched once."""
        names = self._naming.get(source.tree)
        if names is None:
            names = self._naming[source.tree] = self._find_names(source)
        return names

    def scope(self, node: ast.AST) -> scopes.ScopeInfo:
        """The names that a scope binds."""
        info = self._scopes.get(node)
        if info is None:
            info = self._scopes[node] = scopes.examine(node)
        return info

    def can_matter(self, node: ast.AST, source: Source) -> bool:
        """Whether running a definition of a file may contribute to the names of tensors."""
        if len(source.lines) <= _SMALL:
            return True
        if self._evidence.is_claimed:
            from namecheck.annotations import docstrings

            if docstrings.may_claim(node):
                return True
        relevant = self._relevant.get(source.tree)
        if relevant is None:
            from namecheck.interpreter.workspace import relevance

            words = self._imported_words(source)
            is_observed = self._evidence.is_observed
            if is_observed:
                words |= relevance.SIZED
            if self.names_dims(source):
                words |= relevance.naming_words()
                if is_observed:
                    words |= relevance.SIZES | {relevance.REDUCED}
            relevant = relevance.relevant_definitions(source.tree, words)
            self._relevant[source.tree] = relevant
        return node in relevant

    def left_out(self, source: Source) -> tuple[range, ...]:
        """The lines of the functions of a file that contribute to no names, and so are not run."""
        functions = (node for node in nodes(source.tree) if isinstance(node, _FUNCTIONS))
        return tuple(
            range(node.lineno, (node.end_lineno or node.lineno) + 1)
            for node in functions
            if not self.can_matter(node, source)
        )

    def mentions_attributes(self, node: ast.AST) -> bool:
        """Whether a definition mentions dtypes, devices or layouts of tensors."""
        from namecheck.interpreter.workspace import relevance

        return relevance.mentions_attributes(node, self._mentions)

    def renames_in_place(self, source: Source) -> bool:
        """Whether a file renames tensors or permutes their names in place."""
        renames = self._renames.get(source.tree)
        if renames is None:
            from namecheck.interpreter.workspace import relevance

            renames = self._renames[source.tree] = relevance.renames_in_place(source)
        return renames

    def unfollowed(self, function_node: Function) -> Unfollowed:
        """What is known of a call of a function whose body is not run."""
        known = self._unfollowed.get(function_node)
        if known is None:
            from namecheck.interpreter.domain.unfollowed import unfollowed

            known = self._unfollowed[function_node] = unfollowed(function_node)
        return known

    def documents_argument(self, function_node: Function, source: Source) -> bool:
        """Whether a function returns its first argument, and does no more than document it."""
        documenting = self._documenting.get(source.tree)
        if documenting is None:
            from namecheck.interpreter.domain.documenting import Documenting

            documenting = self._documenting[source.tree] = Documenting(source.tree)
        return documenting.documents(function_node)

    def only_reads_sizes(self, source: Source) -> bool:
        """Whether a file declares no dims, and its names are those of sizes that it reads."""
        if not self._evidence.is_observed:
            return False
        return not syntax.names_something(source.text.encode("utf-8", "replace"))

    def has_arrays(self, source: Source) -> bool:
        """Whether a file imports a library whose arrays have a shape."""
        arrays = self._arrays.get(source.tree)
        if arrays is None:
            from namecheck.interpreter.workspace import relevance

            arrays = self._arrays[source.tree] = relevance.has_arrays(source)
        return arrays
