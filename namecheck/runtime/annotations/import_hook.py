"""Puts `checked` on every annotated function of chosen packages, as they are imported.

The source is compiled with one more decorator, below all others, on each function that has
annotations; a class with decorators, such as a dataclass, gets one above all others for the
``__init__`` that they write. ``typing.no_type_check`` exempts a function or a class. Modules that
another import hook loads, as pytest does with tests, are left to it.
"""

from __future__ import annotations

import ast
import re
import sys
import warnings
from collections.abc import Iterator, Sequence
from functools import partial
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from types import CodeType, ModuleType, TracebackType
from typing import Any, Final

from namecheck.runtime.core import modes

# No module can have this name by itself, and ``import *`` passes it over.
_ALIAS: Final = "_@namecheck"
_CHECKING: Final = "namecheck.runtime.annotations.checked_functions"

_WORDS: Final = re.compile(r"\w+")


# Counts what `compiled` makes of a file: bytecode of another count is not ours.
_FORM: Final = 2


def install_import_hook(packages: str | Sequence[str]) -> ImportHook:
    """Check the annotated functions of these packages and modules, and of all modules in them.

    To be called before they are imported. Gives back the hook, which is a context manager too;
    its `uninstall` ends it for modules that are imported from then on.
    """
    names = [packages] if isinstance(packages, str) else list(packages)
    loaded = sorted(name for name in names if name in sys.modules)
    if loaded:
        warnings.warn(
            f"already imported, and so not checked: {', '.join(loaded)}", ImportWarning, 2
        )
    hook = ImportHook(names)
    if not modes.switched_off():
        sys.meta_path.insert(0, hook)
    return hook


class ImportHook(MetaPathFinder):
    """The finder that stands before all others for its packages, and for single modules."""

    def __init__(self, packages: Sequence[str]) -> None:
        self.packages = tuple(packages)
        self.modules: frozenset[str] = frozenset()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """What the other finders find, with a loader that checks."""
        if not self._is_meant(fullname):
            return None
        for finder in sys.meta_path:
            if isinstance(finder, ImportHook) or not hasattr(finder, "find_spec"):
                continue
            spec = finder.find_spec(fullname, path, target)
            if spec is not None:
                if type(spec.loader) is SourceFileLoader:
                    spec.loader = CheckingLoader(spec.loader.name, spec.loader.path)
                return spec
        return None

    def _is_meant(self, module: str) -> bool:
        return module in self.modules or any(
            module == name or module.startswith(f"{name}.") for name in self.packages
        )

    def uninstall(self) -> None:
        """Leave the imports from now on alone."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def __enter__(self) -> ImportHook:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.uninstall()


class CheckingLoader(SourceFileLoader):
    """Loads a module with its annotated functions checked; its bytecode has a cache of its own."""

    def source_to_code(  # type: ignore[override]
        self, data: bytes, path: str, *, _optimization: int = -1
    ) -> CodeType:
        """The code of the module."""
        return compiled(data, path)

    def get_data(self, path: str) -> bytes:
        """What a file holds: the source, or our bytecode of it."""
        return super().get_data(_own(path))

    def set_data(self, path: str, data: Any, *, _mode: int = 0o666) -> None:
        """Write our bytecode."""
        super().set_data(_own(path), data, _mode=_mode)


def _own(path: str) -> str:
    """The file of our bytecode in the place of that of Python's."""
    stem, dot, extension = path.rpartition(".")
    return f"{stem}.namecheck-{_FORM}.pyc" if dot and extension == "pyc" else path


def compiled(source: bytes, path: str) -> CodeType:
    """The code of a file, its annotated functions checked; raises SyntaxError as Python does."""
    tree = ast.parse(source, path)
    _Decorator(_assigned(tree)).decorate(tree.body)
    if tree.body:
        alias = ast.alias(_CHECKING, _ALIAS)
        here = ast.copy_location(ast.Import([alias]), tree.body[0])
        ast.copy_location(alias, here)
        tree.body.insert(_after_preamble(tree), here)
    code: CodeType = compile(tree, path, "exec", dont_inherit=True)
    return code


def _after_preamble(tree: ast.Module) -> int:
    """The index behind the docstring and the imports from ``__future__``."""
    index = 0 if ast.get_docstring(tree, clean=False) is None else 1
    while index < len(tree.body):
        statement = tree.body[index]
        if not isinstance(statement, ast.ImportFrom) or statement.module != "__future__":
            break
        index += 1
    return index


def _assigned(tree: ast.Module) -> dict[str, int]:
    """The last line at which the module assigns each of its names."""
    targets = [
        (target, statement.lineno)
        for statement in tree.body
        if isinstance(statement, ast.Assign | ast.AnnAssign)
        for target in (
            statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        )
    ]
    return {target.id: line for target, line in targets if isinstance(target, ast.Name)}


class _Decorator:
    """Puts decorators on all definitions in a body of statements, at whatever depth."""

    def __init__(self, assigned: dict[str, int]) -> None:
        self.assigned = assigned

    def decorate(self, body: Sequence[ast.AST]) -> None:
        """Decorate the definitions that stand in these statements."""
        for node in body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                if _is_exempt(node.decorator_list):
                    continue
                if isinstance(node, ast.ClassDef):
                    self._class(node)
                else:
                    self._function(node)
            for field in ("body", "orelse", "finalbody", "handlers", "cases"):
                self.decorate(getattr(node, field, ()))

    def _class(self, node: ast.ClassDef) -> None:
        if node.decorator_list:
            node.decorator_list.insert(0, _decorator("check_generated", node))

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        annotations = list(_annotations(node))
        if annotations:
            later = any(map(partial(self._speaks_of_later, node.lineno), annotations))
            node.decorator_list.append(_decorator("checked" if later else "checked_as_is", node))

    def _speaks_of_later(self, line: int, annotation: ast.expr) -> bool:
        """Whether an annotation speaks of a name that the module assigns below the line."""
        for node in ast.walk(annotation):
            if isinstance(node, ast.Name) and self.assigned.get(node.id, 0) > line:
                return True
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                words = _WORDS.findall(node.value)
                if any(self.assigned.get(word, 0) > line for word in words):
                    return True
        return False


def _decorator(name: str, node: ast.stmt) -> ast.expr:
    """At the line where the definition begins, so that nothing else seems to stand there."""
    alias = ast.copy_location(ast.Name(_ALIAS, ast.Load()), node)
    return ast.copy_location(ast.Attribute(alias, name, ast.Load()), node)


def _is_exempt(decorators: Sequence[ast.expr]) -> bool:
    return any(ast.unparse(each).rpartition(".")[2] == "no_type_check" for each in decorators)


def _annotations(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[ast.expr]:
    arguments = node.args
    listed = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    listed += [each for each in (arguments.vararg, arguments.kwarg) if each]
    yield from (each.annotation for each in listed if each.annotation)
    if node.returns is not None:
        yield node.returns
