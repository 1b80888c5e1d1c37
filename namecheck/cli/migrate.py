"""``namecheck migrate``: takes code off the named tensors that torch 2.13 has no more."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from namecheck.cli import diffs
from namecheck.cli.console import (
    CLEAN,
    FOUND,
    WRONG,
    Usage,
    add_verb,
    color_flag,
    painter,
    print_lines,
    semantics_flag,
)

if TYPE_CHECKING:
    from namecheck.project.settings import Settings


def add_parser(verbs: Any) -> None:
    """The verb with its flags."""
    verb = add_verb(verbs, "migrate", _migrate, "take code off the named tensors of torch 2.12")
    verb.add_argument("paths", nargs="+", metavar="PATH", help="files and directories")
    verb.add_argument(
        "--to",
        choices=("namecheck", "torch"),
        default="namecheck",
        help="keep the names, with namecheck's runtime (default), or compile them away",
    )
    verb.add_argument(
        "--diff", action="store_true", help="print what would change, and write nothing"
    )
    verb.add_argument("--check", action="store_true", help="tell what would change; write nothing")
    verb.add_argument(
        "--unsafe-fixes",
        action="store_true",
        help="with --to namecheck: leave names on that were taken off for one operator, and put "
        "back, where it keeps them",
    )
    semantics_flag(verb)
    verb.add_argument(
        "--output-format", "--format", choices=("text", "json"), default="text", dest="format"
    )
    color_flag(verb)


def _migrate(arguments: argparse.Namespace) -> int:
    from namecheck import project
    from namecheck.migration import migration, summary

    if "-" in arguments.paths:
        raise Usage("migrate rewrites files; it does not take standard input")
    walk = project.Walk(lambda found: _adjusted(found, arguments))
    entries = walk.entries(arguments.paths)
    for path in walk.missing:
        print(f"namecheck: there is no {path}", file=sys.stderr)
    if walk.missing and not entries and arguments.format == "text":
        return WRONG
    result = migration.migrate(entries, migration.Road(arguments.to), unsafe=arguments.unsafe_fixes)
    if not (arguments.diff or arguments.check):
        result = [migration.written(one) for one in result]
    if arguments.format == "json":
        print(summary.as_json(result))
    else:
        paint = painter(arguments.color)
        told = summary.as_text(result, paint, written=not (arguments.diff or arguments.check))
        if arguments.diff:
            diffs.show(summary.differences(result), arguments.color)
            for line in told:  # a diff is read by programs
                print(line, file=sys.stderr)
        else:
            print_lines(told)
    if walk.missing or any(one.failure for one in result):
        return WRONG
    pending = (arguments.diff or arguments.check) and any(one.changed for one in result)
    return FOUND if pending or any(one.left for one in result) else CLEAN


def _adjusted(found: Settings, arguments: argparse.Namespace) -> Settings:
    from namecheck.project import settings

    adjusted = found.over(
        semantics=settings.semantics(arguments.semantics) if arguments.semantics else None,
        color=arguments.color,
    )
    adjusted.rows()
    return adjusted
