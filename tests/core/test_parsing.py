"""Texts that cost Python's parser more than their length: they are not parsed, and that is said."""

from __future__ import annotations

import ast
import sys
import time
from pathlib import Path
from typing import Final

import pytest

from namecheck.annotations import declarations
from namecheck.core import fingerprints, parsing, syntax

PACKAGE: Final = Path(parsing.__file__).parents[1]
FIELDS: Final = 130_000
SEARCHED: Final = "its f-strings have so many fields"

old_python = pytest.mark.skipif(sys.version_info >= (3, 12), reason="its parser has no such cost")


@pytest.mark.parametrize(
    ("start", "end"), [("f'", "'"), ('rF"', '"'), ("fr'''\n", "'''"), ("'' f'", "' ''")]
)
def test_an_f_string_of_many_fields_costs_no_more_than_its_length(start: str, end: str) -> None:
    began = time.process_time()
    text = f"x = 1\ny = {start}{'{x}' * FIELDS}{end}\n"
    if sys.version_info >= (3, 12):
        syntax.parse(text.encode(), "m.py")
    else:
        with pytest.raises(syntax.Refused) as refused:
            syntax.parse(text.encode(), "m.py")
        assert refused.value.finding.code == "NC002"
        assert SEARCHED in refused.value.finding.message
    assert time.process_time() - began < 8


@pytest.mark.parametrize(
    "text",
    [
        f"x = '{'{x}' * FIELDS}'",
        f"x = b'{'{x}' * FIELDS}'",
        f"x = 1  # f'{'{x}' * FIELDS}'",
        f"x = \"f'{'{x}' * FIELDS}'\"",
        f"x = '''\nf\\'''{'{x}' * FIELDS}'''",
        "x = f'{y}'\n" * 20_000,
        "x = {}\n" * 60_000,
    ],
)
def test_other_texts_are_parsed(text: str) -> None:
    began = time.process_time()
    assert parsing.module(text).body
    assert time.process_time() - began < 8


@pytest.mark.parametrize(
    "text", ["\\'''\n" * 60_000 + "f'''" + "{" * 60_000, "'" * 300_001 + "{" * 60_000]
)
def test_quotes_are_matched_in_time(text: str) -> None:
    began = time.process_time()
    with pytest.raises(SyntaxError):
        parsing.module(text)
    assert time.process_time() - began < 8


@old_python
def test_annotations_and_type_comments_are_parsed_as_files_are() -> None:
    fields = "{x}" * FIELDS
    began = time.process_time()
    assert declarations.read(f"f'{fields}'") is declarations.ANYTHING
    syntax.parse(f'x = 1  # type: f"{fields}"\n'.encode(), "m.py")
    assert time.process_time() - began < 8


def test_findings_of_a_file_that_is_not_parsed_have_identities() -> None:
    """Formats with fingerprints read the file again."""
    began = time.process_time()
    assert fingerprints.Outline(["x = 1"] * 500_000).functions == {""}
    assert time.process_time() - began < 8


def test_all_texts_of_a_project_are_parsed_in_one_place() -> None:
    """Elsewhere `ast.parse` reads only what is no text of a checked project."""
    for path in sorted(PACKAGE.rglob("*.py")):
        if "runtime" in path.parts or path.name == "parsing.py":  # it runs what it parses
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "ast.parse":
                assert "mode='func_type'" in ast.unparse(node), path
