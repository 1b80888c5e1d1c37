"""The imports of each run of the command: every module costs half a millisecond at each start.

The tests limit the number of our own modules, which may grow with a module that every such run
uses. They also list modules of the standard library that a run must not load, as these are slow.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[2]

PROGRAM: Final = """
import os  # `site` imports it, which -S leaves out for what else it may import
import sys
before = set(sys.modules)
from namecheck.cli.main import main
main(sys.argv[1:])
print(*sorted(set(sys.modules) - before))
"""

NAMED: Final = """\
from typing import Annotated

from torch import Tensor


def centre(images: Annotated[Tensor, "batch channel"]) -> Annotated[Tensor, "batch channel"]:
    return images - images.mean(1, keepdim=True)
"""

# Needed by other runs: several processes, faults, near words, help; rules of losses.
NEVER: Final = {
    *("concurrent.futures", "multiprocessing", "logging", "traceback", "difflib", "shutil"),
    *("dataclasses", "inspect", "subprocess", "socket", "fractions", "decimal"),
    *("torch", "libcst", "mypy"),
}
# Modules that read and write the cache.
OF_THE_CACHE: Final = {"sqlite3", "json", "hashlib"}
# Modules of the analysis.
OF_ANALYSIS: Final = {"tomllib", "namecheck.interpreter", "namecheck.operators"}


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


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project of one file that names dims."""
    (tmp_path / "named.py").write_text(NAMED)
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "one"\n')
    return tmp_path


def test_the_version(tmp_path: Path) -> None:
    assert loaded("--version", cwd=tmp_path) == [
        "__future__",
        "namecheck",
        "namecheck.cli",
        "namecheck.cli.main",
        "namecheck.version",
    ]


def test_a_check_of_one_file(project: Path) -> None:
    modules = loaded("check", "--no-cache", "named.py", cwd=project)
    assert not (NEVER | OF_THE_CACHE) & set(modules)
    assert sum(module.startswith("namecheck") for module in modules) <= 200


def test_a_check_of_a_file_that_names_nothing(project: Path) -> None:
    (project / "plain.py").write_text("import torch\n\n\ndef twice(x):\n    return x + x\n")
    modules = loaded("check", "--no-cache", "plain.py", cwd=project)
    assert not (NEVER | OF_THE_CACHE | OF_ANALYSIS) & set(modules)
    assert sum(module.startswith("namecheck") for module in modules) <= 50


def test_a_check_with_everything_in_the_cache(project: Path) -> None:
    loaded("check", cwd=project)
    modules = loaded("check", cwd=project)
    assert not (NEVER | OF_ANALYSIS) & set(modules)
    assert sum(module.startswith("namecheck") for module in modules) <= 50


def test_the_plugin_of_mypy(tmp_path: Path) -> None:
    program = (
        "import sys\nimport namecheck_mypy\nfrom mypy.options import Options\n"
        "from mypy.version import __version__\n"
        "namecheck_mypy.plugin(__version__)(Options())\n"
        "print(*sorted(name for name in sys.modules if name.startswith('namecheck')))"
    )
    command = [sys.executable, "-c", program]
    ran = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=True)
    assert [name for name in ran.stdout.split() if not name.startswith("namecheck_mypy")] == [
        "namecheck",
        "namecheck.core",
        "namecheck.core.faults",
        "namecheck.core.stamps",
        "namecheck.version",
    ]
