"""The examples of the documents about named tensors, run as doctests under the shim."""

from __future__ import annotations

import ast
import builtins
import contextlib
import doctest
import io
from pathlib import Path
from typing import Any, Final

import pytest
import torch

from namecheck.core.findings import is_of_attributes
from namecheck.runtime.core.errors import Contradicted
from tests.fixture_reader import REVEALED, pages
from tests.runtime.fixture_runner import is_elsewhere

pytestmark = pytest.mark.usefixtures("shim")

DOCUMENTS: Final = Path(__file__).parents[2] / "fixtures" / "documents"
PARSER: Final = doctest.DocTestParser()
LENIENT: Final = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def sessions(path: Path) -> dict[str, list[doctest.Example]]:
    """The sessions of a document by the line above each of them."""
    found: dict[str, list[doctest.Example]] = {}
    heading = ""
    for part in PARSER.parse(path.read_text("utf-8")):
        if isinstance(part, doctest.Example):
            found.setdefault(heading, []).append(part)
        elif part.strip():
            heading = part.strip().splitlines()[-1].removesuffix(":")
    return found


def ended(source: str, how: str, space: dict[str, Any]) -> tuple[str, Exception | None]:
    """The output of a statement, and its error; `how` as for `compile`."""
    with contextlib.redirect_stdout(io.StringIO()) as out:
        try:
            exec(compile(source, "<document>", how), space)
        except Exception as error:
            return out.getvalue(), error
    return out.getvalue(), None


SESSIONS: Final = {
    f"{path.name}: {heading}": examples
    for path in sorted(DOCUMENTS.glob("*.txt"))
    for heading, examples in sessions(path).items()
}


BLOCKS: Final = {
    block.place: block
    for block in pages()
    if "/document_" in block.place and "import jaxtyping" not in block.text
    if "from jaxtyping" not in block.text  # which is only read
    if not is_elsewhere(block)
}


def _errors(code: str) -> type[Exception]:
    """The errors: by the shim where names contradict, by torch itself where attributes do."""
    return RuntimeError if is_of_attributes(code) else Contradicted


@pytest.mark.parametrize("place", BLOCKS)
def test_a_block_of_a_page_runs_as_its_lines_expect(place: str) -> None:
    block = BLOCKS[place]
    space: dict[str, Any] = {}
    for statement in ast.parse(block.text).body:
        lines = range(statement.lineno, (statement.end_lineno or statement.lineno) + 1)
        printed, error = ended(ast.unparse(statement), "exec", space)
        for expected in (e for e in block.expectations if e.line in lines):
            if expected.code == REVEALED:
                assert printed.strip() == f"revealed: {expected.text}"
            else:
                assert isinstance(error, _errors(expected.code)), f"{block.at(expected.line)}"
                assert expected.text in str(error)
                error = None
        assert error is None, f"{block.at(statement.lineno)}: {error!r}"


@pytest.mark.parametrize("place", SESSIONS)
def test_a_session_runs_as_it_is_printed(place: str) -> None:
    space: dict[str, Any] = {"torch": torch}
    for example in SESSIONS[place]:
        printed, error = ended(example.source, "single", space)
        if example.exc_msg is not None:
            kind, _, message = example.exc_msg.strip().partition(": ")
            assert isinstance(error, getattr(builtins, kind)), example.source
            assert str(error) == message
        else:
            assert error is None, f"{example.source}raised {error!r}"
            alike = doctest.OutputChecker().check_output(example.want, printed, LENIENT)
            assert alike, f"{example.source}printed {printed!r}, expected {example.want!r}"


def test_every_document_has_its_sessions() -> None:
    counted = {path.name: len(sessions(path)) for path in sorted(DOCUMENTS.glob("*.txt"))}
    assert counted == {"name_inference.txt": 7, "named_tensor.txt": 7, "named_tensor_api.txt": 6}
