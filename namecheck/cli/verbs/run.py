"""``namecheck run``: runs a program with its names checked."""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import suppress
from typing import Final

from namecheck.cli.console import (
    CLEAN,
    WRONG,
    add_color_flag,
    add_format_flag,
    add_semantics_flag,
    complain,
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
    ending = _Ending()
    atexit.register(ending.end)  # what is registered first is called last
    if not words:
        complain("a script or a module to run is missing")
        return WRONG
    from namecheck.cli.outputs import unfit

    if arguments.output_file and (reason := unfit(arguments.output_file)):
        complain(f"--output-file: {reason}")
        return WRONG
    from namecheck.core.semantics import Semantics

    try:
        from namecheck.runtime.programs.script import CannotRun, Program
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        complain("torch is not installed; `run` needs it")
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
        atexit.register(_report, arguments, ending)
    try:
        program.run()
    except CannotRun as error:
        print(error, file=sys.stderr)
        return error.status
    return CLEAN


class _Ending:
    """The end of a process; a forked process leaves it to its parent."""

    def __init__(self) -> None:
        self._process = os.getpid()
        self.failed = False

    def is_here(self) -> bool:
        """Whether this is the process that ends."""
        return os.getpid() == self._process

    def end(self) -> None:
        """Exit with an error, after all else that is called at exit, if something has failed."""
        if self.failed and self.is_here():
            for stream in (sys.stdout, sys.stderr):
                with suppress(AttributeError, OSError, ValueError):  # closed by the program
                    stream.flush()
            os._exit(WRONG)


def _report(arguments: argparse.Namespace, ending: _Ending) -> None:
    """Report the findings at exit; to standard error too where the file cannot be written."""
    if not ending.is_here():
        return
    from namecheck.core.file_replacement import CannotWrite, save
    from namecheck.report import counts
    from namecheck.runtime import shim

    recorded, paint = shim.recorded().counts, painter(arguments.color, sys.stderr)
    if arguments.output_format == "json":
        lines = iter([counts.as_json(recorded)])
    else:
        lines = (counts.summary if arguments.mode == "warn" else counts.details)(recorded, paint)
    text = "".join(f"{line}\n" for line in lines)
    if arguments.output_file:
        try:
            save(arguments.output_file, text.encode("utf-8", "backslashreplace"))
            return
        except CannotWrite as error:
            complain(f"not written: {error}")
            ending.failed = True
    sys.stderr.write(text)


# The program reports its own output and its own errors.
VERB: Final = Verb("run a program with its names checked", _add_arguments, _run, unguarded=True)
