"""The shim uses nothing that only some systems have: Python's POSIX parts may be missing."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from tests import patience

ROOT: Final = Path(__file__).parents[2]
PATIENCE: Final = 100  # seconds of processor time, or without any, until a program hangs

# What Windows lacks is removed once torch itself is imported.
PROGRAM: Final = """
import os, sys, multiprocessing.reduction
os.environ["NAMECHECK_GATE"] = ""  # a gate needs what is removed
import torch, torch.utils.data, torch._subclasses.fake_tensor, torch._functorch.vmap
import torch.onnx, torch.jit
for name in ("fork", "forkpty", "register_at_fork", "getuid", "geteuid", "getpgid", "killpg",
             "mkfifo", "nice", "posix_spawn", "sched_getaffinity", "setsid", "sysconf", "uname",
             "wait", "wait4", "openpty", "chroot", "getloadavg", "sched_yield"):
    if hasattr(os, name):
        delattr(os, name)
for name in ("fcntl", "grp", "posix", "pwd", "resource", "termios", "tty"):
    sys.modules[name] = None
torch.distributed.is_available = lambda: False  # some builds for Windows and macOS lack it
import namecheck.runtime
from namecheck.runtime.programs import script
namecheck.runtime.install()
x = torch.zeros(2, 3, names=("N", "C"))
assert (x + 1).sum("N").names == ("C",)
try:
    x + x.t()
except namecheck.runtime.NameMismatch:
    namecheck.runtime.uninstall()
else:
    raise AssertionError
"""


def test_the_shim_works_without_what_windows_lacks() -> None:
    run = patience.run([sys.executable, "-c", PROGRAM], PATIENCE, cwd=ROOT, text=True)
    assert run.returncode == 0, run.stderr
