"""The floors of the house: who may import whom, what stays out, and how large a module may be."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

PACKAGE: Final = Path(__file__).parents[1] / "namecheck"

# A module imports only from lower floors; the modules of one package may import each other.
FLOORS: Final = {
    "names": 0,
    "attributes": 1,
    "findings": 0,
    "revealing": 0,
    "semantics": 0,
    "shipped": 0,
    "sizes": 0,
    "stamps": 0,
    "version": 0,
    "memory": 1,
    "syntax": 1,
    "values": 2,
    "annotations": 3,
    "signatures": 3,
    "rules": 3,
    "operators": 4,
    "interpreter": 5,
    "runtime": 5,
    "settings": 5,
    "project": 6,
    "report": 6,
    "conformance": 6,
    "__init__": 6,
    "compare": 7,
    "pytest_plugin": 7,
    "rewrite": 7,
    "console": 7,
    "verbs": 8,
    "cli": 9,
    "__main__": 10,
}

# What is not in the standard library, and the one place that may import it.
STRANGERS: Final = {"torch": "runtime", "libcst": "rewrite", "pytest": "pytest_plugin"}

LONGEST_MODULE: Final = 600

MODULES: Final = sorted(PACKAGE.rglob("*.py"))


def place_of(path: Path) -> str:
    """The row of FLOORS that a file belongs to: its module, or the package that it is in."""
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


def imports(path: Path) -> Iterator[tuple[int, str]]:
    """Every module that a file imports, with the line; of ``from a import b`` both a and a.b."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            assert node.module, f"{path.name}:{node.lineno}: a relative import"
            yield node.lineno, node.module
            for alias in node.names:
                if is_module(f"{node.module}.{alias.name}"):
                    yield node.lineno, f"{node.module}.{alias.name}"


def is_module(dotted: str) -> bool:
    """Whether a dotted name is a module or package of namecheck."""
    path = PACKAGE.parent.joinpath(*dotted.split("."))
    return path.with_suffix(".py").is_file() or (path / "__init__.py").is_file()


def named(path: Path) -> str:
    return str(path.relative_to(PACKAGE))


def test_every_module_has_a_floor() -> None:
    unplaced = {place_of(path) for path in MODULES} - set(FLOORS)
    assert not unplaced, f"place these modules on a floor, in FLOORS: {sorted(unplaced)}"


@pytest.mark.parametrize("path", MODULES, ids=named)
def test_imports_only_from_lower_floors(path: Path) -> None:
    here = place_of(path)
    wrong = []
    for line, dotted in imports(path):
        if not dotted.startswith("namecheck."):
            continue
        there = dotted.split(".")[1]
        if there != here and FLOORS[there] >= FLOORS[here]:
            wrong.append(f"line {line}: {here} ({FLOORS[here]}) imports {there} ({FLOORS[there]})")
    assert not wrong


@pytest.mark.parametrize("path", MODULES, ids=named)
def test_imports_nothing_from_outside_but_in_its_one_place(path: Path) -> None:
    here = place_of(path)
    tops = {(line, dotted.split(".")[0]) for line, dotted in imports(path)}
    wrong = [
        f"line {line}: {top}"
        for line, top in sorted(tops)
        if top not in sys.stdlib_module_names and top != "namecheck" and STRANGERS.get(top) != here
    ]
    assert not wrong


@pytest.mark.parametrize("path", MODULES, ids=named)
def test_no_module_is_two_things(path: Path) -> None:
    assert len(path.read_text("utf-8").splitlines()) <= LONGEST_MODULE


@pytest.mark.parametrize("path", MODULES, ids=named)
def test_everything_public_has_a_docstring(path: Path) -> None:
    tree = ast.parse(path.read_text("utf-8"))
    silent = [] if ast.get_docstring(tree) or not tree.body else ["the module"]
    silent += [name for name, node in public_definitions(tree) if not ast.get_docstring(node)]
    assert not silent


Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def public_definitions(
    parent: ast.Module | ast.ClassDef, prefix: str = ""
) -> Iterator[tuple[str, Definition]]:
    """Public functions and classes of a module, and the public methods of those classes."""
    for node in parent.body:
        if isinstance(node, Definition) and not node.name.startswith("_"):
            yield prefix + node.name, node
            if isinstance(node, ast.ClassDef):
                yield from public_definitions(node, f"{node.name}.")


def test_the_command_starts_without_torch_and_mypy() -> None:
    program = (
        "import sys, namecheck.cli; print([m for m in ('torch', 'mypy', 'libcst', 'numpy')"
        " if m in sys.modules])"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert (run.returncode, run.stdout.strip()) == (0, "[]"), run.stderr
