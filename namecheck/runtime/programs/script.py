"""Runs a program with names on torch and its annotated functions checked, as Python would run it.

The program finds itself in ``__main__``, with its own ``sys.argv`` and ``sys.path``; what it
raises reaches the interpreter, but without our frames in the traceback. A process that it starts
by multiprocessing with ``spawn`` or ``forkserver`` is set up in the same way.
"""

from __future__ import annotations

import builtins
import importlib.util
import io
import os
import pkgutil
import runpy
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.machinery import ModuleSpec, SourceFileLoader
from multiprocessing import spawn
from types import CodeType, ModuleType, SimpleNamespace, TracebackType
from typing import Any

from namecheck.core.semantics import Semantics
from namecheck.runtime import shim
from namecheck.runtime.annotations import import_hook
from namecheck.runtime.core import modes, tracebacks
from namecheck.runtime.core.errors import Contradicted
from namecheck.runtime.core.modes import Mode


class CannotRun(Exception):
    """A program that is not there; `status` is the exit status of Python in that case."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, slots=True)
class Program:
    """What is run: a file, a folder or an archive, or a module by its name, with its arguments."""

    target: str
    arguments: tuple[str, ...] = ()
    is_module: bool = False
    packages: tuple[str, ...] = ()
    mode: Mode = "error"
    semantics: Semantics = Semantics.NAMECHECK

    def run(self) -> None:
        """Run it to its end; raises what it raises, and `CannotRun`."""
        sys.argv[:] = [self.target, *self.arguments]
        self.switch_on()
        code, module = self._module() if self.is_module else self._file()
        sys.modules["__main__"] = module
        try:
            exec(code, vars(module))
        except SystemExit:
            raise
        except BaseException as error:
            if isinstance(error, Contradicted):
                shim.recorded().add(error.finding)
            _show_without_our_frames(error)
            raise

    def switch_on(self) -> None:
        """Put names on torch, and checks on the functions of the packages and of the module."""
        shim.host(self.mode, semantics=self.semantics)
        hook = import_hook.install_import_hook(self.packages)
        if self.is_module:
            hook.modules = frozenset({self.target, f"{self.target}.__main__"})
        _take_along(self)

    def _file(self) -> tuple[CodeType, ModuleType]:
        """The code of a file, and the module that it is to run in."""
        path = os.path.abspath(self.target)
        importer = pkgutil.get_importer(self.target)
        if importer is not None:
            _lead_path(path)
            spec = importer.find_spec("__main__")
            if spec is None:
                reason = f"can't find '__main__' module in {path!r}"
                raise CannotRun(f"{sys.executable}: {reason}", 1)
            return self._of_spec(spec)
        _lead_path(os.path.dirname(os.path.realpath(path)))
        try:
            with io.open_code(path) as file:
                source = file.read()
        except OSError as error:
            reason = f"can't open file {path!r}: [Errno {error.errno}] {error.strerror}"
            raise CannotRun(f"{sys.executable}: {reason}", 2) from None
        loader = SourceFileLoader("__main__", path)
        return _code(source, path), _main(__file__=path, __loader__=loader, __cached__=None)

    def _module(self) -> tuple[CodeType, ModuleType]:
        """The code of a module, and the one that it is to run in."""
        _lead_path(os.getcwd())
        sys.argv[0] = "-m"
        name = self.target
        spec = _find(name)
        if spec.submodule_search_locations is not None:
            name = f"{name}.__main__"
            spec = _find(name, f"; {self.target!r} is a package and cannot be directly executed")
        code, module = self._of_spec(spec)
        sys.argv[0] = spec.origin or self.target
        return code, module

    def _of_spec(self, spec: ModuleSpec) -> tuple[CodeType, ModuleType]:
        loader: Any = spec.loader
        if loader is None or not hasattr(loader, "get_code"):
            raise CannotRun(f"{sys.executable}: No code object available for {spec.name}", 1)
        try:
            code = _code_of(loader, spec.name)
        except SyntaxError as error:
            error.__traceback__ = None  # nothing has run yet
            _show_without_our_frames(error)
            raise
        if isinstance(loader, import_hook.CheckingLoader):
            spec.loader = SourceFileLoader(loader.name, loader.path)
        return code, _main(
            __spec__=spec,
            __loader__=spec.loader,
            __package__=spec.parent,
            __file__=spec.origin,
            __cached__=spec.cached,
        )


def _main(**attributes: object) -> ModuleType:
    """A fresh ``__main__``, with what this version of Python gives it."""
    module = ModuleType("__main__")
    vars(module)["__builtins__"] = builtins
    if "__annotations__" in vars(sys.modules["__main__"]):
        vars(module)["__annotations__"] = {}
    vars(module).update(attributes)
    return module


def _find(name: str, reason: str = "") -> ModuleSpec:
    try:
        spec = importlib.util.find_spec(name)
    except ModuleNotFoundError as error:
        parent = name.rpartition(".")[0]
        if error.name is None or not f"{parent}.".startswith(f"{error.name}."):
            _show_without_our_frames(error)
            raise
        reason = f" (while looking for {parent})" if "." in parent else ""
        spec = None
    if spec is None:
        raise CannotRun(f"{sys.executable}: No module named {name}{reason}", 1)
    return spec


def _lead_path(folder: str) -> None:
    """Put the program's folder where Python has put ours, unless Python was told to have none."""
    if not sys.flags.safe_path:
        sys.path[0] = folder


