"""How many names are known, and what to annotate next."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from namecheck.report.frame import visible
from namecheck.report.painter import Painter
from namecheck.report.wording import counted

if TYPE_CHECKING:
    from namecheck.interpreter.workspace.analysis import Statistics

SHOWN: Final = 10
_BAR: Final = 30


def as_text(statistics: Statistics, file_count: int, paint: Painter) -> Iterator[str]:
    """A table of the tensor expressions, and of the calls that lost most of their names."""
    yield paint(
        "bold", f"{counted(statistics.total, 'tensor expression')} in {counted(file_count, 'file')}"
    )
    if not statistics.total:
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
        yield paint("help", "Annotate the results there, or name them with refine_names.")


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
    }
