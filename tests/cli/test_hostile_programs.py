"""Every verb that reads or rewrites ends on hostile programs, without a fault of namecheck.

The everyday run takes a third of the verbs with each program, with ``NAMECHECK_ALL_FILES=1`` in the
environment all of them. `tests/interpreter/test_growing_programs.py` checks the programs at larger
sizes, and counts what they cost.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Final

import pytest

from namecheck.cli import main
from tests.benchmarks.hostile import HEAD, SECONDS, TAIL
from tests.benchmarks.hostile_growth import PROGRAMS
from tests.interpreter.hostile_lines import LINES

NAME: Final = "program.py"
OUTPUTS: Final = ("--output", "sarif=found.sarif", "--output", "json=found.json")
CHECK: Final = ("check", "--no-cache", "-j", "1")
FIRST: Final = ("check", "-j", "1", *OUTPUTS, "--explain", "--statistics", NAME)
VERBS: Final = (
    ("reveal", NAME),
    (*CHECK, "--attributes", "all", "--evidence", "observed", "--output-format", "junit", NAME),
    (*CHECK, "--diff", "--unsafe-fixes", NAME),
    ("report", "-j", "1", "--html", "html", NAME),
    ("migrate", "--check", NAME),
    ("migrate", "--diff", "--to", "torch", NAME),
    ("baseline", "--no-cache"),
    # These rewrite the program, so they are the last ones.
    (*CHECK, "--fix", "--unsafe-fixes", NAME),
    (*CHECK, "--add-ignore", NAME),
)
ONE_IN: Final = 1 if os.environ.get("NAMECHECK_ALL_FILES") else 3
COSTLY: Final = "not migrated: its analysis takes more steps than it may"


def _function(number: int, line: str) -> str:
    rest = "" if line.startswith("for ") else line.replace("; ", "\n    ")
    return f"def f{number}():\n    {rest or line}\n"


TEXTS: Final = {
    **{name: make(sizes[0]) for name, (make, sizes) in PROGRAMS.items()},
    "lines that fail": "import itertools, math\n"
    + "".join(map(_function, range(len(LINES)), LINES)),
}


@pytest.mark.parametrize("name", TEXTS)
def test_every_verb_ends(
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / NAME).write_text(f"{HEAD}{TEXTS[name]}{TAIL}")
    (tmp_path / "pyproject.toml").write_text('[tool.namecheck]\nbaseline = "accepted.json"\n')
    for verb in (FIRST, *VERBS[[*TEXTS].index(name) % ONE_IN :: ONE_IN]):
        begin = time.process_time()
        status = main.main([*verb, *(["--no-baseline"] if verb[0] == "check" else [])])
        assert time.process_time() - begin < SECONDS, verb
        out, err = capfd.readouterr()
        assert status in (0, 1) or (status == 2 and COSTLY in out + err), (verb, out, err)
        assert "NC005" not in out + err, verb
    assert "NC103" in (tmp_path / "found.json").read_text()
