"""The report in a browser: ``python -m tests.report.browser [--screenshots FOLDER]``.

It needs node and Chromium (``--chromium PATH`` where it is not found); playwright and axe-core are
installed from npm into a temporary folder. The report of the README's programs and of hostile files
is opened at three widths in both themes: axe-core must find nothing serious, nothing may be
requested from outside of the folder, no page may be wider than the window, and dims, keys, sorting
and the theme must work. CONTRIBUTING.md says when this was last seen to pass.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from tests.report.hostile import write_project

ROOT: Final = Path(__file__).parents[2]
TOOLS: Final = ("playwright-core@1.55.0", "axe-core@4.10.3")
SCRIPT: Final = Path(__file__).with_name("browser.mjs")


def written(folder: Path) -> Path:
    """The report of the README's programs and of a hostile project."""
    project = folder / "project"
    write_project(project)
    for name in ("tour.py", "mistakes.py", "elements.py"):
        shutil.copy(ROOT / "fixtures" / name, project)
    report = folder / "report"
    command = [sys.executable, "-m", "namecheck", "report", str(project), "--html", str(report)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return report


def main() -> int:
    """Install the tools, write the report, and look at it; 1 where something is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--screenshots", type=Path, help="a folder for pictures of the pages")
    parser.add_argument("--chromium", default=shutil.which("chromium"))
    arguments = parser.parse_args()
    if arguments.chromium is None:
        parser.error("no chromium on the path: name one with --chromium")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        install = ["npm", "install", "--no-fund", "--no-audit", "--prefix", name, *TOOLS]
        subprocess.run(install, check=True, stdout=sys.stderr)
        shutil.copy(SCRIPT, folder)
        command = ["node", str(folder / SCRIPT.name), str(written(folder)), arguments.chromium]
        if arguments.screenshots is not None:
            arguments.screenshots.mkdir(parents=True, exist_ok=True)
            command.append(str(arguments.screenshots.resolve()))
        return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
