"""Names in programs of several processes, run by torchrun; patches that wait for an import."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from namecheck.runtime.core.patch_table import Deferred, Patch, PatchTable
from namecheck.runtime.distributed import ranks
from tests import patience
from tests.runtime import distributed_program

ROOT: Final = Path(__file__).parents[2]
PATIENCE: Final = 150  # seconds of processor time, or without any, until a program hangs


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder for the outcomes of the program's checks."""
    return tmp_path_factory.mktemp("ranks")


@pytest.fixture(scope="module")
def ended(folder: Path) -> subprocess.CompletedProcess[str]:
    """The program, run on two ranks until both have ended."""
    torchrun = ["torch.distributed.run", "--standalone", "--nproc-per-node=2", "-m"]
    return patience.run(
        [sys.executable, "-m", *torchrun, "tests.runtime.distributed_program", str(folder)],
        PATIENCE,
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"},
        text=True,
    )


@pytest.fixture(scope="module")
def outcomes(folder: Path, ended: subprocess.CompletedProcess[str]) -> list[dict[str, str]]:
    """The outcome of every check, by rank."""
    files = [folder / f"{rank}.json" for rank in range(2)]
    assert all(file.exists() for file in files), ended.stderr
    return [json.loads(file.read_text()) for file in files]


@pytest.mark.parametrize("name", distributed_program.CHECKS)
def test_on_both_ranks(name: str, outcomes: list[dict[str, str]]) -> None:
    assert [outcome[name] for outcome in outcomes] == ["ok", "ok"], "\n".join(
        outcome[name] for outcome in outcomes
    )


def test_a_program_whose_ranks_disagree_ends(
    outcomes: list[dict[str, str]], ended: subprocess.CompletedProcess[str]
) -> None:
    assert outcomes
    assert ended.returncode != 0
    assert (
        "NameMismatch: The names of the tensor differ between the ranks: "
        "rank 0 has ['N', 'C']; rank 1 has ['C', 'N']."
    ) in ended.stderr
    assert "with `refine_names`, before it is distributed." in ended.stderr


def test_ranks_with_the_same_names_are_told_together() -> None:
    names: dict[int, ranks.Entries] = dict.fromkeys(range(6), (("x", ("N", "C")),))
    assert ranks.contradiction(names, "distributed") is None
    names[4] = names[1] = (("x", ("N", None)),)
    found = ranks.contradiction(names, "distributed")
    assert found is not None
    assert found.message == (
        "The names of x differ between the ranks: "
        "ranks 0, 2-3, 5 have ['N', 'C']; ranks 1, 4 have ['N', None]."
    )


LAZY: Final = """
import sys
import torch
import namecheck.runtime

def is_patched(function):
    return hasattr(function, "__wrapped__")

finders = list(sys.meta_path)
namecheck.runtime.install()
assert "torch.distributed.tensor" not in sys.modules
assert "torch.distributed.fsdp" not in sys.modules
from torch.distributed.tensor import DTensor, distribute_tensor
import torch.distributed.tensor as tensor
assert is_patched(distribute_tensor) and is_patched(DTensor.to_local)
namecheck.runtime.uninstall()
assert sys.meta_path == finders
assert not is_patched(tensor.distribute_tensor) and not is_patched(DTensor.to_local)
import torch.distributed.fsdp._fully_shard._fsdp_param as parameters
assert not is_patched(parameters.FSDPParam.init_unsharded_param)
from torch.distributed.tensor import distribute_tensor
namecheck.runtime.install()
assert is_patched(distribute_tensor) and is_patched(parameters.FSDPParam.init_unsharded_param)
"""


def test_install_imports_nothing_and_patches_whatever_is_imported() -> None:
    run = patience.run([sys.executable, "-c", LAZY], PATIENCE, cwd=ROOT, text=True)
    assert run.returncode == 0, run.stderr


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The name of a module that is not yet imported."""
    (tmp_path / "not_yet.py").write_text("WORD = 'old'\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield "not_yet"
    sys.modules.pop("not_yet", None)


def renewed(module: object) -> list[Patch]:
    return [Patch(module, "WORD", "new")]


def test_a_module_is_patched_when_it_has_been_imported(module: str) -> None:
    table = PatchTable()
    table.apply([Deferred(module, renewed)])
    assert module not in sys.modules
    imported = __import__(module)
    assert imported.WORD == "new"
    assert type(imported.__loader__).__name__ == "SourceFileLoader"
    assert imported.__spec__ is not None
    assert imported.__spec__.loader is imported.__loader__
    table.restore()
    assert imported.WORD == "old"


def test_a_module_that_is_imported_already_is_patched_at_once(module: str) -> None:
    imported = __import__(module)
    table = PatchTable()
    finders = list(sys.meta_path)
    table.apply([Deferred(module, renewed)])
    assert imported.WORD == "new"
    assert sys.meta_path == finders
    table.restore()
    assert imported.WORD == "old"


def test_a_module_that_is_imported_after_all_is_restored_stays_as_it_is(module: str) -> None:
    table = PatchTable()
    finders = list(sys.meta_path)
    table.apply([Deferred(module, renewed)])
    table.restore()
    assert sys.meta_path == finders
    assert __import__(module).WORD == "old"
