"""Whether the cost of a line stays the same as a project grows."""

from __future__ import annotations

import shutil
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tests.benchmarks.generated import DEPTHS, FAN_OUTS, Shape, generate
from tests.benchmarks.processes import check_alone, measure_limited, start_up_seconds

SIZES: Final = (1_000, 10_000, 100_000)
TARGET: Final = 1.5
# A run beyond this limit is stopped. Larger projects of its shape are not tried, nor those that
# would reach the limit even if the cost of a line stayed the same.
_STOPPED_AFTER: Final = 40
# Longer runs are measured once.
_LONG: Final = 5
# The finding in a file that is not read, because its syntax tree may take too much memory.
_UNREAD: Final = " NC002 "


def run(
    folder: Path,
    rounds: int,
    sizes: Sequence[int] = SIZES,
    depths: Sequence[int] = DEPTHS,
    fan_outs: Sequence[int] = FAN_OUTS,
) -> None:
    """Check generated projects of each shape and size; the cost of a line, and how it grows."""
    start = start_up_seconds(folder, rounds)
    print(f"(o) generated projects, processor time above the {start:.2f} s of an empty file")
    print("depth fan-out form     lines   seconds  µs a line   MiB  findings")
    ratios: list[float] = []
    stopped = 0
    for depth in depths:
        for fan_out in fan_outs:
            for many_files in (False, True):
                shapes = [Shape(size, depth, fan_out, many_files) for size in sizes]
                costs = _costs(folder, shapes, start, rounds)
                stopped += len(costs) < len(sizes)
                if len(costs) > 1:
                    ratios.append(costs[-1] / costs[0])
                    sides = f"{sizes[len(costs) - 1]:,} lines to {sizes[0]:,}"
                    print(f"{'':<20} ratio of {sides}: {ratios[-1]:.2f}", flush=True)
    if ratios:
        print(f"worst ratio {max(ratios):.2f} (target {TARGET})")
    tried = 2 * len(depths) * len(fan_outs)
    print(
        f"{stopped} of {tried} shapes were stopped before the largest size, or are not read there"
    )


def _costs(folder: Path, shapes: Sequence[Shape], start: float, rounds: int) -> list[float]:
    """The cost of a line in each of some growing projects, in seconds; fewer where stopped."""
    costs: list[float] = []
    for shape in shapes:
        if costs and costs[-1] * shape.lines > _STOPPED_AFTER:
            print(f"{_words(shape)}   not tried")
            break
        root = folder / "generated"
        shutil.rmtree(root, ignore_errors=True)
        (root / "package").mkdir(parents=True)
        (root / "pyproject.toml").write_text('[project]\nname = "generated"\n')
        lines = generate(shape, root / "package")
        command = check_alone("package")
        runs = [measure_limited(command, _STOPPED_AFTER, root)]
        while len(runs) < rounds and runs[0].seconds < _LONG:
            runs.append(measure_limited(command, _STOPPED_AFTER, root))
        if runs[0].code not in (0, 1):
            print(f"{_words(shape)} {runs[0].seconds:>9.2f}  stopped (code {runs[0].code})")
            print(runs[0].output[-300:], end="")
            break
        if _UNREAD in runs[0].output:
            print(f"{_words(shape, lines)}   not read: a single file is too large")
            break
        seconds = statistics.median(run.seconds for run in runs) - start
        costs.append(seconds / lines)
        findings = runs[0].output.count(" NC")
        print(
            f"{_words(shape, lines)} {seconds:>9.2f} {costs[-1] * 1e6:>10.0f} "
            f"{runs[0].mebibytes:>5.0f} {findings:>9}",
            flush=True,
        )
    return costs


def _words(shape: Shape, lines: int | None = None) -> str:
    form = "files" if shape.many_files else "one  "
    lines = shape.lines if lines is None else lines
    return f"{shape.depth:>5} {shape.fan_out:>7} {form} {lines:>8,}"
