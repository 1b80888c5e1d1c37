"""Findings as text and as data: the output, character by character."""

from __future__ import annotations

import io
import json
import time
from typing import Final

import pytest

from namecheck.core.findings import Finding, Place, Span
from namecheck.report import frame
from namecheck.report.closing import summary
from namecheck.report.formats import concise, github
from namecheck.report.formats import full as full_format
from namecheck.report.formats import json as json_format
from namecheck.report.frame import Label
from namecheck.report.listing import Listing, reader
from namecheck.report.painter import Painter
from namecheck.report.progress import Progress

SOURCE: Final = """\
import torch

logits = torch.zeros(8, 8, names=("batch", "cls"))
weight = torch.ones(8, names=("batch",))
loss = logits * weight
"""


def place(line: int, start: int, end: int, message: str, filename: str = "loss.py") -> Place:
    return Place(filename, Span(line, start, line, end), message)


MISMATCH: Final = Finding(
    "NC101",
    "dim 'cls' and dim 'batch' do not match.",
    "loss.py",
    Span(5, 8, 5, 23),
    "Align by name.",
    (place(5, 8, 14, "batch cls"), place(5, 17, 23, "batch")),
    (place(3, 44, 49, "'cls' is named here"), place(4, 31, 38, "'batch' is named here")),
)


def full(finding: Finding, text: str = SOURCE, colored: bool = False, **others: str) -> str:
    given = {"loss.py": text.encode()} | {f"{k}.py": v.encode() for k, v in others.items()}
    return "".join(full_format.texts([finding], reader(given), Painter(colored)))


def as_json(*findings: Finding) -> str:
    """The output of ``--output-format json`` for a run."""
    listing = Listing(findings, 1, reader({}), Painter(False))
    [text] = json_format.FORMAT.lines(listing)
    return text


def drawn(line: str, *labels: Label) -> list[str]:
    """The rows under line 1, without the gutter."""
    rows = frame.frame([line], labels, 1, Painter(False))
    return [row[4:] for row in rows[1:]]


def label(start: int, end: int, text: str = "", primary: bool = True) -> Label:
    return Label(Span(1, start, 1, end), text, primary)


def test_a_frame() -> None:
    assert (
        full(MISMATCH)
        == """\
NC101 name-mismatch: dim 'cls' and dim 'batch' do not match.
 --> loss.py:5:8
  |
3 | logits = torch.zeros(8, 8, names=("batch", "cls"))
  |                                            ----- 'cls' is named here
4 | weight = torch.ones(8, names=("batch",))
  |                               ------- 'batch' is named here
5 | loss = logits * weight
  |        ^^^^^^   ^^^^^^ batch
  |        |
  |        batch cls
  |
  = help: Align by name.
"""
    )


def test_a_finding_without_marks_is_underlined_itself() -> None:
    finding = Finding("NC010", "This comment suppresses nothing.", "loss.py", Span(3, 1, 3, 7))
    assert (
        full(finding)
        == """\
NC010 unused-suppression: This comment suppresses nothing.
 --> loss.py:3:1
  |
3 | logits = torch.zeros(8, 8, names=("batch", "cls"))
  | ^^^^^^
"""
    )


def test_places_in_other_files_have_a_frame_of_their_own() -> None:
    finding = Finding(
        "NC103",
        "Name 'T' not found\nin Tensor['N'].",
        "loss.py",
        Span(5, 8, 5, 14),
        related=(place(12, 1, 4, "'f' is called here", "main.py"),),
    )
    assert (
        full(finding, main="\n" * 11 + "f(x)\n")
        == """\
NC103 name-not-found: Name 'T' not found
  in Tensor['N'].
  --> loss.py:5:8
   |
 5 | loss = logits * weight
   |        ^^^^^^
  ::: main.py:12:1
   |
12 | f(x)
   | --- 'f' is called here
"""
    )


def test_lines_between_are_left_out_and_a_single_one_is_shown() -> None:
    finding = Finding("NC103", "m", "loss.py", Span(5, 1, 5, 5), related=(place(3, 1, 7, "a"),))
    assert "4 | weight" in full(finding)
    assert "..." not in full(finding)
    finding = Finding("NC103", "m", "loss.py", Span(5, 1, 5, 5), related=(place(1, 1, 7, "a"),))
    assert "\n...\n5 | loss" in full(finding)


def test_a_file_that_cannot_be_read_has_no_frame() -> None:
    finding = Finding("NC002", "It cannot be read.", "nowhere/x.py", Span(1, 1, 1, 1))
    assert (
        full(finding)
        == """\
NC002 unreadable-file: It cannot be read.
 --> nowhere/x.py:1:1
"""
    )


def test_labels_share_a_row_where_there_is_room() -> None:
    line = "result = first + second + third"
    assert drawn(line, label(10, 15, "a"), label(18, 24, "b"), label(27, 32, "c")) == [
        line,
        "         ^^^^^   ^^^^^^   ^^^^^ c",
        "         |       |",
        "         a       b",
    ]
    assert drawn(line, label(10, 15, "a long word"), label(18, 24, "b"), label(27, 32, "c")) == [
        line,
        "         ^^^^^   ^^^^^^   ^^^^^ c",
        "         |       |",
        "         |       b",
        "         a long word",
    ]


def test_labels_of_one_stretch_are_one() -> None:
    assert drawn("x + x", label(1, 2, "a"), label(1, 2, "b"), label(1, 2, "a")) == [
        "x + x",
        "^ a, b",
    ]


