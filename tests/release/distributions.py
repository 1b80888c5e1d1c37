"""Builds the distributions of this checkout, and installs them in bare environments."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import venv
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[2]

# Python before 3.11.4 has no filter; the archive is our own.
FILTER: Final[dict[str, Any]] = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}


def run(
    command: Sequence[str | Path], cwd: Path, code: int | None = 0
) -> subprocess.CompletedProcess[str]:
    """Run a command without the variables by which Python finds this checkout."""
    hidden = {"PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV"}
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    ran = subprocess.run(
        [*map(str, command)], cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
    assert code in (None, ran.returncode), ran.stdout + ran.stderr
    return ran


def built(folder: Path) -> tuple[Path, Path]:
    """The source distribution of this checkout, and the wheel that is built from it."""
    run([sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", folder], ROOT)
    [source] = folder.glob("*.tar.gz")
    with tarfile.open(source) as archive:
        archive.extractall(folder / "unpacked", **FILTER)
    [unpacked] = (folder / "unpacked").iterdir()
    run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder], unpacked)
    [wheel] = folder.glob("*.whl")
    return source, wheel


def installed(folder: Path, requirements: Sequence[str | Path]) -> Path:
    """A bare environment with these requirements; returns the folder of its programs."""
    venv.create(folder, with_pip=False, symlinks=os.name != "nt")
    programs = folder / ("Scripts" if os.name == "nt" else "bin")
    install = ["-m", "pip", "--python", programs / "python", "install", "--quiet", *requirements]
    run([sys.executable, *install], folder)
    return programs
