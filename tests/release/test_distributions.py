"""The wheel and the source distribution are built, and work in a bare environment."""

from __future__ import annotations

import json
import os
import subprocess
import tarfile
import zipfile
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

import pytest

import namecheck
from tests.release.distributions import ROOT, built, installed, run

PLUGIN: Final = "mypy_plugin/"
# What a checkout has for its own CI alone.
UNRELEASED: Final = (".ci/",)
REPORT: Final = """\
import json, sys
import namecheck
report = namecheck.check(sys.argv[1:], cache=False)
print(json.dumps([namecheck.__version__, *(one.code for one in report.errors)]))
"""


@pytest.fixture(scope="module")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The source distribution and the wheel."""
    return built(tmp_path_factory.mktemp("distributions"))


@pytest.fixture(scope="module")
def programs(distributions: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment in which the wheel is installed, and nothing else."""
    return installed(tmp_path_factory.mktemp("bare"), [distributions[1]])


def tracked() -> set[str]:
    """The files of this checkout."""
    if not (ROOT / ".git").exists():
        return _copied()
    listed = run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], ROOT)
    return {name for name in listed.stdout.splitlines() if (ROOT / name).is_file()}


def _copied() -> set[str]:
    """The files of a copy without its repository, without what the checkout would ignore."""
    lines = (ROOT / ".gitignore").read_text().splitlines()
    patterns = [line.strip("/") for line in lines if line and not line.startswith("#")]
    names: set[str] = set()
    for folder, inner_folders, files in os.walk(ROOT):
        kept = [name for name in inner_folders if not _is_ignored(name, patterns)]
        inner_folders[:] = kept
        place = Path(folder).relative_to(ROOT)
        names.update((place / name).as_posix() for name in files if not _is_ignored(name, patterns))
    return names


def _is_ignored(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def test_the_wheel_has_the_two_packages(distributions: tuple[Path, Path]) -> None:
    with zipfile.ZipFile(distributions[1]) as wheel:
        names = {name for name in wheel.namelist() if ".dist-info/" not in name}
    ours = {name for name in tracked() if name.startswith(("namecheck/", f"{PLUGIN}namecheck_"))}
    assert names == {name.removeprefix(PLUGIN) for name in ours}
    assert {"namecheck/py.typed", "namecheck_mypy/py.typed"} <= names


def test_the_source_distribution_has_the_checkout(distributions: tuple[Path, Path]) -> None:
    with tarfile.open(distributions[0]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert names - {"PKG-INFO"} == {name for name in tracked() if not name.startswith(UNRELEASED)}


def test_the_command_works_in_a_bare_environment(programs: Path, tmp_path: Path) -> None:
    version = run([programs / "namecheck", "--version"], tmp_path).stdout
    assert version.startswith(f"namecheck {namecheck.__version__} ")
    tour = ROOT / "fixtures" / "tour.py"
    words = ["check", "--no-cache", "--output-format", "json", str(tour)]
    findings = json.loads(run([programs / "namecheck", *words], tmp_path, 1).stdout)
    report = json.loads(run([programs / "python", "-c", REPORT, tour], tmp_path).stdout)
    assert report == [namecheck.__version__, *(one["code"] for one in findings)]
    assert any(one["fix"] for one in findings)  # they need the one dependency


def test_the_programs_of_another_distribution(programs: Path, tmp_path: Path) -> None:
    """The distribution `namecheck` of PyPI has a script that calls `namecheck.cli.main`."""
    script = "import sys\nfrom namecheck.cli import main\nsys.exit(main())\n"
    ran: subprocess.CompletedProcess[str] = run([programs / "python", "-c", script], tmp_path, 2)
    assert "pip uninstall namecheck" in ran.stderr
    assert "pip install --force-reinstall torch-namecheck" in ran.stderr
    assert ran.stderr.count("\n") == 1