def test_a_label_inside_another() -> None:
    assert drawn("f(x, y)", label(1, 8, "outer", primary=False), label(3, 4, "inner")) == [
        "f(x, y)",
        "--^----",
        "| |",
        "| inner",
        "outer",
    ]


def test_a_stretch_of_several_lines_is_drawn_on_the_first() -> None:
    rows = frame.frame(
        ["x = f(  ", "  1)"], [Label(Span(1, 5, 2, 5), "m", True)], 1, Painter(False)
    )
    assert rows == ["  |", "1 | x = f(", "  |     ^^ m"]


def test_wide_letters_and_tabs_keep_the_columns() -> None:
    assert drawn("漢字 = größe", label(6, 11, "m")) == ["漢字 = größe", "       ^^^^^ m"]
    assert drawn("漢字 = e\u0301 + x", label(11, 12)) == ["漢字 = e\u0301 + x", "           ^"]
    assert drawn("\tx\t= y", label(2, 3), label(6, 7)) == ["    x   = y", "    ^     ^"]


def test_what_would_steer_the_terminal_is_made_visible() -> None:
    assert drawn("x = '\x1b[31m\u202e'", label(1, 2))[0] == "x = '␛[31m<U+202E>'"
    finding = Finding("NC103", "a\x1bb", "loss.py", Span(5, 1, 5, 2), "c\x07d")
    assert "\x1b" not in full(finding)
    assert "\x07" not in full(finding)


def test_a_very_long_line_is_cut() -> None:
    line = "a = [" + "1, " * 400 + "here, " + "2, " * 400 + "]"
    start = line.index("here") + 1
    source, carets = drawn(line, label(start, start + 4, "m"))
    assert len(source) <= frame.WIDTH + 2
    assert source.startswith("…")
    assert source.endswith("…")
    assert source[carets.index("^") :].startswith("here")
    assert carets.rstrip("m ").endswith("^^^^")
    source, carets = drawn(line, label(1, 2))
    assert source.startswith("a = [1")
    assert carets == "^"


@pytest.mark.parametrize(
    "span", [Span(9, 1, 9, 2), Span(1, 50, 1, 60), Span(0, 0, 0, 0), Span(1, 3, 1, 1)]
)
def test_a_place_outside_the_text_does_no_harm(span: Span) -> None:
    assert full(Finding("NC103", "m", "loss.py", span, "h"))


def test_colors() -> None:
    text = full(MISMATCH, colored=True)
    assert text.startswith("\x1b[1;31mNC101 name-mismatch\x1b[0m\x1b[1m: dim")
    assert "\x1b[1;31m^^^^^^\x1b[0m" in text
    assert "\x1b[1;34m-----" in text
    note = Finding("NC090", "N C", "loss.py", Span(1, 1, 1, 7))
    assert full(note, colored=True).startswith("\x1b[1;36mNC090")


def test_concise() -> None:
    assert list(concise.rows([MISMATCH], Painter(False))) == [
        "loss.py:5:8: NC101 name-mismatch: dim 'cls' and dim 'batch' do not match."
    ]


def test_json() -> None:
    (found,) = json.loads(as_json(MISMATCH))
    assert found["code"] == "NC101"
    assert found["name"] == "name-mismatch"
    assert found["kind"] == "finding"
    assert found["message"] == MISMATCH.message
    assert found["filename"] == "loss.py"
    assert found["location"] == {"row": 5, "column": 8}
    assert found["end_location"] == {"row": 5, "column": 23}
    assert found["url"] is None
    assert found["help"] == "Align by name."
    assert [mark["message"] for mark in found["marks"]] == ["batch cls", "batch"]
    assert found["related"][0] == {
        "filename": "loss.py",
        "location": {"row": 3, "column": 44},
        "end_location": {"row": 3, "column": 49},
        "message": "'cls' is named here",
    }
    assert json.loads(as_json()) == []


def test_github() -> None:
    finding = Finding("NC103", "100%\nsure", "a,b:c.py", Span(2, 3, 2, 5))
    note = Finding("NC090", "N", "a.py", Span(2, 3, 4, 5))
    assert list(github.commands([finding, note])) == [
        "::error title=namecheck (NC103),file=a%2Cb%3Ac.py,line=2,endLine=2,col=3,endColumn=5"
        "::a,b:c.py:2:3: NC103 name-not-found: 100%25%0Asure",
        "::notice title=namecheck (NC090),file=a.py,line=2,endLine=4,col=3"
        "::a.py:2:3: NC090 revealed-names: N",
    ]


def test_the_summary() -> None:
    note = Finding("NC090", "N", "a.py", Span(2, 3, 4, 5))
    assert summary([]) == "All checks passed."
    assert summary([note]) == "All checks passed. 1 note."
    assert summary([MISMATCH]) == "Found 1 error in 1 file."
    assert summary([MISMATCH, MISMATCH, note]) == "Found 2 errors and 1 note in 1 file."


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_is_shown_on_a_terminal_after_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [10.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    terminal, pipe = Terminal(), io.StringIO()
    for stream in (terminal, pipe):
        now[0] = 10.0
        with Progress(stream) as told:
            told(1, 2_000)
            now[0] = 11.5
            told(1_234, 2_000)
            told(1_235, 2_000)
    line = "Checking 1,234 of 2,000 files…"
    assert terminal.getvalue() == f"\r{line}\r{' ' * len(line)}\r"
    assert pipe.getvalue() == ""
