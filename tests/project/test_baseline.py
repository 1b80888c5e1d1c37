"""The baseline: known findings are not reported, whatever happens to the lines around them."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from namecheck.core.fingerprints import Identity
from namecheck.project import baseline
from tests.running import Run, runner

BAD: Final = """\
import torch

class Net:
    def forward(self, x):
        y = torch.zeros(2, 3, names=('N', 'H')); z = x+y
        return x + y.sum('H',keepdim=True), x.sum(  "T")

def loss(a):
    return a.sum('T') + a.sum('T')

x = torch.zeros(2, 3, names=("N", "C"))
Net().forward(x)
loss(x)
"""
COUNT: Final = 4
NAME: Final = baseline.FILE
ALL_KNOWN: Final = f"All checks passed. {COUNT} findings of the baseline not shown.\n"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs the command in a project with bad.py."""
    monkeypatch.chdir(tmp_path)
    Path("pyproject.toml").write_text(f'[tool.namecheck]\nbaseline = "{NAME}"\n')
    Path("bad.py").write_text(BAD)
    return runner(capsys)


@pytest.fixture
def accepted(run: Run) -> Run:
    """The same with a baseline of all findings."""
    status, out, err = run("check", "--output-format", "concise")
    assert out.endswith(f"Found {COUNT} errors in 1 file.\n")
    assert (status, err) == (1, f"namecheck: there is no {NAME}; `namecheck baseline` writes it\n")
    written = (0, f"{NAME}: {COUNT} findings in 1 file ({COUNT} new).\n", "")
    assert run("baseline") == written
    return run


def entries() -> list[dict[str, object]]:
    items: list[dict[str, object]]
    *items, last = json.loads(Path(NAME).read_text())["findings"]
    assert last is None
    return items


def test_known_findings_are_counted(accepted: Run) -> None:
    assert accepted("check") == (0, ALL_KNOWN, "")
    assert accepted("check", "bad.py") == (0, ALL_KNOWN, "")
    assert accepted("check", "--no-baseline")[0] == 1
    assert accepted("check", "--output", "json=-") == (0, "[]\n", "")


def test_a_baseline_is_the_same_when_written_again(accepted: Run) -> None:
    before = Path(NAME).read_bytes()
    assert accepted("baseline") == (0, f"{NAME}: {COUNT} findings in 1 file.\n", "")
    assert accepted("baseline", "--prune") == (0, f"{NAME}: {COUNT} findings in 1 file.\n", "")
    assert Path(NAME).read_bytes() == before


def test_the_entries_are_the_fingerprints_of_sarif(accepted: Run) -> None:
    accepted("check", "--no-baseline", "--output", "sarif=a.sarif")
    [log] = json.loads(Path("a.sarif").read_text())["runs"]
    of_sarif = {one["partialFingerprints"]["namecheck/v1"] for one in log["results"]}
    assert of_sarif == {entry["fingerprint"] for entry in entries()}
    assert len(of_sarif) == COUNT


def test_a_hundred_lines_above_are_no_news(accepted: Run) -> None:
    Path("bad.py").write_text("# more\n" * 50 + "import os\n" * 50 + BAD)
    assert accepted("check") == (0, ALL_KNOWN, "")


def test_another_layout_is_no_news(accepted: Run) -> None:
    command = [sys.executable, "-m", "ruff", "format", "--line-length", "24", "bad.py"]
    subprocess.run(command, check=True, capture_output=True)
    assert Path("bad.py").read_text().count("\n") > BAD.count("\n") + 20
    assert accepted("check") == (0, ALL_KNOWN, "")


def test_a_renamed_file_is_no_news(accepted: Run) -> None:
    Path("package").mkdir()
    Path("bad.py").rename("package/better.py")
    assert accepted("check") == (0, ALL_KNOWN, "")
    assert accepted("baseline", "--prune")[1] == f"{NAME}: {COUNT} findings in 1 file.\n"
    assert {entry["path"] for entry in entries()} == {"package/better.py"}
    assert accepted("check") == (0, ALL_KNOWN, "")


def test_renamed_functions_are_no_news(accepted: Run) -> None:
    Path("bad.py").write_text(BAD.replace("loss", "risk").replace("Net", "Model"))
    assert accepted("check") == (0, ALL_KNOWN, "")
    Path("bad.py").rename("moved.py")
    assert accepted("check") == (0, ALL_KNOWN, "")


def test_a_copy_is_news(accepted: Run) -> None:
    Path("copy.py").write_text(BAD)
    status, out, _ = accepted("check", "--output-format", "concise")
    summary = f"Found {COUNT} errors in 1 file. {COUNT} findings of the baseline not shown.\n"
    assert (status, out.splitlines(keepends=True)[-1]) == (1, summary)
    assert {line.split(":")[0] for line in out.splitlines()[:-1]} == {"copy.py"}


