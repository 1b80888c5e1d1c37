"""No regular expression repeats a group possessively: before Python 3.11.5 that is wrong.

``re`` then takes a match of the group back, or leaves its text to the next one. An atomic group
around the repetition says the same: ``(?>(...)*)``.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
POSSESSIVE: Final = re.compile(r"(?<!\\)[)~](?:[*+?]|\{[0-9,]+\})\+")


def _texts(path: Path) -> list[str]:
    constants = (node for node in ast.walk(ast.parse(path.read_text("utf-8"))))
    values = [node.value for node in constants if isinstance(node, ast.Constant)]
    texts = [value for value in values if isinstance(value, str)]
    return texts + [value.decode("latin-1") for value in values if isinstance(value, bytes)]


def test_no_group_is_repeated_possessively() -> None:
    paths = [*ROOT.glob("namecheck/**/*.py"), *ROOT.glob("mypy_plugin/**/*.py")]
    found = {path.name: text for path in paths for text in _texts(path) if POSSESSIVE.search(text)}
    assert not found


def test_what_is_looked_for() -> None:
    assert POSSESSIVE.search(r"(?:a|b)*+")
    assert POSSESSIVE.search(r"(ab){1,2}+")
    assert not POSSESSIVE.search(r"\w++|[^)]*+\)?+|(?>(?:a|b)*)")
