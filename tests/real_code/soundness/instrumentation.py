"""Records the shapes that the expressions of a package have in a run.

The trees of its modules are changed while they are imported: each expression that may be a tensor
is passed through a function that notes its shape. Nothing of the checked package is written.
"""

from __future__ import annotations

import ast
import builtins
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, FrameType, ModuleType
from typing import Any, Final

import torch

from namecheck.core import syntax
from namecheck.core.syntax import Position, Source, position
from namecheck.runtime.programs.activations import Activation, Activations, Shape
from namecheck.runtime.programs.instructions import Instructions

_NOTE: Final = "__namecheck_note__"
_EXPRESSIONS: Final = (
    ast.Attribute,
    ast.BinOp,
    ast.Call,
    ast.Compare,
    ast.Name,
    ast.Subscript,
    ast.UnaryOp,
)
# Calls that look at the frame or at the type of what they are given.
_CALLS_LEFT: Final = frozenset({"super", "locals", "globals", "isinstance", "type", "vars"})


class Shapes:
    """The shapes of the expressions of some packages, by file and position.

    Those of scripts are noted as well: each script begins its own activations.
    """

    def __init__(self, packages: Sequence[str]) -> None:
        self.seen: dict[str, dict[Position, set[Shape]]] = {}
        self._finder = _Finder(frozenset(packages))
        self._activations: dict[str, Activations] = {}
        self._instructions = Instructions(_Sources())
        self._script = ""

    def record(self) -> None:
        """Record from now on: packages that are imported later are changed."""
        setattr(builtins, _NOTE, self._note)
        sys.meta_path.insert(0, self._finder)
        sys.dont_write_bytecode = True

    def begin(self, script: str) -> None:
        """Record what a script runs from now on."""
        self._script = script
        self._activations[script] = Activations(self._is_watched, self._running)

    def by_script(self) -> dict[str, list[Activation]]:
        """The activations of each script."""
        return {script: each.ended() for script, each in self._activations.items()}

    def _is_watched(self, file: str) -> bool:
        return file == self._script or file in self._finder.files

    def _running(self, frame: FrameType) -> Position | None:
        """The call that a frame is running."""
        node = self._instructions.running(frame)
        return position(node) if isinstance(node, ast.Call) else None

    def _note(self, file: str, place: str, value: Any) -> Any:
        # Other objects may compute their attributes, in functions that are noted too.
        if isinstance(value, torch.Tensor):
            at = Position(*map(int, place.split()))
            shape = tuple(map(int, value.shape))
            if file != self._script:
                self.seen.setdefault(file, {}).setdefault(at, set()).add(shape)
            self._activations[self._script].note(sys._getframe(1), at, shape)
        return value


class _Sources(Mapping[str, Source]):
    """The files that are looked at, each parsed when it is."""

    def __init__(self) -> None:
        self._parsed: dict[str, Source] = {}

    def __getitem__(self, file: str) -> Source:
        if file not in self._parsed:
            self._parsed[file] = syntax.parse(Path(file).read_bytes(), file)
        return self._parsed[file]

    def __iter__(self) -> Iterator[str]:
        return iter(self._parsed)

    def __len__(self) -> int:
        return len(self._parsed)


class _Finder(MetaPathFinder):
    """Finds modules of the packages as Python does, and has them changed."""

    def __init__(self, packages: frozenset[str]) -> None:
        self._packages = packages
        self.files: set[str] = set()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname.partition(".")[0] not in self._packages:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and type(spec.loader) is SourceFileLoader:
            spec.loader = _Loader(spec.loader.name, spec.loader.path)
            self.files.add(spec.loader.path)
        return spec


class _Loader(SourceFileLoader):
    """Compiles a module whose expressions are noted; without cached bytecode."""

    def path_stats(self, path: str) -> dict[str, Any]:
        raise OSError(path)

    def source_to_code(  # type: ignore[override]
        self, data: Any, path: Any, *, _optimize: int = -1
    ) -> CodeType:
        tree = instrumented(ast.parse(data), str(path))
        return compile(tree, path, "exec", dont_inherit=True)


def instrumented_code(script: str) -> CodeType:
    """The code of a script, whose expressions are noted as well."""
    tree = instrumented(ast.parse(Path(script).read_bytes()), script)
    return compile(tree, script, "exec", dont_inherit=True)


def instrumented(tree: ast.Module, file: str) -> ast.Module:
    """A module in which the expressions of functions are noted."""
    changed: ast.Module = ast.fix_missing_locations(_Noting(file).visit(tree))
    return changed


class _Noting(ast.NodeTransformer):
    """Wraps expressions in functions; annotations, patterns and f-strings stay as they are."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._is_inside = False

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        if any("script" in ast.unparse(decorator) for decorator in node.decorator_list):
            return node  # TorchScript reads the source again
        return self._within(node, True)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        return self._within(node, False)

    def _within(self, node: ast.FunctionDef | ast.ClassDef, is_inside: bool) -> ast.AST:
        outer, self._is_inside = self._is_inside, is_inside
        node.body = [self.visit(statement) for statement in node.body]
        self._is_inside = outer
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        node.body = self.visit(node.body)
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        if node.value is not None:
            node.value = self.visit(node.value)
        return node

    def visit_match_case(self, node: ast.match_case) -> ast.AST:
        node.body = [self.visit(statement) for statement in node.body]
        return node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        function = node.func
        if isinstance(function, ast.Name) and function.id in _CALLS_LEFT:
            return node
        if isinstance(function, ast.Attribute):
            function.value = self.visit(function.value)
        elif not isinstance(function, ast.Name):
            node.func = self.visit(function)
        node.args = [self.visit(argument) for argument in node.args]
        for keyword in node.keywords:
            keyword.value = self.visit(keyword.value)
        return self._noted(node)

    def generic_visit(self, node: ast.AST) -> ast.AST:
        changed = super().generic_visit(node)
        is_read = isinstance(getattr(node, "ctx", ast.Load()), ast.Load)
        if isinstance(changed, _EXPRESSIONS) and is_read:
            return self._noted(changed)
        return changed

    def _noted(self, node: ast.expr) -> ast.expr:
        if not self._is_inside:
            return node
        place = " ".join(map(str, position(node)))
        arguments = [ast.Constant(self._file), ast.Constant(place), node]
        call = ast.Call(ast.Name(_NOTE, ast.Load()), arguments, [])
        return ast.copy_location(call, node)
