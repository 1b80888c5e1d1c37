"""The cost of checking a whole generated project after one edit."""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final
from unittest import mock

from namecheck.cli import main
from namecheck.interpreter.workspace import analysis
from namecheck.project.cache import FOLDER

FILES: Final = 2_000
PACKAGES: Final = 50
# Each file imports from one in this many files before it in its package.
NEAREST: Final = (1, 3)


def generate(root: Path) -> None:
    """A project of 2,000 files in 50 packages, in each of which files import earlier ones."""
    (root / "pyproject.toml").write_text('[project]\nname = "generated"\n')
    each = FILES // PACKAGES
    for package in range(PACKAGES):
        folder = root / f"package{package:02}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "__init__.py").write_text("")
        for number in range(1, each):
            (folder / f"module{number:02}.py").write_text(_module(number))


def _module(number: int) -> str:
    used = [number - step for step in NEAREST if number > step]
    imports = [f"from .module{one:02} import layer{one}" for one in used]
    calls = [f"    x = layer{one}(x)" for one in used]
    return "\n".join(
        [
            "import torch",
            *imports,
            "",
            'NAMES = ("N", "T", "C")',
            "",
            "",
            f"def layer{number}(x):",
            '    x = x.refine_names("N", "T", "C")',
            '    scale = torch.ones(8, names=("C",))',
            *(calls if number % 8 == 0 else ()),
            '    return torch.relu(x * scale).align_to("N", "T", "C")',
            "",
            "",
            f"class Block{number}:",
            "    def __init__(self, width: int) -> None:",
            '        self.weight = torch.zeros(width, width, names=("C", "D"))',
            "",
            "    def forward(self, x):",
            f"        y = layer{number}(x) @ self.weight",
            '        return y.rename(D="C").mean("T")',
            "",
        ]
    )


@contextlib.contextmanager
def counting() -> Iterator[list[str]]:
    """Record the files that are analysed meanwhile, in this process."""
    analysed: list[str] = []
    plain = analysis.analysed

    def counted(workspace: Any, location: str) -> Any:
        analysed.append(location)
        return plain(workspace, location)

    with mock.patch.object(analysis, "analysed", counted):
        yield analysed


def analysed_after_an_edit(root: Path, edited: Path) -> list[str]:
    """The files that are analysed again after one file of a checked project has changed."""
    here = os.getcwd()
    os.chdir(root)
    try:
        _check()
        edited.write_text(f"{edited.read_text()}\nEDITED = True\n")
        with counting() as analysed:
            _check()
    finally:
        os.chdir(here)
    return sorted(os.path.relpath(location, root) for location in analysed)


def _check() -> None:
    with contextlib.redirect_stdout(io.StringIO()):
        status = main.main(["check", "--jobs", "1", "--cache-dir", FOLDER])
    assert status == 0, "the generated project has findings"
