"""``python -m tests.versions KIND [VERSION…]``: tests with other versions of a dependency.

Each environment is made by the command, in a temporary folder or in that of ``--folder``. The last
lines are a table, and the exit code is 1 if a test failed.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from tests.versions import lowest, mypy_releases, pythons, torch_releases
from tests.versions.outcomes import Outcome

KINDS: Final[Mapping[str, Callable[[Path, Sequence[str]], Iterator[Outcome]]]] = {
    "lowest": lowest.outcomes,
    "mypy": mypy_releases.outcomes,
    "python": pythons.outcomes,
    "torch": torch_releases.outcomes,
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the tests and print a table; returns 1 if any failed."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.versions", description="Run tests with other versions."
    )
    parser.add_argument("kind", choices=KINDS, help="whose versions")
    parser.add_argument("versions", nargs="*", help="such as 2.3, or newest (default: all)")
    parser.add_argument("--folder", type=Path, help="keep the environments there")
    arguments = parser.parse_args(argv)
    failed = False
    rows = []
    with tempfile.TemporaryDirectory() as temporary:
        folder: Path = (arguments.folder or Path(temporary)).absolute()
        for outcome in KINDS[arguments.kind](folder, arguments.versions):
            print(outcome.output, flush=True)
            print(outcome.row, flush=True)
            rows.append(outcome.row)
            failed |= outcome.failed
    print("\n".join(["", *rows]))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
