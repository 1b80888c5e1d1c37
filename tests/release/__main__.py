"""``python -m tests.release``: the types of the installed package, for mypy and pyright.

The wheel is installed in a bare environment, without torch; pyright comes from npm.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from tests.release.distributions import built, installed, run

MYPY: Final = "mypy==2.4.1"
PYRIGHT: Final = "pyright@1.1.414"

# A program of a user.
PROGRAM: Final = '''\
"""Checks a folder."""

from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import namecheck
from namecheck import Finding, Place, Report, SettingsError, Span


def rows(report: Report) -> list[tuple[str, int, str]]:
    return [(one.filename, one.span.line, one.code) for one in report.findings]


def places(finding: Finding) -> list[Place]:
    return [*finding.marks, *finding.related]


def main(folder: Path) -> int:
    try:
        with ProcessPoolExecutor(2) as executor:
            report = namecheck.check([folder, "x.py"], select=["NC1"], executor=executor)
    except SettingsError as error:
        print(error)
        return 2
    reveal_type(report)
    reveal_type(report.errors)
    span: Span = report.errors[0].span
    print(span.start, report.ok, namecheck.__version__)
    return 0
'''
WRONG: Final = """\
import namecheck

namecheck.check(3)
namecheck.check(selects=["NC1"])
namecheck.check().findigs
"""
REVEALED: Final = ("Report", "Finding")


def main() -> int:
    """Check both programs with both checkers; returns 1 if the outcome is not the expected one."""
    failures: list[str] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "distributions").mkdir()
        (folder / "user").mkdir()
        _, wheel = built(folder / "distributions")
        programs = installed(folder / "bare", [wheel, MYPY])
        run(["npm", "install", "--silent", "--no-save", "--prefix", folder, PYRIGHT], folder)
        (folder / "user" / "right.py").write_text(PROGRAM)
        (folder / "user" / "wrong.py").write_text(WRONG)
        settings = {"typeCheckingMode": "strict", "venvPath": str(folder), "venv": "bare"}
        (folder / "user" / "pyrightconfig.json").write_text(json.dumps(settings))
        checkers = {
            "mypy": [f"{programs / 'mypy'}", "--strict"],
            "pyright": [f"{folder / 'node_modules' / '.bin' / 'pyright'}"],
        }
        for checker, command in checkers.items():
            right = run([*command, "right.py"], folder / "user", None)
            wrong = run([*command, "wrong.py"], folder / "user", None)
            print(f"$ {checker}", right.stdout, wrong.stdout, sep="\n", flush=True)
            failures += [f"{checker}: {problem}" for problem in problems(right, wrong)]
    print(*failures or ["mypy and pyright accept the right program and no other."], sep="\n")
    return 1 if failures else 0


def problems(
    right: subprocess.CompletedProcess[str], wrong: subprocess.CompletedProcess[str]
) -> list[str]:
    """What is not as expected in the outcomes of a checker."""

    lines = [line for line in wrong.stdout.splitlines() if "error" in line and "wrong.py:" in line]
    return [
        *(["the right program has errors"] if right.returncode else []),
        *(f"{name} is not revealed" for name in REVEALED if name not in right.stdout),
        *([f"{len(lines)} of 3 mistakes found"] if len(lines) < 3 else []),
    ]


if __name__ == "__main__":
    sys.exit(main())
