"""``namecheck compare``: runs a script, and compares its names with those inferred."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, redirect_stdout
from typing import Final

from namecheck.cli.console import (
    CLEAN,
    FOUND,
    WRONG,
    Usage,
    add_color_flag,
    add_evidence_flag,
    add_format_flag,
    add_semantics_flag,
    painter,
    print_lines,
    settings_for,
)
from namecheck.cli.verbs import Verb


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("script", metavar="SCRIPT", help="a file of Python, run as `python SCRIPT`")
    parser.add_argument(
        "arguments", nargs=argparse.REMAINDER, metavar="...", help="the arguments of the script"
    )
    add_semantics_flag(parser)
    add_evidence_flag(parser)
    add_format_flag(parser)
    parser.add_argument(
        "--package",
        action="append",
        default=[],
        dest="packages",
        metavar="NAME",
        help="follow the script into this installed package, too; may be given again",
    )
    parser.add_argument(
        "--all", action="store_true", help="list weaker, unreached and unsettled tensors as well"
    )
    add_color_flag(parser)


def _run(arguments: argparse.Namespace) -> int:
    from namecheck import compare
    from namecheck.compare import report

    settings = settings_for(arguments.script, arguments)
    as_json = arguments.output_format == "json"
    try:
        with _output_to_errors() if as_json else nullcontext():
            comparison = compare.compare(
                arguments.script, arguments.arguments, settings, arguments.packages
            )
    except compare.CompareError as error:
        raise Usage(str(error)) from error
    if comparison.failed:
        sys.stderr.write(report.failure(comparison))
    if as_json:
        print(report.as_json(comparison))
    else:
        print_lines(report.as_text(comparison, painter(settings.color), everything=arguments.all))
    if comparison.counts[compare.Verdict.INCORRECT]:
        return FOUND
    return WRONG if comparison.failed else CLEAN


@contextmanager
def _output_to_errors() -> Iterator[None]:
    """The script's output goes to standard error; standard output is for the report."""
    sys.stdout.flush()
    output = os.dup(1)
    os.dup2(2, 1)
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        os.dup2(output, 1)
        os.close(output)


VERB: Final = Verb("run a script, and compare its names with those inferred", _add_arguments, _run)
