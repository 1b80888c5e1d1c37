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

# Gets on by some ticks of the clock of processor time in each step, on machines of any speed.
WORKS: Final = """
import time
def step():
    time.sleep(0.1)
    worked = time.process_time() + 0.03
    while time.process_time() < worked:
        pass
"""
SLOW: Final = (
    WORKS
    + """
for _ in range(12):
    step()
print("y")
"""
)
SERVES: Final = (
    WORKS
    + """
while True:
    step()
"""
)


def test_a_slow_process_is_waited_for() -> None:
    """It takes longer than the limit, as on a busy machine, and always gets on."""
    finished = patience.run([sys.executable, "-c", SLOW], 1, text=True)
    assert (finished.returncode, finished.stdout) == (0, "y\n")


def test_a_client_is_waited_for_while_its_server_works() -> None:
    """As mypy's daemon does, which is no child of its client."""
    with pytest.raises(subprocess.TimeoutExpired):
        patience.run([sys.executable, "-c", "import time; time.sleep(60)"], 0.4)
    with subprocess.Popen([sys.executable, "-c", SERVES]) as server:
        client = [sys.executable, "-c", "import time; time.sleep(1.2)"]
        try:
            assert patience.run(client, 1, servers=lambda: [server.pid]).returncode == 0
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
