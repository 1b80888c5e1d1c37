"""Virtual environments with chosen versions, in which tests of this checkout run."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]


class InstallError(Exception):
    """An environment cannot be made: no such version, or no room for it."""


@dataclass(frozen=True, slots=True)
class Environment:
    """A virtual environment; its programs import namecheck and the plugin from this checkout."""

    folder: Path

    @property
    def python(self) -> str:
        """Its interpreter."""
        return str(self.folder / ("Scripts" if os.name == "nt" else "bin") / "python")

    @property
    def site(self) -> Path:
        """The folder of its packages."""
        program = "import sysconfig; print(sysconfig.get_path('purelib'))"
        return Path(self.run("-c", program).stdout.strip())

    def version(self, package: str) -> str:
        """The version of an installed package."""
        program = f"from importlib.metadata import version; print(version({package!r}))"
        return self.run("-c", program).stdout.strip()

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run Python in the root of the checkout, with its output and errors in one text."""
        return subprocess.run(
            [self.python, *words],
            cwd=ROOT,
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join(map(str, (ROOT, ROOT / "mypy_plugin"))),
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )


def make(
    folder: Path,
    requirements: Sequence[str],
    python: str = sys.executable,
    *,
    layered: bool = False,
) -> Environment:
    """An environment with these requirements; raises `InstallError`.

    One that is `layered` finds what it lacks in the environment that runs this command, so that
    torch is not installed again. Where uv is on the path, it installs: much faster than pip, and
    environments share their files.
    """
    environment = Environment(folder)
    _install([python, "-m", "venv", str(folder)])
    if uv := shutil.which("uv"):
        install = [uv, "pip", "install", "--quiet", "--python", environment.python]
    else:
        install = [environment.python, "-m", "pip", "install", "--quiet"]
    _install([*install, *requirements])
    if layered:
        below = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
        (environment.site / "below.pth").write_text("\n".join(sorted(below)) + "\n")
    return environment


def _install(command: Sequence[str]) -> None:
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    if ran.returncode:
        lines = (ran.stderr or ran.stdout).strip().splitlines()
        errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
        raise InstallError((errors or lines[-1:] or [f"exit status {ran.returncode}"])[0])
