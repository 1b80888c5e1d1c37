"""The findings and their order are the same in every run over the same files.

They depend neither on the number of processes, nor on the cache, the order of the arguments, or the
hash seed. The hash seed is that of a process, so every one takes a run of the command: a few in
every test run, and as many as ``NAMECHECK_SEEDS`` says.
"""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from namecheck import project
from namecheck.cli import main
from namecheck.project import Result, Walk, workers
from namecheck.project.cache import FILE, Cache
from namecheck.project.file_check import Checker
from namecheck.project.tasks import Outcome, Task
from tests.project.trees import random_tree

ROOT: Final = Path(__file__).parents[2]
FIXTURES: Final = ("annotated", "natural", "programs")
SEEDS: Final = int(os.environ.get("NAMECHECK_SEEDS", "4"))
SHUFFLES: Final = 100


def _write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        os.utime(path, (1_600_000_000, 1_600_000_000))


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project of files that call each other, and of some fixtures; the working folder."""
    root = tmp_path / "tree"
    _write(root, random_tree(random.Random(2), packages=3, modules=4))
    drawn = random.Random(2)
    for folder in FIXTURES:
        programs = sorted((ROOT / "fixtures" / folder).glob("*.py"))
        for program in drawn.sample(programs, 5):
            _write(root / folder, {program.name: program.read_text("utf-8")})
    monkeypatch.chdir(root)
    return root


class Shuffled:
    """Runs over a tree, each drawn at random: order of arguments, cache, groups of files."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._patch = monkeypatch
        self._files = sorted(map(str, Path().rglob("*.py")))

    def run(self, drawn: random.Random) -> Result:
        """One run."""
        arguments = drawn.choice(
            [self._arguments(drawn), [".", *self._arguments(drawn)[:3]], ["."]]
        )
        self._spoil(drawn)
        cache = drawn.choice([None, Cache("cache"), Cache("cache")])
        with self._patch.context() as patch:
            patch.setattr(workers, "_one_by_one", _in_groups(drawn))
            return project.check(Walk().entries(arguments), jobs=1, cache=cache)

    def _arguments(self, drawn: random.Random) -> list[str]:
        """All files, in some order, some of them by another spelling or by their folders."""
        arguments = []
        for file in self._files:
            folder = os.path.dirname(file)
            arguments.append(drawn.choice([file, file, f"./{file}", folder]) if folder else file)
        missing = [file for file in self._files if file not in arguments]
        arguments += [file for file in missing if os.path.dirname(file) not in arguments]
        drawn.shuffle(arguments)
        return arguments

    def _spoil(self, drawn: random.Random) -> None:
        """Take a part of the cache away, or all of it."""
        kind = drawn.randrange(4)
        if kind == 0:
            shutil.rmtree("cache", ignore_errors=True)
        elif kind == 1 and os.path.exists(f"cache/{FILE}"):
            with sqlite3.connect(f"cache/{FILE}") as connection:
                rows = connection.execute("SELECT rowid FROM outcomes ORDER BY rowid").fetchall()
                lost = [row for row in rows if drawn.random() < 0.5]
                connection.executemany("DELETE FROM outcomes WHERE rowid = ?", lost)
            connection.close()


def _in_groups(drawn: random.Random) -> object:
    """Checks files as any number of processes does: in groups, each with a checker of its own."""

    def one_by_one(tasks: list[Task], progress: workers.Progress, _: Checker) -> list[Outcome]:
        checker = Checker()
        order = [*range(len(tasks))]
        if drawn.random() < 0.5:
            drawn.shuffle(order)
        outcomes: dict[int, Outcome] = {}
        for number in order:
            if drawn.random() < 0.2:
                checker = Checker()
            outcomes[number] = checker.file(*tasks[number])
        return [outcomes[number] for number in range(len(tasks))]

    return one_by_one


def _places(result: Result) -> list[tuple[object, ...]]:
    """The findings, with files by their locations: spelled as in the arguments otherwise."""
    return [
        (os.path.abspath(one.filename), one.span, one.code, one.message, one.help, len(one.related))
        for one in result.findings
    ]


