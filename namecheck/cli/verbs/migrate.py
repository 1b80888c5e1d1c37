"""``namecheck migrate``: takes code off the named tensors that torch 2.13 has no more."""

from __future__ import annotations

import argparse
import os
import sys
from itertools import chain
from typing import TYPE_CHECKING, Final

from namecheck.cli import diffs
from namecheck.cli.console import (
    CLEAN,
    FOUND,
    WRONG,
    Usage,
    add_color_flag,
    add_semantics_flag,
    adjusted,
    painter,
    print_lines,
    report_missing,
    report_outward,
)
from namecheck.cli.verbs import Verb

if TYPE_CHECKING:
    from namecheck.project.settings import Settings


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("paths", nargs="+", metavar="PATH", help="files and directories")
    parser.add_argument(
        "--to",
        choices=("namecheck", "torch"),
        default="namecheck",
        help="keep the names, with namecheck's runtime (default), or compile them away",
    )
    parser.add_argument(
        "--diff", action="store_true", help="print what would change, and write nothing"
    )
    parser.add_argument(
        "--check", action="store_true", help="list what would change; write nothing"
    )
    parser.add_argument(
        "--all-or-nothing",
        action="store_true",
        help="write nothing if a place would be left, or a file could not be migrated",
    )
    parser.add_argument(
        "--unsafe-fixes",
        action="store_true",
        help="with --to namecheck: where names are removed for one operator and restored after it, "
        "keep them if the operator keeps them",
    )
    add_semantics_flag(parser)
    parser.add_argument(
        "--output-format", "--format", choices=("text", "json"), default="text", dest="format"
    )
    add_color_flag(parser)


def _run(arguments: argparse.Namespace) -> int:
    from namecheck import project
    from namecheck.migration import migration, report

    if "-" in arguments.paths:
        raise Usage("migrate rewrites files; it does not take standard input")
    walk = project.Walk(lambda settings: _settings(settings, arguments))
    entries = walk.entries(arguments.paths)
    report_missing(walk.missing)
    report_outward(walk.outward)
    if walk.missing and not entries and arguments.format == "text":
        return WRONG
    migrated = migration.migrate(
        entries, migration.Road(arguments.to), unsafe=arguments.unsafe_fixes
    )
    paint = painter(arguments.color)
    as_text = arguments.format == "text"
    if as_text and not arguments.diff:
        print_lines(report.remaining(migrated, paint))
        sys.stdout.flush()
    whole = not any(one.left or one.failure for one in migrated)
    writes = not (arguments.diff or arguments.check)
    refused = writes and arguments.all_or_nothing and not whole
    applied = writes and not refused
    planned = migrated
    if applied:
        migrated = migration.write(migrated, entries)
    if not as_text:
        print(report.as_json(migrated, applied=applied))
    elif refused:
        print_lines(report.refusal(migrated, paint))
    elif arguments.diff:
        diffs.show(report.differences(migrated), arguments.color)
        lines = (
            report.remaining(migrated, paint),
            report.outcome(migrated, planned, paint, applied=False),
        )
        for line in chain(*lines):  # a diff is read by programs
            print(line, file=sys.stderr)
    else:
        print_lines(report.outcome(migrated, planned, paint, applied=applied))
        if applied and arguments.to == "torch":
            print_lines(report.advice(migrated, paint, in_git=_is_in_git()))
    if walk.missing or any(one.failure for one in migrated):
        return WRONG
    pending = not applied and any(one.changed for one in migrated)
    return FOUND if pending or any(one.left for one in migrated) else CLEAN


def _is_in_git() -> bool:
    from namecheck.project.settings import parents

    return any(os.path.lexists(os.path.join(one, ".git")) for one in (".", *parents(".")))


def _settings(settings: Settings, arguments: argparse.Namespace) -> Settings:
    settings = adjusted(settings, arguments)
    settings.rows()  # a table that cannot be used is reported before any file is read
    return settings


VERB: Final = Verb("migrate code off the named tensors of torch 2.12", _add_arguments, _run)
