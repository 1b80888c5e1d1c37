"""Fuzzing: programs of the whole grammar, and of what is hard to analyse; none makes a fault.

`python -m tests.fuzz --kind grammar --count 100000` needs hypothesmith, which writes any program
that Python's grammar allows; `--kind hostile` takes the programs of `tests.hostile_random`. Each is
checked in this process. A fault of namecheck (NC005, or an exception) is printed with its program.
"""

from __future__ import annotations

import argparse
import importlib
import random
import signal
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any, Final

from namecheck.project.file_check import Checker
from namecheck.project.settings import Settings
from namecheck.project.suppression import suppress
from tests import hostile_random

_SECONDS: Final = 20
# How many programs hypothesmith draws from one seed.
_BATCH: Final = 200
_TENSORS: Final = 'import torch\nA = torch.zeros(2, 3, names=("N", "C"))\n'


class TooLong(BaseException):
    """A check takes longer than any may."""


def fault(text: str) -> str:
    """What goes wrong where a program is checked, or nothing."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise TooLong

    settings = Settings(attributes="all")
    signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, _SECONDS)
    try:
        outcome = Checker().text(
            text.encode(errors="surrogatepass"), "fuzz.py", settings, True, True
        )
        if outcome.comments is not None:
            suppress(outcome.comments, outcome.findings, settings.selected)
    except TooLong:
        return f"takes more than {_SECONDS} s"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return next((one.message for one in outcome.findings if one.code == "NC005"), "")


def hostile_programs(seed: int) -> Iterator[str]:
    """Programs of `tests.hostile_random`."""
    seeds = random.Random(seed)
    while True:
        yield hostile_random.program(seeds.randrange(1 << 32))


def grammar_programs(seed: int) -> Iterator[str]:
    """Programs of Python's grammar, with a tensor before them."""
    while True:
        yield from (_TENSORS + text for text in _drawn(seed))
        seed += 1


def _drawn(seed: int) -> list[str]:
    """The programs that hypothesmith draws from one seed."""
    import hypothesis

    hypothesmith: Any = importlib.import_module("hypothesmith")  # only this kind needs it
    texts: list[str] = []

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=_BATCH,
        deadline=None,
        database=None,
        phases=[hypothesis.Phase.generate],
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.given(hypothesmith.from_grammar() | hypothesmith.from_node())
    def draw(text: str) -> None:
        texts.append(text)

    draw()
    return texts


def run(programs: Iterator[str], count: int, until: float, folder: Path | None = None) -> int:
    """Check so many programs, or until a moment; the faults are printed, and counted."""
    faults = tried = 0
    while tried < count and time.monotonic() < until:
        text = next(programs)
        tried += 1
        if what := fault(text):
            faults += 1
            path = f"fault_{tried}.py" if folder is None else folder / f"fault_{tried}.py"
            if folder is not None:
                Path(path).write_text(text, errors="surrogatepass")
            print(f"{path}: {what}", flush=True)
    print(f"{tried} programs, {faults} faults", flush=True)
    return faults


KINDS: Final[dict[str, Callable[[int], Iterator[str]]]] = {
    "grammar": grammar_programs,
    "hostile": hostile_programs,
}


def main() -> None:
    """Check many programs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kind", choices=sorted(KINDS), default="hostile")
    parser.add_argument("--count", type=int, default=1_000)
    parser.add_argument("--minutes", type=float, default=600)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    parser.add_argument("--folder", type=Path, help="where programs with a fault are written")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print(f"seed {options.seed}")
    until = time.monotonic() + 60 * options.minutes
    run(KINDS[options.kind](options.seed), options.count, until, options.folder)


if __name__ == "__main__":
    main()
