"""``namecheck reveal``: shows the dimensions of every tensor in a file."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Final

from namecheck.cli.console import (
    CLEAN,
    FOUND,
    WRONG,
    Usage,
    add_color_flag,
    add_evidence_flag,
    add_format_flag,
    add_semantics_flag,
    complain,
    naming_advice,
    painter,
    print_lines,
    settings_for,
    standard_input,
)
from namecheck.cli.verbs import Verb

if TYPE_CHECKING:
    from namecheck.project.settings import Settings


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="a file of Python, - for standard input")
    add_semantics_flag(parser)
    add_evidence_flag(parser)
    add_format_flag(parser)
    add_color_flag(parser)
    parser.add_argument(
        "--stdin-filename", metavar="FILE", help="the name of standard input in messages"
    )


def _run(arguments: argparse.Namespace) -> int:
    from namecheck.core.syntax import Refused
    from namecheck.project import file_check
    from namecheck.report import reveals
    from namecheck.report.formats import full
    from namecheck.report.listing import reader

    if arguments.file == "-":
        name, data = standard_input(arguments)
        overlay = {name: data}
    else:
        name, data, overlay = arguments.file, _read(arguments.file), {}
    settings = settings_for(name, arguments).over(evidence=arguments.evidence)
    paint = painter(settings.color)
    try:
        expressions = file_check.reveal(data, name, settings)
    except Refused as refused:
        print_lines(full.texts([refused.finding], reader(overlay), paint))
        return WRONG if refused.finding.code == "NC005" else FOUND
    if arguments.output_format == "json":
        print(reveals.as_json(expressions, name))
    else:
        print_lines(reveals.as_text(expressions, paint))
        if not expressions:
            complain(_advice(name, data, settings))
    return CLEAN


def _advice(name: str, data: bytes, settings: Settings) -> str:
    """Why a file shows nothing, and how to name its dims."""
    from namecheck.core import syntax

    if settings.names_dims(data):
        return f"no tensor is known in {name}"
    return naming_advice(name, unpacks=syntax.unpacks_sizes(data))


def _read(path: str) -> bytes:
    from namecheck.core import regular_files

    try:
        return regular_files.contents(path)
    except OSError as error:
        raise Usage(f"cannot read {path}: {error.strerror}") from error


VERB: Final = Verb("show the dimensions of every tensor in a file", _add_arguments, _run)
