"""A cache that was restored elsewhere, and entries that another program has written."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

import namecheck
from namecheck import project
from namecheck.cli import main
from namecheck.core import regular_files, stamps
from namecheck.core.findings import register
from namecheck.interpreter.workspace import analysis
from namecheck.project import Result, Walk, contents, paths
from namecheck.project.cache import FILE, FOLDER, Cache
from namecheck.project.files import ProjectFiles
from tests.benchmarks import projects

OPS: Final = """\
import torch

def total(x):
    return x.sum("T")

def plain():
    return torch.zeros(2, 3, names=("N", "C"))
"""
USE: Final = """\
import torch
from pkg.ops import plain, total

x = plain()
total(x)
y = x + torch.zeros(2, 3, names=("C", "N"))  # namecheck: ignore[NC103]
"""
FILES: Final = {
    "pyproject.toml": "[project]\nname = 'portable'\n",
    "pkg/__init__.py": "",
    "pkg/ops.py": OPS,
    "use.py": USE,
    "other/use.py": USE.replace("NC103", "NC101"),
    "first.py": "from second import make\n\ndef width():\n    return 3\n\nmake().sum('T')\n",
    "second.py": (
        "import torch\nfrom first import width\n\ndef make():\n"
        "    return torch.zeros(2, width(), names=('N', 'C'))\n"
    ),
    "broken.py": "import torch\nx = torch.zeros(2, names=('N',)\n",
    "plain.py": "print('no names')\n",
}


class Tree:
    """A folder of files and its cache; checks list which files were analysed."""

    def __init__(self, root: Path, analysed: list[str]) -> None:
        self.root = root
        self._analysed = analysed
        self.notes: list[str] = []

    def write(self, files: dict[str, str]) -> None:
        """Write files."""
        for name, text in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def check(self, path: str = ".") -> tuple[Result, list[str]]:
        """The result, and the files that were analysed for it."""
        self._analysed.clear()
        cache = Cache(str(self.root / FOLDER))
        result = project.check(Walk().entries([path]), cache=cache)
        self.notes = cache.notes
        return result, sorted(self._analysed)

    def copied(self, root: Path) -> Tree:
        """A copy of the files and the cache, made without preserving times."""
        shutil.copytree(self.root, root, copy_function=shutil.copyfile)
        return Tree(root, self._analysed)

    @property
    def database(self) -> Path:
        """The file of the cache."""
        return self.root / FOLDER / FILE


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tree:
    """A project that was never checked; the working folder."""
    analysed: list[str] = []
    plain = analysis.analysed

    def counted(workspace: Any, location: str) -> Any:
        analysed.append(os.path.basename(location))
        return plain(workspace, location)

    monkeypatch.setattr(analysis, "analysed", counted)
    made = Tree(tmp_path / "here" / "project", analysed)
    made.write(FILES)
    past = 1_600_000_000
    for path in made.root.rglob("*.py"):
        os.utime(path, (past, past))
    monkeypatch.chdir(made.root)
    return made


def test_a_cache_restored_in_another_folder_has_every_entry(
    tree: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, analysed = tree.check()
    assert len(analysed) == 5
    copy = tree.copied(tmp_path / "another" / "machine" / "checkout")
    shutil.rmtree(tree.root)
    monkeypatch.chdir(copy.root)
    assert copy.check() == (first, [])
    assert {finding.filename for finding in first.findings} >= {"pkg/ops.py", "use.py"}


def test_findings_of_a_restored_cache_name_the_new_folder(tree: Tree, tmp_path: Path) -> None:
    first, _ = tree.check(str(tree.root))
    copy = tree.copied(tmp_path / "elsewhere")
    again, analysed = copy.check(str(copy.root))
    assert analysed == []
    files = {
        place.filename for finding in again.findings for place in (*finding.marks, *finding.related)
    }
    assert str(copy.root / "pkg/ops.py") in files
    assert all(Path(file).is_relative_to(copy.root) for file in files)
    assert len(first.findings) == len(again.findings)
    assert again == project.check(Walk().entries([str(copy.root)]))


def test_a_large_project_moved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(projects, "FILES", 200)
    monkeypatch.setattr(projects, "PACKAGES", 5)
    (tmp_path / "one").mkdir()
    projects.generate(tmp_path / "one")
    analysed = Tree(tmp_path / "one", [])
    monkeypatch.chdir(analysed.root)
    first, _ = analysed.check()
    copy = analysed.copied(tmp_path / "two" / "deeper")
    monkeypatch.chdir(copy.root)
    cache = Cache(FOLDER)
    tasks = project.tasks_of(Walk().entries(["."]), ProjectFiles())
    hits = sum(outcome is not None for outcome in cache.get(tasks))
    assert (first.files, hits) == (200, 200)


def test_a_file_of_another_name_has_its_entry_unless_the_name_counts(tree: Tree) -> None:
    first, _ = tree.check()
    (tree.root / "other").rename(tree.root / "otter")
    again, analysed = tree.check()
    assert analysed == []
    assert again == project.check(Walk().entries(["."]))
    assert len(again.findings) == len(first.findings)
    # The files of a cycle run in the order of their names.
    (tree.root / "second.py").rename(tree.root / "third.py")
    (tree.root / "first.py").write_text(FILES["first.py"].replace("second", "third"))
    assert tree.check()[1] == ["first.py", "third.py"]


def test_the_order_of_a_cycle_counts(tree: Tree) -> None:
    cycle = {name: FILES[name] for name in ("first.py", "second.py")}
    inner = {name.replace("second", "b/second"): text for name, text in cycle.items()}
    tree.write({f"m/{name}": text for name, text in inner.items()})
    tree.check()
    assert tree.check()[1] == []


def test_neighbours_of_equal_files_count(tree: Tree) -> None:
    for number in range(12):
        names = ("N", "T") if number % 2 else ("N", "C")
        tree.write(
            {
                f"d{number}/ops.py": OPS.replace('("N", "C")', str(names)),
                f"d{number}/use.py": USE.replace("pkg.ops", "ops"),
            }
        )
    first, _ = tree.check()
    assert first == project.check(Walk().entries(["."]))
    assert tree.check() == (first, [])
    shutil.rmtree(tree.root / "d3")
    (tree.root / "d4").rename(tree.root / "d3")
    assert tree.check() == (project.check(Walk().entries(["."])), [])


def test_the_folder_of_the_installation_does_not_count(tmp_path: Path) -> None:
    package = Path(namecheck.__file__).parent
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(package, tmp_path / "namecheck", ignore=ignored)
    program = "from namecheck.project import contents; print(contents.engine().hex())"
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
    run = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.strip() == contents.engine().hex()


def test_a_limit_of_file_sizes_does_not_count_for_the_engine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    expected = contents.engine()
    monkeypatch.setenv(regular_files.VARIABLE, "1000")
    for cached in (regular_files.largest, contents.engine):
        cached.cache_clear()
    try:
        assert regular_files.largest() == 1000
        assert contents.engine() == expected
    finally:
        regular_files.largest.cache_clear()


def test_stamps_are_kept_again_after_a_restore(
    tree: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stamps, "YOUNG", -1_000_000_000)
    tree.check()
    copy = tree.copied(tmp_path / "two")
    monkeypatch.chdir(copy.root)
    copy.check()
    read: list[str] = []
    monkeypatch.setattr(contents, "_digest", read.append)
    assert copy.check()[1] == []
    assert read == []


# Entries of another program

ODD: Final[tuple[Any, ...]] = (
    None,
    -1,
    0,
    10**30,
    1.5,
    True,
    "",
    "NC999",
    "\x1b[31m",
    [],
    {},
    [[[[]]]],
    "../../x",
    "\ud800",
)


def _variants(value: Any) -> Iterator[Any]:
    """A value with one of its parts replaced or removed."""
    yield from ODD
    if isinstance(value, dict):
        for key, item in value.items():
            yield from ({**value, key: variant} for variant in _variants(item))
            yield {name: other for name, other in value.items() if name != key}
    elif isinstance(value, list):
        for number, item in enumerate(value):
            for variant in _variants(item):
                yield [*value[:number], variant, *value[number + 1 :]]
            yield value[:number] + value[number + 1 :]


def _forged(tree: Tree) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Forged entries: the column, its text before, and after."""
    with sqlite3.connect(tree.database) as connection:
        rows = connection.execute("SELECT name, uses, lookups, record FROM outcomes").fetchall()
    connection.close()
    for column in (1, 2, 3):
        for text in {row[column] for row in rows if row[0] == "use.py" and row[column]}:
            name = ("", "uses", "lookups", "record")[column]
            for variant in _variants(json.loads(text)):
                yield name, text, {name: json.dumps(variant)}
            yield name, text, {name: "[" * 100_000}
            yield name, text, {name: text[:-3]}


