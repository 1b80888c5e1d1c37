"""Applies `checked` to every annotated function of chosen packages when they are imported.

The source is compiled with an innermost decorator on each annotated function. A class with
decorators, such as a dataclass, gets an outermost one for the ``__init__`` that they generate.
``typing.no_type_check`` exempts a function or a class. Modules that another import hook loads, as
pytest does with tests, are not changed.
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
from types import CodeType, TracebackType
from typing import Any, Final, TypeAlias

from namecheck.runtime.core import modes

# No module defines this name itself, and ``import *`` skips it.
_ALIAS: Final = "_@namecheck"
_CHECKING: Final = "namecheck.runtime.annotations.checked_functions"

_WORDS: Final = re.compile(r"\w+")


# The version of what `compiled` makes of a file; cached bytecode of another version is ignored.
_FORM: Final = 2


def install_import_hook(packages: str | Sequence[str]) -> ImportHook:
    """Check the annotated functions of these packages and modules, and of all modules in them.

    Call it before they are imported. Returns the hook, which is also a context manager; its
    `uninstall` ends it for later imports.
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
    """A finder, placed before all others, for its packages and for single modules."""

    def __init__(self, packages: Sequence[str]) -> None:
        self.packages = tuple(packages)
        self.modules: frozenset[str] = frozenset()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: Any = None
    ) -> ModuleSpec | None:
        """The spec of the other finders, with a loader that adds the checks."""
        if not self._is_checked(fullname):
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

    def _is_checked(self, module: str) -> bool:
        return module in self.modules or any(
            module == name or module.startswith(f"{name}.") for name in self.packages
        )

    def uninstall(self) -> None:
        """Remove the hook; modules imported from now on are not checked."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def __enter__(self) -> ImportHook:
        return self

    def __exit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.uninstall()


class CheckingLoader(SourceFileLoader):
    """Loads a module with checks on its annotated functions; its bytecode is cached separately."""

    def source_to_code(  # type: ignore[override]
        self, data: bytes, path: str, *, _optimization: int = -1
    ) -> CodeType:
        """The code of the module."""
        return compiled(data, path)

    def get_data(self, path: str) -> bytes:
        """The content of a file: the source, or our bytecode."""
        return super().get_data(_cache_path(path))

    def set_data(self, path: str, data: Any, *, _mode: int = 0o666) -> None:
        """Write our bytecode."""
        super().set_data(_cache_path(path), data, _mode=_mode)


def _cache_path(path: str) -> str:
    """The path of our bytecode, given that of Python's; other paths are unchanged."""
    stem, dot, extension = path.rpartition(".")
    return f"{stem}.namecheck-{_FORM}.pyc" if dot and extension == "pyc" else path


def compiled(file_bytes: bytes, path: str) -> CodeType:
    """The code of a file with the checks added; raises SyntaxError as Python does."""
    tree = ast.parse(file_bytes, path)
    _Decorator(_assigned(tree)).decorate(tree.body)
    if tree.body:
        alias = ast.alias(_CHECKING, _ALIAS)
        statement = ast.copy_location(ast.Import([alias]), tree.body[0])
        ast.copy_location(alias, statement)
        tree.body.insert(_after_preamble(tree), statement)
    code: CodeType = compile(tree, path, "exec", dont_inherit=True)
    return code


def _after_preamble(tree: ast.Module) -> int:
    """The index after the docstring and the imports from ``__future__``."""
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


_Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef


class _Decorator:
    """Adds decorators to all definitions in a body of statements, nested ones included."""

    def __init__(self, assigned: dict[str, int]) -> None:
        self.assigned = assigned

    def decorate(self, body: Sequence[ast.AST]) -> None:
        """Decorate the definitions in these statements."""
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

    def _class(self, class_node: ast.ClassDef) -> None:
        if class_node.decorator_list:
            # At the first of its decorators, which is the first line of a class since Python 3.13.
            first = class_node.decorator_list[0]
            class_node.decorator_list.insert(0, _decorator("check_generated", first))

    def _function(self, function_node: _Function) -> None:
        annotations = list(_annotations(function_node))
        if annotations:
            later = any(map(partial(self._uses_later_name, function_node.lineno), annotations))
            decorator = _decorator("checked" if later else "checked_as_is", function_node)
            function_node.decorator_list.append(decorator)

    def _uses_later_name(self, line: int, annotation: ast.expr) -> bool:
        """Whether an annotation uses a name that the module assigns after the line."""
        for node in ast.walk(annotation):
            if isinstance(node, ast.Name) and self.assigned.get(node.id, 0) > line:
                return True
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                words = _WORDS.findall(node.value)
                if any(self.assigned.get(word, 0) > line for word in words):
                    return True
        return False


def _decorator(name: str, anchor: ast.AST) -> ast.expr:
    """A decorator with the position of a node, so that no line number changes."""
    alias = ast.copy_location(ast.Name(_ALIAS, ast.Load()), anchor)
    return ast.copy_location(ast.Attribute(alias, name, ast.Load()), anchor)


def _is_exempt(decorators: Sequence[ast.expr]) -> bool:
    return any(ast.unparse(each).rpartition(".")[2] == "no_type_check" for each in decorators)


def _annotations(function_node: _Function) -> Iterator[ast.expr]:
    arguments = function_node.args
    listed = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    listed += [each for each in (arguments.vararg, arguments.kwarg) if each]
    yield from (each.annotation for each in listed if each.annotation)
    if function_node.returns is not None:
        yield function_node.returns
