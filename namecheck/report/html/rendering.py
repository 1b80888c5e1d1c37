"""Renders the pages of files, their sources in several processes where that is faster."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from namecheck.report.html.markup import lines
from namecheck.report.html.site import Site

WORTH_IT: Final = 400_000
"""From this many characters of source on, a second process gains more than it costs."""

_CHUNK: Final = 4


def pages(site: Site, jobs: int) -> Iterator[tuple[str, str]]:
    """The name and the text of the page of every file, in their order."""
    files = site.run.files
    listings = map(site.listing, files)
    if jobs < 2 or sum(len(file.text) for file in files) < WORTH_IT:
        for file, rows in zip(files, map(lines, listings), strict=True):
            yield file.page, site.page(file, rows)
        return
    from concurrent.futures import ProcessPoolExecutor

    with ProcessPoolExecutor(jobs, initializer=_ignore_interrupts) as pool:
        for file, rows in zip(files, pool.map(lines, listings, chunksize=_CHUNK), strict=True):
            yield file.page, site.page(file, rows)


def _ignore_interrupts() -> None:
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)
