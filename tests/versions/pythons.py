"""The quick tests on each interpreter of Python that is installed here."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from tests.conftest import QUICK
from tests.versions.environments import InstallError, make
from tests.versions.outcomes import Outcome, not_run, of_run

MINORS: Final = (11, 12, 13, 14)
NEEDED: Final = ("libcst", "hypothesis>=6.150,<7", "pytest>=9,<10", "pytest-xdist>=3.8,<4")


def outcomes(folder: Path, versions: Sequence[str]) -> Iterator[Outcome]:
    """The outcome on each supported version that is here, by default on all."""
    for version in versions or [f"3.{minor}" for minor in MINORS]:
        python = interpreter(version)
        if python is None:
            yield not_run(f"Python {version}", "there is no such interpreter")
            continue
        try:
            environment = make(folder / f"python-{version}", NEEDED, python)
        except InstallError as error:
            yield not_run(f"Python {version}", error)
            continue
        # Named one by one, because other folders have fixtures that need torch.
        tests = [f"tests/{name}" for name in QUICK]
        name = environment.run("--version").stdout.strip()
        yield of_run(name, environment.run("-m", "pytest", "-q", "-n", "0", "-m", "quick", *tests))


def interpreter(version: str) -> str | None:
    """An interpreter of a version: the one that runs, one on the path, or one of pyenv."""
    if version == f"3.{sys.version_info.minor}":
        return sys.executable
    if path := shutil.which(f"python{version}"):
        return path
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    return next(map(str, sorted(root.glob(f"versions/{version}.*/bin/python"))), None)
