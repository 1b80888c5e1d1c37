"""The plugin does not disturb mypy: internal errors, other versions of mypy, other plugins."""

from __future__ import annotations

from typing import Final

import pytest

import namecheck_mypy
from tests.mypy_plugin.projects import SETTINGS, Project
from tests.mypy_plugin.test_findings import CHAIN

FAULTY: Final = """\
from namecheck_mypy import reveals
from namecheck_mypy.hooks import NamecheckPlugin


class Faulty(NamecheckPlugin):
    def __init__(self, options):
        super().__init__(options)
        self._reporter.report = self.fail
        self._vocabulary.base_class_hook = self.fail
        self._vocabulary.method_signature_hook = self.fail
        reveals.Reveals.names = self.fail

    def fail(self, *given):
        raise ZeroDivisionError("a fault")


def plugin(version):
    return Faulty
"""
PYDANTIC: Final = """\
import numpy as np
import torch
from pydantic import BaseModel


class Batch(BaseModel):
    size: int


def total(batch: Batch) -> None:
    lengths = np.zeros(batch.size, dtype=np.int64)
    torch.zeros(int(lengths.sum()), 3, names=("N", "C")).sum("K")
    Batch()
"""


def test_a_fault_is_one_note(small_project: Project) -> None:
    small_project.write(CHAIN)
    small_project.write(
        {"lib.py": CHAIN["lib.py"] + "\n\nx: int = 'a'\nreveal_type(make().names)\n"}
    )
    small_project.write({"conf_faulty.py": FAULTY})
    small_project.write({"pyproject.toml": SETTINGS.replace("namecheck_mypy", "conf_faulty.py")})
    run = small_project.run("mypy", "lib.py", "middle.py", "top.py")
    assert run.code == 1, run.out + run.err
    assert "INTERNAL" not in run.out + run.err
    assert "lib.py:9: error: Incompatible types in assignment" in run.out
    faults = [line for line in (run.out + run.err).splitlines() if "a fault" in line]
    assert {"lib.py", "middle.py", "top.py"} <= {line.split(":")[0] for line in faults}
    assert len(faults) == len({line.split(":")[0] for line in faults})
    assert all("note: namecheck failed" in line for line in faults)


def test_another_version_is_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert namecheck_mypy.plugin("2.4.9") is not None
    assert capsys.readouterr().err == ""
    assert namecheck_mypy.plugin("3.0.0+dev") is not None
    told = capsys.readouterr().err
    assert "this is mypy 3.0.0+dev; the plugin is tested with mypy 2.4" in told
    assert told.count("\n") == 1


def test_beside_other_plugins(small_project: Project) -> None:
    plugins = '["pydantic.mypy", "numpy.typing.mypy_plugin", "namecheck_mypy"]'
    small_project.write({"pyproject.toml": SETTINGS.replace('["namecheck_mypy"]', plugins)})
    small_project.write({"batches.py": PYDANTIC})
    run = small_project.mypy("batches.py")
    assert run.told == small_project.namecheck(".")
    assert len(run.told) == 1
    [other] = run.others
    assert other == 'batches.py:13: Missing named argument "size" for "Batch"'


def test_files_without_names(project: Project) -> None:
    project.write({"plain.py": "x: int = 'a'\n"})
    run = project.run("mypy", "-v", "plain.py")
    assert "plain.py:1: error" in run.out
    assert not (project.root / ".mypy_cache" / "namecheck" / "outcomes.sqlite").exists()
