"""The findings of a program run: each once, with its number of occurrences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from namecheck.core.findings import Finding
from namecheck.report.formats import concise, full, json
from namecheck.report.listing import reader
from namecheck.report.painter import Painter
from namecheck.report.wording import counted

Counts: TypeAlias = Sequence[tuple[Finding, int]]


def summary(counts: Counts, paint: Painter) -> Iterator[str]:
    """One line a finding with its count, and a heading; nothing if there is none."""
    if not counts:
        return
    yield paint("bold", f"namecheck: {_total(counts)}")
    width = len(str(max(count for _, count in counts)))
    lines = concise.rows([finding for finding, _ in counts], paint)
    for (_, count), line in zip(counts, lines, strict=True):
        yield f"{count:>{width}} x {line}"


def details(counts: Counts, paint: Painter) -> Iterator[str]:
    """Every finding with its source lines and its count; nothing if there is none."""
    if not counts:
        return
    texts = full.texts([finding for finding, _ in counts], reader({}), paint)
    for (_, count), text in zip(counts, texts, strict=True):
        yield text if count == 1 else f"{text}(met {counted(count, 'time')})\n"
    yield paint("bold", f"namecheck: {_total(counts)}")


def _total(counts: Counts) -> str:
    times = counted(sum(count for _, count in counts), "time")
    return f"{counted(len(counts), 'finding')}, met {times}."


def as_json(counts: Counts) -> str:
    """An array of objects as `namecheck check` prints them, each with its `count`."""
    items = json.objects([finding for finding, _ in counts])
    for item, (_, count) in zip(items, counts, strict=True):
        item["count"] = count
    return json.text(items)
