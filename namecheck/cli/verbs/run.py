"""``namecheck run``: runs a program with its names checked."""

from __future__ import annotations

import argparse
import os
import sys
from typing import Final

from namecheck.cli.console import (
    CLEAN,
    WRONG,
    add_color_flag,
    add_format_flag,
    add_semantics_flag,
    listed,
    painter,
)
from namecheck.cli.verbs import Verb


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.usage = "namecheck run [OPTION ...] (SCRIPT | -m MODULE) [ARGUMENT ...]"
    parser.add_argument(
        "program",
        nargs=argparse.REMAINDER,
        metavar="SCRIPT | -m MODULE",
        help="a file or a module, and its arguments",
    )
    parser.add_argument("-m", dest="is_module", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument(
        "--mode",
        choices=("error", "warn", "record"),
        default="error",
        help="at a contradiction: raise (error, the default), report it at once (warn), or report "
        "all at exit (record)",
    )
    parser.add_argument(
        "--packages",
        action="append",
        metavar="NAMES",
        help="check the annotated functions of these packages too; with commas",
    )
    add_semantics_flag(parser)
    add_format_flag(parser)
    add_color_flag(parser)
    parser.add_argument(
        "--output-file", metavar="FILE", help="where findings are written (default: standard error)"
    )


def _run(arguments: argparse.Namespace) -> int:
    import atexit

    words = arguments.program
    if not words:
        print("namecheck: a script or a module to run is missing", file=sys.stderr)
        return WRONG
    from namecheck.core.semantics import Semantics

    try:
        from namecheck.runtime.programs.script import CannotRun, Program
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        print("namecheck: torch is not installed; `run` needs it", file=sys.stderr)
        return WRONG
    program = Program(
        words[0],
        tuple(words[1:]),
        arguments.is_module,
        listed(arguments.packages),
        arguments.mode,
        Semantics(arguments.semantics or "namecheck"),
    )
    if arguments.mode != "error" or arguments.output_format == "json":
        atexit.register(_report, arguments, os.getpid())
    try:
        program.run()
    except CannotRun as error:
        print(error, file=sys.stderr)
        return error.status
    return CLEAN


def _report(arguments: argparse.Namespace, process: int) -> None:
    """Report the findings at exit; a forked process leaves that to its parent."""
    if os.getpid() != process:
        return
    from namecheck.report import counts
    from namecheck.runtime import shim

    recorded, paint = shim.recorded().counts, painter(arguments.color, sys.stderr)
    if arguments.output_format == "json":
        lines = iter([counts.as_json(recorded)])
    else:
        lines = (counts.summary if arguments.mode == "warn" else counts.details)(recorded, paint)
    if arguments.output_file:
        with open(arguments.output_file, "w", encoding="utf-8") as file:
            print(*lines, sep="\n", file=file)
    else:
        for line in lines:
            print(line, file=sys.stderr)


# The program reports its own output and its own errors.
VERB: Final = Verb("run a program with its names checked", _add_arguments, _run, unguarded=True)