def test_a_hundred_orders_of_files_and_states_of_the_cache(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = _places(project.check(Walk().entries(["."]), jobs=1))
    assert len(expected) > 15
    shuffled = Shuffled(monkeypatch)
    for seed in range(SHUFFLES):
        assert _places(shuffled.run(random.Random(seed))) == expected, f"seed {seed}"


def test_the_order_of_arguments_does_not_count(
    tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    outputs = set()
    for arguments in (
        ["p0", "p1", "natural", "p0/m1.py"],
        ["natural", "p0/m1.py", "p1", "p0"],
        ["p1", "./p0/m1.py", "p0/m1.py", "p0", "natural"],
    ):
        main.main(["check", "--no-cache", "-j", "1", "--output-format", "concise", *arguments])
        outputs.add(capsys.readouterr().out)
    assert len(outputs) == 1


def test_processes_give_the_same(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "WORTH_IT", 0)
    expected = project.check(Walk().entries(["."]), jobs=1)
    for jobs in (2, 5):
        assert project.check(Walk().entries(["."]), jobs=jobs) == expected


def test_hash_seeds(tree: Path) -> None:
    outputs: dict[bytes, int] = {}
    for seed in range(SEEDS):
        drawn = random.Random(seed)
        cache = drawn.choice(["--no-cache", f"--cache-dir=cache{drawn.randrange(2)}"])
        jobs = str(drawn.choice([1, 1, 2]))
        output_format = ["--output-format", "json"]
        run = subprocess.run(
            [sys.executable, "-m", "namecheck", "check", cache, "-j", jobs, *output_format],
            env={**os.environ, "PYTHONHASHSEED": str(seed), "PYTHONPATH": str(ROOT)},
            capture_output=True,
        )
        assert run.returncode == 1, run.stderr.decode()
        outputs.setdefault(run.stdout, seed)
    assert len(outputs) == 1, f"seeds {sorted(outputs.values())} differ"


STEPS: Final = """\
from namecheck import project
from namecheck.project import Walk

print(project.check(Walk().entries(["."]), jobs=1).steps)
"""
# Equations whose operands have no order of their own, and axes that two methods share.
UNORDERED: Final = """\
import torch
from jaxtyping import Float
from torch import Tensor, nn


def extract(chain):
    if chain.name == chain.kind:
        return torch.zeros(len(chain), names=("N",))
    return torch.zeros(2, len(chain), names=("B", "N"))


def tensors(structure, names):
    made = {}
    for name in names:
        made[name] = extract(structure[structure.chain == name])
    return made


class Tracker(nn.Module):
    def forward(self, frames: Float[Tensor, "batch frames channels height width"]):
        heat = self.heatmaps(self.features(frames))
        return heat + self.heatmaps(self.features(frames)), self.features(frames)

    def features(self, frames: Float[Tensor, "batch frames channels height width"]):
        return self.backbone(frames.mean(1))

    def heatmaps(self, features: Float[Tensor, "batch channels height width"]):
        return self.head(features)
"""


def test_steps_do_not_depend_on_the_hash_seed(tree: Path) -> None:
    (tree / "unordered.py").write_text(UNORDERED)
    steps: dict[bytes, int] = {}
    for seed in range(SEEDS):
        run = subprocess.run(
            [sys.executable, "-c", STEPS],
            env={**os.environ, "PYTHONHASHSEED": str(seed), "PYTHONPATH": str(ROOT)},
            capture_output=True,
            check=True,
        )
        steps.setdefault(run.stdout, seed)
    assert len(steps) == 1, f"seeds {sorted(steps.values())} differ"
    assert int(next(iter(steps))) > 0


def test_a_patch_of_torch_counts_in_whatever_order_files_are_read(tmp_path: Path) -> None:
    """A file that imports nothing of the other patches torch: nothing is reported in either."""
    call = 'import torch\n\nx = torch.zeros(2, names=("N",))\ntorch.stack([x], new_name="B")\n'
    (tmp_path / "calls.py").write_text(call)
    assert [f.code for f in project.check(Walk().entries([str(tmp_path)]), jobs=1).findings] == [
        "NC114"
    ]
    for name in ("a_patch.py", "z_patch.py"):
        patch = tmp_path / name
        patch.write_text("import torch\n\n\ndef install(stack):\n    torch.stack = stack\n")
        for jobs in (1, 2):
            result = project.check(Walk().entries([str(tmp_path)]), jobs=jobs)
            assert result.findings == ()
        patch.unlink()
