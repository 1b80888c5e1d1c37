"""How the cost of hostile programs grows with their size."""

from __future__ import annotations

from pathlib import Path

from tests.benchmarks.hostile import HEAD, SECONDS, TAIL
from tests.benchmarks.hostile_growth import GIVEN_UP, PROGRAMS
from tests.benchmarks.processes import check_alone, measure_limited


def run(folder: Path, word: str = "") -> None:
    """Check each program in four sizes: processor time, memory, and whether its end is judged."""
    print("(s) hostile programs in four sizes: seconds and MiB; ! where the end is not judged")
    path = folder / "growing.py"
    for name, (make, sizes) in {**PROGRAMS, **GIVEN_UP}.items():
        if word not in name:
            continue
        cells = []
        for size in sizes:
            path.write_text(f"{HEAD}{make(size)}{TAIL}")
            ended = measure_limited(check_alone(path), 2 * SECONDS)
            mark = "" if "NC103" in ended.output else "!"
            cells.append(f"{size}: {ended.seconds:.2f} s {ended.mebibytes:.0f}{mark}")
        print(f"{name:<55.55} {'   '.join(cells)}", flush=True)
