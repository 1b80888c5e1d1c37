"""How many names are known, and what to annotate next."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from namecheck.report.frame import visible
from namecheck.report.painter import Painter
from namecheck.report.wording import counted

if TYPE_CHECKING:
    from namecheck.interpreter.workspace.statistics import Statistics

SHOWN: Final = 10
_BAR: Final = 30
# What a limit leaves unjudged; where none is listed, a value is unknown.
_CONSEQUENCES: Final = {
    "steps": "the rest is not judged",
    "depth of the stack": "the rest is not judged",
    "steps of calls": "the called function is not followed",
    "depth of calls": "the called function is not followed",
    "items of a sequence": "the items are known together only",
    "entries of a dict": "the entries are known together only",
    "paths of nested branches": "the paths are followed together",
    "paths of a test": "the paths are followed together",
}


def as_text(statistics: Statistics, file_count: int, paint: Painter) -> Iterator[str]:
    """A table of the tensor expressions, and of the calls that lost most of their names."""
    yield paint(
        "bold", f"{counted(statistics.total, 'tensor expression')} in {counted(file_count, 'file')}"
    )
    if not statistics.total:
        yield from _limit_lines(statistics, paint)
        return
    width = len(str(statistics.total))
    for words, number in _rows(statistics):
        share = number / statistics.total
        bar = "█" * round(share * _BAR)
        line = f"  {words:<22}{number:>{width}}  {share:>6.1%}  {paint('gutter', bar)}"
        yield line.rstrip()
    worst = statistics.worst(SHOWN)
    if worst:
        yield ""
        yield paint("bold", "Names were lost at")
        times = len(str(worst[0][1].times))
        longest = max(len(word) for word, _ in worst)
        for word, loss in worst:
            place = f"{visible(loss.filename)}:{loss.line}"
            yield f"  {loss.times:>{times}} x  {visible(word):<{longest}}  {place}"
        yield paint("help", "Annotate the results there.")
    yield from _limit_lines(statistics, paint)


def _limit_lines(statistics: Statistics, paint: Painter) -> Iterator[str]:
    """The limits of the analysis that were reached, each with the code that is judged in part."""
    if not statistics.limits:
        return
    yield ""
    yield paint("bold", "Limits of the analysis were reached at")
    reached = sorted(statistics.limits.items(), key=lambda item: (-item[1], item[0]))
    times = len(str(reached[0][1]))
    for limit, count in reached[:SHOWN]:
        where = f"{limit.filename}:{limit.line}"
        within = f" in {limit.function}" if limit.function else ""
        yield f"  {count:>{times}} x  {limit.what}  {where}{within}: {_consequence(limit.what)}"
    if len(reached) > SHOWN:
        yield f"  and at {counted(len(reached) - SHOWN, 'other place')}"


def _consequence(what: str) -> str:
    return _CONSEQUENCES.get(what, "the value is unknown")


def _rows(statistics: Statistics) -> tuple[tuple[str, int], ...]:
    return (
        ("all names known", statistics.full),
        ("some names known", statistics.part),
        ("no name known", statistics.none),
    )


def as_object(statistics: Statistics, file_count: int) -> dict[str, Any]:
    """The statistics as data."""
    return {
        "files": file_count,
        "expressions": statistics.total,
        "full": statistics.full,
        "part": statistics.part,
        "none": statistics.none,
        "losses": [
            {"what": word, "times": loss.times, "filename": loss.filename, "row": loss.line}
            for word, loss in statistics.worst(SHOWN)
        ],
        "limits": [
            {
                "what": limit.what,
                "times": times,
                "filename": limit.filename,
                "row": limit.line,
                "function": limit.function or None,
                "unjudged": _consequence(limit.what),
            }
            for limit, times in sorted(statistics.limits.items())
        ],
    }