def _code(source: bytes, path: str) -> CodeType:
    compile_ = _plainly if modes.switched_off() else import_hook.compiled
    try:
        return compile_(source, path)
    except SyntaxError as error:
        error.__traceback__ = None  # nothing has run yet
        _show_without_our_frames(error)
        raise


def _code_of(loader: Any, name: str) -> CodeType:
    if type(loader) is SourceFileLoader and not modes.switched_off():
        loader = import_hook.CheckingLoader(loader.name, loader.path)
    code: CodeType = loader.get_code(name)
    return code


def _plainly(source: bytes, path: str) -> CodeType:
    code: CodeType = compile(source, path, "exec", dont_inherit=True)
    return code


def _show_without_our_frames(error: BaseException) -> None:
    """Let the interpreter show an error as it would without us, through whatever hook there is."""
    tracebacks.clean(error)
    cleaned, shown = error.__traceback__, sys.excepthook

    def show(
        kind: type[BaseException], value: BaseException, traceback: TracebackType | None
    ) -> None:
        if value is error:
            value.__traceback__ = traceback = cleaned
        shown(kind, value, traceback)

    sys.excepthook = show


@dataclass(frozen=True, slots=True)
class Passenger:
    """Sets a process up when multiprocessing hands it over, before that looks for ``__main__``."""

    program: Program

    def __reduce__(self) -> tuple[Callable[[Program], None], tuple[Program]]:
        return _arrive, (self.program,)


def _take_along(program: Program) -> None:
    """Let multiprocessing give every process that it starts a passenger."""
    prepared = spawn.get_preparation_data

    def get_preparation_data(name: str) -> dict[str, Any]:
        return {**prepared(name), "namecheck": Passenger(program)}

    spawn.get_preparation_data = get_preparation_data


def _arrive(program: Program) -> None:
    program.switch_on()
    runner: Any = SimpleNamespace(run_path=_run_path, run_module=runpy.run_module)
    vars(spawn)["runpy"] = runner


def _run_path(path: str, run_name: str) -> dict[str, Any]:
    """What the program's file defines, in a process where it is not ``__main__``."""
    module = ModuleType(run_name)
    module.__file__ = path
    vars(module).update(__builtins__=builtins, __cached__=None)
    with io.open_code(path) as file:
        code = import_hook.compiled(file.read(), path)
    sys.modules[run_name] = module
    exec(code, vars(module))
    return vars(module)
