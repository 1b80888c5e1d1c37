"""The survey of released packages, on packages and programs that the tests make themselves."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import tarfile
import time
import zipfile
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest

from namecheck.core.findings import register
from tests.real_code import comparison, outcomes, projects, survey, verdicts
from tests.real_code.archives import (
    REQUIREMENT,
    ArchiveError,
    download,
    normalised,
    stored_archive,
    unpack,
    version_of,
)
from tests.real_code.limits import Limits
from tests.real_code.outcomes import Journal, Outcome, Place
from tests.real_code.package_check import Plan, check_package

MISMATCH: Final = """import torch

x = torch.rand(2, 3, names=("N", "C"))
y = x + torch.rand(3, names=("N",))
"""


def wheel(folder: Path, name: str, files: dict[str, str]) -> Path:
    """A wheel of version 1.0, with what pip needs to download it."""
    path = folder / f"{name}-1.0-py3-none-any.whl"
    info = f"{name}-1.0.dist-info"
    with zipfile.ZipFile(path, "w") as packed:
        for member, text in files.items():
            packed.writestr(member, text)
        packed.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        packed.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        packed.writestr(f"{info}/RECORD", "")
    return path


@pytest.fixture
def archives(tmp_path: Path) -> Path:
    folder = tmp_path / "archives"
    folder.mkdir()
    wheel(folder, "Some_Names", {"some/model.py": MISMATCH, "some/plain.py": "x = 1\n"})
    return folder


def plan_for(archives: Path, checkout: Path = survey.ROOT, limits: Limits | None = None) -> Plan:
    return Plan(checkout, "abc", archives, offline=True, limits=limits or Limits())


def checkout_of(tmp_path: Path, program: str) -> Path:
    """A checkout with another program in place of namecheck."""
    package = tmp_path / "other" / "namecheck"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "__main__.py").write_text(program)
    return package.parent


def test_a_package_is_checked(archives: Path) -> None:
    outcome = check_package("some-names", plan_for(archives))
    [place] = outcome.findings
    assert (place.file, place.line, place.column, place.code) == ("some/model.py", 4, 5, "NC101")
    assert (outcome.end, outcome.code, outcome.version) == (outcomes.FINISHED, 1, "1.0")
    assert (outcome.files, outcome.torch_files, outcome.lines) == (2, 1, 4)
    assert not outcome.failed
    assert outcome.seconds > 0
    assert outcome.mebibytes > 5
    assert outcome.statistics == {}


def test_options_of_check_are_passed_on(archives: Path) -> None:
    plan = replace(plan_for(archives), options=("--statistics", "--output-format=json"))
    outcome = check_package("some-names", plan)
    assert outcome.statistics["expressions"] > 0
    assert len(outcome.findings) == 1


def test_nothing_of_a_package_is_imported(tmp_path: Path, archives: Path) -> None:
    mark = tmp_path / "mark"
    stolen = {f"{name}.py": f"open({str(mark)!r}, 'w')" for name in ("json", "resource", "enum")}
    wheel(archives, "shadow", {**stolen, "namecheck/__init__.py": stolen["json.py"]})
    assert check_package("shadow", plan_for(archives)).end == outcomes.FINISHED
    assert not mark.exists()


def test_files_that_do_not_parse_are_not_judged(archives: Path) -> None:
    wheel(archives, "torn", {"torn.py": "import torch\nx = (\n"})
    outcome = check_package("torn", plan_for(archives))
    assert outcome.findings == ()
    assert [line.split(":")[0] for line in outcome.unjudged] == ["torn.py"]
    assert not outcome.failed


def test_notes_are_no_findings(tmp_path: Path, archives: Path) -> None:
    line = "some/model.py:4:5: NC091 not-judged: 'run' is not judged to its end"
    checkout = checkout_of(tmp_path, f"print({line!r})")
    outcome = check_package("some-names", plan_for(archives, checkout))
    assert outcome.findings == ()
    assert outcome.unjudged == (line.replace(" not-judged:", ""),)


def test_a_package_without_an_archive(archives: Path) -> None:
    assert check_package("missing", plan_for(archives)).end == outcomes.NO_ARCHIVE
    (archives / "damaged-1.0-py3-none-any.whl").write_text("no archive")
    outcome = check_package("damaged", plan_for(archives))
    assert outcome.end == outcomes.BAD_ARCHIVE
    assert not outcome.failed


@pytest.mark.parametrize(
    ("program", "end"),
    [
        ("while True: pass", outcomes.OUT_OF_TIME),
        ("x = bytearray(1 << 30)", outcomes.OUT_OF_MEMORY),
        ("import time; time.sleep(60)", outcomes.OUT_OF_CLOCK),
        ("import os; os.abort()", outcomes.DIED),
        ("1 / 0", outcomes.FINISHED),
        ("raise SystemExit(2)", outcomes.FINISHED),
    ],
)
def test_limits_and_faults(tmp_path: Path, archives: Path, program: str, end: str) -> None:
    # A busy machine must not let the clock run out before the processor time does.
    patience = 2 if end == outcomes.OUT_OF_CLOCK else 120
    limits = Limits(seconds=1, wall_seconds=patience, mebibytes=512)
    outcome = check_package(
        "some-names", plan_for(archives, checkout_of(tmp_path, program), limits)
    )
    assert outcome.end == end
    assert outcome.failed
    assert outcome.faults


def test_an_internal_error_is_a_fault(tmp_path: Path, archives: Path) -> None:
    place = {"row": 1, "column": 1}
    finding = {"code": "NC005", "kind": "file", "message": "KeyError: 'x'", "filename": "a.py"}
    report = json.dumps({"findings": [{**finding, "location": place}], "statistics": {}})
    checkout = checkout_of(tmp_path, f"print({report!r}); raise SystemExit(2)")
    outcome = check_package("some-names", plan_for(archives, checkout))
    assert outcome.faults == ("a.py:1:1: NC005 KeyError: 'x'",)
    assert outcome.findings == ()


def test_processes_that_a_process_started_end_with_it(tmp_path: Path, archives: Path) -> None:
    number = tmp_path / "number"
    program = (
        "import subprocess, sys, time\n"
        "process = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        f"open({str(number)!r}, 'w').write(str(process.pid))\n"
        "time.sleep(60)\n"
    )
    limits = Limits(wall_seconds=1)
    check_package("some-names", plan_for(archives, checkout_of(tmp_path, program), limits))
    assert is_gone(int(number.read_text()))


def is_gone(pid: int) -> bool:
    """Whether a process has ended; a killed one may still wait for its parent to notice."""
    for _ in range(100):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return True
        if state == "Z":
            return True
        time.sleep(0.05)
    return False


HOSTILE: Final = ("../escape.py", "/escape.py", "a/../../escape.py", "a\\..\\escape.py")


def test_members_of_a_zip_that_escape(tmp_path: Path) -> None:
    archive = tmp_path / "bad-1.0-py3-none-any.whl"
    link = zipfile.ZipInfo("link.py")
    link.external_attr = 0o120777 << 16
    with zipfile.ZipFile(archive, "w") as packed:
        for member in (*HOSTILE, "fine.py", "picture.png"):
            packed.writestr(member, "x = 1\n")
        packed.writestr(link, "/etc/passwd")
    check_unpacked(archive, tmp_path / "folder", (*HOSTILE, "link.py"))


def test_members_of_a_tar_that_escape(tmp_path: Path) -> None:
    archive = tmp_path / "bad-1.0.tar.gz"
    with tarfile.open(archive, "w:gz") as packed:
        for member in (*HOSTILE, "fine.py", "picture.png"):
            info = tarfile.TarInfo(member)
            info.size = 6
            packed.addfile(info, io.BytesIO(b"x = 1\n"))
        for name, kind in (("link.py", tarfile.SYMTYPE), ("hard.py", tarfile.LNKTYPE)):
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, "fine.py"
            packed.addfile(info)
        info = tarfile.TarInfo("pipe.py")
        info.type = tarfile.FIFOTYPE
        packed.addfile(info)
    check_unpacked(archive, tmp_path / "folder", (*HOSTILE, "link.py", "hard.py", "pipe.py"))


def check_unpacked(archive: Path, folder: Path, refused: tuple[str, ...]) -> None:
    folder.mkdir()
    unpacked = unpack(archive, folder)
    assert (unpacked.files, unpacked.refused) == (1, refused)
    assert [path.name for path in folder.rglob("*")] == ["fine.py"]
    assert not list(folder.parent.glob("escape*"))


def test_a_second_member_of_the_same_name_is_refused(tmp_path: Path) -> None:
    archive = tmp_path / "twice-1.0.tar.gz"
    with tarfile.open(archive, "w:gz") as packed:
        for name in ("a.py", "a.py", "a.py/b.py"):
            packed.addfile(tarfile.TarInfo(name))
    folder = tmp_path / "folder"
    folder.mkdir()
    assert unpack(archive, folder).refused == ("a.py", "a.py/b.py")


def test_pip_downloads_wheels_by_name(
    tmp_path: Path, archives: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(archives))
    folder = tmp_path / "downloads"
    folder.mkdir()
    assert version_of(download("some-names==1.0", folder, sources=False)) == "1.0"
    with pytest.raises(ArchiveError, match="missing"):
        download("missing", folder, sources=False)


@pytest.mark.parametrize("requirement", ["--index-url=x", "a b", "../a", "a @ b", "", "-r"])
def test_only_names_are_downloaded(tmp_path: Path, requirement: str) -> None:
    with pytest.raises(ArchiveError, match="not the name of a package"):
        download(requirement, tmp_path, sources=False)


def test_stored_archives(tmp_path: Path) -> None:
    for name in ("a_b-1.0.tar.gz", "A.b-1.0-py3-none-any.whl", "a_b_c-2.0.tar.gz"):
        (tmp_path / name).touch()
    wheel_path = tmp_path / "A.b-1.0-py3-none-any.whl"
    assert stored_archive("a-b", tmp_path) == wheel_path
    assert stored_archive("a-b==1.0", tmp_path) == wheel_path
    assert stored_archive("a-b==2.0", tmp_path) is None
    assert stored_archive("a-b-c", tmp_path) == tmp_path / "a_b_c-2.0.tar.gz"


def test_a_line_that_was_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    place = Place("a.py", 1, 2, "NC101", "message")
    first = Outcome("first", outcomes.FINISHED, findings=(place,), faults=("x",))
    append(path, first)
    append(path, Outcome("second", outcomes.FINISHED))
    path.write_bytes(path.read_bytes()[:-20])
    assert outcomes.read(path) == {"first": first}
    append(path, Outcome("third", outcomes.DIED))
    assert list(outcomes.read(path)) == ["first", "third"]


def append(path: Path, outcome: Outcome) -> None:
    journal = Journal(path)
    journal.append(outcome)
    journal.close()


def test_a_killed_survey_continues(tmp_path: Path, archives: Path) -> None:
    names = ["some-names", "second", "third", "fourth"]
    for name in names[1:]:
        wheel(archives, name, {f"{name}.py": MISMATCH})
    results = tmp_path / "results.jsonl"
    command = [sys.executable, "-m", "tests.real_code.survey", *names, "--offline"]
    command += ["--archives", str(archives), "--out", str(results)]
    process = subprocess.Popen(
        command, cwd=survey.ROOT, stdout=subprocess.DEVNULL, start_new_session=True
    )
    try:
        while not (results.exists() and results.stat().st_size):
            assert process.poll() is None
            time.sleep(0.01)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    before = outcomes.read(results)
    assert "some-names" in before
    with ThreadPoolExecutor(1) as pool:
        rest = [o.package for o in survey.survey(names, plan_for(archives), results, pool)]
    assert rest == [name for name in names if name not in before]
    assert len(results.read_text().splitlines()) == 4


def test_packages_without_an_archive_are_tried_again(tmp_path: Path, archives: Path) -> None:
    results = tmp_path / "results.jsonl"
    ends = []
    for _ in range(3):
        with ThreadPoolExecutor(1) as pool:
            ends += [o.end for o in survey.survey(["late"], plan_for(archives), results, pool)]
        wheel(archives, "late", {"late.py": "x = 1\n"})
    assert ends == [outcomes.NO_ARCHIVE, outcomes.FINISHED]


def test_processes_may_be_the_executor(tmp_path: Path, archives: Path) -> None:
    results = tmp_path / "results.jsonl"
    with ProcessPoolExecutor(1) as pool:
        [outcome] = survey.survey(["some-names"], plan_for(archives), results, pool)
    assert outcomes.read(results) == {"some-names": outcome}


def test_a_comparison_with_another_checkout(
    tmp_path: Path, archives: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    finding = {"code": "NC102", "kind": "finding", "message": "gone", "filename": "some/model.py"}
    report = json.dumps({"findings": [{**finding, "location": {"row": 4, "column": 5}}]})
    other = checkout_of(tmp_path, f"print({report!r}); raise SystemExit(1)")
    arguments = ["some-names", "--offline", "--archives", str(archives)]
    arguments += ["--out", str(tmp_path / "results.jsonl"), "--compare"]
    assert survey.main([*arguments, str(other)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert "- some-names some/model.py:4:5: NC102 gone" in lines
    assert any(line.startswith("+ some-names some/model.py:4:5: NC101 ") for line in lines)
    assert lines[-1] == "2 differences"
    assert survey.main([*arguments, str(tmp_path / "results.jsonl")]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "0 differences"


def test_a_comparison_of_ends_and_versions(tmp_path: Path) -> None:
    before = {
        "a": Outcome("a", outcomes.FINISHED, "1"),
        "b": Outcome("b", outcomes.FINISHED, "1"),
        "c": Outcome("c", outcomes.FINISHED, "1"),
    }
    after = {
        "a": Outcome("a", outcomes.OUT_OF_TIME, "1", faults=("exit code -24: ",)),
        "b": Outcome("b", outcomes.FINISHED, "2", findings=(Place("b.py", 1, 1, "NC101", ""),)),
        "d": Outcome("d", outcomes.FINISHED, "1"),
    }
    assert list(comparison.differences(before, after, verdicts.Verdicts([]))) == [
        "a: finished, now processor time",
        "+ a fault: exit code -24:",
        "b: version 1, now 2",
        "c: only in the first survey",
        "d: only in the second survey",
    ]


def test_the_list_of_packages() -> None:
    names = survey.package_names((Path(__file__).parent / "packages.txt").read_text("utf-8"))
    assert len(names) >= 300
    assert all(REQUIREMENT.fullmatch(name) for name in names)
    assert names == sorted({normalised(name) for name in names})


@pytest.mark.parametrize("file", [verdicts.FILE, verdicts.OBSERVED])
def test_the_verdicts(file: Path) -> None:
    stored = verdicts.stored(file)
    assert {verdict.verdict for verdict in stored} <= set(verdicts.WORDS)
    assert all(verdict.why for verdict in stored)
    findings = [(v.package, v.version, v.file, v.line, v.code) for v in stored]
    assert findings == sorted(set(findings))


def test_doubtful_codes_are_those_that_were_false_as_often_as_true() -> None:
    packages: dict[str, dict[str, set[str]]] = {}
    for verdict in verdicts.stored(verdicts.OBSERVED):
        if verdict.first:
            of_code = packages.setdefault(verdict.code, {"true": set(), "false": set()})
            of_code.setdefault(verdict.verdict, set()).add(verdict.package)
    measured = {code for code, of in packages.items() if len(of["true"]) <= len(of["false"])}
    assert {code.code for code in register().values() if code.doubtful} == measured


def test_a_summary_counts_verdicts() -> None:
    verdict = verdicts.Verdict(
        "a_b", "1", "a.py", 1, "NC101", "false", "two names of one dim", reported=True, first=True
    )
    places = (Place("a.py", 1, 1, "NC101", ""), Place("a.py", 2, 1, "NC101", ""))
    outcome = Outcome("A-b==1", outcomes.FINISHED, "1", lines=10, seconds=2.0, findings=places)
    lines = list(survey.summary([outcome], verdicts.Verdicts([verdict])))
    assert "2 findings, 1 false, 1 not judged" in lines
    assert "  A-b==1 1 a.py:2:1: NC101 " in lines
    assert lines[0] == "1 packages: 1 finished"
    assert lines[-1] == "0 failures"


def test_a_finding_without_a_verdict_fails_the_survey(tmp_path: Path, archives: Path) -> None:
    arguments = ["some-names", "--offline", "--archives", str(archives)]
    assert survey.main([*arguments, "--out", str(tmp_path / "results.jsonl")]) == 1
    wheel(archives, "no-names", {"some.py": "import torch\n"})
    arguments[0] = "no-names"
    assert survey.main([*arguments, "--out", str(tmp_path / "others.jsonl")]) == 0


def test_a_finding_that_was_corrected_needs_a_verdict_again() -> None:
    verdict = verdicts.Verdict(
        "a", "1", "a.py", 1, "NC101", "false", "two names", reported=False, first=True
    )
    place = Place("a.py", 1, 1, "NC101", "")
    outcome = Outcome("a", outcomes.FINISHED, "1", findings=(place,))
    assert list(survey.unread([outcome], verdicts.Verdicts([verdict]))) == [(outcome, place)]


def test_the_projects() -> None:
    stored = projects.stored()
    assert [p.package for p in stored] == sorted({normalised(p.package) for p in stored})
    assert {p.part for p in stored} <= set(projects.PARTS)
    assert {p.dims for p in stored} <= set(projects.ANNOTATIONS)
    assert all(REQUIREMENT.fullmatch(p.requirement) for p in stored)


def test_every_finding_in_the_projects_has_a_verdict() -> None:
    assert list(projects.faults(projects.stored(), verdicts.stored())) == []


def test_an_unread_finding_is_not_recorded() -> None:
    project = projects.Project("a", "1", "none", projects.TRAINING)
    place = Place("a.py", 3, 1, "NC101", "two names")
    results = {"a": Outcome("a", outcomes.FINISHED, "1", lines=9, findings=(place,))}
    with pytest.raises(ValueError, match=r"a: no verdict on a\.py:3:1: NC101"):
        list(projects.updated([project], results, verdicts.Verdicts([])))
    verdict = verdicts.Verdict(
        "a", "1", "a.py", 3, "NC101", "true", "two names", reported=True, first=True
    )
    [checked] = projects.updated([project], results, verdicts.Verdicts([verdict]))
    assert (checked.end, checked.lines, checked.findings) == (outcomes.FINISHED, 9, 1)
    other = {"a": replace(results["a"], version="2")}
    assert list(projects.updated([project], other, verdicts.Verdicts([]))) == [project]


def test_projects_and_verdicts_that_contradict_each_other() -> None:
    looked = projects.Project("a", "1", "none", projects.TRAINING, looked="2026-11-23", findings=2)
    verdict = verdicts.Verdict(
        "a", "1", "a.py", 3, "NC101", "true", "two names", reported=True, first=True
    )
    stranger = replace(verdict, package="b")
    assert list(projects.faults([looked], [verdict, stranger])) == [
        "b 1 has a verdict, and is no project",
        "a: 2 findings, 1 verdicts on reported findings",
    ]
    assert list(projects.faults([replace(looked, looked="", findings=1)], [verdict])) == [
        "a has a verdict, and was never looked at"
    ]
