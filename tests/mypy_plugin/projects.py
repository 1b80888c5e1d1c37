"""Projects on the disk, checked by mypy with the plugin and by ``namecheck check``."""

from __future__ import annotations

import io
import json
import os
import shutil
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import chdir, redirect_stdout, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeAlias

from mypy.version import __version__

from namecheck.cli import main
from namecheck_mypy import surfaces
from tests import patience

ROOT: Final = Path(__file__).parents[2]
MYPY: Final = surfaces.release_of(__version__)
"""The release of mypy that runs."""

CODES: Final = frozenset(
    f"named-{family}" for family in ("check", "dim", "size", "dtype", "device", "layout", "lint")
)
SETTINGS: Final = """\
[tool.mypy]
plugins = ["namecheck_mypy"]
strict = true
sqlite_cache = true
"""

ALONE: Final = """\
[[tool.mypy.overrides]]
module = [
    "torch._decomp.*", "torch._dynamo.*", "torch._export.*", "torch._functorch.*",
    "torch._higher_order_ops.*", "torch._inductor.*", "torch._prims.*", "torch._refs.*",
    "torch._subclasses.*", "torch.ao.*", "torch.cuda.*", "torch.distributed.*",
    "torch.distributions.*", "torch.export.*", "torch.fx.*", "torch.jit.*", "torch.onnx.*",
    "torch.testing.*", "numpy.*", "sympy.*",
]
follow_imports = "skip"
"""
"""mypy follows only the tensors and modules of torch: the rest would take most of the time."""

TORCH: Final = """\
from . import version as version

class Tensor:
    names: tuple[str | None, ...]
    def dim(self) -> int: ...
    def mean(self) -> Tensor: ...
    def rename(self, *names: str) -> Tensor: ...
    def sum(self, dim: str | int = ...) -> Tensor: ...
    def __mul__(self, other: int) -> Tensor: ...

def argmax(input: Tensor, dim: int) -> Tensor: ...
def zeros(*sizes: int, names: tuple[str, ...] = ...) -> Tensor: ...
"""
NN: Final = "from torch.nn.modules.module import Module as Module\n"
MODULE: Final = """\
from collections.abc import Callable
from typing import Any

class Module:
    forward: Callable[..., Any]
    __call__: Callable[..., Any]
"""
"""A torch of a few lines, for mypy runs that have to read it afresh."""

Told: TypeAlias = "set[tuple[str, int, str]]"
"""The file, the line and the message of each finding."""


@dataclass(frozen=True)
class Run:
    """The outcome of a command."""

    code: int
    out: str
    err: str

    @property
    def records(self) -> list[dict[str, Any]]:
        """The messages, if they were requested as JSON, in the words of the newest mypy."""
        lines = (line for line in self.out.splitlines() if line.startswith("{"))
        if MYPY < (1, 20):  # it shows where a builtin type comes from
            lines = (line.replace("builtins.", "") for line in lines)
        return [json.loads(line) for line in lines]

    @property
    def told(self) -> Told:
        """The findings of namecheck among the messages of mypy."""
        return {
            (record["file"], record["line"], record["message"])
            for record in self.records
            if record["code"] in CODES and record["severity"] == "error"
        }

    @property
    def others(self) -> list[str]:
        """The messages of mypy itself."""
        return [
            f"{record['file']}:{record['line']}: {record['message']}"
            for record in self.records
            if record["code"] not in CODES and record["severity"] == "error"
        ]


def environment(**added: str) -> dict[str, str]:
    """The environment in which a process finds this copy of namecheck and of the plugin."""
    path = os.pathsep.join([str(ROOT), str(ROOT / "mypy_plugin")])
    kept = {name: value for name, value in os.environ.items() if name != "MYPY_NUM_WORKERS"}
    return {**kept, "PYTHONPATH": path, "NO_COLOR": "1", **added}


