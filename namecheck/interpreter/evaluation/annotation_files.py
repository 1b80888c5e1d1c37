"""The annotations of each file of a program, whose aliases may come from other files."""

from __future__ import annotations

import ast
from functools import partial
from typing import Final

from namecheck.core.syntax import Source
from namecheck.interpreter.evaluation.declared import Annotations, Import
from namecheck.interpreter.evaluation.interpreter import Interpreter

# How many files an alias is followed through.
_CHAIN: Final = 8


class AnnotationFiles:
    """The annotations of the files that were asked for."""

    def __init__(self, interpreter: Interpreter) -> None:
        self._interpreter = interpreter
        self._files: dict[ast.Module, Annotations] = {}
        self._followed: list[Import] = []

    def of(self, source: Source) -> Annotations:
        """The annotations of one file."""
        annotations = self._files.get(source.tree)
        if annotations is None:
            imported = partial(self._imported, source)
            annotations = self._files[source.tree] = Annotations(source.tree, imported)
        return annotations

    def _imported(self, source: Source, origin: Import, rest: str) -> ast.expr | None:
        """The expression of an alias in another file."""
        if len(self._followed) >= _CHAIN:
            return None
        self._followed.append(origin)
        try:
            return self._elsewhere(source, origin, rest)
        finally:
            self._followed.pop()

    def _elsewhere(self, source: Source, origin: Import, rest: str) -> ast.expr | None:
        file_of = self._interpreter.imports.file_of
        file, name = file_of(source, origin.level, origin.module, origin.member), rest
        if file is None or not rest:
            file = file_of(source, origin.level, origin.module)
            name = ".".join(filter(None, (origin.member, rest)))
        return None if file is None else self.of(file).resolved(name)
