"""The plugin does not disturb mypy: internal errors, other versions of mypy, other plugins."""

from __future__ import annotations

from typing import Final

import pytest
from mypy.plugin import Plugin

import namecheck_mypy
from namecheck_mypy import surfaces
from namecheck_mypy.hooks import NamecheckPlugin
from tests.mypy_plugin.projects import SETTINGS, Project
from tests.mypy_plugin.test_findings import CHAIN, HELPER, TOP, TRAIN

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
REDUCED: Final = """\
import mypy.errors

del mypy.errors.ErrorInfo


def plugin(version):
    import namecheck_mypy

    return namecheck_mypy.plugin("4.0.0")
"""
OLDER: Final = """\
from namecheck_mypy import surfaces

if surfaces.ADAPTER.calls_after_check:
    surfaces.ADAPTER = surfaces.Mypy20()

from namecheck_mypy import plugin
"""
CONTEXT: Final = ("--show-error-context", "--no-incremental")
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
    for release in surfaces.ADAPTERS:
        version = ".".join(map(str, (*release, 9)))
        assert issubclass(namecheck_mypy.plugin(version), NamecheckPlugin)
    assert capsys.readouterr().err == ""
    assert issubclass(namecheck_mypy.plugin("3.0.0+dev"), NamecheckPlugin)
    message = capsys.readouterr().err
    assert message.startswith("namecheck_mypy: mypy 3.0.0+dev was not tried with this namecheck")
    assert "tried with mypy 1.19 to 2.4" in message
    assert message.count("\n") == 1


def test_a_version_without_what_is_needed_gets_no_findings(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def changed(*arguments: object) -> None:
        raise TypeError("info() takes no arguments")

    monkeypatch.setattr(surfaces.ADAPTER, "info", changed)
    assert namecheck_mypy.plugin("3.0.0") is Plugin
    message = capsys.readouterr().err
    assert message.startswith("namecheck_mypy: no findings are reported: mypy 3.0.0 was not tried")
    assert "(TypeError: info() takes no arguments). `namecheck check` needs no mypy." in message
    assert message.count("\n") == 1


def test_a_release_without_a_module_that_is_imported(small_project: Project) -> None:
    small_project.write({**CHAIN, "plain.py": "x: int = 'a'\n"})
    small_project.write({"conf_reduced.py": REDUCED})
    small_project.write({"pyproject.toml": SETTINGS.replace("namecheck_mypy", "conf_reduced.py")})
    run = small_project.run("mypy", "plain.py", "top.py")
    assert run.code == 1, run.out + run.err
    assert "plain.py:1: error: Incompatible types in assignment" in run.out
    assert "Found 1 error in 1 file" in run.out
    assert "namecheck_mypy: no findings are reported: mypy 4.0.0 was not tried" in run.err
    assert "ErrorInfo" in run.err


def test_releases_without_a_hook_after_the_check(small_project: Project) -> None:
    """mypy 1.20 to 2.3 have none; this mypy, too, can be used as they are."""
    small_project.write(CHAIN)
    small_project.write({"conf_older.py": OLDER})
    small_project.write({"pyproject.toml": SETTINGS.replace("namecheck_mypy", "conf_older.py")})
    small_project.write({"helper.py": HELPER, "train.py": TRAIN})
    assert small_project.mypy("train.py").told == set()
    small_project.replace("train.py", '("T",)', '("N",)')
    assert {file for file, _, _ in small_project.mypy("train.py").told} == {"helper.py"}
    findings = {found for found in small_project.namecheck(".") if found[0] == "top.py"}
    assert len(findings) == 1
    assert small_project.mypy(*CHAIN).told == small_project.mypy(*CHAIN).told == findings
    assert 'note: In function "use":' in small_project.run("mypy", *CONTEXT, "top.py").out
    small_project.replace("top.py", TOP, f"# mypy: disable-error-code=named-dim\n{TOP}")
    assert small_project.mypy(*CHAIN).records == []
    small_project.replace("top.py", "# mypy: disable-error-code=named-dim\n", "")
    small_project.replace("top.py", '.sum("C")\n', '.sum("C")  # type: ignore[named-dim]\n')
    assert small_project.mypy(*CHAIN).records == []


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
