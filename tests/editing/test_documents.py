"""A file is converted to text and back without loss, and is replaced as a whole or not at all."""

from __future__ import annotations

import codecs
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from namecheck.core.file_replacement import CannotWrite
from namecheck.core.findings import Span
from namecheck.core.syntax import Refused
from namecheck.editing import documents
from namecheck.editing.differences import unified
from namecheck.editing.documents import Document
from namecheck.editing.edits import Edit, Overlap, applied, ordered

ODD = {
    "a byte order mark": b"\xef\xbb\xbfx = 1\n",
    "a mark and a declaration": b"\xef\xbb\xbf# coding: utf-8\nx = '\xc3\xa9'\n",
    "latin-1": b"# -*- coding: latin-1 -*-\nx = '\xe9'\n",
    "crlf": b"x = 1\r\ny = 2\r\n",
    "mixed line ends": b"x = 1\r\ny = 2\rz = 3\nw = '''a\r\nb'''",
    "no newline at the end": b"x = 1",
    "form feeds": b"\x0cx = 1\n\x0c\n  \x0cy = 2\n",
    "tabs": b"if x:\n\ty = 1\n",
    "nothing": b"",
    "blank lines": b"\n\n\n",
    "a line separator in a string": "x = '\u2028\x85'\n".encode(),
}


@pytest.mark.parametrize("data", ODD.values(), ids=ODD.keys())
def test_no_edit_changes_nothing(data: bytes) -> None:
    document = Document.of(data, "a.py")
    assert document.encoded(document.text, document.ends) == data
    assert applied(document, ()).data == data


def test_an_edit_keeps_the_line_ends_around_it() -> None:
    document = Document.of(b"a = 1\r\nb = (\r2,\n)\nc = 3\r\n", "a.py")
    edit = Edit(Span(2, 5, 4, 2), "(\n0,\n2,\n)")
    assert applied(document, [edit]).data == b"a = 1\r\nb = (\r0,\n2,\r)\nc = 3\r\n"


def test_an_added_line_ends_as_the_line_that_it_stands_at() -> None:
    document = Document.of(b"a = 1\r\nb = 2", "a.py")
    edits = [Edit(Span(1, 1, 1, 1), "import x\n"), Edit(Span(2, 6, 2, 6), "\nc = 3")]
    assert applied(document, edits).data == b"import x\r\na = 1\r\nb = 2\r\nc = 3"


def test_edits_in_an_encoding_that_lacks_a_character() -> None:
    document = Document.of(ODD["latin-1"], "a.py")
    assert applied(document, [Edit(Span(2, 6, 2, 7), "ü")]).data.endswith(b"x = '\xfc'\n")
    with pytest.raises(CannotWrite, match="iso-8859-1 has no 'Ж'"):
        applied(document, [Edit(Span(2, 6, 2, 7), "Ж")])


def test_edits_may_touch_and_not_overlap() -> None:
    ordered([Edit(Span(1, 3, 1, 5), "b"), Edit(Span(1, 1, 1, 3), "a")])
    with pytest.raises(Overlap):
        ordered([Edit(Span(1, 1, 1, 3), "a"), Edit(Span(1, 2, 1, 5), "b")])


def test_a_diff() -> None:
    document = Document.of(b"a = 1\nb = 2", "m.py")
    after = applied(document, [Edit(Span(2, 5, 2, 6), "3")])
    end = "\\ No newline at end of file"
    told = ["--- a/m.py", "+++ b/m.py", "@@ -1,2 +1,2 @@", " a = 1", "-b = 2", end, "+b = 3", end]
    assert [line.decode() for line in unified(document, after, "m.py")] == told


def test_a_diff_is_of_bytes() -> None:
    data = codecs.BOM_UTF8 + b"# \xc3\xa9\r\na = 1\rb = 2\n"
    document = Document.of(data, "m.py")
    after = applied(document, [Edit(Span(3, 5, 3, 6), "3")])
    assert list(unified(document, after, "my m.py")) == [
        b"--- a/my m.py\t",
        b"+++ b/my m.py\t",
        b"@@ -1,2 +1,2 @@",
        b" \xef\xbb\xbf# \xc3\xa9\r",
        b"-a = 1\rb = 2",
        b"+a = 1\rb = 3",
    ]


