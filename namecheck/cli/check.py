"""``namecheck check``: finds places where names contradict each other."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from contextlib import nullcontext, redirect_stdout
from typing import TYPE_CHECKING, Any, Final

from namecheck.cli import fix_flags
from namecheck.cli.console import (
    CLEAN,
    FOUND,
    WRONG,
    Usage,
    add_verb,
    codes_flag,
    color_flag,
    painter,
    print_lines,
    semantics_flag,
    standard_input,
)

if TYPE_CHECKING:
    from namecheck.cli.fix_flags import Run
    from namecheck.project.cache import Cache
    from namecheck.project.settings import Settings

_FORMATS: Final = ("full", "concise", "json", "github")


def add_parser(verbs: Any) -> None:
    """The verb with its flags."""
    verb = add_verb(verbs, "check", _check, "find places where names contradict each other")
    verb.add_argument(
        "paths",
        nargs="*",
        metavar="PATH",
        help="files and directories, - for standard input (default: the project)",
    )
    codes_flag(verb, "--select", "report these codes only: codes, their names, prefixes, ALL")
    codes_flag(verb, "--ignore", "do not report these codes")
    semantics_flag(verb)
    verb.add_argument("--output-format", choices=_FORMATS, help="default: full")
    color_flag(verb)
    verb.add_argument(
        "--syntax",
        choices=("auto", "all", "named"),
        help="which files are parsed though they name no dimension: all, none (named), or "
        "all but those of trees over 20 MB (auto, the default)",
    )
    verb.add_argument(
        "--attributes",
        choices=("named", "all"),
        help="which files are checked for dtypes, devices and orders in memory: those that name "
        "a dimension (named, the default), or all that import torch",
    )
    verb.add_argument(
        "-j",
        "--jobs",
        type=_jobs,
        metavar="N",
        help="the number of processes (default: one for each processor)",
    )
    verb.add_argument(
        "--statistics",
        action="store_true",
        help="count the tensor expressions with known names, and tell what lost most of them",
    )
    verb.add_argument("--no-cache", action="store_true", help="neither read nor write a cache")
    verb.add_argument(
        "--cache-dir",
        metavar="FOLDER",
        help="where outcomes are kept (default: .namecheck_cache in the project)",
    )
    fix_flags.add_flags(verb)
    verb.add_argument("--exit-zero", action="store_true", help="exit 0 whatever is found")
    verb.add_argument("--stdin-filename", metavar="FILE", help="what standard input is called")


def _check(arguments: argparse.Namespace) -> int:
    from namecheck import project
    from namecheck.project import settings
    from namecheck.report.progress import Progress

    walk = project.Walk(lambda found: _adjusted(found, arguments))
    here = _adjusted(settings.above("."), arguments)
    fix_flags.hold_sensible(arguments, here.output_format)
    paths = arguments.paths or [settings.project_root(".")]
    entries = walk.entries([path for path in paths if path != "-"])
    for path in walk.missing:
        print(f"namecheck: there is no {path}", file=sys.stderr)
    with Progress(sys.stderr) as progress:
        cache = _cache(arguments, here)
        counting = arguments.statistics
        result = project.check(entries, progress, arguments.jobs, cache, counting)
    for note in cache.notes if cache is not None else ():
        print(f"namecheck: {note}", file=sys.stderr)
    run = fix_flags.Run(
        entries, result, here, cache, explain=arguments.explain, unsafe=arguments.unsafe_fixes
    )
    if "-" in paths:
        name, data = standard_input(arguments)
        found = _adjusted(settings.above(os.path.dirname(name) or "."), arguments)
        run = run.joined(name, data, found, project.check_text(data, name, found))
    elif not entries and not walk.missing:
        print("namecheck: no Python files found", file=sys.stderr)
    if fix_flags.are_wanted(arguments):
        found_fixes = fix_flags.mended(run, arguments)
        if arguments.diff:
            return _status(
                arguments, run, fix_flags.show(run, found_fixes), wrong=bool(walk.missing)
            )
        run = fix_flags.write(run, found_fixes)
    with redirect_stdout(sys.stderr) if run.summary and run.given else nullcontext():
        _print_findings(run, complete=not walk.missing)
    found_any = FOUND if run.result.errors else CLEAN
    return _status(arguments, run, found_any, wrong=bool(walk.missing))


def _status(arguments: argparse.Namespace, run: Run, status: int, *, wrong: bool) -> int:
    if wrong or run.failed or run.result.faults:
        return WRONG
    return CLEAN if arguments.exit_zero else status


def _cache(arguments: argparse.Namespace, found: Settings) -> Cache | None:
    from namecheck.project import settings
    from namecheck.project.cache import FOLDER, Cache

    if arguments.no_cache or arguments.statistics:
        return None
    folder = arguments.cache_dir or found.cache_dir
    return Cache(folder or os.path.join(settings.project_root("."), FOLDER))


def _jobs(word: str) -> int:
    number = int(word)
    if number < 1:
        raise ValueError(word)
    return number


def _print_findings(run: Run, *, complete: bool) -> None:
    from namecheck import report
    from namecheck.report import statistics
    from namecheck.report.wording import counted

    result, found = run.result, run.settings
    if found.output_format == "json":
        told = None
        if result.statistics is not None:
            told = statistics.as_object(result.statistics, result.files)
        print(report.as_json(result.findings, told, *fix_flags.offered(run)))
        return
    if found.output_format == "github":
        print_lines(report.github(result.findings))
        return
    paint = painter(found.color)
    if found.output_format == "full":
        reader = report.reader(run.given)
        print_lines(report.full(result.findings, reader, paint, *fix_flags.offered(run)))
    else:
        print_lines(report.concise(result.findings, paint))
    if complete or result.errors:
        last = run.summary or report.summary(result.findings)
        print(paint("bold" if result.errors else "good", last))
    if result.unparsed:
        files = counted(result.unparsed, "file")
        print(
            f"{files} that name no dimension were not parsed, as the tree is large: "
            "--syntax all parses them too."
        )
    if result.statistics is not None:
        print()
        print_lines(statistics.as_text(result.statistics, result.files, paint))


def _adjusted(found: Settings, arguments: argparse.Namespace) -> Settings:
    from namecheck.project import settings

    def codes(flag: str, listed: Sequence[str] | None) -> tuple[str, ...] | None:
        if listed is None:
            return None
        words = [word.strip() for item in listed for word in item.split(",") if word.strip()]
        try:
            return settings.codes(words)
        except ValueError as error:
            raise Usage(f"{flag}: {error}") from error

    adjusted = found.over(
        select=codes("--select", getattr(arguments, "select", None)),
        ignore=codes("--ignore", getattr(arguments, "ignore", None)),
        semantics=settings.semantics(arguments.semantics) if arguments.semantics else None,
        output_format=getattr(arguments, "output_format", None),
        color=arguments.color,
        syntax=getattr(arguments, "syntax", None),
        attributes=getattr(arguments, "attributes", None),
    )
    adjusted.rows()
    return adjusted
