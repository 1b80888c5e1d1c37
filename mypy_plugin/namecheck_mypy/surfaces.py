"""The private surfaces of mypy that the plugin uses, and nothing else does.

A plugin is given the options alone. The manager of the build knows what is built, and the errors;
it is found among what refers to the options. Measured with mypy 2.4.1.
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


_INSTALLED: Final = f"{os.sep}site-packages{os.sep}"
_STUBS: Final = os.path.join(os.path.dirname(mypy.__file__), "")


def manager_of(options: Options) -> BuildManager | None:
    """The build that has these options."""
    return next((it for it in gc.get_referrers(options) if isinstance(it, BuildManager)), None)


def sources(manager: BuildManager) -> list[str]:
    """The paths of what mypy was asked to check, in their order."""
    named = manager.source_set.source_modules.items()
    paths = [path or _path_of(module, manager) for module, path in named]
    paths += sorted(manager.source_set.source_paths)
    return [path for path in dict.fromkeys(paths) if path.endswith((".py", ".pyi"))]


def _path_of(module: str, manager: BuildManager) -> str:
    found = manager.find_module_cache.find_module(module)
    return found if isinstance(found, str) else ""


def is_foreign(path: str) -> bool:
    """Whether a file is one of a library, or of mypy's own stubs."""
    return _INSTALLED in path or path.startswith(_STUBS)


def texts(manager: BuildManager) -> Iterator[bytes]:
    """What ``mypy -c`` was given."""
    if manager.source_set.source_text_present:
        for it in gc.get_objects():
            if isinstance(it, BuildSource) and it.text is not None:
                yield it.text.encode()


def shadows(options: Options) -> dict[str, str]:
    """The files that are read in place of others: ``--shadow-file``."""
    return dict(options.shadow_file or ())


def is_worker(manager: BuildManager) -> bool:
    """Whether this is one of the processes of ``--num-workers``."""
    return bool(manager.parallel_worker)


def tell(manager: BuildManager, text: str, severity: str) -> None:
    """Print what is about no file of the build; the processes of ``--num-workers`` stay silent."""
    if not is_worker(manager):
        manager.flush_errors(None, [f"namecheck: {severity}: {text}"], False)


def enclosing(file: MypyFile, line: int) -> tuple[str | None, str | None]:
    """The class and the function that a line is in, as ``--show-error-context`` tells them."""
    within: str | None = None
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
            within = node.name
            open_ = list(node.defs.body)
        elif isinstance(node, FuncDef):
            return within, node.name
    return within, None


def cache_folder(options: Options) -> str | None:
    """Where mypy keeps what it remembers; None where it shall remember nothing."""
    if not options.incremental or options.cache_dir == os.devnull:
        return None
    return os.path.join(options.cache_dir, "namecheck")


def info(
    file: MypyFile | None,
    span: tuple[int, int, int, int],
    severity: str,
    message: str,
    code: ErrorCode | None,
    parent: ErrorInfo | None = None,
) -> ErrorInfo:
    """One error or note of mypy, at the span of a finding; without a file it has no context."""
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
        code=code,
        blocker=False,
        only_once=False,
        module=file.fullname if file else None,
        target=None,
        origin_span=range(line, end_line + 1),
        parent_error=parent,
    )
