"""Records the output of the programs of fixtures/migration/ on a torch with named tensors.

By hand, from the root of the repository, in an environment with torch 2.12.1 (CPU)::

    python -m tests.oracle.record_migration

The output of each is written beside it, to a file of the same name that ends with ``.txt``.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).parents[2] / "fixtures" / "migration"
SEEDED: Final = (
    "import runpy, sys, torch; torch.manual_seed(0); runpy.run_path(sys.argv[1], None, '__main__')"
)


def main() -> int:
    """Run every program, each in a process of its own."""
    failed = 0
    for path in sorted(FOLDER.glob("*.py")):
        command = [sys.executable, "-W", "ignore", "-c", SEEDED, str(path)]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        if run.returncode:
            failed += 1
            print(f"{path.name}: {run.stderr.strip().splitlines()[-1]}")
        else:
            path.with_suffix(".txt").write_text(run.stdout, "utf-8")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
