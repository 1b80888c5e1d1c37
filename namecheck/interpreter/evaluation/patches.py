"""Whether a call of torch is torch's own: code elsewhere may have replaced it.

An unknown library may patch torch when it is imported, and so may the program itself. The imports
and the syntax of its files show whether that is possible; a certain patch is in the store.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from namecheck.core.syntax import Source
from namecheck.core.trees import nodes
from namecheck.interpreter.domain.scopes import statements
from namecheck.interpreter.evaluation.havoc import is_bystander

if TYPE_CHECKING:
    from namecheck.interpreter.evaluation.frames import Frame
    from namecheck.interpreter.evaluation.interpreter import Interpreter

_TORCH: Final = "torch"


class Patches:
    """What the files of an analysis may have patched; each file is looked at once."""

    def __init__(self, interpreter: Interpreter) -> None:
        self.interpreter = interpreter
        self._writes: dict[ast.AST, bool] = {}
        self._unknown: dict[str, bool] = {}

    def are_possible(self, frame: Frame) -> bool:
        """Whether torch may have been patched where the code of a frame runs."""
        interpreter = self.interpreter
        for tree in list(interpreter.context.files.sources):
            if tree not in self._writes:
                self._writes[tree] = any(map(_writes_to_torch, nodes(tree)))
        if True in self._writes.values():
            return True
        source = interpreter.context.source_of(frame.environment)
        if source.filename not in self._unknown:
            self._unknown[source.filename] = _imports_unknown(interpreter, source, set())
        return self._unknown[source.filename]


def _imports_unknown(interpreter: Interpreter, source: Source, visited: set[str]) -> bool:
    """Whether a file, or one that it imports, imports an unknown library."""
    if source.filename in visited:
        return False
    visited.add(source.filename)
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
            if file is None or _imports_unknown(interpreter, file, visited):
                return True
    return False


def _writes_to_torch(node: ast.AST) -> bool:
    if isinstance(node, ast.Attribute):
        return isinstance(node.ctx, (ast.Store, ast.Del)) and _is_of_torch(node.value)
    if isinstance(node, ast.Call):
        name = getattr(node.func, "attr", None) or getattr(node.func, "id", "")
        if name in ("setattr", "patch", "object", "multiple", "delattr"):
            return any(map(_is_of_torch, node.args))
    return False


def _is_of_torch(expression: ast.expr) -> bool:
    """``torch``, ``torch.Tensor``, ``"torch.sum"``."""
    if isinstance(expression, ast.Constant):
        return isinstance(expression.value, str) and expression.value.startswith(f"{_TORCH}.")
    while isinstance(expression, ast.Attribute):
        expression = expression.value
    return isinstance(expression, ast.Name) and expression.id in (_TORCH, "Tensor", "nn", "F")
