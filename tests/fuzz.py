"""Fuzzing: random programs of every kind, and files of packages; none makes a fault of namecheck.

`python -m tests.fuzz --count 100000 --state FOLDER` checks programs of all kinds by turns, in this
process. It may be ended at any time, and continues where it was. The kinds are `syntax` and
`operators` (`tests.random_syntax`), `grafts` (`tests.random_grafts`), `hostile`
(`tests.hostile_random`) and `grammar`, which needs hypothesmith. `--files FOLDER…` checks every
Python file of some folders, each as a file that names dimensions.

A fault is NC005, an exception, over 10 s of processor time or over 500 MB of memory. Its program is
written to the folder. Settings alternate, so that every part of the analysis takes part.
"""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import hashlib
import importlib
import itertools
import json
import random
import signal
import subprocess
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from types import FrameType
from typing import Any, Final

from namecheck.core.semantics import Semantics
from namecheck.project.file_check import Checker
from namecheck.project.settings import Settings
from namecheck.project.suppression import suppress
from tests import hostile_random, random_grafts, random_syntax

SECONDS: Final = 10
MEGABYTES: Final = 500
# Of wall time: after so much the process is ended, because code of C does not end.
_PATIENCE: Final = 600
# How many programs hypothesmith draws from one seed.
_BATCH: Final = 200
_SAVED_EVERY: Final = 200
_TENSORS: Final = 'import torch\nA = torch.zeros(2, 3, names=("N", "C"))\n'
_SETTINGS: Final = (
    Settings(attributes="all"),
    Settings(evidence="observed"),
    Settings(torch=">=2.13", attributes="all"),
    Settings(semantics=Semantics.NATIVE),
)


class TooLong(BaseException):
    """A check takes longer than any may."""


