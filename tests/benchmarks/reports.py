"""How long the pages of ``namecheck report`` take, apart from the analysis."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from namecheck import project
from namecheck.report.html.rendering import pages
from namecheck.report.html.site import Run, Site, SourceFile

ROOT: Final = Path(__file__).parents[2]
LINES: Final = 100_000
# Programs full of names, with a finding every 35 lines.
DENSE: Final = ("tour.py", "mistakes.py", "elements.py", "compare")


def rendering(_: Path, rounds: int) -> None:
    """t: the pages of 100,000 lines full of names, in one process."""
    files = list(_copies(_analysed()))
    seconds = []
    for _round in range(rounds):
        begin = time.process_time()
        site = Site(Run("benchmark", files))
        characters = sum(len(page) for _, page in pages(site, jobs=1))
        characters += sum(len(page) for _, page in site.overviews())
        seconds.append(time.process_time() - begin)
    lines = sum(file.text.count("\n") for file in files)
    share = sum(file.coverage.total for file in files) / lines
    print(
        f"(t) {lines:,} lines in {len(files):,} files, {share:.2f} tensor expressions a line: "
        f"{statistics.median(seconds):.1f} s, {characters / 1e6:.0f} MB of pages"
    )


def _analysed() -> list[SourceFile]:
    """The programs with their expressions and findings."""
    entries = project.Walk().entries([str(ROOT / "fixtures" / name) for name in DENSE])
    result = project.check(entries, jobs=1, inspecting=True)
    return [
        SourceFile(
            entry.path,
            Path(entry.path).read_text("utf-8"),
            result.inspections.get(entry.location),
            tuple(f for f in result.findings if os.path.abspath(f.filename) == entry.location),
        )
        for entry in entries
    ]


def _copies(files: list[SourceFile]) -> Iterator[SourceFile]:
    """The files again and again, in folders of their own."""
    count = LINES // sum(file.text.count("\n") for file in files) + 1
    for number in range(count):

        def path_of(path: str, folder: str = f"copy{number}") -> str:
            return f"{folder}/{os.path.relpath(path, ROOT)}"

        for file in files:
            findings = tuple(finding.relocated(path_of) for finding in file.findings)
            yield replace(file, path=path_of(file.path), findings=findings)
