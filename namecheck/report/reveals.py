"""The dims of every tensor-valued expression of a file, for `namecheck reveal`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from namecheck.interpreter.workspace.analysis import Reveal
from namecheck.report.formats import json
from namecheck.report.frame import visible, width_of
from namecheck.report.painter import Painter
from namecheck.report.wording import locations

_LONGEST: Final = 60


def as_json(reveals: Sequence[Reveal], filename: str) -> str:
    """An array of objects with the place, the source and the dims of every expression."""
    listed = [
        {
            "filename": filename,
            **locations(reveal.span),
            "source": reveal.source,
            "dims": reveal.dims,
        }
        for reveal in reveals
    ]
    return json.text(listed)


def as_text(reveals: Sequence[Reveal], paint: Painter) -> Iterator[str]:
    """One line for every expression: place, source on one line, dims."""
    places = [f"{reveal.span.line}:{reveal.span.column}" for reveal in reveals]
    sources = [_short(reveal.source) for reveal in reveals]
    left = max(map(len, places), default=0)
    right = max(map(width_of, sources), default=0)
    for place, source, reveal in zip(places, sources, reveals, strict=True):
        gap = " " * (right - width_of(source))
        dims = paint("bold", visible(reveal.dims) or "(no dimension)")
        yield f"{paint('gutter', f'{place:>{left}}')}  {source}{gap}  {dims}"


def _short(source: str) -> str:
    line = visible(" ".join(source.split()))
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"
