"""Limits of processes: a busy machine does not reach them, a process that hangs does."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

import pytest

from tests import patience

SLOW: Final = """
import time
for _ in range(8):
    time.sleep(0.15)
    sum(range(300_000))
print("y")
"""


def test_a_slow_process_is_waited_for() -> None:
    """It takes longer than the limit, as on a busy machine, and always gets on."""
    finished = patience.run([sys.executable, "-c", SLOW], 0.5, text=True)
    assert (finished.returncode, finished.stdout) == (0, "y\n")


def test_a_client_is_waited_for_while_its_server_works() -> None:
    """As mypy's daemon does, which is no child of its client."""
    works = "import time\nwhile True:\n    time.sleep(0.1)\n    sum(range(600_000))"
    with subprocess.Popen([sys.executable, "-c", works]) as server:
        client = [sys.executable, "-c", "import time; time.sleep(1.2)"]
        with pytest.raises(subprocess.TimeoutExpired):
            patience.run(client, 0.4)
        try:
            assert patience.run(client, 0.4, servers=lambda: [server.pid]).returncode == 0
        finally:
            server.kill()


def test_what_a_slow_process_sends_is_waited_for() -> None:
    waits: list[float] = []

    def get(limit: float) -> str:
        waits.append(limit)
        if len(waits) < 3:
            sum(range(5_000_000))  # several ticks of the clock of processor time
            raise TimeoutError
        return "sent"

    assert patience.take(get, os.getpid(), 1e9) == "sent"
    waits.clear()
    with pytest.raises(TimeoutError):
        patience.take(get, os.getpid(), 0)


@pytest.mark.parametrize("hanging", ["import time; time.sleep(60)", "sum(iter(int, 1))"])
def test_a_process_that_hangs_is_ended(tmp_path: Path, hanging: str) -> None:
    file = tmp_path / "process"
    noted = f"import os; open({str(file)!r}, 'w').write(str(os.getpid())); {hanging}"
    child = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {noted!r}])"
    for program in (hanging, child):
        with pytest.raises(subprocess.TimeoutExpired):
            patience.run([sys.executable, "-c", program], 1)
    stat = Path("/proc", file.read_text(), "stat")
    deadline = time.monotonic() + 100
    while stat.exists() and ") Z " not in stat.read_text():  # its children end with it
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_input_and_output() -> None:
    program = "import sys; print(sys.stdin.read()); sys.exit(3)"
    finished = patience.run([sys.executable, "-c", program], 10, input=b"x")
    assert (finished.returncode, finished.stdout, finished.stderr) == (3, b"x\n", b"")
