"""``namecheck report``: writes a report for a browser, with the dims of every expression."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from namecheck.cli.console import (
    CLEAN,
    WRONG,
    Usage,
    add_semantics_flag,
    report_missing,
    report_outward,
)
from namecheck.cli.verbs import Verb

if TYPE_CHECKING:
    from namecheck.core.findings import Finding
    from namecheck.interpreter.workspace.analysis import Statistics
    from namecheck.project import Entry, Result
    from namecheck.project.settings import Settings
    from namecheck.report.html.site import Run, SourceFile

_INSTALL: Final = "pip install 'torch-namecheck[report]'"


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "paths", nargs="*", metavar="PATH", help="files and directories (default: the project)"
    )
    parser.add_argument(
        "--html",
        required=True,
        metavar="FOLDER",
        help="the folder for the pages: new, empty, or with an earlier report",
    )
    add_semantics_flag(parser)
    parser.add_argument(
        "--attributes",
        choices=("named", "all"),
        help="as for check: the files that are checked for dtypes, devices and memory order",
    )
    parser.add_argument(
        "--evidence",
        choices=("declared", "observed"),
        help="as for check: what names a dimension",
    )
    parser.add_argument(
        "-j",
        "--jobs",
        type=_jobs,
        metavar="N",
        help="the number of processes (default: one for each processor)",
    )


def _jobs(word: str) -> int:
    number = int(word)
    if number < 1:
        raise ValueError(word)
    return number


def _run(arguments: argparse.Namespace) -> int:
    _require_packages()
    from namecheck import project
    from namecheck.core.file_replacement import CannotWrite
    from namecheck.project import settings
    from namecheck.project.workers import processors
    from namecheck.report.html.folder import Folder
    from namecheck.report.html.rendering import pages
    from namecheck.report.html.site import PAGES, Site
    from namecheck.report.progress import Progress

    def chosen(nearest: Settings) -> Settings:
        return nearest.over(
            semantics=settings.semantics(arguments.semantics) if arguments.semantics else None,
            attributes=arguments.attributes,
            evidence=arguments.evidence,
        )

    try:
        folder = Folder(arguments.html)
        walk = project.Walk(chosen)
        entries = walk.entries(arguments.paths or [settings.project_root(".")])
        report_missing(walk.missing)
        report_outward(walk.outward)
        if not entries:
            raise Usage("no Python files found")
        with Progress(sys.stderr) as progress:
            result = project.check(entries, progress, arguments.jobs, inspecting=True)
        run = _shown(entries, result)
        site = Site(run)
        for name, page in site.overviews():  # the index says that the folder has a report
            folder.add(name, page)
        folder.add_assets()
        for name, page in pages(site, arguments.jobs or processors()):
            folder.add(os.path.join(PAGES, name), page)
        folder.keep({file.page for file in run.files})
    except CannotWrite as error:
        raise Usage(f"--html: not written: {error}") from error
    print(_summary(run, result, folder.path))
    return WRONG if walk.missing or result.faults else CLEAN


def _require_packages() -> None:
    """Raise `Usage` where a package of the extra is missing."""
    from importlib.util import find_spec

    missing = [name for name in ("jinja2", "pygments") if find_spec(name) is None]
    if missing:
        raise Usage(f"a report needs {' and '.join(missing)}: {_INSTALL}")


def _shown(entries: Sequence[Entry], check_result: Result) -> Run:
    """The files of a run with their texts, under paths from their common folder."""
    from namecheck.core.dataclasses import replace
    from namecheck.report.html.site import Run, SourceFile

    locations = [entry.location for entry in entries]
    others = {os.path.abspath(finding.filename): None for finding in check_result.findings}
    locations += [location for location in others if location not in set(locations)]
    root = _root(locations)

    def path_of(path: str) -> str:
        inner = os.path.relpath(os.path.abspath(path), root)
        return inner.replace(os.sep, "/")

    by_path: dict[str, list[Finding]] = {}
    for finding in check_result.findings:
        moved = _moved(finding, path_of)
        by_path.setdefault(moved.filename, []).append(moved)

    def files() -> Iterator[SourceFile]:
        for location in locations:
            path = path_of(location)
            inspection = check_result.inspections.get(location)
            yield SourceFile(path, _text(location), inspection, tuple(by_path.get(path, ())))

    statistics = check_result.statistics
    assert statistics is not None
    losses = {
        word: replace(loss, filename=path_of(loss.filename))
        for word, loss in statistics.losses.items()
    }
    limits = {
        replace(limit, filename=path_of(limit.filename)): times
        for limit, times in statistics.limits.items()
    }
    moved_statistics: Statistics = replace(statistics, losses=losses, limits=limits)
    title = os.path.basename(root) or root
    return Run(title, tuple(files()), moved_statistics)


def _root(locations: Iterable[str]) -> str:
    """The working folder, if all files are in it; else the deepest folder with all of them."""
    here = os.getcwd()
    folders = [os.path.dirname(location) for location in locations]
    try:
        common = os.path.commonpath(folders)
    except ValueError:  # on several drives
        return here
    return here if os.path.join(common, "").startswith(os.path.join(here, "")) else common


def _moved(finding: Finding, path_of: Callable[[str], str]) -> Finding:
    from namecheck.core.dataclasses import replace

    return replace(
        finding,
        filename=path_of(finding.filename),
        marks=tuple(replace(mark, filename=path_of(mark.filename)) for mark in finding.marks),
        related=tuple(
            replace(place, filename=path_of(place.filename)) for place in finding.related
        ),
    )


def _text(location: str) -> str:
    """The text of a file, as far as it can be read."""
    from namecheck.core import regular_files, syntax

    try:
        data = regular_files.contents(location)
    except OSError:
        return ""
    try:
        return syntax.decode(data, location)
    except syntax.Refused:
        return data.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")


def _summary(run: Run, check_result: Result, folder: str) -> str:
    from namecheck.report.closing import summary
    from namecheck.report.wording import counted

    index = os.path.join(folder, "index.html")
    return f"{summary(check_result.findings)} {counted(len(run.files), 'page')} written: {index}"


VERB: Final = Verb("write a report for a browser", _add_arguments, _run)
