"""Adds ``import namecheck`` and ``namecheck.install()`` to the files that a program starts from."""

from __future__ import annotations

import ast
import os
from collections.abc import Set as AbstractSet
from typing import Final

from namecheck import operators
from namecheck.core.findings import Span
from namecheck.core.installation import installs
from namecheck.core.syntax import Source
from namecheck.editing.edits import Edit
from namecheck.editing.imports import insertion_point, leading_imports
from namecheck.migration.name_arguments import is_of_names
from namecheck.migration.observations import Observations, is_test
from namecheck.project.files import ProjectFiles
from namecheck.project.settings import parents


def install_edit(
    source: Source, observations: Observations, files: ProjectFiles, *, shared: bool = False
) -> Edit | None:
    """The edit that installs names on torch; none where another file has to, or it is done.

    It belongs in a file that uses the API when it is imported or run, in one whose tests use it,
    and in one with a part under ``if __name__ == "__main__"``. The call follows the imports, if
    none of them can need it: one of a file that names dimensions may, and ``from torch import …``
    binds functions as they are then. With `shared` another file may have installed the names
    before.
    """
    if is_installed(source, files) or not _starts(source, observations):
        return None
    imports = leading_imports(source.tree)
    lines = [] if _imports_namecheck(source.tree) else ["import namecheck"]
    if not imports or any(_may_need(node, source, files) for node in imports):
        return Edit(insertion_point(source), "\n".join([*lines, "", *_CALLS[shared], "", ""]))
    line = source.span(imports[-1]).end_line
    end = len(source.lines[line - 1]) + 1
    text = "".join(f"\n{line}" for line in [*lines, "", *_CALLS[shared]])
    return Edit(Span(line, end, line, end), text)


# The installing call; a second one in the same process is an error.
_CALLS: Final = {
    False: ("namecheck.install()",),
    True: ("if not namecheck.installed():", "    namecheck.install()"),
}


def is_shared(location: str, imported: AbstractSet[str]) -> bool:
    """Whether another file may install in the same process: this one is imported, or a test."""
    return is_test(location) or location in imported


def is_installed(source: Source, files: ProjectFiles) -> bool:
    """Whether a file installs names, or, for tests, a ``conftest.py`` that pytest imports."""
    if installs(source.tree):
        return True
    folders = parents(source.filename) if is_test(source.filename) else ()
    prepared = (files.source(os.path.join(folder, "conftest.py")) for folder in folders)
    return any(one is not None and installs(one.tree) for one in prepared)


def _imports_namecheck(tree: ast.Module) -> bool:
    return any(
        isinstance(node, ast.Import)
        and any(alias.name == "namecheck" and not alias.asname for alias in node.names)
        for node in leading_imports(tree)
    )


def _starts(source: Source, observations: Observations) -> bool:
    """Whether running the file as a program, or its tests, uses names."""
    return has_main(source.tree) or any(
        is_of_names(application) for application in observations.run_by(source.filename)
    )


def has_main(tree: ast.Module) -> bool:
    """Whether a file has a part that runs only when it is the program."""
    return any(
        isinstance(node, ast.If)
        and any(
            isinstance(part, ast.Name) and part.id == "__name__" for part in ast.walk(node.test)
        )
        for node in tree.body
    )


def _may_need(importing: ast.Import | ast.ImportFrom, source: Source, files: ProjectFiles) -> bool:
    """Whether the result or the code of an import depends on names on torch."""
    if isinstance(importing, ast.ImportFrom):
        if not importing.level and (importing.module or "").split(".")[0] == "torch":
            return any(
                _is_operator(f"{importing.module}.{alias.name}") for alias in importing.names
            )
        return importing.level > 0 or _is_found(importing.module or "", source, files)
    return any(_is_found(alias.name, source, files) for alias in importing.names)


def _is_found(module: str, source: Source, files: ProjectFiles) -> bool:
    return files.find(source.filename, 0, module) is not None


def _is_operator(path: str) -> bool:
    key = path.removeprefix("torch.")
    rows = operators.table()
    return key in rows or key.removeprefix("nn.functional.") in rows or key.endswith(".*")
