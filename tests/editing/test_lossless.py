"""Text that no edit touches stays unchanged, byte by byte, in every file that Python can read.

libcst rewrites all calls of a file without changing any: the file must stay the same. The fixtures
and a sample of the installed packages every day; five hundred of their files::

    NAMECHECK_ALL_FILES=1 python -m pytest -n 0 tests/editing/test_lossless.py
"""

from __future__ import annotations

import ast
import os
import random
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from namecheck.core.syntax import Refused
from namecheck.editing.documents import Document
from namecheck.editing.edits import applied
from namecheck.editing.trees import Change, Tree

ROOT: Final = Path(__file__).parents[2]
ALL: Final = "NAMECHECK_ALL_FILES" in os.environ
LARGEST: Final = 60_000


def documents(paths: list[Path], count: int) -> Iterator[Document]:
    """The first files, up to a number, that Python can read and that are not too large."""
    found = 0
    for path in paths:
        data = path.read_bytes()
        if len(data) > LARGEST or found == count:
            continue
        try:
            document = Document.of(data, str(path))
            assert document.source.tree is not None
        except Refused:
            continue
        found += 1
        yield document


def rewritten(document: Document) -> bytes:
    """The file with all of its calls rewritten."""
    tree = Tree(document)
    changes: dict[object, Change] = {}
    for node in ast.walk(document.source.tree):
        if isinstance(node, ast.Call):
            found = tree.expression(document.source.span(node))
            assert found is not None, f"{document.location}:{node.lineno}: {ast.unparse(node)}"
            changes[found] = lambda same: same
    return applied(document, tree.edits(changes)).data  # type: ignore[arg-type]


def odd(data: bytes) -> Iterator[bytes]:
    """The same file as other editors save it."""
    yield data
    yield data.rstrip(b"\n")
    yield b"\xef\xbb\xbf" + data.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
    yield data.replace(b"\ndef ", b"\n\x0c\ndef ").replace(b"\nx = ", b"\n\x0cx = ")


def test_fixtures() -> None:
    paths = sorted(ROOT.glob("fixtures/**/*.py"))
    random.Random(7).shuffle(paths)
    each = list(documents(paths, len(paths) if ALL else 60))
    assert len(each) >= 60
    for document in each:
        for data in odd(document.data):
            assert rewritten(Document.of(data, document.location)) == data


def test_installed_packages() -> None:
    paths = sorted(Path(sysconfig.get_paths()["purelib"]).rglob("*.py"))
    random.Random(7).shuffle(paths)
    each = list(documents(paths, 500 if ALL else 12))
    assert len(each) == (500 if ALL else 12)
    for document in each:
        assert rewritten(document) == document.data, document.location
