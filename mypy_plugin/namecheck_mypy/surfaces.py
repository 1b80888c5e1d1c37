"""All uses of private parts of mypy, with one adapter for each of its versions.

A plugin gets only the options. The build manager, which has the sources and the errors, is found
among the objects that refer to the options. What differs between versions is in an `Adapter`;
`ADAPTERS` lists the versions that `python -m tests.versions mypy` runs the tests with.
"""

from __future__ import annotations

import ast
import gc
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final, TypeAlias

import mypy
from mypy.build import BuildManager
from mypy.checker import TypeChecker
from mypy.config_parser import parse_mypy_comments
from mypy.errorcodes import ErrorCode
from mypy.errors import ErrorInfo, Errors
from mypy.modulefinder import BuildSource
from mypy.nodes import (
    ClassDef,
    Decorator,
    FuncDef,
    MypyFile,
    OverloadedFuncDef,
    Statement,
    TypeInfo,
)
from mypy.options import Options
from mypy.plugin import MethodContext, Plugin
from mypy.server.trigger import make_trigger
from mypy.types import AnyType, TypeOfAny, get_proper_type
from mypy.util import get_mypy_comments
from mypy.version import __version__

NO_FILE: Final = "<string>"
"""The path that mypy gives to the text of ``mypy -c``."""

NO_MODULE: Final = "pyproject.toml"
"""The file whose errors are about no file of the build."""

Position: TypeAlias = tuple[int, int, int, int]
"""Line, column, end line and end column, from 1, the end exclusive."""

Enclosing: TypeAlias = tuple[str | None, str | None]
"""The class and the function around a line."""

_INSTALLED: Final = f"{os.sep}site-packages{os.sep}"
_STUBS: Final = os.path.join(os.path.dirname(mypy.__file__), "")
_WORKER: Final = "mypy.build_worker.worker"

# The constructor takes other parameters in other versions.
_error_info: Final[Callable[..., ErrorInfo]] = ErrorInfo


class Adapter:
    """What differs between versions of mypy, as mypy 2.4 has it."""

    calls_after_check = True
    """Whether mypy calls `get_additional_indirect_deps` for each file, once it is checked.

    If not, findings are added when the file is parsed. mypy does not parse a file again if only a
    file that it imports has changed, so the cache must never be valid for a file with findings.
    """

    def info(
        self,
        file: MypyFile | None,
        span: Position,
        severity: str,
        message: str,
        error_code: ErrorCode | None,
        parent: ErrorInfo | None = None,
        enclosing: Enclosing = (None, None),
    ) -> ErrorInfo:
        """One error or note of mypy at the span of a finding."""
        line, column, end_line, end_column = span
        return _error_info(
            import_ctx=[],
            module=file.fullname if file else None,
            line=line,
            column=column - 1,
            end_line=end_line,
            end_column=end_column - 1,
            severity=severity,
            message=message,
            code=error_code,
            blocker=False,
            only_once=False,
            parent_error=parent,
            **self._where(file, range(line, end_line + 1), enclosing),
        )

    def _where(
        self, file: MypyFile | None, line_range: range, enclosing: Enclosing
    ) -> Mapping[str, object]:
        """The arguments of an error that say where it is, besides its span."""
        return {"local_ctx": enclosing, "target": None, "origin_span": line_range}

    def move(self, info: ErrorInfo, path: str) -> None:
        """Let an error of no file be one of this file: an error does not know its file."""

    def add(self, errors: Errors, file: MypyFile, info: ErrorInfo) -> None:
        """Add an error to those of a file, unless a comment or an option ignores it."""
        errors.add_error_info(info, file=file.path)

    def enclosing(self, errors: Errors, file: MypyFile, line: int) -> Enclosing:
        """The class and the function around a line, as ``--show-error-context`` shows them."""
        return _enclosing(file, line)

    def is_worker(self, manager: BuildManager) -> bool:
        """Whether this is one of the processes of ``--num-workers``."""
        return bool(manager.parallel_worker)

    def has_workers(self, manager: BuildManager) -> bool:
        """Whether worker processes check the files."""
        return bool(manager.options.num_workers) and not self.is_worker(manager)


class Mypy20(Adapter):
    """mypy 1.20 to 2.3: it calls no hook after the check of a file.

    Its worker processes do not parse files, and cannot be sent errors with codes of a plugin: with
    them no findings are reported, which `namecheck_mypy.findings` says.
    """

    calls_after_check = False

    def enclosing(self, errors: Errors, file: MypyFile, line: int) -> Enclosing:
        """The class and the function around a line; the file has no statements yet."""
        lines = _source(errors, file.path) if errors.options.show_error_context else ()
        try:
            return _enclosing_in(ast.parse("\n".join(lines)), line)
        except (SyntaxError, ValueError, RecursionError):
            return None, None


