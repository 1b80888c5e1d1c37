"""A comparison as text for a reader, and as JSON."""

from __future__ import annotations

import os
import traceback
from collections.abc import Iterable, Iterator
from typing import Any, Final

from namecheck.compare import Comparison, Place
from namecheck.compare.attributes import ATTRIBUTES
from namecheck.compare.join import Fault, Joined, Verdict, counts_of
from namecheck.report import frame
from namecheck.report.formats import json
from namecheck.report.frame import Label, visible
from namecheck.report.painter import Painter
from namecheck.report.wording import counted, locations

_FAULTS: Final = {
    Fault.NAMES: "the run has other names than were inferred",
    Fault.SIZES: "the run has other sizes than were inferred",
    Fault.DTYPE: "the run has another dtype than was inferred",
    Fault.DEVICE: "the run is on another device than was inferred",
    Fault.LAYOUT: "the run has another layout than was inferred",
    Fault.MEMORY: "the run has another memory order than was inferred",
    Fault.UNFOUNDED: "a contradiction was found, and the run has none",
    Fault.MISSED: "the run has a contradiction that was not found",
}
_OURS: Final = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


def as_json(comparison: Comparison) -> str:
    """One object: the counts, the incorrect expressions, the share, and how the run ended."""
    counts = comparison.counts
    data = {
        "expressions": sum(counts.values()),
        "agree": counts[Verdict.AGREE],
        "weaker": counts[Verdict.WEAKER],
        "unreached": counts[Verdict.UNREACHED],
        "incorrect": [
            _object(comparison, one)
            for one in comparison.joined
            if one.verdict is Verdict.INCORRECT
        ],
        "unsettled": counts[Verdict.UNSETTLED],
        "known": comparison.share,
        "attributes": {
            attribute.word: {
                verdict.value: number
                for verdict, number in counts_of(comparison.joined, attribute.word).items()
            }
            for attribute in ATTRIBUTES
        },
        "ended": _ending(comparison),
        "lost": None if comparison.lost is None else _spot(comparison, comparison.lost),
    }
    return json.text(data)


def _object(comparison: Comparison, one: Joined) -> dict[str, Any]:
    span = comparison.sources[one.filename].at(one.position)
    location = locations(span)
    return {
        "filename": _shown(one.filename),
        "location": location["location"],
        "static": one.static,
        "observed": list(one.observed),
        "end_location": location["end_location"],
        "fault": None if one.fault is None else one.fault.value,
    }


def as_text(comparison: Comparison, paint: Painter, *, everything: bool = False) -> Iterator[str]:
    """Every incorrect expression with its source, then the counts, and how the run ended."""
    joined = comparison.joined
    for one in joined:
        if one.verdict is Verdict.INCORRECT:
            yield "\n".join(_full(comparison, one, paint)) + "\n"
    if everything:
        verdicts = [Verdict.UNSETTLED, Verdict.WEAKER, Verdict.UNREACHED]
        rows = [one for one in joined if one.verdict in verdicts]
        yield from _concise(comparison, rows, paint)
        if rows:
            yield ""
    yield from (f"{paint('note', 'note')}: {visible(note)}" for note in _notes(comparison))
    yield paint("bold" if _incorrect(comparison) else "good", _summary(comparison))
    if comparison.observed:
        yield _share(comparison)
    shares = list(_on_attributes(comparison))
    if shares:
        yield f"Other known attributes: {', '.join(shares)}."


def _full(comparison: Comparison, one: Joined, paint: Painter) -> Iterator[str]:
    assert one.fault is not None
    source = comparison.sources[one.filename]
    span = source.at(one.position)
    sides = {"inferred": one.static, "observed": " | ".join(one.observed)}
    label = Label(span, primary=True)
    gutter = frame.widest({one.filename: [label]})
    pad = " " * gutter
    yield f"{paint('primary', 'incorrect')}{paint('bold', f': {_FAULTS[one.fault]}')}"
    place = _spot(comparison, (one.filename, one.position))
    yield f"{pad}{paint('gutter', '-->')} {visible(place)}"
    yield from frame.frame(source.lines, [label], gutter, paint)
    yield paint("gutter", f"{pad} |")
    for side, text in sides.items():
        yield f"{pad} {paint('gutter', '=')} {paint('help', side)}: {visible(text)}"


