"""Cached outcomes: which files are analysed again, and caches that cannot be used."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

import namecheck
from namecheck import project
from namecheck.cli import main
from namecheck.core import stamps
from namecheck.core.semantics import Semantics
from namecheck.interpreter.workspace import analysis
from namecheck.project import Result, Walk, contents
from namecheck.project.cache import FILE, FOLDER, Cache
from namecheck.project.settings import Settings
from tests.benchmarks import projects

MAKERS: Final = "import torch\n\ndef make():\n    return torch.zeros(2, 3, names=('N', '{}'))\n"
USE: Final = "from pkg.makers import make\n\nmake().sum('C')\n"
PLAIN: Final = "import torch\n\ntorch.zeros(2, names=('N',)).sum('T')\n"


class Project:
    """A folder of files, and the files that a check with a cache analyses."""

    def __init__(self, root: Path, analysed: list[str]) -> None:
        self.root = root
        self._analysed = analysed
        self.notes: list[str] = []

    def write(self, name: str, text: str) -> None:
        """Write a file."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def check(self, settings: Settings | None = None, **how: Any) -> tuple[Result, list[str]]:
        """The result, and the files that were analysed for it."""
        self._analysed.clear()
        time.sleep(0.01)
        cache = Cache(str(self.root / FOLDER))
        walk = Walk() if settings is None else Walk(lambda found: settings)
        result = project.check(walk.entries(["."]), cache=cache, **how)
        self.notes = cache.notes
        return result, sorted(self._analysed)

    def codes(self, **how: Any) -> list[str]:
        """File and code of each finding; the same without a cache."""
        result, _ = self.check(**how)
        assert project.check(Walk().entries(["."])) == result
        return [f"{finding.filename} {finding.code}" for finding in result.findings]

    @property
    def file(self) -> Path:
        return self.root / FOLDER / FILE


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A small project, never checked before."""
    analysed: list[str] = []
    plain = analysis.analysed

    def counted(workspace: Any, location: str) -> Any:
        analysed.append(os.path.relpath(location, tmp_path))
        return plain(workspace, location)

    monkeypatch.setattr(analysis, "analysed", counted)
    monkeypatch.chdir(tmp_path)
    made = Project(tmp_path, analysed)
    made.write("pkg/__init__.py", "")
    made.write("pkg/makers.py", MAKERS.format("C"))
    made.write("use.py", USE)
    made.write("plain.py", PLAIN)
    return made


ALL: Final = ["pkg/makers.py", "plain.py", "use.py"]


def test_what_is_unchanged_is_not_analysed_again(files: Project) -> None:
    first, analysed = files.check()
    assert analysed == ALL
    assert [finding.code for finding in first.findings] == ["NC103"]
    assert files.check() == (first, [])
    assert (files.root / FOLDER / ".gitignore").read_text() == "*\n"


def test_what_depends_on_a_changed_file_is_analysed_again(files: Project) -> None:
    files.check()
    files.write("pkg/makers.py", MAKERS.format("T"))
    result, analysed = files.check()
    assert analysed == ["pkg/makers.py", "use.py"]
    assert [finding.filename for finding in result.findings] == ["plain.py", "use.py"]
    files.write("plain.py", PLAIN.replace("'T'", "'N'"))
    assert files.check()[1] == ["plain.py"]
    assert files.codes() == ["use.py NC103"]


@pytest.mark.parametrize("again", ["same size and times", "rewritten", "touched"])
def test_contents_count_not_times(files: Project, again: str) -> None:
    files.check()
    path = files.root / "plain.py"
    status = path.stat()
    if again == "same size and times":
        path.write_text(PLAIN.replace("'T'", "'N'"))
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
        assert files.codes() == []
    else:
        if again == "rewritten":
            path.unlink()
            path.write_text(PLAIN)
        os.utime(path)
        assert files.check()[1] == []


def test_stamps_are_trusted_when_they_are_old(
    files: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stamps, "YOUNG", -1_000_000_000)
    files.check()
    read: list[str] = []
    monkeypatch.setattr(contents, "_digest", read.append)
    assert files.check()[1] == []
    assert read == []


def test_a_module_that_appears_or_goes_counts(files: Project) -> None:
    files.check()
    files.write("pkg/makers/__init__.py", MAKERS.format("T"))
    assert files.codes() == ["plain.py NC103", "use.py NC103"]
    (files.root / "pkg/makers/__init__.py").unlink()
    (files.root / "pkg/makers").rmdir()
    assert files.codes() == ["plain.py NC103"]
    (files.root / "pkg/makers.py").unlink()
    assert files.codes() == ["plain.py NC103"]


def test_a_file_that_comes_to_name_dimensions_counts(files: Project) -> None:
    files.write("pkg/makers.py", "def make():\n    pass\n")
    assert files.check()[1] == ["plain.py"]
    files.write("pkg/makers.py", MAKERS.format("T"))
    assert files.codes() == ["plain.py NC103", "use.py NC103"]


def test_a_file_of_another_name_counts(files: Project) -> None:
    files.check()
    (files.root / "pkg/makers.py").rename(files.root / "pkg/other.py")
    assert files.check()[1] == ["pkg/other.py"]
    assert files.codes() == ["plain.py NC103"]
    (files.root / "pkg/other.py").rename(files.root / "pkg/makers.py")
    files.write("pkg/new.py", PLAIN)
    assert files.codes() == ["pkg/new.py NC103", "plain.py NC103"]


def test_files_that_change_places_count(files: Project) -> None:
    files.write("other.py", PLAIN.replace("'T'", "'N'"))
    files.check()
    one, other = files.root / "plain.py", files.root / "other.py"
    one.rename(files.root / "kept")
    other.rename(one)
    (files.root / "kept").rename(other)
    assert files.codes() == ["other.py NC103"]


def test_an_edit_after_the_files_were_found_counts(
    files: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stamps, "YOUNG", -1_000_000_000)
    entries = Walk().entries(["."])
    files.write("plain.py", PLAIN.replace("'T'", "'N'"))
    assert project.check(entries, cache=Cache(str(files.root / FOLDER))).findings == ()
    files.write("plain.py", PLAIN)
    assert files.codes() == ["plain.py NC103"]


def test_a_table_of_operators_counts(files: Project) -> None:
    row = '[operators]\ngives = {{ forms = "f", params = "input:tensor", names = "{}" }}\n'
    files.write("ops.toml", row.format("keeps_input_names"))
    settings = Settings(extend_operators=(str(files.root / "ops.toml"),))
    assert files.check(settings)[1] == ALL
    assert files.check(settings)[1] == []
    files.write("ops.toml", row.format("unknown"))
    assert files.check(settings)[1] == ALL


def test_settings_count_and_what_is_chosen_does_not(files: Project) -> None:
    files.check()
    native = Settings(semantics=Semantics("torch-2.12"))
    assert files.check(native)[1] == ALL
    assert files.check(native)[1] == []
    result, analysed = files.check(Settings(select=("NC101",)))
    assert (result.findings, analysed) == ((), [])


def test_another_engine_counts(files: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    files.check()
    monkeypatch.setattr("namecheck.project.cache.engine", lambda: b"another")
    assert files.check()[1] == ALL
    assert files.check()[1] == []


def test_comments_are_remembered(files: Project) -> None:
    files.write("plain.py", PLAIN.rstrip() + "  # namecheck: ignore[NC103, NC101]\n")
    first, _ = files.check()
    assert [finding.code for finding in first.findings] == ["NC010"]
    assert files.check() == (first, [])


def test_faults_are_not_remembered(files: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:

        def fails(workspace: Any, location: str) -> Any:
            raise ValueError(location)

        patch.setattr(analysis, "analysed", fails)
        assert files.check()[0].faults == 3
    assert files.check()[1] == ALL


def _spoil(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(b"SQLite" + data[20:])


def _shorten(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:5000])


def _make_foreign(path: Path) -> None:
    path.unlink()
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE files (theirs)")
    connection.close()


def _make_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize("harm", [_spoil, _shorten, _make_foreign, _make_folder])
def test_a_cache_that_cannot_be_used_is_left_alone(
    files: Project, harm: Callable[[Path], None]
) -> None:
    first, _ = files.check()
    harm(files.file)
    before = files.file.read_bytes() if files.file.is_file() else b""
    result, analysed = files.check()
    assert (result, analysed) == (first, ALL)
    assert "is not used: " in files.notes[0]
    assert before == (files.file.read_bytes() if files.file.is_file() else b"")


def test_a_record_that_was_changed_does_not_count(files: Project) -> None:
    first, _ = files.check()
    with sqlite3.connect(files.file) as connection:
        connection.execute("UPDATE outcomes SET record = '{\"parsed\":true}'")
    connection.close()
    assert files.check() == (first, ALL)


def test_a_locked_cache(files: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    first, _ = files.check()
    monkeypatch.setattr("namecheck.project.cache._PATIENCE", 0.01)
    connection = sqlite3.connect(files.file, isolation_level=None)
    connection.execute("BEGIN EXCLUSIVE")
    assert files.check() == (first, ALL)
    assert "locked" in files.notes[0]
    connection.close()
    assert files.check() == (first, [])


def test_a_cache_that_cannot_be_written(files: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "makedirs", refuses)
    assert files.check()[1] == ALL
    assert "Permission denied" in files.notes[0]
    assert not files.file.exists()


def test_with_processes(files: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("namecheck.project.workers.WORTH_IT", 0)
    first, _ = files.check(jobs=2)
    assert [finding.code for finding in first.findings] == ["NC103"]
    assert files.check(jobs=2) == (first, [])


def test_what_is_remembered_is_told_without_the_interpreter(files: Project) -> None:
    files.check()
    program = (
        "import sys; from namecheck.cli.main import main; main(['check']);"
        "print([m for m in sys.modules if m.startswith(('namecheck.i', 'namecheck.o'))])"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(namecheck.__file__).parents[1])}
    command = [sys.executable, "-c", program]
    run = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert "plain.py" in run.stdout
    assert run.stdout.endswith("[]\n")


def test_options(files: Project, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["check", "--no-cache"]) == 1
    assert not (files.root / FOLDER).exists()
    assert main.main(["check", "--cache-dir", "elsewhere"]) == 1
    assert (files.root / "elsewhere" / FILE).exists()
    files.write("pyproject.toml", "[tool.namecheck]\ncache-dir = 'kept'\n")
    assert main.main(["check"]) == 1
    assert (files.root / "kept" / FILE).exists()
    assert main.main(["check", "-j", "2"]) == 1
    capsys.readouterr()
    files.write(f"kept/{FILE}", "no database")
    assert main.main(["check"]) == 1
    assert "namecheck: the cache" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main.main(["check", "-j", "0"])


def test_one_edit_in_a_large_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(projects, "FILES", 120)
    monkeypatch.setattr(projects, "PACKAGES", 3)
    projects.generate(tmp_path)
    edited = tmp_path / "package01" / "module31.py"
    analysed = projects.analysed_after_an_edit(tmp_path, edited)
    numbers = [name.removeprefix("package01/module").removesuffix(".py") for name in analysed]
    # Only calls make one module use another's names, and only every eighth file has any.
    assert numbers == ["31", "32"]


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such names")
def test_a_name_that_is_no_text_costs_no_other_file_its_entry(tmp_path: Path) -> None:
    odd = os.fsdecode(b"odd\xff")
    for name in ("plain.py", f"{odd}.py", f"{odd}/inner.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(PLAIN)
        os.utime(tmp_path / name, (1, 1))
    cache = Cache(str(tmp_path / FOLDER))
    before = project.check(Walk().entries([str(tmp_path)]), cache=cache)
    assert cache.notes == []
    with sqlite3.connect(tmp_path / FOLDER / FILE) as connection:
        names = connection.execute("SELECT name FROM outcomes").fetchall()
    connection.close()
    assert names == [("plain.py",)]
    assert project.check(Walk().entries([str(tmp_path)]), cache=cache) == before
