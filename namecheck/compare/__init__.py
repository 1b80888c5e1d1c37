"""One program on both sides: what the interpreter infers against what a run sees."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from namecheck import interpreter, syntax
from namecheck.compare import join, script
from namecheck.compare.join import Joined, Verdict, counts
from namecheck.compare.script import Ended
from namecheck.interpreter import Observation, Observations
from namecheck.settings import Settings
from namecheck.syntax import Position, Source

# A file, and where in it.
Place: TypeAlias = tuple[str, Position]

__all__ = ["CompareError", "Comparison", "Ended", "Joined", "Verdict", "compare"]


class CompareError(Exception):
    """A script that cannot be compared; the message tells why."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """One script on both sides, and how its run ended.

    `end` is where an error ended it, `foreseen` tells that it was inferred there. `lost` is where
    the program read names that no one knows, since they come of a contradiction: what it did from
    there on takes no part.
    """

    main: str
    sources: Mapping[str, Source]
    joined: tuple[Joined, ...]
    ended: Ended
    end: Place | None
    foreseen: bool
    lost: Place | None

    @property
    def counts(self) -> dict[Verdict, int]:
        """How many expressions have each verdict."""
        return counts(self.joined)

    @property
    def observed(self) -> int:
        """How many expressions ran and take part."""
        return len(self.joined) - self.counts[Verdict.UNREACHED]

    @property
    def share(self) -> float:
        """The share of these whose names were known in full."""
        return self.counts[Verdict.AGREE] / self.observed if self.observed else 1.0

    @property
    def failed(self) -> bool:
        """Whether the script failed, otherwise than by a contradiction that was found in it."""
        return self.ended.failed and not self.foreseen


def compare(path: str, arguments: Sequence[str], found: Settings) -> Comparison:
    """Infer the names of a script and of the files that it imports, run it, and join the two.

    Raises `CompareError` where the script cannot be read or analysed, and where there is no torch.
    """
    main = _parsed(path)
    sources = {main.filename: main}
    static = _inferred(main, sources, found)
    try:
        from namecheck.runtime.recording import recording
    except ImportError as error:
        raise CompareError(f"a script runs on torch, which cannot be imported: {error}") from error
    with recording(found.semantics) as recorded:
        recorded.watch(sources)
        ended = script.run(main.filename, arguments)
        end = recorded.ended(ended.error) if isinstance(ended.error, Exception) else None
    return Comparison(
        main.filename,
        sources,
        join.sides(static, recorded.seen),
        ended,
        end,
        _has_finding(static, end),
        recorded.lost,
    )


def _inferred(main: Source, sources: dict[str, Source], found: Settings) -> Observations:
    """What each expression of a program gives; the files that it imports join its sources."""
    find = interpreter.below(os.path.dirname(main.filename))

    def finder(name: str) -> Source | None:
        source = find(name)
        if source is not None:
            sources[source.filename] = source
        return source

    try:
        return interpreter.observe(
            main,
            finder=finder,
            semantics=found.semantics,
            rows=found.rows(),
            inferences=found.inferences,
        )
    except RecursionError as error:
        raise CompareError(f"{main.filename}: the analysis runs out of stack") from error


def _has_finding(static: Observations, place: Place | None) -> bool:
    if place is None:
        return False
    filename, position = place
    return bool(static.get(filename, {}).get(position, Observation()).findings)


def _parsed(path: str) -> Source:
    try:
        with open(path, "rb") as file:
            return syntax.parse(file.read(), os.path.realpath(path))
    except OSError as error:
        raise CompareError(f"cannot read {path}: {error.strerror}") from error
    except syntax.Refused as refused:
        at = refused.finding
        place = f"{path}:{at.span.line}:{at.span.column}"
        raise CompareError(f"{place}: {at.code} {at.message}") from refused
