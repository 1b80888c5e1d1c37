"""The command uses nothing that only some systems have: Python's POSIX parts may be missing."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from tests import patience

ROOT: Final = Path(__file__).parents[2]
PATIENCE: Final = 60  # seconds of processor time, or without any, until a program hangs

# What Windows lacks is removed once the standard library is imported.
PROGRAM: Final = """
import multiprocessing.context, multiprocessing.reduction, os, pathlib, shutil, signal, sys
import subprocess, tempfile
for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_NOCTTY", "O_CLOEXEC", "chown", "fchmod", "fchown",
             "fork", "forkpty", "getloadavg", "getpgid", "getuid", "geteuid", "killpg", "mkfifo",
             "nice", "openpty", "posix_spawn", "register_at_fork", "sched_getaffinity",
             "sched_yield", "setsid", "sysconf", "uname", "wait", "wait4"):
    if hasattr(os, name):
        delattr(os, name)
for name in ("SIGALRM", "SIGHUP", "SIGKILL", "SIGPIPE", "SIGQUIT", "SIGUSR1", "SIGUSR2"):
    delattr(signal, name)
for name in ("fcntl", "grp", "pwd", "resource", "termios", "tty"):
    sys.modules[name] = None
from namecheck.cli.main import main
check = ["check", "-j", "1", "two.py"]
for words in (check, [*check, "--fix", "--unsafe-fixes"], ["reveal", "two.py"], ["baseline"],
              ["report", "--html", "pages", "two.py"]):
    print(words[0], "ends with", main(words))
"""
TWO: Final = """
import torch

losses = torch.zeros(4, 3, names=("N", "C"))
print(losses.sum("NN"))
"""


def test_the_command_works_without_what_windows_lacks(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.namecheck]\n", "utf-8")
    (tmp_path / "two.py").write_text(TWO, "utf-8")
    command = [sys.executable, "-c", PROGRAM]
    run = patience.run(command, PATIENCE, cwd=tmp_path, text=True)
    assert run.returncode == 0, run.stderr
    ends = [line for line in run.stdout.splitlines() if " ends with " in line]
    verbs = ("check ends with 1", "check ends with 0", "reveal ends with 0")
    assert ends == [*verbs, "baseline ends with 0", "report ends with 0"], run.stdout
    assert '"N"' in (tmp_path / "two.py").read_text("utf-8")
