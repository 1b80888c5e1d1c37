"""Which files are checked, and the outcomes of valid and invalid files."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from namecheck import project
from namecheck.core.findings import Finding, register
from namecheck.interpreter.workspace import analysis
from namecheck.interpreter.workspace.analysis import Uses, Workspace
from namecheck.project import Walk, workers
from namecheck.project.file_check import Checker
from namecheck.project.settings import Settings, SettingsError
from namecheck.project.tasks import Entry, Outcome

BAD: Final = """\
import torch

x = torch.zeros(2, 3, names=("N", "C"))
y = torch.zeros(2, 3, names=("C", "N"))
z = x + y{comment}
"""

Tree = Callable[[dict[str, str]], Path]


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tree:
    """Makes files under a directory of their own, which becomes the working directory."""

    def make(files: dict[str, str]) -> Path:
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        monkeypatch.chdir(tmp_path)
        return tmp_path

    return make


def paths(*given: str) -> list[str]:
    return [entry.path for entry in Walk().entries(given)]


def codes(text: str, settings: Settings | None = None) -> list[tuple[str, int]]:
    result = project.check_text(text.encode(), "file.py", settings or Settings())
    return [(finding.code, finding.span.line) for finding in result.findings]


def run(*given: str) -> dict[str, list[str]]:
    """The codes of the findings, by file."""
    found: dict[str, list[str]] = {}
    for finding in project.check(Walk().entries(given)).findings:
        found.setdefault(finding.filename, []).append(finding.code)
    return found


def test_a_walk_is_sorted_and_leaves_out_what_is_not_source(tree: Tree) -> None:
    names = ["b.py", "a.py", "a/z.pyi", "a/x.txt", ".git/x.py", "a/__pycache__/x.py", "build/x.py"]
    tree(dict.fromkeys([*names, ".venv/x.py", "node_modules/x.py"], ""))
    assert paths(".") == ["a/z.pyi", "a.py", "b.py"]
    assert paths("a", "b.py") == ["a/z.pyi", "b.py"]


def test_what_is_given_is_checked_even_if_a_walk_leaves_it_out(tree: Tree) -> None:
    tree({"build/x.py": "", "script": "", "build/build/y.py": ""})
    assert paths("build", "script") == ["build/x.py", "script"]
    assert paths("build/build") == ["build/build/y.py"]


def test_a_file_that_is_given_twice_is_checked_once(tree: Tree) -> None:
    root = tree({"a.py": ""})
    assert paths("a.py", ".", str(root / "a.py")) == ["a.py"]


def test_links_are_followed_and_loops_end(tree: Tree) -> None:
    root = tree({"src/a.py": "", "real/b.py": ""})
    (root / "src" / "round").symlink_to(root / "src")
    (root / "src" / "other").symlink_to(root / "real")
    assert paths("src") == ["src/a.py", "src/other/b.py"]


def test_a_link_to_itself_or_to_nothing_is_told(tree: Tree) -> None:
    root = tree({"good.py": ""})
    (root / "loop.py").symlink_to("loop.py")
    (root / "gone.py").symlink_to("nowhere.py")
    assert run(".") == {"gone.py": ["NC002"], "loop.py": ["NC002"]}


def test_what_may_not_be_read_is_told(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tree({"a.py": "", "b.py": BAD.format(comment=""), "locked/c.py": ""})
    if os.geteuid() == 0:
        plain = os.scandir

        def scandir(path: str) -> object:
            if path.endswith("locked"):
                raise PermissionError(13, "Permission denied")
            return plain(path)

        monkeypatch.setattr(os, "scandir", scandir)
    else:
        (root / "locked").chmod(0)
    found = run(".")
    (root / "locked").chmod(0o755)
    assert found == {"b.py": ["NC101"], "locked": ["NC002"]}


def test_a_path_that_is_not_there_is_remembered(tree: Tree) -> None:
    tree({"a.py": ""})
    walk = Walk()
    assert [entry.path for entry in walk.entries(["gone", "a.py"])] == ["a.py"]
    assert walk.missing == ["gone"]


def test_every_file_has_the_settings_of_its_nearest_section(tree: Tree) -> None:
    tree(
        {
            "pyproject.toml": '[tool.namecheck]\nexclude = ["old"]\n',
            "a.py": BAD.format(comment=""),
            "old/b.py": BAD.format(comment=""),
            "part/pyproject.toml": '[tool.namecheck]\nignore = ["NC101"]\n',
            "part/c.py": BAD.format(comment=""),
            "part/old/d.py": BAD.format(comment=""),
        }
    )
    assert run(".") == {"a.py": ["NC101"]}
    assert run("part", "old") == {"old/b.py": ["NC101"]}


def test_settings_that_cannot_be_used_end_the_run(tree: Tree) -> None:
    tree({"a.py": "", "part/pyproject.toml": "[tool.namecheck]\nx = 1\n", "part/c.py": ""})
    with pytest.raises(SettingsError, match=r"^part/pyproject\.toml:2: "):
        paths(".")


def test_bad_input_is_told_and_the_rest_is_checked(tree: Tree) -> None:
    root = tree({"syntax.py": "def f(:\n", "good.py": "x = 1\n", "bad.py": BAD.format(comment="")})
    (root / "bytes.py").write_bytes(b"x = '\xff'\n")
    (root / "nul.py").write_bytes(b"x = 1\0\n")
    (root / "deep.py").write_text("-" * 10_000 + "1")
    (root / "deep_names.py").write_text(f"x.align_to('N'){' + 1' * 2_900}\n")
    assert run(".") == {
        "bad.py": ["NC101"],
        "bytes.py": ["NC003"],
        "deep.py": ["NC004"],
        "nul.py": ["NC003"],
        "syntax.py": ["NC001"],
    } | {name: ["NC004"] for name in run("deep_names.py")}


def test_a_file_of_fifty_thousand_lines(tree: Tree) -> None:
    tree({"long.py": BAD.format(comment="") + "n = 1\n" * 50_000})
    assert run("long.py") == {"long.py": ["NC101"]}


def test_a_fault_in_one_file_is_told_and_the_rest_is_checked(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = analysis.analysed

    def analysed(workspace: Workspace, location: str) -> tuple[tuple[Finding, ...], Uses]:
        if location.endswith("a.py"):
            raise ValueError("two\nlines")
        return plain(workspace, location)

    monkeypatch.setattr(analysis, "analysed", analysed)
    tree({"a.py": BAD.format(comment=""), "b.py": BAD.format(comment="")})
    result = project.check(Walk().entries(["."]))
    assert [finding.code for finding in result.findings] == ["NC005", "NC101"]
    assert "ValueError: two lines (at test_project.py:" in result.findings[0].message
    assert result.faults == 1


def test_endless_recursion_on_a_shallow_file_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    def analysed(workspace: Workspace, location: str) -> tuple[tuple[Finding, ...], Uses]:
        raise RecursionError("maximum recursion depth exceeded")

    monkeypatch.setattr(analysis, "analysed", analysed)
    assert codes(BAD.format(comment="")) == [("NC005", 1)]
    assert codes("x.align_to('N')" + " + 1" * 500) == [("NC004", 1)]


@pytest.mark.parametrize(
    "comment",
    [
        "  # namecheck: ignore",
        "  # namecheck: ignore[NC101]",
        "  # namecheck: ignore[name-mismatch]",
        "  # noqa # namecheck: ignore[NC101]",
        "\n# namecheck: ignore-file",
        "\n# namecheck: ignore-file[NC101]",
    ],
)
def test_suppressed(comment: str) -> None:
    assert codes(BAD.format(comment="")) == [("NC101", 5)]
    assert codes(BAD.format(comment=comment)) == []


def test_suppressed_from_the_line_above() -> None:
    text = BAD.format(comment="").replace("z =", "# namecheck: ignore[NC101]\n# because\nz =")
    assert codes(text) == []


@pytest.mark.parametrize("line", [0, 1, 2, 3])
def test_suppressed_in_a_statement_of_several_lines(line: int) -> None:
    statement = ["z = f(", "    x +", "    y", ")"]
    statement[line] += "  # namecheck: ignore[NC101]"
    assert codes(BAD.format(comment="").replace("z = x + y", "\n".join(statement))) == []


def test_what_suppresses_nothing_is_told() -> None:
    assert codes(BAD.format(comment="  # namecheck: ignore[NC101, NC103]")) == [("NC010", 5)]
    assert codes(BAD.format(comment="  # namecheck: ignore[NC103]")) == [
        ("NC101", 5),
        ("NC010", 5),
    ]
    assert codes("x = 1  # namecheck: ignore\n") == [("NC010", 1)]
    assert codes("x = 1  # namecheck: ignore[]\n") == [("NC010", 1)]
    assert codes("x = 1  # namecheck: ignore[NC999]\n") == [("NC011", 1)]


def test_what_is_not_selected_is_neither_found_nor_missed() -> None:
    only = Settings(select=("NC103", "NC010"))
    assert codes(BAD.format(comment=""), only) == []
    assert codes(BAD.format(comment="  # namecheck: ignore[NC101]"), only) == []
    without = Settings(ignore=("NC010", "NC011"))
    assert codes("x = 1  # namecheck: ignore[NC999, NC101]\n", without) == []


# Its sizes are read, and it declares no dim.
PLAIN: Final = """\
import torch