@dataclass
class Project:
    """A folder with a pyproject.toml and some files."""

    root: Path
    flags: tuple[str, ...] = ()
    stubs: str = ""
    _daemon: bool = field(default=False, repr=False)

    def write(self, files: Mapping[str, str]) -> None:
        """Write files, creating missing folders."""
        for name, text in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if self._daemon:
                _await_next_second(path)
            path.write_text(text, "utf-8")

    def replace(self, name: str, old: str, new: str) -> None:
        """Edit a file."""
        text = (self.root / name).read_text("utf-8")
        assert old in text, f"{name} has no {old!r}"
        self.write({name: text.replace(old, new)})

    def settings(self, text: str) -> None:
        """Add to the pyproject.toml."""
        self.write({"pyproject.toml": f"{SETTINGS}{text}"})

    def run(self, *words: str) -> Run:
        """Run a module of Python in the folder."""
        done = patience.run(
            [sys.executable, "-m", *words],
            300,
            servers=self._servers,
            cwd=self.root,
            env=environment(MYPYPATH=self.stubs),
            text=True,
        )
        return Run(done.returncode, done.stdout, done.stderr)

    def _servers(self) -> Iterator[int]:
        """The daemon of mypy, which is no child of its client."""
        with suppress(OSError, ValueError, KeyError):
            yield json.loads((self.root / ".dmypy.json").read_text())["pid"]

    def mypy(self, *words: str) -> Run:
        """Run mypy with JSON output. It must not fail."""
        run = self.run("mypy", "-O", "json", *self.flags, *(words or (".",)))
        assert run.code in (0, 1), run.out + run.err
        assert "namecheck failed" not in run.out + run.err, run.out + run.err
        return run

    def daemon(self, *words: str) -> Run:
        """Run the client of mypy's daemon; findings are read from its lines."""
        self._daemon = True
        run = self.run("mypy.dmypy", *words)
        assert run.code in (0, 1), run.out + run.err
        return run

    def stop(self) -> None:
        """Stop the daemon, if there is one."""
        if self._daemon:
            self.run("mypy.dmypy", "kill")

    def namecheck(self, *words: str) -> Told:
        """The findings of ``namecheck check``, which is run in this process."""
        told = io.StringIO()
        with chdir(self.root), redirect_stdout(told):
            code = main.main(["check", "--output-format", "json", "--no-cache", *words])
        assert code in (0, 1), told.getvalue()
        return set(_findings(json.loads(told.getvalue())))


def _await_next_second(path: Path) -> None:
    """Wait: mypy's daemon treats a file with the same size and second of writing as unchanged."""
    while path.exists() and int(path.stat().st_mtime) == int(time.time()):
        time.sleep(0.05)


def _findings(records: Sequence[dict[str, Any]]) -> Iterator[tuple[str, int, str]]:
    for record in records:
        if record["kind"] != "note":
            yield record["filename"], record["location"]["row"], record["message"]


def small(root: Path, cache: Path | None = None) -> Project:
    """A project with a torch of a few lines, and perhaps a mypy cache of the standard library."""
    project = Project(root / "project", stubs=str(root / "stubs"))
    project.settings("")
    if cache is not None:
        shutil.copytree(cache, project.root / ".mypy_cache")
    project.write({"../stubs/torch/__init__.pyi": TORCH})
    project.write({"../stubs/torch/nn/__init__.pyi": NN})
    project.write({"../stubs/torch/nn/modules/__init__.pyi": ""})
    project.write({"../stubs/torch/nn/modules/module.pyi": MODULE})
    project.write({"../stubs/torch/version.pyi": "__version__: str\n"})
    return project


def seeded(root: Path, cache: Path) -> Project:
    """A project with torch's own stubs, and a mypy cache of these."""
    root.mkdir(parents=True, exist_ok=True)
    shutil.copytree(cache, root / ".mypy_cache")
    project = Project(root)
    project.settings(ALONE)
    return project
