"""On a terminal nothing wraps: lines are clipped around the labels, and texts are folded."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import sys
import termios
from pathlib import Path
from random import Random
from typing import Final

import pytest

from namecheck.core.findings import Span
from namecheck.report.frame import Label, folded, frame, width_of
from namecheck.report.painter import Painter
from tests import patience

ROOT: Final = Path(__file__).parents[2]
GAPS: Final = (" ", "  ", "\t", " + ", "漢字", "é́", "\x1b", " " * 30, "x" * 50)

LONG: Final = (
    "import torch\n\n"
    "def total(images, weights, long_name_of_a_first_thing, long_name_of_a_second_thing):\n"
    "    return [long_name_of_a_first_thing, long_name_of_a_second_thing, images * weights]\n\n"
    "a, some_other_variable, b = torch.zeros(2, 3, names=('N', 'channels_of_it')), "
    "[1, 2, 3, 4, 5, 6, 7, 8], torch.zeros(2, 3, names=('N', 'H'))\n"
    f"total(a, b, {'an argument that nobody reads'!r}, {'another that nobody reads'!r})\n"
    "y = torch.zeros(2, 3, names=('N', 'C')).sum('elsewhere_and_not_here_at_all_which_is_long')\n"
)


def drawn(number: int) -> tuple[str, list[Label], dict[str, bool]]:
    """A line of unique words with strange gaps, labels for some, and whether these are primary."""
    random = Random(number)
    source, labels, words = "", [], {}
    for count in range(random.randrange(1, 40)):
        word = f"w{count:02}" + "z" * random.choice((0, 0, 3, 90))
        if random.random() < 0.2:
            span = Span(1, len(source) + 1, 1, len(source) + len(word) + 1)
            text = "named here " * random.choice((0, 1, 2, 9))
            words[word] = random.random() < 0.5
            labels.append(Label(span, text.strip(), words[word]))
        source += word + random.choice(GAPS)
    return source, labels, words


@pytest.mark.parametrize("columns", [40, 60, 61, 100, 200])
def test_marks_stay_under_what_they_mark(columns: int) -> None:
    for number in range(150):
        source, labels, words = drawn(number)
        rows = frame([source], labels, 1, Painter(False, columns))
        assert max(map(width_of, rows)) <= columns, (number, rows)
        marked: dict[str, bool] = {}
        for row, marks in zip(rows, [*rows[1:], ""], strict=True):
            if not row.startswith("1 |"):
                continue
            for index, mark in enumerate(_marks(row, marks)):
                if mark in "^-":
                    marked.setdefault(_word_at(row, index, source), mark == "^")
        assert {word: marked.get(word) for word in words} == words, (number, rows)


def _marks(row: str, marks: str) -> list[str]:
    """The mark under each letter of a row."""
    under, column = [], 0
    for letter in row:
        width = width_of(letter)
        under.append(marks[column : column + width][:1] or " ")
        column += width
    return under


def _word_at(row: str, index: int, source: str) -> str:
    """The word of the source that a letter of a row belongs to."""
    name = row[row.rindex("w", 0, index + 1) :][:3]
    end = source.index(name) + 3
    while source[end : end + 1] == "z":
        end += 1
    return source[source.index(name) : end]


@pytest.mark.parametrize("columns", [20, 21, 33, 80])
def test_folded_texts_keep_their_words(columns: int) -> None:
    for number in range(50):
        random = Random(number)
        words = [random.choice(("a", "bcd", "漢字", "x" * 70)) for _ in range(30)]
        text = " ".join(words)
        lines = folded(text, columns, random.randrange(columns))
        assert max(map(width_of, lines)) <= columns
        assert "".join(lines).replace(" ", "") == text.replace(" ", "")
    assert folded("a b", None) == ["a b"]


@pytest.mark.parametrize("columns", [60, 80])
@pytest.mark.parametrize("flags", [(), ("--explain",), ("--output-format", "concise")])
def test_on_a_terminal(tmp_path: Path, columns: int, flags: tuple[str, ...]) -> None:
    (tmp_path / "a.py").write_text(LONG)
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "NO_COLOR": "1"}
    environment.pop("COLUMNS", None)
    patience.run(
        [sys.executable, "-P", "-m", "namecheck", "check", "--no-cache", *flags, "a.py"],
        60,
        cwd=tmp_path,
        stdout=theirs,
        env=environment,
    )
    os.close(theirs)
    output = b""
    while chunk := _read(ours):
        output += chunk
    os.close(ours)
    lines = output.decode().splitlines()
    assert any("NC103" in line for line in lines)
    if "concise" not in flags:
        assert {line for line in lines if width_of(line) > columns} == set()
        marks = [line for line in lines if set(line.partition("|")[2].split(" ")[-1]) == {"^"}]
        assert marks


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65_536)
    except OSError:  # Linux says so that the other end is closed
        return b""