def _concise(comparison: Comparison, joined: Iterable[Joined], paint: Painter) -> Iterator[str]:
    for one in joined:
        source = comparison.sources[one.filename]
        span = source.at(one.position)
        place = visible(_spot(comparison, (one.filename, one.position)))
        code = visible(" ".join(source.segment(span).split()))
        yield f"{paint('bold', place)}: {paint('note', one.verdict.value)}: {code}"
        observed = " | ".join(one.observed)
        also = f"; observed {visible(observed)}" if observed else ""
        yield f"    inferred {visible(one.static)}{also}"


def _notes(comparison: Comparison) -> Iterator[str]:
    ending = _ending(comparison)
    if ending is not None:
        foreseen = ", as was inferred" if comparison.foreseen else ""
        yield f"{ending.rstrip('.')}{foreseen}; the code after it did not run."
    if comparison.lost is not None:
        place = _spot(comparison, comparison.lost)
        yield (
            f"names are unknown after a contradiction, and {place} reads such names; the code that "
            "ran after that is not compared."
        )


def _ending(comparison: Comparison) -> str | None:
    """How the script ended before its last line; None where it did not."""
    if not comparison.ended.failed:
        return None
    at = "" if comparison.end is None else f" at {_spot(comparison, comparison.end)}"
    return f"the script ended{at} with {comparison.ended.reason}"


def _spot(comparison: Comparison, place: Place) -> str:
    filename, position = place
    span = comparison.sources[filename].at(position)
    return f"{_shown(filename)}:{span.line}:{span.column}"


def _summary(comparison: Comparison) -> str:
    counts = comparison.counts
    files = counted(len({one.filename for one in comparison.joined}), "file")
    numbers = [
        f"{number:,} {verdict.value}"
        for verdict, number in counts.items()
        if number or verdict is not Verdict.UNSETTLED
    ]
    return f"{counted(sum(counts.values()), 'expression')} in {files}: {', '.join(numbers)}."


def _share(comparison: Comparison) -> str:
    agree = comparison.counts[Verdict.AGREE]
    return (
        f"Of {comparison.observed:,} that ran, the names of {agree:,} were known in full: "
        f"{100 * comparison.share:.1f} %."
    )


def _on_attributes(comparison: Comparison) -> Iterator[str]:
    """The share of the values whose attribute was known, for each attribute."""
    for attribute in ATTRIBUTES:
        counts = counts_of(comparison.joined, attribute.word)
        if counts[Verdict.AGREE]:
            share = counts[Verdict.AGREE] / sum(counts.values())
            yield f"the {attribute.word} of {100 * share:.1f} %"


def _incorrect(comparison: Comparison) -> int:
    return comparison.counts[Verdict.INCORRECT]


def _shown(filename: str) -> str:
    """A path relative to the working folder, if it is below."""
    relative = os.path.relpath(filename)
    return filename if relative.startswith(os.pardir) else relative


def failure(comparison: Comparison) -> str:
    """The error that ended the script as Python prints it, without the frames of namecheck."""
    error = comparison.ended.error
    if error is None or isinstance(error, SystemExit):
        message = getattr(error, "code", None)
        return f"{message}\n" if isinstance(message, str) else ""
    lines = traceback.TracebackException.from_exception(error)
    _cut(lines, comparison.main)
    return "".join(lines.format())


def _cut(trace: traceback.TracebackException, main: str) -> None:
    frames = list(trace.stack)
    start = next((i for i, one in enumerate(frames) if one.filename == main), 0)
    kept = [one for one in frames[start:] if not one.filename.startswith(_OURS)]
    trace.stack = traceback.StackSummary.from_list(kept)
    for inner in (trace.__cause__, trace.__context__):
        if inner is not None:
            _cut(inner, main)
