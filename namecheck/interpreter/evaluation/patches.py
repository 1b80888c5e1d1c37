"""Whether a call of torch is torch's own: code elsewhere may have replaced it.

An unknown library may patch torch when it is imported, and so may the program itself. The imports
and the syntax of its files show whether that is possible; a certain patch is in the store. Files
that import these ones may patch torch too: `namecheck.project.whole_run` looks at them.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from namecheck.core.patching import patches_torch
from namecheck.core.syntax import Source
from namecheck.interpreter.domain.scopes import statements
from namecheck.interpreter.evaluation.havoc import is_bystander

if TYPE_CHECKING:
    from namecheck.interpreter.evaluation.frames import Frame
    from namecheck.interpreter.evaluation.interpreter import Interpreter


class Patches:
    """What the files of an analysis may have patched; each file is looked at once."""

    def __init__(self, interpreter: Interpreter) -> None:
        self.interpreter = interpreter
        self._possible: dict[str, bool] = {}

    def are_possible(self, frame: Frame) -> bool:
        """Whether the files whose code is running, or those that they import, may patch torch."""
        return any(
            self._by(self.interpreter.context.source_of(entered.environment))
            for entered in frame.stack()
        )

    def _by(self, source: Source) -> bool:
        known = self._possible.get(source.filename)
        if known is None:
            known = _is_possible(self.interpreter, source, set())
            self._possible[source.filename] = known
        return known


def _is_possible(interpreter: Interpreter, source: Source, visited: set[str]) -> bool:
    """Whether a file, or one that it imports, patches torch or imports an unknown library."""
    if source.filename in visited:
        return False
    visited.add(source.filename)
    if patches_torch(source.tree):
        return True
    for node in statements(source.tree):
        modules: list[tuple[int, str]] = []
        if isinstance(node, ast.Import):
            modules = [(0, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            modules = [(node.level, node.module or "")]
        for level, module in modules:
            if not level and is_bystander(module):
                continue
            file = interpreter.imports.file_of(source, level, module)
            if file is None or _is_possible(interpreter, file, visited):
                return True
    return False