def test_a_new_function_with_the_same_mistake_is_news(accepted: Run) -> None:
    more = "\n\ndef gain(a):\n    return a.sum('T') + a.sum('T')\n\n\ngain(x)\n"
    Path("bad.py").write_text(BAD + more)
    status, out, _ = accepted("check", "--output-format", "concise")
    assert status == 1
    assert out.endswith(f"Found 1 error in 1 file. {COUNT} findings of the baseline not shown.\n")


def test_the_same_mistake_once_more_in_a_statement_is_news(accepted: Run) -> None:
    Path("bad.py").write_text(BAD.replace("loss(x)", "loss(x)\nx.sum('T')\nx.sum('T')"))
    assert "Found 2 errors" in accepted("check")[1]
    assert "(2 new)" in accepted("baseline")[1]
    Path("bad.py").write_text(BAD.replace("loss(x)", "loss(x)\nx.sum('T')\nx.sum('T')\nx.sum('T')"))
    assert "Found 1 error in 1 file. 6 findings" in accepted("check")[1]


@pytest.mark.parametrize("fixed", ["x+y", 'x.sum(  "T")', "x + y.sum('H',keepdim=True)"])
def test_one_fixed_finding_is_one_stale_entry(accepted: Run, fixed: str) -> None:
    Path("bad.py").write_text(BAD.replace(fixed, "None"))
    told = "namecheck: 1 finding of the baseline is gone; `namecheck baseline --prune` updates it\n"
    status, out, err = accepted("check")
    assert (status, out, err) == (
        0,
        f"All checks passed. {COUNT - 1} findings of the baseline not shown.\n",
        told,
    )
    assert accepted("check", "bad.py")[2] == ""  # of one file it cannot tell
    pruned = f"{NAME}: {COUNT - 1} findings in 1 file (1 fixed).\n"
    assert accepted("baseline", "--prune") == (0, pruned, "")
    assert accepted("check")[2] == ""


def test_pruning_accepts_nothing_new(accepted: Run) -> None:
    Path("bad.py").write_text(BAD.replace("; z = x+y", "") + "x.sum('Q')\n")
    status, out, _ = accepted("baseline", "--prune")
    assert (status, out) == (
        0,
        f"{NAME}: {COUNT - 1} findings in 1 file (1 fixed).\n"
        "1 new finding not in it: see `namecheck check`.\n",
    )
    assert accepted("check")[0] == 1


def test_a_file_that_cannot_be_parsed_leaves_its_entries(accepted: Run) -> None:
    Path("bad.py").write_text(BAD + "x = (\n")
    status, _, err = accepted("check")
    assert (status, err) == (1, "")
    assert accepted("baseline", "--prune")[1].startswith(f"{NAME}: {COUNT} findings in 1 file.\n")
    Path("bad.py").write_text(BAD)
    assert accepted("check") == (0, ALL_KNOWN, "")


def test_codes_that_are_not_selected_leave_their_entries(accepted: Run) -> None:
    status, out, err = accepted("check", "--ignore", "NC1")
    assert (status, out, err) == (0, "All checks passed.\n", "")


