"""The floors of the house: which room may import which, forbidden imports, the size of modules."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

PACKAGE: Final = Path(__file__).parents[2] / "namecheck"

# The rooms of the house from the ground up. A module imports from its own room and from rooms above
# its own in this list, and from no other: so there is no import circle across rooms.
ROOMS: Final = (
    "core",
    "version",
    "revealing",
    "annotations",
    "rules",
    "effects",
    "operators",
    "interpreter.domain",
    "interpreter.evaluation",
    "interpreter.models",
    "lints",
    "interpreter.workspace",
    "interpreter",
    "report",
    "project",
    "editing",
    "migration",
    "fixes",
    "fixing",
    "runtime.core",
    "runtime.gate",
    "runtime.patching",
    "runtime.compilation",
    "runtime.annotations",
    "runtime.distributed",
    "runtime",
    "runtime.programs",
    "__init__",
    "compare",
    "pytest_plugin",
    "cli",
    "__main__",
)

# Packages outside the standard library, and the places that may import them.
STRANGERS: Final = {
    "torch": ("runtime",),
    "libcst": ("editing", "migration"),
    "pytest": ("pytest_plugin",),
    "distributed": ("project",),
    "jinja2": ("report",),
    "markupsafe": ("report",),
    "pygments": ("report",),
}

LONGEST_MODULE: Final = 600
LARGEST_CIRCLE: Final = 3

MODULES: Final = sorted(PACKAGE.rglob("*.py"))


def room_of(dotted: str) -> str:
    """The room of a module: the longest one that is a prefix of its name."""
    within = dotted.removeprefix("namecheck").removeprefix(".") or "__init__"
    while within not in ROOMS and "." in within:
        within = within.rpartition(".")[0]
    return within


def dotted_name(path: Path) -> str:
    """``namecheck.core.names`` for a file; a package has the name of its folder."""
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(path: Path) -> Iterator[tuple[int, str]]:
    """Every module that a file imports, with the line; for ``from a import b`` both a and a.b."""
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


def imported_modules(path: Path) -> dict[str, int]:
    """The modules of namecheck that a file imports, each with its line; `TYPE_CHECKING` included.

    For ``from namecheck.core import names`` that is `namecheck.core.names`, not the package; for
    ``from namecheck.operators import infer`` it is the package.
    """
    modules: dict[str, int] = {}
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            modules.update({alias.name: node.lineno for alias in node.names})
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                modules[inner if is_module(inner) else str(node.module)] = node.lineno
    return {dotted: line for dotted, line in modules.items() if dotted.startswith("namecheck.")}


@cache
def imported() -> dict[str, dict[str, int]]:
    """The imports of each module."""
    return {dotted_name(path): imported_modules(path) for path in MODULES}


def circles() -> list[list[str]]:
    """The groups of modules that import each other, directly or through others (Tarjan)."""
    found: list[list[str]] = []
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []

    def visit(module: str) -> None:
        index[module] = low[module] = len(index)
        stack.append(module)
        for other in imported().get(module, ()):
            if other not in index:
                visit(other)
                low[module] = min(low[module], low[other])
            elif other in stack:
                low[module] = min(low[module], index[other])
        if low[module] == index[module]:
            start = stack.index(module)
            if len(stack) - start > 1:
                found.append(sorted(stack[start:]))
            del stack[start:]

    for module in imported():
        if module not in index:
            visit(module)
    return found


def test_every_module_has_a_room() -> None:
    lost = {room_of(module) for module in imported()} - set(ROOMS)
    assert not lost, f"place these modules in a room, in ROOMS: {sorted(lost)}"


def test_imports_only_from_rooms_below() -> None:
    wrong = [
        f"{module}:{line}: {room_of(module)} imports {other}"
        for module, others in imported().items()
        for other, line in others.items()
        if ROOMS.index(room_of(other)) > ROOMS.index(room_of(module))
    ]
    assert not wrong


def test_a_circle_is_of_three_files_at_most() -> None:
    assert [circle for circle in circles() if len(circle) > LARGEST_CIRCLE] == []


def test_imports_nothing_from_outside_but_in_its_places() -> None:
    wrong = [
        f"{named(path)}:{line}: {dotted}"
        for path in MODULES
        for line, dotted in imports(path)
        if not is_allowed(dotted.split(".")[0], room_of(dotted_name(path)))
    ]
    assert not wrong


def is_allowed(package: str, room: str) -> bool:
    """Whether a room may import a package: the standard library, namecheck, or one of its own."""
    if package in sys.stdlib_module_names or package == "namecheck":
        return True
    return any(f"{room}.".startswith(f"{place}.") for place in STRANGERS.get(package, ()))


def test_no_module_is_two_things() -> None:
    files = [*MODULES, *PACKAGE.rglob("*.c")]
    lengths = {named(path): len(path.read_text("utf-8").splitlines()) for path in files}
    assert {name for name, length in lengths.items() if length > LONGEST_MODULE} == set()


def test_everything_public_has_a_docstring() -> None:
    silent: list[str] = []
    for path in MODULES:
        tree = ast.parse(path.read_text("utf-8"))
        if tree.body and not ast.get_docstring(tree):
            silent.append(named(path))
        silent += [
            f"{named(path)}: {name}"
            for name, node in public_definitions(tree)
            if not ast.get_docstring(node)
        ]
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
