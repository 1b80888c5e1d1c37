"""Programs in processes of their own, forked from one that has imported torch already.

The import takes longer than most programs do that begin with it. A program whose test is about how
a process starts, or about what is imported before torch, is run with `subprocess` instead.
"""

from __future__ import annotations

import atexit
import json
import os
import runpy
import subprocess
import sys
import tempfile
import threading
import warnings
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, Final

_ROOT: Final = Path(__file__).parents[1]
_IGNORE: Final = ("-W", "ignore")
_TURN: Final = threading.Lock()


def run(
    *words: str, cwd: Path, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """What Python does with these words: ``-c CODE``, ``-m MODULE`` or a file, and arguments.

    ``-W ignore`` may come first.
    """
    with tempfile.TemporaryDirectory() as folder:
        out, err = Path(folder, "out"), Path(folder, "err")
        order = {
            "words": words,
            "cwd": str(cwd),
            "env": dict(os.environ if env is None else env),
            "files": [os.devnull, str(out), str(err)],
        }
        code = _answer(json.dumps(order))
        printed = (file.read_text("utf-8", "surrogateescape") for file in (out, err))
        return subprocess.CompletedProcess(words, code, *printed)


def _answer(order: str) -> int:
    """Send an order; returns the exit status of its process.

    Threads take turns: the one process answers in the order in which it is asked.
    """
    with _TURN:
        server = _server()
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(f"{order}\n")
        server.stdin.flush()
        return int(server.stdout.readline())


@cache
def _server() -> subprocess.Popen[str]:
    """The process that imports torch; it ends with this one."""
    server = subprocess.Popen(
        [sys.executable, "-m", __name__],
        cwd=_ROOT,
        env={name: word for name, word in os.environ.items() if name != "PYTHONPATH"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    atexit.register(server.communicate)
    return server


def _serve() -> None:
    """Fork for each order; the child leaves the loop, and runs its program."""
    import torch  # noqa: F401

    paths = sys.path[1:]
    for line in sys.stdin:
        child = os.fork()
        if not child:
            _run_program(json.loads(line), paths)
            return
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


def _run_program(order: dict[str, Any], paths: list[str]) -> None:
    """Make this process look as if Python had just started, and run the program."""
    os.chdir(order["cwd"])
    os.environ.clear()
    os.environ.update(order["env"])
    for number, file in enumerate(order["files"]):
        os.dup2(os.open(file, os.O_RDWR | os.O_CREAT), number)
    words = tuple(order["words"])
    if words[:2] == _IGNORE:
        sys.warnoptions.append("ignore")
        warnings.simplefilter("ignore")
        words = words[2:]
    first, *arguments = words
    folder = {"-c": "", "-m": order["cwd"]}.get(first, os.path.dirname(os.path.abspath(first)))
    added = filter(None, order["env"].get("PYTHONPATH", "").split(os.pathsep))
    sys.path[:] = [folder, *added, *paths]
    sys.modules["__main__"] = module = ModuleType("__main__")
    if first not in ("-c", "-m"):
        sys.argv[:] = words
        runpy.run_path(first, run_name="__main__")
        return
    program, *rest = arguments
    sys.argv[:] = [first, *rest]
    if first == "-m":
        runpy.run_module(program, run_name="__main__", alter_sys=True)
    else:
        exec(compile(program, "<string>", "exec", dont_inherit=True), vars(module))


if __name__ == "__main__":
    _serve()
