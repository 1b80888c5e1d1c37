"""``namecheck report``: writes a report for a browser, with the dims of every expression."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from namecheck.cli.console import (
    CLEAN,
    WRONG,
    Usage,
    add_evidence_flag,
    add_jobs_flag,
    add_semantics_flag,
    report_missing,
    report_outward,
    say,
)
from namecheck.cli.verbs import Verb

if TYPE_CHECKING:
    from namecheck.core.findings import Finding
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
    add_evidence_flag(parser)
    add_jobs_flag(parser)


def _run(arguments: argparse.Namespace) -> int:
    _require_packages()
    from namecheck.core.file_replacement import CannotWrite
    from namecheck.project import reports, settings
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
        with Progress(sys.stderr) as progress:
            checked = reports.run(
                arguments.paths or [settings.project_root(".")],
                chosen,
                None,
                jobs=arguments.jobs,
                progress=progress,
                inspecting=True,
            )
        report_missing(checked.missing)
        report_outward(checked.outward)
        if not checked.entries:
            raise Usage("no Python files found")
        run = _shown(checked.entries, checked.result)
        site = Site(run)
        for name, page in site.overviews():  # the index says that the folder has a report
            folder.add(name, page)
        folder.add_assets()
        for name, page in pages(site, arguments.jobs or processors()):
            folder.add(os.path.join(PAGES, name), page)
        folder.keep({file.page for file in run.files})
    except CannotWrite as error:
        raise Usage(f"--html: not written: {error}") from error
    say(_summary(run, checked.result, folder.path))
    return WRONG if checked.missing or checked.result.faults else CLEAN


def _require_packages() -> None:
    """Raise `Usage` where a package of the extra is missing."""
    from importlib.util import find_spec

    missing = [name for name in ("jinja2", "pygments") if find_spec(name) is None]
    if missing:
        raise Usage(f"a report needs {' and '.join(missing)}: {_INSTALL}")


def _shown(entries: Sequence[Entry], check_result: Result) -> Run:
    """The files of a run with their texts, under paths from their common folder."""
    from namecheck.report.html.site import Run, SourceFile

    locations = [entry.location for entry in entries]
    others = {os.path.abspath(finding.filename): None for finding in check_result.findings}
    locations = [*dict.fromkeys((*locations, *others))]
    root = _root(locations)

    def path_of(path: str) -> str:
        inner = os.path.relpath(os.path.abspath(path), root)
        return inner.replace(os.sep, "/")

    by_path: dict[str, list[Finding]] = {}
    for finding in check_result.findings:
        moved = finding.relocated(path_of)
        by_path.setdefault(moved.filename, []).append(moved)

    def files() -> Iterator[SourceFile]:
        for location in locations:
            path = path_of(location)
            inspection = check_result.inspections.get(location)
            yield SourceFile(path, _text(location), inspection, tuple(by_path.get(path, ())))

    statistics = check_result.statistics
    assert statistics is not None
    title = os.path.basename(root) or root
    return Run(title, tuple(files()), statistics.relocated(path_of))


def _root(locations: Iterable[str]) -> str:
    """The working folder, if all files are in it; else the deepest folder with all of them."""
    here = os.getcwd()
    folders = [os.path.dirname(location) for location in locations]
    try:
        common = os.path.commonpath(folders)
    except ValueError:  # on several drives
        return here
    return here if os.path.join(common, "").startswith(os.path.join(here, "")) else common


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
