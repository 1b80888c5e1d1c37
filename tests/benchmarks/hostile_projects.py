"""Projects whose files are hard to analyse together: one file of each is checked under limits.

What the files of strangers cost must not add up, neither where they import each other nor where a
run keeps what it has read.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from tests.benchmarks.hostile import MEBIBYTES, SECONDS
from tests.benchmarks.processes import check_alone, measure_limited

_COUNT: Final = 12
_BYTES: Final = 280_000
# A process may exceed its limit by this factor, so that the figure shows by how much it does.
_STOPPED_AFTER: Final = 60
_HEAD: Final = "import torch\nfrom torch import Tensor\n\nA = torch.zeros(2, 3, names=('N', 'C'))\n"

# The lines of a file; each has its number.
_KINDS: Final[dict[str, Callable[[int], str]]] = {
    "expressions of three characters": lambda number: "-a\n",
    "assignments of tensors": lambda number: f"x{number} = A.relu()\n",
    "calls with names": lambda number: f"x{number} = A.rename(N='a{number}').sum('C')\n",
    "classes": lambda number: f"class C{number}:\n    def f(self, x):\n        return x.relu()\n",
}


def _body(kind: str) -> str:
    line = _KINDS[kind]
    count = _BYTES // len(line(10_000))
    return "".join(map(line, range(count)))


def _beside(folder: Path, body: str) -> list[str]:
    """One file that imports all others."""
    for number in range(_COUNT):
        (folder / f"m{number}.py").write_text(f"{_HEAD}{body}\nz = A\n")
    lines = [f"import m{number}\nm{number}.z.sum('H')\n" for number in range(_COUNT)]
    (folder / "main.py").write_text(_HEAD + "".join(lines))
    return ["main.py"]


def _in_functions(folder: Path, body: str) -> list[str]:
    """One file that imports one other in each function."""
    _beside(folder, body)
    lines = [
        f"def f{number}(x: Tensor):\n    import m{number}\n    m{number}.z.sum('H')\n"
        for number in range(_COUNT)
    ]
    (folder / "main.py").write_text(_HEAD + "".join(lines))
    return ["main.py"]


def _chain(folder: Path, body: str) -> list[str]:
    """Files that each import the next before anything else."""
    for number in range(_COUNT):
        after = f"import m{number + 1}\nm{number + 1}.z.relu()\n" if number + 1 < _COUNT else ""
        (folder / f"m{number}.py").write_text(f"{_HEAD}{after}{body}\nz = A\n")
    (folder / "main.py").write_text(f"{_HEAD}import m0\nm0.z.sum('H')\n")
    return ["main.py"]


def _unrelated(folder: Path, body: str) -> list[str]:
    """Files that import none, all in one run: each may cost what one file may."""
    _beside(folder, body)
    return [f"m{number}.py" for number in range(_COUNT)]


_ARRANGEMENTS: Final = (_beside, _in_functions, _chain, _unrelated)


def run(folder: Path, wanted: str = "") -> None:
    """Check each project under limits, and print what it costs."""
    print(f"(v) hostile projects of {_COUNT} files of {_BYTES:,} bytes, checked in one process")
    for kind in _KINDS:
        for arrange in _ARRANGEMENTS:
            title = f"{kind}: {(arrange.__doc__ or '').rstrip('.')}"
            if wanted not in title:
                continue
            place = folder / "projects" / f"{len(kind)}{arrange.__name__}"
            place.mkdir(parents=True, exist_ok=True)
            names = arrange(place, _body(kind))
            ended = measure_limited(check_alone(*names), _STOPPED_AFTER, place)
            files = len(names)
            good = ended.code in (0, 1) and ended.seconds <= SECONDS * files
            good = good and ended.mebibytes * (1 << 20) <= MEBIBYTES * 10**6
            print(
                f"{title:<90.90} {ended.seconds:>7.2f} s {ended.mebibytes:>5.0f} MiB "
                f"{'' if good else 'FAILS'}",
                flush=True,
            )
