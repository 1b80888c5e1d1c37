"""All uses of private parts of mypy.

A plugin gets only the options. The build manager, which has the sources and the errors, is found
among the objects that refer to the options. Measured with mypy 2.4.1.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from typing import Final

import mypy
from mypy.build import BuildManager
from mypy.errorcodes import ErrorCode
from mypy.errors import ErrorInfo
from mypy.modulefinder import BuildSource
from mypy.nodes import ClassDef, Decorator, FuncDef, MypyFile, OverloadedFuncDef, Statement
from mypy.options import Options

NO_FILE: Final = "<string>"
"""The path that mypy gives to the text of ``mypy -c``."""

NO_MODULE: Final = "pyproject.toml"
"""The file whose errors are about no file of the build."""


_INSTALLED: Final = f"{os.sep}site-packages{os.sep}"
_STUBS: Final = os.path.join(os.path.dirname(mypy.__file__), "")


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


def is_worker(manager: BuildManager) -> bool:
    """Whether this is one of the processes of ``--num-workers``."""
    return bool(manager.parallel_worker)


def print_message(manager: BuildManager, text: str, severity: str) -> None:
    """Print a message that is about no file of the build, except in a worker process."""
    if not is_worker(manager):
        manager.flush_errors(None, [f"namecheck: {severity}: {text}"], False)


def add_message(manager: BuildManager, text: str) -> None:
    """Add an error that is about no file of the build to those of an update of the daemon."""
    error = info(None, (1, 1, 1, 2), "error", f"namecheck: {text}", None)
    manager.errors.error_info_map[NO_MODULE] = [error]


def enclosing(file: MypyFile, line: int) -> tuple[str | None, str | None]:
    """The class and the function around a line, as ``--show-error-context`` shows them."""
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


def cache_folder(options: Options) -> str | None:
    """The folder for cached data, None if mypy has no cache."""
    if not options.incremental or options.cache_dir == os.devnull:
        return None
    return os.path.join(options.cache_dir, "namecheck")


def info(
    file: MypyFile | None,
    span: tuple[int, int, int, int],
    severity: str,
    message: str,
    error_code: ErrorCode | None,
    parent: ErrorInfo | None = None,
) -> ErrorInfo:
    """One error or note of mypy at the span of a finding, without context if it has no file."""
    line, column, end_line, end_column = span
    return ErrorInfo(
        import_ctx=[],
        local_ctx=enclosing(file, line) if file else (None, None),
        line=line,
        column=column - 1,
        end_line=end_line,
        end_column=end_column - 1,
        severity=severity,
        message=message,
        code=error_code,
        blocker=False,
        only_once=False,
        module=file.fullname if file else None,
        target=None,
        origin_span=range(line, end_line + 1),
        parent_error=parent,
    )
