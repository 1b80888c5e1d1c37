"""A damaged installation is one error of the command, and not a finding for each file."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

import namecheck
from tests import patience

PROGRAM: Final = (
    'import torch\n\nx = torch.zeros(2, 3, names=("N", "C"))\nprint((x + x).sum("C"))\n'
)


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a copy of the package and two programs to check."""
    folder = tmp_path_factory.mktemp("installation")
    shutil.copytree(Path(namecheck.__file__).parent, folder / "namecheck")
    (folder / "programs").mkdir()
    for name in ("a.py", "b.py"):
        (folder / "programs" / name).write_text(PROGRAM)
    return folder


def check(installation: Path) -> subprocess.CompletedProcess[str]:
    """Runs ``namecheck check --no-cache programs`` with the copy of the package."""
    return patience.run(
        [sys.executable, "-m", "namecheck", "check", "--no-cache", "programs"],
        60,
        text=True,
        cwd=installation,
        env={**os.environ, "PYTHONPATH": str(installation)},
    )


def test_the_copy_works(installation: Path) -> None:
    run = check(installation)
    assert (run.returncode, run.stdout, run.stderr) == (0, "All checks passed.\n", "")


DAMAGES: Final = {
    "a file of rules is missing": ("rules/pointwise.py", None, "there is no rule"),
    "a file of rules does not parse": ("rules/pointwise.py", "def (\n", "pointwise"),
    "a row names no rule": (
        "operators/table/*.toml",
        (r'(?m)^(add = .*names = )"\w+"', r'\1"nonsense"'),
        "operator 'add': column 'names': there is no rule 'nonsense'",
    ),
    "a row has an unknown kind of parameter": (
        "operators/table/*.toml",
        (r"(?m)^(add = .*params = \[\"input:)tensor", r"\1tensr"),
        "operator 'add': column 'params': unknown kind 'tensr'; did you mean 'tensor'?; the kinds",
    ),
    "a row has an unknown column": (
        "operators/table/*.toml",
        (r"(?m)^add = \{", "add = { dtipe = 'first',"),
        "operator 'add': column 'dtipe': there is no column 'dtipe'; did you mean 'dtype'?; the",
    ),
    "a row does not parse": (
        "operators/table/*.toml",
        (r"(?m)^add = \{", "add = = {"),
        "operator 'add': the row does not parse: ",
    ),
    "a module is missing": (
        "interpreter/evaluation/expressions.py",
        None,
        "the installation is damaged: ",
    ),
}


@pytest.mark.parametrize(("pattern", "damage", "message"), DAMAGES.values(), ids=DAMAGES)
def test_damage_is_reported_once(
    installation: Path, pattern: str, damage: str | tuple[str, str] | None, message: str
) -> None:
    paths = list((installation / "namecheck").glob(pattern))
    texts = {path: path.read_bytes() for path in paths}
    changed = 0
    for path, data in texts.items():
        text = data.decode()
        if damage is None:
            path.unlink()
            changed += 1
        elif isinstance(damage, str):
            path.write_text(damage)
            changed += 1
        elif (replaced := re.sub(*damage, text)) != text:
            path.write_text(replaced)
            changed += 1
    assert changed == 1
    try:
        run = check(installation)
    finally:
        for path, data in texts.items():
            path.write_bytes(data)
    assert (run.returncode, run.stdout) == (2, "")
    assert re.fullmatch(r"namecheck: .*\n", run.stderr), run.stderr
    assert message in run.stderr


def test_the_other_distribution_is_named(installation: Path) -> None:
    """PyPI has another tool called namecheck, with files of the same names."""
    record = installation / "namecheck-2025.11.13.dist-info"
    record.mkdir()
    (record / "METADATA").write_text("Metadata-Version: 2.4\nName: namecheck\nVersion: 1\n")
    (record / "RECORD").write_text("namecheck/cli.py,,\n")
    module = installation / "namecheck" / "project" / "walk.py"
    data = module.read_bytes()
    module.unlink()
    try:
        run = check(installation)
    finally:
        module.write_bytes(data)
        shutil.rmtree(record)
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr == (
        "namecheck: the distribution `namecheck`, another tool, has replaced files of "
        "torch-namecheck: pip uninstall namecheck, then "
        "pip install --force-reinstall torch-namecheck\n"
    )
