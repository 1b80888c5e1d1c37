"""The imports of each run of the command: every module costs a millisecond at each start."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]

PROGRAM = """
import os  # `site` imports it, which -S leaves out for what else it may import
import sys
before = set(sys.modules)
from namecheck.cli.main import main
main(sys.argv[1:])
print(*sorted(set(sys.modules) - before))
"""


def loaded(*arguments: str, cwd: Path) -> list[str]:
    """The modules that a run of the command loads, beside those of an empty interpreter."""
    ran = subprocess.run(
        [sys.executable, "-S", "-c", PROGRAM, *arguments],
        capture_output=True,
        text=True,
        cwd=cwd,
        env={"PYTHONPATH": str(ROOT)},
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.splitlines()[-1].split()


def test_the_version(tmp_path: Path) -> None:
    assert loaded("--version", cwd=tmp_path) == [
        "__future__",
        "namecheck",
        "namecheck.cli",
        "namecheck.cli.main",
        "namecheck.version",
    ]
