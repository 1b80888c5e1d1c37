"""Compares the recorded results of native torch 2.12 with those of each side for the same calls.

``python -m tests.conformance CASES`` prints the report.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Final, TypeAlias

from namecheck.core.semantics import Semantics
from tests.conformance import deviations as listed
from tests.conformance import live, static
from tests.conformance.cases import Case, CasesError, read
from tests.conformance.deviations import Deviation, DeviationsError
from tests.conformance.report import Report, tally
from tests.conformance.verdicts import Judgement, Seen, judge

__all__ = ["ConformanceError", "Report", "run"]

SIDES: Final = ("static", "runtime", "native")
BATCH: Final = 200


class ConformanceError(Exception):
    """A comparison that cannot be made; the message says why."""


def run(
    path: Path,
    side: str = "static",
    semantics: Semantics = Semantics.NAMECHECK,
    deviations: Path | None = None,
) -> Report:
    """Compare every recorded call of a .jsonl or .jsonl.gz file with the result of one side.

    `deviations` is the list of intended differences; without it the one beside the cases, else
    fixtures/deviations.toml under the working directory, else none. It applies only in the
    semantics of namecheck. Raises `ConformanceError`.
    """
    if side not in SIDES:
        raise ConformanceError(f"unknown side '{side}'; the sides are {', '.join(SIDES)}")
    if side == "native" and semantics is not Semantics.NATIVE:
        raise ConformanceError("native torch has its own semantics; use --semantics torch-2.12")
    try:
        intended: tuple[Deviation, ...] = ()
        if semantics is Semantics.NAMECHECK:
            file = deviations or _default_deviations(path)
            intended = listed.load(file) if file else ()
        with _side(side, semantics) as see:
            return tally(side, semantics, _judgements(read(path), see), intended)
    except ImportError as error:
        raise ConformanceError(f"the side '{side}' needs torch: {error}") from error
    except (CasesError, DeviationsError) as error:
        raise ConformanceError(str(error)) from error


def _default_deviations(cases: Path) -> Path | None:
    beside = [folder / "deviations.toml" for folder in (cases.parent, cases.parent.parent)]
    candidates = [*beside, Path("fixtures/deviations.toml")]
    return next((path for path in candidates if path.is_file()), None)


See: TypeAlias = Callable[[Sequence[Case]], list[Seen]]


@contextmanager
def _side(side: str, semantics: Semantics) -> Iterator[See]:
    """The function that computes the results of a batch of calls, on one side."""
    if side == "static":
        yield partial(static.see, semantics=semantics)
    elif side == "native":
        if not live.is_native():
            raise ConformanceError(
                "the side 'native' needs a torch that has named tensors; 2.12 is the last that has"
            )
        yield partial(live.see, native=True)
    else:
        with live.shim(semantics):
            yield partial(live.see, native=False)


def _judgements(cases: Iterable[Case], see: See) -> Iterator[Judgement]:
    remaining = iter(cases)
    while batch := list(islice(remaining, BATCH)):
        yield from map(judge, batch, see(batch))
