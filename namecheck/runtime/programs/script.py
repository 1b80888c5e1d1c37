"""Runs a program as Python would, with the shim installed and its annotated functions checked.

The program is ``__main__``, with its own ``sys.argv`` and ``sys.path``. Its errors reach the
interpreter without our frames in the traceback. Processes that it starts by multiprocessing with
``spawn`` or ``forkserver`` are set up in the same way.
"""

from __future__ import annotations

import builtins
import importlib.util
import io
import multiprocessing
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
    """The program does not exist; `status` is Python's exit status in that case."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, slots=True)
class Program:
    """A program to run: a file, folder or archive, or a module by its name; with its arguments."""

    target: str
    arguments: tuple[str, ...] = ()
    is_module: bool = False
    packages: tuple[str, ...] = ()
    mode: Mode = "error"
    semantics: Semantics = Semantics.NAMECHECK

    def run(self) -> None:
        """Run the program; raises its errors, and `CannotRun`."""
        sys.argv[:] = [self.target, *self.arguments]
        self.switch_on()
        code, module = self._module() if self.is_module else self._file()
        sys.modules["__main__"] = module
        try:
            exec(code, vars(module))
        except SystemExit:
            raise
        except BaseException as error:
            record = shim.recorded()
            if isinstance(error, Contradicted) and error.finding not in record.findings:
                record.add(error.finding)
            _show_without_our_frames(error)
            raise

    def switch_on(self) -> None:
        """Install the shim, and the import hook for the packages and the module."""
        shim.host(self.mode, semantics=self.semantics)
        hook = import_hook.install_import_hook(self.packages)
        if self.is_module:
            hook.modules = frozenset({self.target, f"{self.target}.__main__"})
        _set_up_child_processes(self)

    def _file(self) -> tuple[CodeType, ModuleType]:
        """The code of a file, and the module to run it in."""
        path = os.path.abspath(self.target)
        importer = pkgutil.get_importer(self.target)
        if importer is not None:
            _set_first_path(path)
            spec = importer.find_spec("__main__")
            if spec is None:
                reason = f"can't find '__main__' module in {path!r}"
                raise CannotRun(f"{sys.executable}: {reason}", 1)
            return self._of_spec(spec)
        _set_first_path(os.path.dirname(os.path.realpath(path)))
        try:
            with io.open_code(path) as file:
                file_bytes = file.read()
        except OSError as error:
            reason = f"can't open file {path!r}: [Errno {error.errno}] {error.strerror}"
            raise CannotRun(f"{sys.executable}: {reason}", 2) from None
        loader = SourceFileLoader("__main__", path)
        return _code(file_bytes, path), _main(__file__=path, __loader__=loader, __cached__=None)

    def _module(self) -> tuple[CodeType, ModuleType]:
        """The code of a module, and the module to run it in."""
        _set_first_path(os.getcwd())
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
    """A new ``__main__``, with the attributes that this version of Python sets."""
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


def _set_first_path(folder: str) -> None:
    """Replace our folder in ``sys.path`` by the program's, except in safe-path mode."""
    if not sys.flags.safe_path:
        sys.path[0] = folder


def _code(file_bytes: bytes, path: str) -> CodeType:
    compile_ = _without_checks if modes.switched_off() else import_hook.compiled
    try:
        return compile_(file_bytes, path)
    except SyntaxError as error:
        error.__traceback__ = None  # nothing has run yet
        _show_without_our_frames(error)
        raise


def _code_of(loader: Any, name: str) -> CodeType:
    if type(loader) is SourceFileLoader and not modes.switched_off():
        loader = import_hook.CheckingLoader(loader.name, loader.path)
    code: CodeType = loader.get_code(name)
    return code


def _without_checks(file_bytes: bytes, path: str) -> CodeType:
    code: CodeType = compile(file_bytes, path, "exec", dont_inherit=True)
    return code


def _show_without_our_frames(error: BaseException) -> None:
    """Let the interpreter show an error without our frames, through the present hook."""
    tracebacks.clean(error)
    cleaned, present_hook = error.__traceback__, sys.excepthook

    def show(
        error_type: type[BaseException], shown: BaseException, traceback: TracebackType | None
    ) -> None:
        if shown is error:
            shown.__traceback__ = traceback = cleaned
        present_hook(error_type, shown, traceback)

    sys.excepthook = show


@dataclass(frozen=True, slots=True)
class ChildSetup:
    """Sets a process up when it is unpickled there, before multiprocessing imports ``__main__``."""

    program: Program

    def __reduce__(self) -> tuple[Callable[[Program], None], tuple[Program]]:
        return _set_up, (self.program,)


def _set_up_child_processes(program: Program) -> None:
    """Let multiprocessing send a `ChildSetup` to every process that it starts."""
    original = spawn.get_preparation_data

    def get_preparation_data(name: str) -> dict[str, Any]:
        return {**original(name), "namecheck": ChildSetup(program)}

    spawn.get_preparation_data = get_preparation_data
    if "forkserver" in multiprocessing.get_all_start_methods():
        # From Python 3.14 on the server would import the program, before any process is set up.
        multiprocessing.set_forkserver_preload([])


def _set_up(program: Program) -> None:
    program.switch_on()
    runner: Any = SimpleNamespace(run_path=_run_path, run_module=runpy.run_module)
    vars(spawn)["runpy"] = runner


def _run_path(path: str, run_name: str) -> dict[str, Any]:
    """The globals of the program's file, run in a process where it is not ``__main__``."""
    module = ModuleType(run_name)
    module.__file__ = path
    vars(module).update(__builtins__=builtins, __cached__=None)
    with io.open_code(path) as file:
        code = import_hook.compiled(file.read(), path)
    sys.modules[run_name] = module
    exec(code, vars(module))
    return vars(module)