STRANGE = 'a \\x\n--- a/other.py\n+++ b/other.py\n\x1b[31m\tm".py'


def test_a_diff_is_about_one_file_whatever_its_name() -> None:
    """As git quotes them: otherwise the name of a file could add changes of another."""
    document = Document.of(b"a = 1\n", "m.py")
    after = applied(document, [Edit(Span(1, 5, 1, 6), "3")])
    quoted = rb"""a \\x\n--- a/other.py\n+++ b/other.py\n\033[31m\tm\".py"""
    head = [b'--- "a/' + quoted + b'"', b'+++ "b/' + quoted + b'"']
    assert list(unified(document, after, STRANGE))[:3] == [*head, b"@@ -1 +1 @@"]


def test_git_applies_a_diff_whatever_the_name_of_the_file(tmp_path: Path) -> None:
    if shutil.which("git") is None or os.name == "nt":
        pytest.skip("git applies it, where names may have such characters")
    for folder in (parent := tmp_path / "a \x1b", tmp_path):
        folder.mkdir(exist_ok=True)
        (folder / "other.py").write_bytes(b"a = 1\n")
    name = 'n \\x\n\x1b[31m\tm"\x7f\xe9.py'
    (parent / name).write_bytes(b"a = 1\n")
    document = Document.of(b"a = 1\n", name)
    after = applied(document, [Edit(Span(1, 5, 1, 6), "3")])
    lines = b"".join(line + b"\n" for line in unified(document, after, f"{parent.name}/{name}"))
    subprocess.run(["git", "apply"], input=lines, cwd=tmp_path, check=True)
    assert (parent / name).read_bytes() == b"a = 3\n"


def test_a_file_that_is_no_text_is_refused() -> None:
    with pytest.raises(Refused) as refused:
        Document.of(b"x = '\xff'", "a.py")
    assert refused.value.finding.code == "NC003"
    with pytest.raises(Refused, match="utf-7 is not restored"):
        Document.of(b"# coding: utf-7\nx = '+AGE-'\n", "a.py")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "m.py"
    path.write_bytes(b"x = 1\n")
    return path


def test_a_file_is_replaced_with_its_mode(file: Path) -> None:
    file.chmod(0o751)
    documents.read(str(file)).write(b"x = 2\n")
    assert file.read_bytes() == b"x = 2\n"
    assert file.stat().st_mode & 0o777 == 0o751
    assert os.listdir(file.parent) == ["m.py"]


def test_a_link_stays_a_link(file: Path) -> None:
    link = file.with_name("link.py")
    link.symlink_to(file)
    documents.read(str(link)).write(b"x = 2\n")
    assert link.is_symlink()
    assert file.read_bytes() == b"x = 2\n"


def test_what_has_changed_meanwhile_is_left(file: Path) -> None:
    document = documents.read(str(file))
    file.write_bytes(b"x = 5\n")
    with pytest.raises(CannotWrite, match="changed since it was read"):
        document.write(b"x = 2\n")
    assert file.read_bytes() == b"x = 5\n"


def test_what_has_vanished_is_told(file: Path) -> None:
    document = documents.read(str(file))
    file.unlink()
    with pytest.raises(CannotWrite, match="No such file"):
        document.write(b"x = 2\n")


def test_an_interrupted_write_leaves_the_old_file(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(source: str, target: str) -> None:
        raise KeyboardInterrupt

    document = documents.read(str(file))
    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        document.write(b"x = 2\n")
    assert file.read_bytes() == b"x = 1\n"
    assert os.listdir(file.parent) == ["m.py"]


def test_a_read_only_file_is_left(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # root may write anything
    with pytest.raises(CannotWrite, match="it is read-only"):
        documents.read(str(file)).write(b"x = 2\n")
    assert file.read_bytes() == b"x = 1\n"