class Mypy19(Mypy20):
    """mypy 1.19: an error knows its file, and there are no workers."""

    def _where(
        self, file: MypyFile | None, line_range: range, enclosing: Enclosing
    ) -> Mapping[str, object]:
        """The arguments of an error that say where it is, besides its span."""
        path = file.path if file else NO_MODULE
        class_name, function = enclosing
        return {
            "file": path,
            "typ": class_name,
            "function_or_member": function,
            "origin": (path, line_range),
        }

    def move(self, info: ErrorInfo, path: str) -> None:
        """Let an error of no file be one of this file."""
        known: Any = info
        known.file, known.origin = path, (path, range(info.line, info.line + 1))

    def add(self, errors: Errors, file: MypyFile, info: ErrorInfo) -> None:
        """Add an error to those of a file."""
        errors.add_error_info(info)

    def is_worker(self, manager: BuildManager) -> bool:
        """Whether this is a worker process: there are none."""
        return False

    def has_workers(self, manager: BuildManager) -> bool:
        """Whether worker processes check the files: there are none."""
        return False


Release: TypeAlias = tuple[int, int]
"""The first two numbers of a version."""

ADAPTERS: Final[Mapping[Release, type[Adapter]]] = MappingProxyType(
    {
        (1, 19): Mypy19,
        (1, 20): Mypy20,
        (2, 0): Mypy20,
        (2, 1): Mypy20,
        (2, 2): Mypy20,
        (2, 3): Mypy20,
        (2, 4): Adapter,
    }
)
"""The adapter of each release of mypy that the tests were run with."""


def release_of(version: str) -> Release:
    """The first two numbers of a version, 0 where there is none."""
    words = [*version.split("+")[0].split("."), "", ""]
    major, minor = (int(word) if word.isdecimal() else 0 for word in words[:2])
    return major, minor


def adapter_of(release: Release) -> Adapter:
    """The adapter of a release; of one that is not listed, that of its nearest neighbour."""
    if release in ADAPTERS:
        return ADAPTERS[release]()
    newest = release > max(ADAPTERS)
    return ADAPTERS[max(ADAPTERS) if newest else min(ADAPTERS)]()


ADAPTER: Final = adapter_of(release_of(__version__))
"""The adapter of the mypy that runs."""


def lacks() -> str:
    """What the plugin needs and this mypy does not have; empty if nothing is missing.

    Tells whether a release that is not listed can be used: one error goes in and comes out.
    """
    if ADAPTER.calls_after_check and not hasattr(Plugin, "get_additional_indirect_deps"):
        return "a hook after the check of a file"
    file = MypyFile([], [])
    file.path = NO_FILE
    file._fullname = "__main__"
    options = Options()
    errors = Errors(options)
    try:
        errors.set_file(file.path, file.fullname, options, None)
        errors.set_file_ignored_lines(file.path, {}, False)
        ADAPTER.add(errors, file, ADAPTER.info(file, (1, 1, 1, 2), "error", "", None))
        is_added = len(errors.error_info_map[file.path]) == 1
    except Exception as error:
        return " ".join(f"{type(error).__name__}: {error}".split())
    return "" if is_added else "errors that can be added"


def is_worker_process() -> bool:
    """Whether this process is one of ``--num-workers``; there may be no build yet."""
    return _WORKER in sys.modules


def manager_of(options: Options) -> BuildManager | None:
    """The build that has these options."""
    return next((it for it in gc.get_referrers(options) if isinstance(it, BuildManager)), None)


def sources(manager: BuildManager) -> list[str]:
    """The paths of the files that mypy was asked to check, in order."""
    modules = manager.source_set.source_modules.items()
    paths = [path or _path_of(module, manager) for module, path in modules]
    paths += sorted(manager.source_set.source_paths)
    return [path for path in dict.fromkeys(paths) if path.endswith((".py", ".pyi"))]


def _path_of(module: str, manager: BuildManager) -> str:
    location = manager.find_module_cache.find_module(module)
    return location if isinstance(location, str) else ""


def is_foreign(path: str) -> bool:
    """Whether a file belongs to a library, or to mypy's own stubs."""
    return _INSTALLED in path or path.startswith(_STUBS)


def texts(manager: BuildManager) -> Iterator[bytes]:
    """The program texts of ``mypy -c``."""
    if manager.source_set.source_text_present:
        for it in gc.get_objects():
            if isinstance(it, BuildSource) and it.text is not None:
                yield it.text.encode()


def shadows(options: Options) -> dict[str, str]:
    """The files that are read instead of others: ``--shadow-file``."""
    return dict(options.shadow_file or ())


def cache_folder(options: Options) -> str | None:
    """The folder for cached data, None if mypy has no cache."""
    if not options.incremental or options.cache_dir == os.devnull:
        return None
    return os.path.join(options.cache_dir, "namecheck")


def print_message(manager: BuildManager, text: str, severity: str) -> None:
    """Print a message that is about no file of the build, except in a worker process."""
    if not ADAPTER.is_worker(manager):
        manager.flush_errors(None, [f"namecheck: {severity}: {text}"], False)


def add_message(manager: BuildManager, text: str) -> None:
    """Add an error that is about no file of the build to those of an update of the daemon."""
    error = ADAPTER.info(None, (1, 1, 1, 2), "error", f"namecheck: {text}", None)
    manager.errors.error_info_map[NO_MODULE] = [error]


