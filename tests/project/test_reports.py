"""`namecheck.check`, the Python API: the findings of the command, as objects."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import pytest

import namecheck
from namecheck.cli import main
from namecheck.project import reports

WRONG: Final = 'import torch\n\ntorch.zeros(2, 3, names=("N", "C")).sum("K")\n'
NOTED: Final = "import torch\nfrom namecheck import reveal_names\n\nreveal_names(torch.zeros(2))\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with one finding and one note, which is the working folder."""
    (tmp_path / "pyproject.toml").write_text("[tool.namecheck]\n")
    (tmp_path / "wrong.py").write_text(WRONG)
    (tmp_path / "noted.py").write_text(NOTED)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_report_has_the_findings_of_the_command(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = namecheck.check()
    assert capsys.readouterr() == ("", "")
    assert main.main(["check", "--output-format", "json"]) == 1
    printed = json.loads(capsys.readouterr().out)
    assert [(one.code, one.message, one.filename, one.span.start) for one in report.findings] == [
        (
            one["code"],
            one["message"],
            one["filename"],
            (one["location"]["row"], one["location"]["column"]),
        )
        for one in printed
    ]
    assert [one.code for one in report.findings] == ["NC090", "NC103"]
    assert [one.code for one in report.errors] == ["NC103"]
    assert (report.files, report.known, report.missing, report.notes) == (2, 0, (), ())
    assert not report.ok
    assert (project / ".namecheck_cache").is_dir()


def test_options_override_the_settings(project: Path) -> None:
    assert namecheck.check(ignore=["NC103"], cache=False).ok
    assert namecheck.check(["noted.py"], cache=False).errors == ()
    (project / "pyproject.toml").write_text('[tool.namecheck]\nselect = ["NC2"]\n')
    assert namecheck.check([project], cache=False).ok
    assert not namecheck.check([project], select=["name-not-found"], cache=False).ok
    assert not (project / ".namecheck_cache").exists()
    namecheck.check(cache_dir=project / "elsewhere")
    assert (project / "elsewhere").is_dir()


def test_an_executor_and_progress(project: Path) -> None:
    seen: list[tuple[int, int]] = []
    with ThreadPoolExecutor(1) as executor:
        report = namecheck.check(
            cache=False, executor=executor, progress=lambda done, total: seen.append((done, total))
        )
    assert len(report.errors) == 1
    assert seen[-1] == (2, 2)


def test_a_baseline(project: Path) -> None:
    (project / "pyproject.toml").write_text('[tool.namecheck]\nbaseline = "known.json"\n')
    assert main.main(["baseline", "--no-cache"]) == 0
    report = namecheck.check(cache=False)
    assert (report.ok, report.known, report.stale) == (True, 1, 0)
    assert len(namecheck.check(cache=False, baseline=False).errors) == 1
    (project / "wrong.py").write_text("import torch\n")
    assert namecheck.check(cache=False).stale == 1
    assert namecheck.check(["noted.py"], cache=False).stale == 0


def test_what_cannot_be_checked(project: Path) -> None:
    report = namecheck.check(["gone.py", "noted.py"], cache=False)
    assert (report.missing, report.files, report.ok) == (("gone.py",), 1, False)
    (project / "link").symlink_to("/")
    assert namecheck.check(cache=False).outward == ("link",)
    (project / "elsewhere").write_text("")
    [note] = namecheck.check(cache_dir="elsewhere").notes
    assert note.startswith("the cache elsewhere")


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"select": ["NC999"]}, "select: there is no code 'NC999'"),
        ({"semantics": "torch"}, "semantics: one of namecheck, torch-2.12 is wanted, not 'torch'"),
        ({"evidence": ""}, "evidence: one of declared, observed, claimed is wanted"),
    ],
)
def test_an_option_that_does_not_exist(option: dict[str, str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        reports.check(**option)  # type: ignore[arg-type]


def test_settings_that_cannot_be_used(project: Path) -> None:
    (project / "pyproject.toml").write_text("[tool.namecheck]\nselect = 3\n")
    with pytest.raises(namecheck.SettingsError, match=r"pyproject.toml:2: "):
        namecheck.check()
