"""The cost of the smallest runs of the command: the version, and a check of one file."""

from __future__ import annotations

import statistics
import sys
from pathlib import Path
from typing import Final

from tests.benchmarks.processes import in_turns, report, tool

MODEL: Final = Path(__file__).parents[2] / "fixtures" / "speed" / "annotated_model.py"
EMPTY: Final = [sys.executable, "-c", "pass"]


def version(folder: Path, rounds: int) -> None:
    """c: the shortest run of the command."""
    beside_an_empty_program("(c) start-up", ["--version"], rounds)


def one_file(folder: Path, rounds: int) -> None:
    """r: one file without names, and one of 300 annotated lines."""
    nothing = folder / "nothing.py"
    nothing.write_text("")
    lines = len(MODEL.read_text().splitlines())
    for title, path in (("an empty file", nothing), (f"{lines} annotated lines", MODEL)):
        beside_an_empty_program(f"(r) {title}", ["check", "--no-cache", str(path)], rounds)


def beside_an_empty_program(title: str, arguments: list[str], rounds: int) -> None:
    """Time the command by turns with an empty program, and print the difference."""
    ours, theirs = in_turns([tool("namecheck"), *arguments], EMPTY, rounds * 4)
    report(title, ours, "python -c pass", theirs)
    more = [a.seconds - b.seconds for a, b in zip(ours, theirs, strict=True)]
    print(f"  difference      {statistics.median(more) * 1000:8.0f} ms")
