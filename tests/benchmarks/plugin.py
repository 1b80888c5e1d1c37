"""The cost of the mypy plugin: the same files with and without it, by turns."""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.benchmarks.programs import pair

SMALL: Final = """\
import torch
from torch import Tensor, nn


class Head(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)

    def forward(self, x: Tensor) -> Tensor:
        return torch.softmax(self.norm(x), -1)


def loss(x: Tensor) -> Tensor:
    return Head(4)(x).sum(1).mean()
"""
FILES: Final = 200


@dataclass(frozen=True)
class Side:
    """One way to run mypy, with a cache of its own."""

    name: str
    config: Path
    cache: Path

    def command(self, *paths: Path) -> list[str]:
        """The command that checks these paths."""
        flags = ["--config-file", str(self.config), "--cache-dir", str(self.cache)]
        return [sys.executable, "-m", "mypy", *flags, *map(str, paths)]

    def forget(self) -> None:
        """Make the next run a cold one."""
        shutil.rmtree(self.cache, ignore_errors=True)


def sides(folder: Path) -> tuple[Side, Side]:
    """mypy with the plugin, and without."""
    made = []
    for name, line in (("with", "plugins = namecheck_mypy\n"), ("without", "")):
        config = folder / f"mypy_{name}.ini"
        config.write_text(f"[mypy]\n{line}", "utf-8")
        made.append(Side(name, config, folder / f"mypy_cache_{name}"))
    return made[0], made[1]


def projects(folder: Path) -> dict[str, Path]:
    """A small torch file, and many files full of names."""
    small = folder / "mypy_small"
    many = folder / "mypy_many"
    for path in (small, many):
        path.mkdir(exist_ok=True)
    (small / "head.py").write_text(SMALL, "utf-8")
    for seed in range(FILES):
        (many / f"program_{seed:03}.py").write_text(pair(seed)[0], "utf-8")
    return {"a small torch file": small, f"{FILES} files full of names": many}
