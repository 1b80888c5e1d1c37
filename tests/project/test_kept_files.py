"""What a run keeps of the files that it has read, for the files that import them.

It is limited by the nodes of syntax trees, not by characters, and by the steps of analyses: a
repository of dense files, or of files that each name other dims, would otherwise take gigabytes.
"""

from __future__ import annotations

import ast
import weakref
from pathlib import Path
from typing import Any

import pytest

from namecheck.core import syntax
from namecheck.interpreter.workspace import analysis
from namecheck.interpreter.workspace.workspace import Workspace
from namecheck.project import file_check
from namecheck.project.file_check import Checker
from namecheck.project.files import ProjectFiles
from namecheck.project.settings import Settings
from namecheck.project.tasks import Entry
from namecheck.project.walk import Walk

IMPORTED = "import torch\nx = torch.zeros(2, 3, names=('N', 'C'))\n"
IMPORTING = "import torch\nfrom names import x\nx.sum('H')\n"


def test_nodes_are_counted_and_not_characters() -> None:
    dense = syntax.parse(b"-a\n" * 100, "dense.py")
    sparse = syntax.parse(b"# a comment\n" * 100 + b"a\n", "sparse.py")
    for source, more in ((dense, True), (sparse, False)):
        files = ProjectFiles()
        files.add(source.filename, source)
        assert not files.has_more_nodes(2_000)
        assert files.has_more_nodes(200) is more
        assert files.has_more_nodes(200) is more, "they are counted once"
    # A module, and an expression, an operation and a name in each line.
    assert dense.nodes == 301 == len([*ast.walk(dense.tree)]) - 200


def _entries(folder: Path) -> list[Entry]:
    (folder / "names.py").write_text(IMPORTED)
    for number in range(3):
        (folder / f"m{number}.py").write_text(IMPORTING)
    return Walk().entries([str(folder)])


def test_dropped_files_are_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entries = _entries(tmp_path)

    def codes() -> list[str]:
        checker = Checker()
        outcomes = [checker.file(entry, True, True) for entry in entries]
        return [finding.code for outcome in outcomes for finding in outcome.findings]

    expected = codes()
    monkeypatch.setattr(file_check, "_KEPT", 0)
    assert codes() == expected == ["NC103"] * 3


def test_dropped_files_take_no_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_check, "_KEPT", 0)
    made: list[weakref.ref[syntax.Source]] = []
    parse = syntax.parse

    def noted(data: bytes, filename: str) -> syntax.Source:
        source = parse(data, filename)
        made.append(weakref.ref(source))
        return source

    monkeypatch.setattr(syntax, "parse", noted)
    checker = Checker()
    for entry in _entries(tmp_path):
        checker.file(entry, True, True)
    last = Settings()
    checker.text(b"import torch\ntorch.zeros(2, names=('N',))\n", "last.py", last, True, True)
    assert len(made) > 5
    assert sum(reference() is not None for reference in made) == 1


def test_what_analyses_keep_is_counted_by_their_steps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The results of rules take as much memory as the trees, where each file has other names."""
    analyses: list[weakref.ref[Workspace]] = []
    make = analysis.new_workspace

    def noted(*arguments: Any, **keywords: Any) -> Workspace:
        workspace = make(*arguments, **keywords)
        analyses.append(weakref.ref(workspace))
        return workspace

    monkeypatch.setattr(analysis, "new_workspace", noted)
    lines = "".join(f"A.rename(N='a{number}').sum('C')\n" for number in range(100))
    data = f"import torch\nA = torch.zeros(2, 3, names=('N', 'C'))\n{lines}".encode()

    def made(kept: int) -> int:
        monkeypatch.setattr(file_check, "_KEPT", kept)
        analyses.clear()
        checker = Checker()
        for number in range(6):
            checker.text(data, f"m{number}.py", Settings(), parses=True, leads=True)
        assert sum(reference() is not None for reference in analyses) == 1
        return len(analyses)

    # Each file has 900 nodes, and takes 18,000 steps.
    assert made(20_000) == 1
    assert made(7_000) > 1