def add_note(manager: BuildManager, path: str, text: str) -> bool:
    """Add a note to a file, at its start; False if mypy shows no more errors of the file.

    It goes past `Errors.report`: mypy drops what is reported while it tries alternatives of an
    expression.
    """
    errors = manager.errors
    if path not in errors.ignored_lines or path in errors.ignored_files | errors.flushed_files:
        return False
    note = ADAPTER.info(None, (1, 1, 1, 2), "note", text, None)
    ADAPTER.move(note, path)
    errors.error_info_map.setdefault(path, []).append(note)
    return True


def checked_file(manager: BuildManager | None) -> str:
    """The path of the file that mypy is checking."""
    return manager.errors.file if manager is not None else ""


def is_silent(manager: BuildManager, path: str) -> bool:
    """Whether mypy shows no errors of a file."""
    return path in manager.errors.ignored_files


def is_flushed(manager: BuildManager, path: str) -> bool:
    """Whether mypy has printed the errors of a file, to which nothing can be added then."""
    return path in manager.errors.flushed_files


def add(manager: BuildManager, file: MypyFile, infos: list[ErrorInfo], *, silent: bool) -> None:
    """Add errors to those of a file; `silent` says that mypy was not to show any of them."""
    errors = manager.errors
    previous = errors.file, errors.target_module, errors.options, errors.scope
    if errors.file != file.path:
        errors.set_file(file.path, file.fullname, _options_of(manager, file))
    if file.path not in errors.ignored_lines:
        # An update of the daemon drops the comments of files together with the errors.
        hides = errors.options.ignore_errors or silent
        errors.set_file_ignored_lines(file.path, file.ignored_lines, hides)
    for info in infos:
        ADAPTER.add(errors, file, info)
    errors.set_file(*previous)


def remove(manager: BuildManager, path: str, infos: list[ErrorInfo]) -> None:
    """Remove errors that were added to those of a file."""
    errors = manager.errors
    if infos and path in errors.error_info_map:
        others = [info for info in errors.error_info_map[path] if info not in infos]
        errors.error_info_map[path] = others


def add_hidden(manager: BuildManager, file: MypyFile, label: str) -> None:
    """Add an error to a file that is not shown, once: the daemon then checks the file again."""
    errors = manager.errors.error_info_map.setdefault(file.path, [])
    if not any(info.target == label for info in errors):
        hidden = ADAPTER.info(file, (1, 1, 1, 1), "note", "", None)
        hidden.target = label
        hidden.hidden = True
        errors.append(hidden)


def add_dependency(method_ctx: MethodContext, info: TypeInfo, name: str) -> None:
    """Let a daemon check the code around a call again if a member of a class changes."""
    checker = method_ctx.api
    if isinstance(checker, TypeChecker) and checker.options.fine_grained_incremental:
        trigger = make_trigger(f"{info.fullname}.{name}")
        targets = checker.tree.plugin_deps.setdefault(trigger, set())
        targets.add(checker.tscope.current_target())


def is_cast(method_ctx: MethodContext) -> bool:
    """Whether a call is the argument of ``cast``, which would become redundant."""
    checker = method_ctx.api
    contexts = checker.expr_checker.type_context if isinstance(checker, TypeChecker) else ()
    expected = get_proper_type(contexts[-1]) if contexts else None
    return isinstance(expected, AnyType) and expected.type_of_any == TypeOfAny.special_form


def _options_of(manager: BuildManager, file: MypyFile) -> Options:
    """The options of a file: those of its module, with those of its comments (``# mypy: …``)."""
    options = manager.options.clone_for_module(file.fullname)
    comments = get_mypy_comments("\n".join(_source(manager.errors, file.path)))
    if not comments:
        return options
    changes, _ = parse_mypy_comments(comments, options)
    return options.apply_changes(changes)


def _source(errors: Errors, path: str) -> list[str]:
    """The lines of a file; none if it cannot be read."""
    lines = errors.read_source(path) if errors.read_source and path != NO_FILE else None
    return lines or []


def _enclosing(file: MypyFile, line: int) -> Enclosing:
    """The class and the function around a line, from the tree of a file."""
    class_name: str | None = None
    open_: list[Statement] = list(file.defs)
    while open_:
        statement = open_.pop()
        if isinstance(statement, OverloadedFuncDef):
            open_ += statement.items
            continue
        node = statement.func if isinstance(statement, Decorator) else statement
        if not node.line <= line <= (node.end_line or node.line):
            continue
        if isinstance(node, ClassDef):
            class_name = node.name
            open_ = list(node.defs.body)
        elif isinstance(node, FuncDef):
            return class_name, node.name
    return class_name, None


def _enclosing_in(tree: ast.Module, line: int) -> Enclosing:
    """The class and the function around a line, from Python's own tree of a file."""
    class_name: str | None = None
    body: list[ast.stmt] = tree.body
    while True:
        node = next((it for it in body if it.lineno <= line <= (it.end_lineno or 0)), None)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return class_name, node.name
        if not isinstance(node, ast.ClassDef):
            return class_name, None
        class_name = node.name
        body = node.body
