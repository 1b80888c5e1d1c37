"""The shards of a run: together they report the findings of the whole run, each once."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path
from typing import Any, Final

import pytest

from namecheck import project
from namecheck.cli import main
from namecheck.core.findings import Finding
from namecheck.interpreter.workspace import analysis
from namecheck.project import Result, Walk
from namecheck.project.cache import Cache
from namecheck.project.settings import Settings
from namecheck.project.shards import Shard
from namecheck.project.tasks import Entry
from tests.project.trees import random_tree

SEEDS: Final = range(4)


def _write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def _check(shard: Shard | None = None) -> Result:
    return project.check(Walk().entries(["."]), jobs=1, shard=shard)


def _key(finding: Finding) -> Any:
    return finding.filename, finding.span, finding.code, finding.message


def test_findings_in_files_of_other_shards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    crossing = 0
    for seed in SEEDS:
        folder = tmp_path / str(seed)
        _write(folder, random_tree(random.Random(seed)))
        monkeypatch.chdir(folder)
        whole = _check()
        crossing += sum(bool(finding.related) for finding in whole.findings)
        for count in (2, 3, 40):
            parts = [_check(Shard(number + 1, count)) for number in range(count)]
            union = [finding for part in parts for finding in part.findings]
            assert sorted(union, key=_key) == sorted(whole.findings, key=_key), (seed, count)
            assert sum(part.files for part in parts) == whole.files
    assert crossing > 20


OPS: Final = "import torch\n\ndef total(x):\n    return x.sum('T'){}\n"
MAKE: Final = "torch.zeros(2, names=('N',))"
USE: Final = f"import torch\nfrom {{}} import total\n\ntotal({MAKE})\n"
OWN: Final = f"\n\ntotal({MAKE})\n"
CROSSING: Final = {
    "a finding that two files lead to": {
        "b.py": OPS.format(""),
        "a.py": USE.format("b"),
        "c.py": USE.format("b"),
    },
    "a finding that its own file leads to as well": {
        "b.py": OPS.format("") + OWN,
        "a.py": USE.format("b"),
    },
    "a comment that suppresses what another file leads to": {
        "b.py": OPS.format("  # namecheck: ignore[NC103]"),
        "c.py": USE.format("b"),
    },
    "a comment that suppresses nothing": {
        "b.py": OPS.format("  # namecheck: ignore[NC103]"),
        "c.py": "import b\n",
    },
    "a comment in a package": {
        "b/__init__.py": OPS.format("  # namecheck: ignore[NC103]"),
        "b/inner.py": "",
        "c.py": f"import torch\nimport b.inner\n\nb.total({MAKE})\n",
    },
    "a file that is not checked": {
        "b/ops.py": OPS.format("  # namecheck: ignore[NC101]"),
        "a.py": USE.format("b.ops"),
        "c.py": USE.format("b.ops"),
        "pyproject.toml": "[tool.namecheck]\ninclude = ['a.py', 'c.py']\n",
    },
    "a run that puts the removed methods back": {
        "a.py": "import torch\n\ntorch.zeros(2, names=('N',)).sum('T')\n",
        "z.py": "import namecheck\n\nnamecheck.install()\n",
        "pyproject.toml": "[tool.namecheck]\ntorch = '>=2.13'\n",
    },
}


@pytest.mark.parametrize("case", CROSSING)
def test_a_finding_is_reported_by_one_shard(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _write(tmp_path, {"y.py": "", **CROSSING[case]})
    monkeypatch.chdir(tmp_path)
    whole = _check()
    parts = [_check(Shard(number, 4)) for number in (1, 2, 3, 4)]
    union = [finding for part in parts for finding in part.findings]
    assert sorted(union, key=_key) == sorted(whole.findings, key=_key)


@pytest.mark.parametrize("output_format", ["concise", "json"])
def test_the_outputs_put_together_are_that_of_the_whole(
    output_format: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    _write(tmp_path, random_tree(random.Random(7)))
    monkeypatch.chdir(tmp_path)
    command = ["check", "--no-cache", "-j", "1", "--output-format", output_format]
    assert main.main(command) == 1
    whole = capsys.readouterr().out
    outputs = []
    for number in (1, 2, 3):
        status = main.main([*command, "--shard", f"{number}/3"])
        shown = capsys.readouterr()
        assert f"namecheck: shard {number}/3: " in shown.err
        assert status == (shown.out not in ("", "[]\n"))
        outputs.append(shown.out)
    if output_format == "json":

        def place(item: dict[str, Any]) -> Any:
            return item["filename"], item["location"]["row"], item["location"]["column"], str(item)

        items = [item for output in outputs for item in json.loads(output)]
        expected = sorted(json.loads(whole), key=place)
        assert json.dumps(sorted(items, key=place)) == json.dumps(expected)
    else:
        *lines, last = whole.splitlines(keepends=True)
        assert last.startswith("Found ")
        union = sorted("".join(outputs).splitlines(keepends=True))
        assert "".join(union) == "".join(sorted(lines))
        assert len(union) > 10
        main.main([*command, "--shard", "1/1"])
        assert capsys.readouterr().out == "".join(lines)


def test_shards_are_of_one_size_and_stay_so() -> None:
    drawn = random.Random(1)
    settings = Settings()
    entries = [
        Entry(f"{number:04}.py", f"/p/{number:04}.py", settings, drawn.randrange(100_000))
        for number in range(600)
    ]
    for count in (1, 2, 3, 7, 16):
        members = [Shard(number + 1, count).members(entries) for number in range(count)]
        assert sum(map(len, members)) == 600
        sizes = [sum(entry.size for entry in entries if entry.location in one) for one in members]
        assert max(sizes) < 1.02 * sum(sizes) / count + 50_000
        more = [*entries[:300], Entry("x.py", "/p/x.py", settings, 5_000), *entries[300:]]
        moved = [Shard(n + 1, count).members(more) ^ one for n, one in enumerate(members)]
        assert sum(map(len, moved)) <= 1 + 4 * count
    assert Shard(2, 3).members([]) == frozenset()


def test_few_files_and_many_shards() -> None:
    settings = Settings()
    entries = [Entry(f"{n}.py", f"/p/{n}.py", settings) for n in range(3)]
    members = [Shard(number + 1, 10).members(entries) for number in range(10)]
    assert sorted(location for one in members for location in one) == [
        f"/p/{n}.py" for n in range(3)
    ]


def test_a_shard_analyses_its_own_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {f"{letter}.py": f"import torch\nx = {MAKE}\n" for letter in "abcdef"}
    _write(tmp_path, {**files, "f.py": USE.format("a"), "a.py": OPS.format("") + f"\nx = {MAKE}\n"})
    monkeypatch.chdir(tmp_path)
    analysed: list[str] = []
    plain = analysis.analysed

    def counted(workspace: Any, location: str) -> Any:
        analysed.append(os.path.basename(location))
        return plain(workspace, location)

    monkeypatch.setattr(analysis, "analysed", counted)
    assert _check(Shard(1, 3)).findings == ()
    assert analysed == ["a.py", "b.py"]
    analysed.clear()
    assert [finding.filename for finding in _check(Shard(3, 3)).findings] == ["a.py"]
    # a.py causes a finding in f.py, so its shard counts the files that a.py itself leads to.
    assert sorted(analysed) == ["a.py", "e.py", "f.py"]


def test_shards_share_a_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _write(tmp_path, random_tree(random.Random(3)))
    monkeypatch.chdir(tmp_path)
    parts = []
    for number in (1, 2, 3):
        cache = Cache("cache")
        parts.append(
            project.check(Walk().entries(["."]), cache=cache, jobs=1, shard=Shard(number, 3))
        )
    monkeypatch.setattr(project, "_made", lambda tasks, *_: [][: len(tasks)])
    for number in (1, 2, 3):
        again = project.check(Walk().entries(["."]), cache=Cache("cache"), shard=Shard(number, 3))
        assert again == parts[number - 1]


def test_statistics_add_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _write(tmp_path, random_tree(random.Random(5)))
    monkeypatch.chdir(tmp_path)
    entries = Walk().entries(["."])
    whole = project.check(entries, jobs=1, counting=True).statistics
    assert whole is not None
    totals = []
    for number in (1, 2, 3):
        part = project.check(entries, jobs=1, counting=True, shard=Shard(number, 3)).statistics
        assert part is not None
        totals.append(part.total)
    assert sum(totals) == whole.total > 0


@pytest.mark.parametrize(
    "word", ["0/3", "4/3", "x", "1", "1/0", "-1/3", "1/3/5", "", "1/ 3", "²/3"]
)
def test_a_shard_that_is_none(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        main.main(["check", f"--shard={word}", "."])
    assert exit_.value.code == 2
    message = "argument --shard: a shard is I/N with I from 1 to N, such as 2/3, not "
    assert message + repr(word) in capsys.readouterr().err


@pytest.mark.parametrize("flags", [["--fix"], ["--diff"], ["--add-ignore"], ["-"]])
def test_what_does_not_go_with_a_shard(
    flags: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.main(["check", "--shard", "1/2", *flags]) == 2
    assert "--shard does not go with " in capsys.readouterr().err