def weighted(values, images):
    N, B, C = images.shape
    weights = images.softmax(dim=1){comment}
    return weights.sum(0) + values
"""
ATTENTION: Final = """\
def attend(q, k, v):
    B, H, T, D = q.shape
    weights = (q @ k.transpose(-2, -1)).softmax(dim=-2)
    return weights @ v
"""


def test_a_doubtful_code_is_named_where_a_file_declares_no_dims() -> None:
    text, observed = PLAIN.format(comment=""), Settings(evidence="observed")
    assert codes(text, observed) == []
    for word in ("NC601", "NC6", "NC", "softmax-not-summed"):
        assert codes(text, observed.over(select=("ALL", word))) == [("NC601", 6)]
    declared = register()["NC601"].bad
    assert codes(declared, observed) == codes(declared, Settings()) != []


def test_an_assured_finding_of_a_doubtful_code_is_reported() -> None:
    text = f"import torch\n\n\n{ATTENTION}"
    assert codes(text, Settings(evidence="observed")) == [("NC601", 7)]
    first = PLAIN.format(comment="").replace("N, B, C", "B, N, C").replace("dim=1", "dim=0")
    assert codes(first, Settings(evidence="observed")) == [("NC601", 6)]


def test_a_comment_may_suppress_what_is_left_out() -> None:
    text = PLAIN.format(comment="  # namecheck: ignore[NC601]")
    assert codes(text, Settings(evidence="observed")) == []


def test_notes_are_kept_whatever_is_selected() -> None:
    named = BAD.format(comment="").replace("z = x + y", "reveal_names(x)")
    text = f"from namecheck import reveal_names\n{named}"
    assert codes(text, Settings(select=("NC103",))) == [("NC090", 6)]


def test_large_trees_are_not_parsed_where_they_name_nothing(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree({"broken.py": "def f(:\n", "bad.py": BAD.format(comment=""), "good.py": "x = 1\n"})
    assert run(".") == {"bad.py": ["NC101"], "broken.py": ["NC001"]}
    monkeypatch.setattr(project, "LARGE_TREE", 20)
    assert run(".") == {"bad.py": ["NC101"]}
    assert project.check(Walk().entries(["."])).unparsed == 2
    both = {"bad.py": ["NC101"], "broken.py": ["NC001"]}
    assert (run(".", "broken.py"), run("broken.py", ".")) == (both, both)
    assert run("broken.py") == {"broken.py": ["NC001"]}
    adjusted = Walk(lambda found: found.over(syntax="all")).entries(["."])
    assert [finding.code for finding in project.check(adjusted).findings] == ["NC101", "NC001"]


def test_on_all_processors_the_answers_are_the_same(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree({f"f{n}.py": BAD.format(comment="") for n in range(30)} | {"g.py": "x = (\n"})
    told: list[tuple[int, int]] = []
    alone = project.check(Walk().entries(["."]))
    monkeypatch.setattr(workers, "WORTH_IT", 0)
    monkeypatch.setattr(workers, "_GROUP", 5_000)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 1}, raising=False)
    together = project.check(Walk().entries(["."]), lambda done, total: told.append((done, total)))
    assert together == alone
    assert told[-1] == (31, 31)
    assert len(told) > 2


def test_a_file_that_kills_its_process_is_told(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = Checker.file

    def file(checker: Checker, entry: Entry, *how: Any) -> Outcome:
        if entry.path == "f3.py":
            os._exit(9)
        return plain(checker, entry, *how)

    tree({f"f{n}.py": BAD.format(comment="") for n in range(8)})
    monkeypatch.setattr(Checker, "file", file)
    monkeypatch.setattr(workers, "WORTH_IT", 0)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 1}, raising=False)
    found: tuple[Finding, ...] = project.check(Walk().entries(["."])).findings
    assert [finding.code for finding in found] == ["NC101"] * 3 + ["NC005"] + ["NC101"] * 4
    assert found[3].filename == "f3.py"
