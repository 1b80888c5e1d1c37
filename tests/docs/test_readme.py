"""The README shows the actual output of the command, and the tour's marks are its findings."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from tests import warm

ROOT: Final = Path(__file__).parents[2]
TOUR: Final = "fixtures/tour.py"


def blocks(language: str) -> list[str]:
    """The fenced blocks of the README in one language."""
    return re.findall(rf"```{language}\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)


def is_cut_from(shown: str, printed: str) -> bool:
    """Whether a block is an output, whole but for what it marks as left out."""
    parts = map(re.escape, re.split(r"^\[….*\]\n", shown, flags=re.MULTILINE))
    return re.fullmatch(r"(?:.*\n)+".join(parts), printed) is not None


def check_tour(*flags: str) -> subprocess.CompletedProcess[str]:
    """The output of checking the tour; it has findings, so the exit code is 1."""
    command = [sys.executable, "-m", "namecheck", "check", TOUR, *flags]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 1, run.stderr
    return run


def test_shows_what_the_command_prints() -> None:
    [shown, *_] = blocks("text")
    command, _, output = shown.partition("\n")
    assert command == f"$ namecheck check {TOUR}"
    assert is_cut_from(output, check_tour().stdout)


def test_shows_mistakes_at_their_lines() -> None:
    """In plain code, and in code whose dims are declared."""
    [_, *shown, _] = blocks("text")[:4]
    assert len(shown) == 2
    for screen in shown:
        command, _, told = screen.partition("\n")
        words = [sys.executable, "-m", *command.removeprefix("$ ").split()]
        run = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
        assert (run.returncode, run.stdout) == (1, told), run.stderr
        path = words[-1]
        lines = (ROOT / path).read_text().splitlines()
        marked = [n for n, line in enumerate(lines, 1) if "# error: " in line]
        assert marked == [int(line) for line in re.findall(rf"{path}:(\d+):\d+", told)]


def test_the_table_lists_the_findings() -> None:
    """The table has each finding of the program that it names, at its line."""
    path = "fixtures/elements.py"
    command = [sys.executable, "-m", "namecheck", "check", "--output-format", "json", path]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    lines = (ROOT / path).read_text().splitlines()
    told = [
        (
            lines[found["location"]["row"] - 1].partition("  # ")[0].strip(),
            f"{found['code']} {found['name']}",
            found["message"],
        )
        for found in json.loads(run.stdout)
    ]
    table = re.findall(r"^\| `(.*)` \| (.*) \| (.*) \|$", (ROOT / "README.md").read_text(), re.M)
    assert table == told
    assert [code[:3] for _, code, _ in told] == ["NC3", "NC4", "NC5"]


def test_shows_what_fixes_would_change() -> None:
    [_, _, shown, *_] = blocks("text")
    command, _, told = shown.partition("\n")
    words = [sys.executable, "-m", *command.removeprefix("$ ").split()]
    run = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout + run.stderr) == (1, told)


def test_shows_named_tensors_on_this_torch() -> None:
    [program] = blocks("python")
    *lines, last = program.splitlines()
    text = "\n".join(lines)
    run = warm.run("-c", text, cwd=ROOT)
    assert f"# {run.stdout.strip()}" in text, run.stderr
    code, _, told = last.partition("  # RuntimeError: ")
    raised = warm.run("-c", f"{text}\n{code}", cwd=ROOT)
    assert f"namecheck.NameMismatch: {told}" in raised.stderr


def test_shows_what_both_sides_say() -> None:
    [*_, shown] = blocks("text")
    command, _, told = shown.partition("\n")
    words = [sys.executable, "-m", *command.removeprefix("$ ").split()]
    run = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert is_cut_from(told, run.stdout + run.stderr)


def test_shows_two_commands() -> None:
    commands = [block.strip() for block in blocks("sh")]
    assert len(commands) == 2
    assert all(command.startswith("python3 -m venv .venv && ") for command in commands)
    assert TOUR in commands[0]


def test_marks_of_the_tour_are_its_findings() -> None:
    lines = (ROOT / TOUR).read_text().splitlines()
    marks = [(n, m[1]) for n, line in enumerate(lines, 1) if (m := re.search(r"\[(NC\d+)\]", line))]
    found = json.loads(check_tour("--output-format", "json").stdout)
    assert [(item["location"]["row"], item["code"]) for item in found] == marks


def test_says_how_many_tests_there_are(request: pytest.FixtureRequest) -> None:
    stated = re.search(r"some ([\d,]+) tests run", (ROOT / "README.md").read_text())
    assert stated is not None
    # A run of a part has fewer; a run of all tells when the figure is too old.
    assert len(request.session.items) < int(stated[1].replace(",", "")) + 300