def _given_seal(cache: Cache, uses: list[str], row: Any) -> bytes:
    """The seal of an entry with its present contents: as if the forger had sealed it, too."""
    return bytes(row.seal)


def test_forged_entries_are_misses(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    tree.check()
    tasks = project.tasks_of(Walk().entries(["use.py", "other"]), ProjectFiles())
    cache = Cache(str(tree.root / FOLDER))
    monkeypatch.setattr(Cache, "_seal", _given_seal)
    genuine = cache.get(tasks)
    assert None not in genuine
    rows = {key: list(group) for key, group in cache._rows.items()}
    misses = 0
    for column, before, after in _forged(tree):
        cache._rows = {
            key: [row._replace(**after) if getattr(row, column) == before else row for row in group]
            for key, group in rows.items()
        }
        outcomes = cache.get(tasks)
        misses += None in outcomes
        for outcome in outcomes:
            for finding in outcome.findings if outcome is not None else ():
                assert finding.filename.startswith(str(tree.root)), after
                assert finding.code in register()
                assert isinstance(finding.message, str)
    assert misses > 500


@pytest.mark.parametrize("output_format", ["full", "concise", "json", "github"])
def test_what_is_forged_and_well_formed_is_printed(
    tree: Tree,
    output_format: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A well-forged entry cannot be detected, but it does no harm."""
    first, _ = tree.check()
    with sqlite3.connect(tree.database) as connection:
        rows = connection.execute("SELECT rowid, record FROM outcomes").fetchall()
        for rowid, record in rows:
            forged = json.loads(record)
            for finding in forged.get("findings", ()):
                finding[1], finding[3] = "forged", [1, 1, 2, 1]
                for place in (*finding[5], *finding[6], *(finding[9] or [0, 0, ()])[2]):
                    place[len(place) == 3] = [1, 2, 1, 3]
            update = "UPDATE outcomes SET record = ? WHERE rowid = ?"
            connection.execute(update, (json.dumps(forged), rowid))
    connection.close()
    monkeypatch.setattr(Cache, "_seal", _given_seal)
    assert main.main(["check", "--output-format", output_format]) == 1
    assert capsys.readouterr().out.count("forged") >= len(first.findings) - 1


def test_tables_of_another_shape_are_left_alone(tree: Tree) -> None:
    first, analysed = tree.check()
    with sqlite3.connect(tree.database) as connection:
        connection.execute("DROP TABLE stamps")
        connection.execute(
            "CREATE VIEW stamps AS WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i FROM n)"
            " SELECT i, i, i FROM n"
        )
    connection.close()
    assert tree.check() == (first, analysed)
    assert "its tables are not those of namecheck" in tree.notes[0]


def test_stamps_of_other_types_do_not_count(tree: Tree) -> None:
    first, _ = tree.check()
    with sqlite3.connect(tree.database) as connection:
        for value in (None, 7, "text", b"\xff"):
            locations = [(str(tree.root / name), value, value) for name in FILES]
            connection.executemany("INSERT OR REPLACE INTO stamps VALUES (?,?,?)", locations)
    connection.close()
    assert tree.check() == (first, [])
    assert tree.notes == []


def test_a_cache_of_another_version_is_begun_anew(tree: Tree) -> None:
    first, analysed = tree.check()
    with sqlite3.connect(tree.database) as connection:
        connection.execute("PRAGMA user_version = 1")
        connection.execute("ALTER TABLE stamps ADD COLUMN more")
    connection.close()
    assert tree.check() == (first, analysed)
    assert tree.check() == (first, [])
    assert tree.notes == []


def test_paths() -> None:
    for folder, location, path in (
        ("/a/b", "/a/b/c.py", "c.py"),
        ("/a/b", "/a/b/c/d.py", "c/d.py"),
        ("/a/b", "/a/x/d.py", "../x/d.py"),
        ("/a/b", "/a", ".."),
        ("/a/b", "/a/b", "."),
        ("/", "/x.py", "x.py"),
        ("/a", "/x.py", "../x.py"),
    ):
        assert paths.relative(folder, location) == path
        assert paths.resolved(folder, path) == location
    for wrong in ("x/../../y.py", "x\0.py", "a/.."):
        with pytest.raises(ValueError, match=r"."):
            paths.resolved("/a/b", wrong)
