"""The quick tests, and those that read frames, on each interpreter that is installed here.

The distribution is installed in each environment, with the torch that the tests are made for where
that has the interpreter. The tests are those of this checkout.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from tests.conftest import QUICK
from tests.versions.environments import ROOT, Environment, InstallError, make
from tests.versions.outcomes import Outcome, not_run, of_run

MINORS: Final = (11, 12, 13, 14)

# They need torch, and read bytecode, frames, tracebacks, or the slots of classes.
FRAMES: Final = (
    *("tests/runtime/test_checking.py", "tests/runtime/test_frames.py"),
    *("tests/runtime/test_import_hook.py", "tests/runtime/test_platforms.py"),
    *("tests/runtime/test_script.py", "tests/runtime/test_sequences.py"),
)
# Nothing is found in these by the command of the installed distribution.
SILENT: Final = "fixtures/silent"


def outcomes(folder: Path, versions: Sequence[str]) -> Iterator[Outcome]:
    """The outcomes on each supported version that is here, by default on all."""
    for version in versions or [f"3.{minor}" for minor in MINORS]:
        python = interpreter(version)
        if python is None:
            yield not_run(f"Python {version}", "there is no such interpreter")
            continue
        where = folder / f"python-{version}"
        try:
            environment, has_torch = _environment(where, python)
        except InstallError as error:
            yield not_run(f"Python {version}", error)
            continue
        name = environment.run("--version").stdout.strip()
        command = ("-I", "-m", "namecheck", "check", "--no-cache", SILENT)
        yield of_run(f"{name}, the installed command", environment.run(*command))
        # Named one by one, because other folders have fixtures that need torch.
        quick = [f"tests/{name}" for name in QUICK]
        pytest = ("-m", "pytest", "-q", "-n", "0")
        yield of_run(f"{name}, quick tests", environment.run(*pytest, "-m", "quick", *quick))
        if has_torch:
            release = environment.version("torch")
            yield of_run(f"{name}, torch {release}, frames", environment.run(*pytest, *FRAMES))
        else:
            yield not_run(f"{name}, frames", "torch has no such build")


def _environment(folder: Path, python: str) -> tuple[Environment, bool]:
    """An environment with the distribution, and whether it has torch; raises `InstallError`."""
    try:
        return make(folder, [f"{ROOT}[dev]"], python), True
    except InstallError:
        requirements = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
        dev = requirements["optional-dependencies"]["dev"]
        rest = [requirement for requirement in dev if not requirement.startswith("torch")]
        return make(folder, [str(ROOT), *rest], python), False


def interpreter(version: str) -> str | None:
    """An interpreter of a version: the one that runs, one of pyenv, or one on the path."""
    if version == f"3.{sys.version_info.minor}":
        return sys.executable
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    installed = [*map(str, sorted(root.glob(f"versions/{version}.*/bin/python")))]
    on_path = shutil.which(f"python{version}")
    return next(filter(_runs, [*installed, *([on_path] if on_path else [])]), None)


def _runs(python: str) -> bool:
    """Whether an interpreter runs: pyenv has shims of versions that are not chosen."""
    return subprocess.run([python, "-c", ""], capture_output=True, check=False).returncode == 0
