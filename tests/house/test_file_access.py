"""Files of a project are read in one module and written in one: no other opens any of them."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[2]

ALLOWED: Final = {
    "namecheck/core/regular_files.py": "reads the files of a project",
    "namecheck/core/file_replacement.py": "writes them",
    "namecheck/project/cache_folder.py": "looks at the journal, and writes .gitignore",
    "namecheck/cli/failures.py": "opens the null device",
    "namecheck/runtime/gate/compiler.py": "writes what the compiler reads, in the user's cache",
    "namecheck/core/findings.py": "reads the codes of namecheck itself",
    "namecheck/operators/shipped.py": "reads the table of namecheck itself",
    "namecheck/rules/registry.py": "reads the rules of namecheck itself",
    "namecheck/version.py": "reads the table of namecheck itself",
    "mypy_plugin/namecheck_mypy/versions.py": "reads the files of the plugin itself",
    "mypy_plugin/namecheck_mypy/snapshot.py": "reads its own file in mypy's cache",
}
OPENERS: Final = {"open", "fdopen", "read_text", "read_bytes", "write_text", "write_bytes"}


def openers(source: str) -> list[int]:
    """The lines of a module that open a file."""
    lines = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            called = node.func
            is_plain = isinstance(called, ast.Name) and called.id == "open"
            is_method = (
                isinstance(called, ast.Attribute)
                and called.attr in OPENERS
                and isinstance(called.value, ast.Name)
                and called.value.id not in ("self", "recorder")
            )
            if is_plain or is_method:
                lines.append(node.lineno)
    return lines


def modules() -> list[str]:
    paths = [*(ROOT / "namecheck").rglob("*.py"), *(ROOT / "mypy_plugin").rglob("*.py")]
    return sorted(path.relative_to(ROOT).as_posix() for path in paths)


def test_no_other_module_opens_files() -> None:
    found = {name for name in modules() if openers((ROOT / name).read_text("utf-8"))}
    assert found - ALLOWED.keys() == set(), "read with regular_files, write with file_replacement"
    assert ALLOWED.keys() - found == set(), "these open nothing any more"


@pytest.mark.parametrize(
    "line", ["open(p)", "os.open(p, 0)", "path.read_text()", "io.open(p)", "os.fdopen(1)"]
)
def test_openers_are_seen(line: str) -> None:
    assert openers(line) == [1]
