"""Programs run from several threads at once get their own outcomes."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests import warm


def test_threads_take_turns(tmp_path: Path) -> None:
    def outcome(code: int) -> tuple[int, str]:
        ran = warm.run("-c", f"import sys; print({code}); sys.exit({code})", cwd=tmp_path)
        return ran.returncode, ran.stdout

    with ThreadPoolExecutor(max_workers=4) as pool:
        assert list(pool.map(outcome, range(24))) == [(code, f"{code}\n") for code in range(24)]