def fault(text: str | bytes, turn: int = 0) -> str:
    """What goes wrong where a program is checked, or nothing; settings depend on the turn."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise TooLong

    data = text.encode(errors="surrogatepass") if isinstance(text, str) else text
    settings = _SETTINGS[turn % len(_SETTINGS)]
    signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        outcome = Checker().text(data, "fuzz.py", settings, True, True)
        if outcome.comments is not None:
            suppress(outcome.comments, outcome.findings, settings.selected)
    except TooLong:
        return f"takes more than {SECONDS} s"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return next((one.message for one in outcome.findings if one.code == "NC005"), "")


def _grammar_program(seed: int) -> str:
    """A program of Python's grammar, with a tensor before it."""
    texts = _drawn(seed // _BATCH)
    return _TENSORS + texts[seed % _BATCH % len(texts)]


@lru_cache(maxsize=1)
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
    @hypothesis.given(hypothesmith.from_grammar())
    def draw(text: str) -> None:
        texts.append(text)

    draw()
    return texts


KINDS: Final[dict[str, Callable[[int], str]]] = {
    "syntax": random_syntax.program,
    "operators": lambda seed: random_syntax.program(seed, 0.3),
    "grafts": random_grafts.program,
    "hostile": hostile_random.program,
    "grammar": _grammar_program,
}
# Of a hundred programs; those that cost more are fewer.
_SHARES: Final = {"syntax": 49, "operators": 45, "grafts": 4, "hostile": 1, "grammar": 1}


class Campaign:
    """Checks programs one after the other; `folder` keeps how far it is, and what fails."""

    def __init__(self, folder: Path | None, seed: int) -> None:
        self._folder = folder
        self._state: dict[str, Any] = {"seed": seed, "tried": {}, "faults": [], "seconds": 0.0}
        self._state["slowest"] = []
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            if (folder / "state.json").exists():
                self._state = json.loads((folder / "state.json").read_text())
        self._tried = Counter(self._state["tried"])

    @property
    def tried(self) -> int:
        """How many programs were checked, in all runs."""
        return self._tried.total()

    def run(self, kinds: Iterable[str], count: int, until: float) -> int:
        """Check programs of these kinds by turns; the number of faults in all runs."""
        for kind in itertools.islice(kinds, self.tried, None):
            if self.tried >= count or time.monotonic() > until:
                break
            seed = self._state["seed"] + self._tried[kind]
            self._check(f"{kind}_{seed}", KINDS[kind](seed), seed)
            self._tried[kind] += 1
            self._save(self.tried % _SAVED_EVERY == 0)
        return self._end()

    def run_files(self, paths: Iterable[Path], until: float) -> int:
        """Check these files; the number of faults in all runs."""
        for path in itertools.islice(paths, self._tried["files"], None):
            if time.monotonic() > until:
                break
            self._check(str(path), path.read_bytes(), self._tried["files"])
            self._tried["files"] += 1
            self._save(True)
        return self._end()

    def _check(self, name: str, text: str | bytes, turn: int) -> None:
        if self._folder is not None:
            # It is here where the process does not survive it.
            data = text if isinstance(text, bytes) else text.encode(errors="surrogatepass")
            (self._folder / "current.py").write_bytes(data)
            faulthandler.dump_traceback_later(_PATIENCE, exit=True)
        _forget_peak()
        begin = time.process_time()
        what = fault(text, turn)
        seconds = time.process_time() - begin
        faulthandler.cancel_dump_traceback_later()
        if not what and _peak() > MEGABYTES and (peak := _peak_alone(text, turn)) > MEGABYTES:
            what = f"takes {peak:.0f} MB"
        if what:
            self._state["faults"].append([name, what])
            print(f"{name}: {what}", flush=True)
            if self._folder is not None:
                stem = hashlib.sha256(name.encode()).hexdigest()[:12]
                (self._folder / "current.py").rename(self._folder / f"fault_{stem}.py")
        self._state["seconds"] += seconds
        slowest = [*self._state["slowest"], [round(seconds, 2), name]]
        self._state["slowest"] = sorted(slowest, reverse=True)[:10]

    def _save(self, is_due: bool) -> None:
        if self._folder is not None and is_due:
            self._state["tried"] = dict(self._tried)
            place = self._folder / "state.json.new"
            place.write_text(json.dumps(self._state, indent=1))
            place.rename(self._folder / "state.json")

    def _end(self) -> int:
        self._save(True)
        faults = len(self._state["faults"])
        print(f"{self.tried} programs, {dict(self._tried)}, {faults} faults", flush=True)
        return faults


def _peak() -> float:
    """The most memory that this process had since it was forgotten, in MB; 0 where unknown."""
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        return 0.0
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024 / 1e6


def _peak_alone(text: str | bytes, turn: int) -> float:
    """The most memory that a new process has, in MB; this one has what other programs left."""
    data = text.encode(errors="surrogatepass") if isinstance(text, str) else text
    program = "import sys; from tests import fuzz; print(fuzz.peak_of_input(int(sys.argv[1])))"
    command = [sys.executable, "-c", program, str(turn)]
    return float(subprocess.run(command, input=data, capture_output=True, check=True).stdout)


def peak_of_input(turn: int) -> float:
    """The most memory, in MB, that the check of a program takes that standard input has."""
    fault(sys.stdin.buffer.read(), turn)
    return _peak()


def _forget_peak() -> None:
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def turns() -> Iterator[str]:
    """The kinds, each as often as its share says, evenly mixed."""
    every = [kind for kind, share in _SHARES.items() for _ in range(share)]
    random.Random(0).shuffle(every)
    return itertools.cycle(every)


def main() -> None:
    """Check many programs, or files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kind", choices=sorted(KINDS), help="of this kind alone")
    parser.add_argument("--count", type=int, default=1_000)
    parser.add_argument("--minutes", type=float, default=600)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    parser.add_argument("--state", type=Path, help="the folder to continue in")
    parser.add_argument("--files", type=Path, nargs="+", help="check the files of these folders")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    until = time.monotonic() + 60 * options.minutes
    campaign = Campaign(options.state, options.seed)
    if options.files:
        paths = (path for one in options.files for path in sorted(one.rglob("*.py")))
        campaign.run_files(paths, until)
        return
    kinds = turns() if options.kind is None else itertools.repeat(options.kind)
    campaign.run(kinds, options.count, until)


if __name__ == "__main__":
    main()
