"""The pages for contributors name existing files; the architecture page has every room."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest

from tests.house.test_floors import ROOMS

ROOT: Final = Path(__file__).parents[2]
PAGES: Final = ROOT / "docs" / "contributing"
ARCHITECTURE: Final = (PAGES / "architecture.md").read_text("utf-8")
GLOSSARY: Final = (PAGES / "glossary.md").read_text("utf-8")

# Paths start at the root, at the package, or at the interpreter.
BASES: Final = (ROOT, ROOT / "namecheck", ROOT / "namecheck" / "interpreter")
PATHS: Final = sorted(
    set(re.findall(r"`((?:[a-z_]+/)+(?:[a-z_]+\.(?:py|toml))?)`", ARCHITECTURE + GLOSSARY))
)

# Rooms of one file each, which need no row.
SMALL: Final = {"__init__", "__main__", "version", "revealing", "interpreter", "pytest_plugin"}


@pytest.mark.parametrize("path", PATHS)
def test_a_path_exists(path: str) -> None:
    assert any((base / path).exists() for base in BASES)


# A row of the first table that names functions, and the files behind it.
FUNCTIONS: Final = [
    (name, re.findall(r"`((?:[a-z_]+/)+[a-z_]+\.py)`", line))
    for line in ARCHITECTURE.splitlines()
    if line.startswith("| ")
    for name in re.findall(r"`(_?[a-z]+_[a-z_]+|_[a-z]+)`", line.rpartition(" | ")[2])
]


def test_there_are_paths_and_functions() -> None:
    assert len(PATHS) > 30
    assert len(FUNCTIONS) > 5


@pytest.mark.parametrize(("name", "paths"), FUNCTIONS, ids=[name for name, _ in FUNCTIONS])
def test_a_function_is_in_a_file_of_its_row(name: str, paths: list[str]) -> None:
    texts = [(ROOT / path).read_text("utf-8") for path in paths]
    assert any(re.search(rf"\bdef {name}\(", text) for text in texts), paths


@pytest.mark.parametrize("room", sorted(set(ROOMS) - SMALL))
def test_every_room_has_a_row(room: str) -> None:
    outer, _, inner = room.partition(".")
    rows = [line for line in ARCHITECTURE.splitlines() if line.startswith("| `")]
    named = any(f"`{room}`" in row for row in rows)
    assert named or any(f"`{outer}`" in row and f"`{inner}`" in row for row in rows)


def test_no_term_of_the_glossary_is_explained_twice() -> None:
    terms = re.findall(r"^\| ([^|]+?) \|", GLOSSARY, re.MULTILINE)
    own = [term for term in terms if term not in ("term", "---")]
    assert len(own) == len(set(own)) > 40
