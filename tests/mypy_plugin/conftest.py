"""Shared fixtures of the plugin's tests: one run of mypy over torch, which takes seconds."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.mypy_plugin.projects import ALONE, Project, seeded, small
from tests.sharing import shared

SEED: Final = """\
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor

import namecheck
"""


def make_torch_cache(root: Path) -> None:
    """Fill a folder with a mypy cache of torch's stubs."""
    project = Project(root)
    project.settings(ALONE)
    project.write({"seed.py": SEED})
    run = project.mypy("seed.py")
    assert run.code == 0, run.out + run.err
    shutil.rmtree(root / ".mypy_cache" / "namecheck", ignore_errors=True)


@pytest.fixture(scope="session")
def torch_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A mypy cache of torch's stubs, the same for all processes."""
    return shared(tmp_path_factory, "seed", make_torch_cache) / ".mypy_cache"


@pytest.fixture
def torch_project(tmp_path: Path, torch_cache: Path) -> Iterator[Project]:
    """An empty project with torch's own stubs."""
    made = seeded(tmp_path / "project", torch_cache)
    yield made
    made.stop()


@pytest.fixture
def project(torch_project: Project) -> Project:
    """The project of a test, by default with torch's own stubs."""
    return torch_project


def make_small_cache(root: Path) -> None:
    """Fill a folder with a mypy cache of what each small project reads beside its own files."""
    project = small(root)
    project.write({"seed.py": "import torch\n"})
    run = project.mypy("seed.py")
    assert run.code == 0, run.out + run.err
    shutil.rmtree(project.root / ".mypy_cache" / "namecheck", ignore_errors=True)


@pytest.fixture(scope="session")
def small_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A mypy cache of the standard library, the same for all processes."""
    return shared(tmp_path_factory, "small_seed", make_small_cache) / "project" / ".mypy_cache"


@pytest.fixture
def small_project(tmp_path: Path, small_cache: Path) -> Iterator[Project]:
    """An empty project with a torch of a few lines, which mypy reads quickly."""
    made = small(tmp_path, small_cache)
    yield made
    made.stop()
