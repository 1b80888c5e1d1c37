"""``namecheck check``: finds places where names contradict each other."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, redirect_stdout
from functools import cache
from typing import TYPE_CHECKING, Final

from namecheck.cli import fixes, outputs
from namecheck.cli.console import (
    CLEAN,
    FOUND,
    WRONG,
    Usage,
    add_color_flag,
    add_jobs_flag,
    add_semantics_flag,
    adjusted,
    complain,
    listed,
    naming_advice,
    report_missing,
    report_outward,
    standard_input,
)
from namecheck.cli.fixes import CheckRun
from namecheck.cli.verbs import Verb
from namecheck.core.dataclasses import replace
from namecheck.core.garbage import seldom_collected

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from namecheck.cli.outputs import Output
    from namecheck.project.cache import Cache
    from namecheck.project.roots import Roots
    from namecheck.project.settings import Settings
    from namecheck.project.shards import Shard
    from namecheck.report.painter import Painter

# How many bytes of files are read again to say why nothing was found in them.
_READ_AGAIN: Final = 1_000_000


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "paths",
        nargs="*",
        metavar="PATH",
        help="files and directories, - for standard input (default: the project)",
    )
    _add_codes(parser)
    add_semantics_flag(parser)
    outputs.add_arguments(parser)
    add_color_flag(parser)
    _add_evidence(parser)
    _add_workers(parser)
    parser.add_argument(
        "--statistics",
        action="store_true",
        help="count the tensor expressions with known names, and list where names are lost",
    )
    _add_cache(parser)
    _add_exceptions(parser)
    fixes.add_arguments(parser)
    parser.add_argument(
        "--exit-zero", action="store_true", help="exit 0 even if there are findings"
    )
    parser.add_argument(
        "--stdin-filename", metavar="FILE", help="the name of standard input in messages"
    )


def _add_codes(parser: argparse.ArgumentParser) -> None:
    """Add the flags for the codes that are reported."""
    parser.add_argument(
        "--select",
        action="append",
        metavar="CODES",
        help="report these codes only: codes, their names, prefixes, ALL; with commas",
    )
    parser.add_argument(
        "--ignore", action="append", metavar="CODES", help="do not report these codes; with commas"
    )


def _add_evidence(parser: argparse.ArgumentParser) -> None:
    """Add the flags for the files that are read, and what they are judged by."""
    parser.add_argument(
        "--syntax",
        choices=("auto", "all", "named"),
        help="which files that name no dimension are parsed, to report syntax errors: all, none "
        "(named), or all but in trees over 20 MB (auto, the default)",
    )
    parser.add_argument(
        "--attributes",
        choices=("named", "all"),
        help="which files are checked for dtypes, devices and memory order: those that name "
        "a dimension (named, the default), or all that import torch",
    )
    parser.add_argument(
        "--evidence",
        choices=("declared", "observed", "claimed"),
        help="what names a dimension: declarations (declared, the default), or also the variables "
        "of `B, T, C = x.shape` (observed; it finds mistakes in plain code, and is being tried), "
        "and where values are shown, the shapes in docstrings (claimed)",
    )


def _add_workers(parser: argparse.ArgumentParser) -> None:
    """Add the flags for the processes or machines that check, and for a part of the files."""
    add_jobs_flag(parser)
    parser.add_argument(
        "--executor",
        metavar="ADDRESS",
        help="check on the workers of a cluster instead: dask://HOST:PORT of its scheduler",
    )
    parser.add_argument(
        "--shard",
        type=_shard,
        metavar="I/N",
        help="check part I of N only: all parts together report what a whole run reports",
    )


def _add_cache(parser: argparse.ArgumentParser) -> None:
    """Add the flags for the cache."""
    parser.add_argument("--no-cache", action="store_true", help="neither read nor write a cache")
    parser.add_argument(
        "--cache-dir",
        metavar="FOLDER",
        help="the folder of the cache (default: .namecheck_cache in the project)",
    )


def _add_exceptions(parser: argparse.ArgumentParser) -> None:
    """Add the flags for what is left out."""
    parser.add_argument(
        "--force-exclude",
        action="store_true",
        help="leave out named files, too, that the settings exclude: for tools that name files",
    )
    parser.add_argument(
        "--no-baseline",
        action="store_true",
        help="report the findings that the baseline of the settings has, too",
    )


def _shard(word: str) -> Shard:
    from namecheck.project.shards import Shard

    try:
        return Shard.of(word)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _progress() -> AbstractContextManager[Callable[[int, int], None] | None]:
    """What shows the progress on a terminal; none elsewhere."""
    if not sys.stderr.isatty():
        return nullcontext()
    from namecheck.report.progress import Progress

    return Progress(sys.stderr)


@seldom_collected()
def _run(arguments: argparse.Namespace) -> int:
    from namecheck import project
    from namecheck.project import reports, settings

    here = _settings(settings.above("."), arguments)
    requested = outputs.requested(arguments, here)
    fixes.check_flags(arguments, [output.format for output in requested])
    paths = arguments.paths or [settings.project_root(".")]
    if arguments.shard is not None and "-" in paths:
        raise Usage("--shard does not go with standard input")
    with _progress() as progress:
        cache = _cache(arguments, here)
        with _executor(arguments) as executor:
            ran = reports.run(
                [
                    path
                    for path in paths
                    if path != "-" and not (arguments.force_exclude and _is_excluded(path))
                ],
                lambda nearest: _settings(nearest, arguments),
                cache,
                jobs=arguments.jobs,
                executor=executor,
                progress=progress,
                counting=arguments.statistics,
                shard=arguments.shard,
            )
    report_missing(ran.missing)
    report_outward(ran.outward)
    for note in cache.notes if cache is not None else ():
        complain(note)
    run = CheckRun(
        ran.entries,
        ran.result,
        here,
        cache,
        explain=arguments.explain,
        unsafe=arguments.unsafe_fixes,
    )
    if "-" in paths:
        name, data = standard_input(arguments)
        own = _settings(settings.above(os.path.dirname(name) or "."), arguments)
        run = run.joined(name, data, own, project.check_text(data, name, own))
    elif not (ran.entries or ran.missing or arguments.force_exclude):
        complain("no Python files found")
    if fixes.are_wanted(arguments):
        if arguments.add_ignore and reports.has_baseline(run.entries):
            raise Usage("--add-ignore does not go with a baseline; --no-baseline leaves it out")
        mending = fixes.mended(run, arguments)
        if arguments.diff:
            return _status(arguments, run, fixes.show(run, mending), wrong=bool(ran.missing))
        run = fixes.write(run, mending)
    elif reports.has_baseline(run.entries):
        folders = () if arguments.shard is not None or ran.missing else paths
        run = _compared(run, folders)
    with redirect_stdout(sys.stderr) if run.summary and run.contents else nullcontext():
        whole = _print_findings(run, requested, arguments.shard, complete=not ran.missing)
    status = FOUND if run.result.errors else CLEAN
    if status is CLEAN and here.output_format == "full" and _names_nothing(run):
        complain(naming_advice("the code", unpacks=True))
    return _status(arguments, run, status, wrong=bool(ran.missing) or not whole)


def _names_nothing(run: CheckRun) -> bool:
    """Whether no file names a dimension, although some read sizes of tensors.

    Where there is much to read, one that does is likely, and nobody waits for the answer.
    """
    from namecheck.core import regular_files, syntax

    if sum(entry.size for entry in run.entries) > _READ_AGAIN:
        return False
    unpacks = False
    for entry in run.entries:
        data = run.contents.get(entry.path)
        try:
            data = regular_files.contents(entry.location) if data is None else data
        except OSError:
            continue
        if entry.settings.names_dims(data):
            return False
        unpacks = unpacks or syntax.unpacks_sizes(data)
    return unpacks


def _is_excluded(path: str) -> bool:
    """Whether the settings of a path exclude it, or a folder that contains it."""
    from namecheck import project
    from namecheck.project import settings

    nearest = settings.above(os.path.dirname(path) or ".")
    return project.is_excluded(os.path.abspath(path), nearest)


def _compared(run: CheckRun, paths: Sequence[str]) -> CheckRun:
    """The run without the findings that baselines have; `paths` were walked as a whole."""
    from namecheck.project import reports
    from namecheck.report.listing import reader
    from namecheck.report.wording import counted

    result = run.result
    comparison = reports.comparison(run.entries, result.findings, reader(run.contents), paths)
    for missing in comparison.missing:
        missing = os.path.relpath(missing)
        complain(f"there is no {missing}; `namecheck baseline` writes it")
    if comparison.stale:
        stale = counted(len(comparison.stale), "finding")
        verb = "is" if len(comparison.stale) == 1 else "are"
        advice = "`namecheck baseline --prune` updates it"
        complain(f"{stale} of the baseline {verb} gone; {advice}")
    return run._replace(
        result=result.replaced(comparison.findings), accepted=len(comparison.accepted)
    )


def _status(arguments: argparse.Namespace, run: CheckRun, status: int, *, wrong: bool) -> int:
    if wrong or run.failed or run.result.faults:
        return WRONG
    return CLEAN if arguments.exit_zero else status


def _cache(arguments: argparse.Namespace, settings: Settings) -> Cache | None:
    if arguments.no_cache or arguments.statistics:
        return None
    from namecheck.project.reports import opened_cache

    return opened_cache(settings, arguments.cache_dir)


@contextmanager
def _executor(arguments: argparse.Namespace) -> Iterator[Executor | None]:
    """The executor that the command line asks for, None for processes; raises `Usage`."""
    if arguments.executor is None:
        yield None
        return
    from namecheck.project.cluster import ClusterError, connected

    try:
        with connected(arguments.executor) as cluster:
            yield cluster
    except ClusterError as error:
        raise Usage(f"--executor: {error}") from error
    if cluster.lost:
        lost = f"the cluster at {cluster.url} is gone; the rest was checked here"
        complain(lost)


def _print_findings(
    run: CheckRun, requested: Sequence[Output], shard: Shard | None, *, complete: bool
) -> bool:
    """Print the findings, or write them to files; returns whether that was possible."""
    from namecheck.report.closing import summary
    from namecheck.report.listing import Listing, reader

    result = run.result
    shown = fixes.shown(run, max(output.format.fix_budget for output in requested))
    last_line = run.summary or summary(result.findings, run.accepted)
    if shard is not None:
        # Each shard prints findings alone, so that their outputs can be put together.
        files = f"shard {shard}: {result.files} of {len(run.entries)} files"
        complain(f"{files}. {last_line}")
    shows_summary = shard is None and (complete or result.errors)
    lines = reader(run.contents)

    @cache
    def path_in_project(filename: str) -> str:
        return roots().path(filename)

    @cache
    def roots() -> Roots:
        from namecheck.project.roots import Roots  # few formats need it

        return Roots(run.entries)

    def listing(paint: Painter) -> Listing:
        return Listing(
            result.findings,
            result.files,
            lines,
            paint,
            shown.fixes,
            shown.refusals,
            last_line if shows_summary else "",
            result.unparsed if shard is None else 0,
            result.statistics,
            path_in_project,
            shown.untried,
        )

    return outputs.show(requested, listing, run.settings.color)


def _settings(settings: Settings, arguments: argparse.Namespace) -> Settings:
    settings = adjusted(settings, arguments).over(
        select=_codes("--select", arguments.select),
        ignore=_codes("--ignore", arguments.ignore),
        output_format=arguments.output_format,
        syntax=arguments.syntax,
        attributes=arguments.attributes,
        evidence=arguments.evidence,
    )
    if arguments.no_baseline:
        settings = replace(settings, baseline=None)
    settings.rows()  # a table that cannot be used is reported before any file is read
    return settings


def _codes(flag: str, flag_values: Sequence[str] | None) -> tuple[str, ...] | None:
    from namecheck.project import settings

    if flag_values is None:
        return None
    try:
        return settings.codes(listed(flag_values))
    except ValueError as error:
        raise Usage(f"{flag}: {error}") from error


VERB: Final = Verb("find places where names contradict each other", _add_arguments, _run)
