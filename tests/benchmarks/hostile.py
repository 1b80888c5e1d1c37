"""Programs that try to make the analysis run for ever; each is checked under limits.

Each ends in the same mistake, which shows whether the rest of the file was checked.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Final

from tests.benchmarks import hostile_calls, hostile_more, hostile_paths, hostile_sizes
from tests.benchmarks.processes import check_alone, measure_limited

SECONDS: Final = 10
MEBIBYTES: Final = 500
# A process may exceed its limit by this factor, so that the figure shows by how much it does.
_STOPPED_AFTER: Final = 30

HEAD: Final = """\
import torch
from torch import Tensor

A = torch.zeros(2, 3, names=("N", "C"))
"""
TAIL: Final = """

def mistake(x: Tensor) -> Tensor:
    return x.refine_names("N", "C").sum("H")
"""
_MISTAKE: Final = "NC103"


def _programs(module: ModuleType) -> dict[str, Callable[[], str]]:
    """The functions of a module that make a program, by the first lines of their docstrings."""
    made: dict[str, Callable[[], str]] = {}
    for name, make in vars(module).items():
        if inspect.isfunction(make) and not name.startswith("_"):
            made[(make.__doc__ or name).partition("\n")[0].rstrip(".")] = make
    return made


PROGRAMS: Final[dict[str, Callable[[], str]]] = {
    **_programs(hostile_paths),
    **_programs(hostile_calls),
    **_programs(hostile_sizes),
    **_programs(hostile_more),
}


def run(folder: Path, wanted: str = "") -> None:
    """Check each program under limits, and print the outcome."""
    place = folder / "hostile"
    place.mkdir(exist_ok=True)
    print(f"(p) hostile programs: at most {SECONDS} s of processor time and {MEBIBYTES} MB each")
    print(f"{'program':<62} {'lines':>6} {'seconds':>8} {'MiB':>6} {'code':>5}  what came of it")
    failures = tried = 0
    for number, (title, make) in enumerate(PROGRAMS.items()):
        if wanted and wanted not in title and wanted != make.__name__:
            continue
        tried += 1
        path = place / f"{number:02}_{make.__name__}.py"
        text = f"{HEAD}{make()}{TAIL}"
        path.write_text(text)
        ended = measure_limited(check_alone(path), _STOPPED_AFTER)
        good = ended.code in (0, 1) and ended.seconds <= SECONDS
        good = good and ended.mebibytes * (1 << 20) <= MEBIBYTES * 10**6
        failures += not good
        print(
            f"{title:<62.62} {text.count(chr(10)):>6} {ended.seconds:>8.2f} "
            f"{ended.mebibytes:>6.0f} {ended.code:>5}  {'' if good else 'FAILS: '}"
            f"{_outcome(ended.output, ended.code)}",
            flush=True,
        )
    print(f"{failures} of {tried} are over a limit or end in a fault")


def _outcome(output: str, code: int) -> str:
    """Whether the mistake at the end was found, and the findings in the program itself."""
    lines = output.splitlines()
    if code not in (0, 1):
        said = [line for line in lines if " NC00" in line] or lines[-1:]
        return said[0].partition(" NC")[2][:90] if said and " NC" in said[0] else "".join(said)[:90]
    told = "judged to its end" if any(_MISTAKE in line for line in lines) else "end NOT judged"
    notes = [line.partition(" NC")[2] for line in lines if " NC00" in line or "not judged" in line]
    return "; ".join([told, *(f"NC{note}"[:90] for note in notes[:1])])