def test_where_a_run_starts_does_not_matter(accepted: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("deep").mkdir()
    monkeypatch.chdir("deep")
    assert accepted("check") == (0, ALL_KNOWN, "")
    assert accepted("check", "../bad.py") == (0, ALL_KNOWN, "")
    assert accepted("baseline")[1] == f"../{NAME}: {COUNT} findings in 1 file.\n"


def test_without_settings_a_baseline_is_written_and_told(run: Run) -> None:
    Path("pyproject.toml").write_text('[project]\nname = "p"\n')
    status, out, _ = run("baseline")
    told = f'To use it, add to [tool.namecheck] in pyproject.toml: baseline = "{NAME}"\n'
    assert (status, out) == (0, f"{NAME}: {COUNT} findings in 1 file ({COUNT} new).\n{told}")
    assert run("check")[0] == 1
    Path("pyproject.toml").write_text(f'[tool.namecheck]\nbaseline = "{NAME}"\n')
    assert run("check") == (0, ALL_KNOWN, "")


def test_notes_and_faults_are_never_accepted(run: Run) -> None:
    Path("bad.py").write_text("from namecheck import reveal_names\nimport torch\n")
    with open("bad.py", "a") as file:
        file.write('reveal_names(torch.rand(2, names=("N",)))\n')
    assert run("baseline")[1] == f"{NAME}: 0 findings in 0 files.\n"
    assert run("check")[1].endswith("All checks passed. 1 note.\n")


def test_each_project_has_its_own(accepted: Run) -> None:
    Path("inner").mkdir()
    Path("inner/pyproject.toml").write_text('[tool.namecheck]\nbaseline = "own.json"\n')
    Path("inner/bad.py").write_text(BAD)
    status, out, err = accepted("check")
    assert status == 1
    assert out.endswith(f"{COUNT} findings of the baseline not shown.\n")
    assert "there is no inner/own.json" in err
    assert accepted("baseline")[1] == f"{NAME}: {COUNT} findings in 1 file.\n"
    os.chdir("inner")
    assert accepted("baseline")[1] == f"own.json: {COUNT} findings in 1 file ({COUNT} new).\n"
    os.chdir("..")
    assert accepted("check")[1] == ALL_KNOWN.replace(str(COUNT), str(2 * COUNT))


def test_fixes_leave_what_is_known(accepted: Run) -> None:
    assert accepted("check", "--diff", "--unsafe-fixes")[2].endswith("All checks passed.\n")
    assert accepted("check", "--fix")[0] == 0
    refused = "--add-ignore does not go with a baseline; --no-baseline leaves it out"
    assert accepted("check", "--add-ignore") == (2, "", f"namecheck: {refused}\n")


def test_shards_and_standard_input_know_it(accepted: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert accepted("check", "--shard", "1/1", "--output-format", "concise")[:2] == (0, "")
    named = ("check", "-", "--stdin-filename", "bad.py")
    text = BAD.replace("import torch", "import torch  # edited") + "x.sum('Q')\n"
    for data, summary in ((BAD, ALL_KNOWN), (text, "Found 1 error in 1 file. ")):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data.encode())))
        status, out, err = accepted(*named)
        assert (status, err) == (int(data != BAD), "")
        assert out.splitlines(keepends=True)[-1].startswith(summary)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("<<<<<<< ours\n{}\n", ":1: Expecting value; "),
        ('{\n  "version": 1,\n}\n', ":3: "),
        ("[]", ": it has no list of findings; "),
        ('{"version": 9, "findings": []}', ": it is of version 9; "),
        ('{"version": 1, "findings": [{"path": 1}]}', ": {'path': 1} is no finding; "),
        ("[" * 100_000, ": "),
        ("\udcff", ": "),
    ],
)
def test_a_damaged_baseline_is_an_error(accepted: Run, text: str, said: str) -> None:
    Path(NAME).write_bytes(text.encode("utf-8", "surrogateescape"))
    status, out, err = accepted("check")
    assert (status, out) == (2, "")
    assert f"{NAME}{said}" in err
    assert err.endswith("`namecheck baseline` writes it anew\n")
    assert accepted("baseline")[0] == 0
    assert accepted("check") == (0, ALL_KNOWN, "")


def test_settings_have_no_file_outside_the_project_written(run: Run, tmp_path: Path) -> None:
    Path("inner").mkdir()
    Path("inner/pyproject.toml").write_text('[tool.namecheck]\nbaseline = "../other.json"\n')
    os.chdir("inner")
    told = "namecheck: ../other.json is outside of the project; nothing is written there\n"
    assert run("baseline") == (2, "", told)
    Path("pyproject.toml").write_text('[tool.namecheck]\nbaseline = "link.json"\n')
    Path("link.json").symlink_to("../other.json")
    assert run("baseline")[0] == 2
    assert not (tmp_path / "other.json").exists()


@pytest.mark.parametrize("name", ["bad.py", "pyproject.toml", "link.json"])
def test_settings_have_no_program_replaced(run: Run, name: str) -> None:
    Path("pyproject.toml").write_text(f'[tool.namecheck]\nbaseline = "{name}"\n')
    Path("link.json").symlink_to("bad.py")
    told = f"namecheck: {name} is no name for a baseline, which would replace it\n"
    assert run("baseline") == (2, "", told)
    assert Path("bad.py").read_text() == BAD


def test_a_pipe_of_the_project_is_not_written(run: Run) -> None:
    os.mkfifo(NAME)
    told = f"namecheck: not written: ./{NAME}: it is a named pipe, not a regular file\n"
    assert run("baseline", "--no-cache") == (2, "", told)


def test_nothing_to_prune(run: Run) -> None:
    told = f"namecheck: there is no ./{NAME} to prune; `namecheck baseline` writes it\n"
    assert run("baseline", "--prune") == (2, "", told.replace("./", ""))


def test_branches_merge_without_conflict(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each adds findings in its own files, one at the end of the list."""
    monkeypatch.chdir(tmp_path)

    def git(*words: str) -> str:
        own = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=m")
        return subprocess.run(
            ["git", *own, *words], check=True, capture_output=True, text=True
        ).stdout

    def identity(path: str) -> Identity:
        return Identity(path, "NC101", "f", "0" * 24, 0)

    def write(*paths: str) -> None:
        Path(NAME).write_text(baseline.text(map(identity, paths)))
        git("add", NAME)
        git("commit", "-q", "-m", "a")

    git("init", "-q")
    write("c.py", "m.py", "p.py")
    git("checkout", "-q", "-b", "other")
    write("c.py", "m.py", "p.py", "z.py")
    git("checkout", "-q", "m")
    write("a.py", "c.py", "p.py")
    git("merge", "-q", "other", "-m", "b")
    paths = [each.path for each in baseline.read(NAME)]
    assert paths == ["a.py", "c.py", "p.py", "z.py"]
