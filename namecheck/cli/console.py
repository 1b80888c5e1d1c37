"""Helpers of all verbs: exit codes, flags, settings, standard input, printing."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final, TextIO

if TYPE_CHECKING:
    from namecheck.project.settings import Settings
    from namecheck.report.painter import Painter

CLEAN: Final = 0
FOUND: Final = 1
WRONG: Final = 2
INTERRUPTED: Final = 130

# The columns of a terminal that does not tell how many it has.
_USUAL: Final = 80
# So many of several paths are listed in a message.
_SHOWN: Final = 5

SEMANTICS: Final = ("namecheck", "torch-2.12")


class Usage(Exception):
    """An invalid command line; the message says why."""


def add_semantics_flag(parser: argparse.ArgumentParser) -> None:
    """Add the flag that chooses between namecheck's semantics and native torch's."""
    parser.add_argument(
        "--semantics",
        choices=SEMANTICS,
        help="the rules to check by: ours (default), or those of native torch 2.12",
    )


def add_color_flag(parser: argparse.ArgumentParser) -> None:
    """Add the flag for colours."""
    parser.add_argument("--color", choices=("auto", "always", "never"))


def add_format_flag(parser: argparse.ArgumentParser) -> None:
    """Add the flag that chooses text or JSON."""
    parser.add_argument("--output-format", choices=("text", "json"), default="text")


def add_evidence_flag(parser: argparse.ArgumentParser) -> None:
    """Add the flag that chooses what names a dimension, with the values that `check` describes."""
    parser.add_argument(
        "--evidence",
        choices=("declared", "observed", "claimed"),
        help="as for check: what names a dimension",
    )


def add_jobs_flag(parser: argparse.ArgumentParser) -> None:
    """Add the flag for the number of processes."""
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


def adjusted(settings: Settings, arguments: argparse.Namespace) -> Settings:
    """Settings with the semantics and the colour of the command line."""
    from namecheck.project.settings import semantics

    return settings.over(
        semantics=semantics(arguments.semantics) if arguments.semantics else None,
        color=arguments.color,
    )


def settings_for(path: str, arguments: argparse.Namespace) -> Settings:
    """The settings of the folder of a file, adjusted; raises `SettingsError`."""
    from namecheck.project import settings

    return adjusted(settings.above(os.path.dirname(path) or "."), arguments)


def listed(flag_values: Iterable[str] | None) -> tuple[str, ...]:
    """The words of a flag that may be repeated and takes comma-separated words."""
    words = (word.strip() for value in flag_values or () for word in value.split(","))
    return tuple(word for word in words if word)


def standard_input(arguments: argparse.Namespace) -> tuple[str, bytes]:
    """The name of standard input in messages, and its contents; raises `Usage`."""
    from namecheck.core.regular_files import largest, reason_of

    if sys.stdin is None:
        raise Usage("standard input is closed")
    try:
        data = sys.stdin.buffer.read(largest() + 1)
    except OSError as error:
        raise Usage(f"cannot read standard input: {reason_of(error)}") from error
    if len(data) > largest():
        raise Usage(f"standard input has more than {largest():,} bytes")
    return arguments.stdin_filename or "<stdin>", data


def complain(message: object) -> None:
    """Print a message of the command itself to standard error, its control characters visible."""
    from namecheck.report.frame import visible_lines

    text = "\n".join(visible_lines(f"{message}"))
    print(f"namecheck: {text}", file=sys.stderr)


def naming_advice(subject: str, *, unpacks: bool) -> str:
    """Why nothing is known of tensors, and how to name their dims."""
    further = ", or take the names of its variables: --evidence observed" if unpacks else ""
    example = '`x: Annotated[Tensor, "batch time"]`'
    return f"{subject} names no dimension: annotate a tensor, as in {example}{further}"


def say(text: str) -> None:
    """Print a text without colours to standard output, its control characters visible."""
    from namecheck.report.frame import visible_lines

    print_lines(visible_lines(text))


def report_missing(missing: Iterable[str]) -> None:
    """Print a message for each path that does not exist."""
    for path in missing:
        complain(f"there is no {path}")


def near(word: str, words: Iterable[str]) -> str:
    """``; did you mean 'check'?`` for a word close to one of these, else nothing."""
    from namecheck.core.nearest import nearest

    close = nearest(word, words)
    return f"; did you mean '{close}'?" if close else ""


def report_outward(links: Sequence[str]) -> None:
    """Print which links a walk did not follow, as they lead out of the project."""
    if links:
        shown = ", ".join([*links[:_SHOWN], *["…"] * (len(links) > _SHOWN)])
        rule = "links out of the project are not followed, unless they are named"
        complain(f"{rule}: {shown}")


def print_lines(lines: Iterable[str]) -> None:
    """Print texts, a line each."""
    for line in lines:
        print(line)


def painter(color: str | None, stream: TextIO | None = None) -> Painter:
    """A painter for a stream: it colours if `color` says so, or by default on a terminal."""
    from namecheck.report.painter import Painter

    columns = _columns(stream or sys.stdout)
    if color in (None, "auto"):
        return Painter(columns is not None and not os.environ.get("NO_COLOR"), columns)
    return Painter(color == "always", columns)


def _columns(stream: TextIO) -> int | None:
    """The width of the terminal that a stream writes to; None where it is no terminal."""
    if not stream.isatty():
        return None
    try:
        return int(os.environ["COLUMNS"])
    except (KeyError, ValueError):
        try:
            return os.get_terminal_size(stream.fileno()).columns or _USUAL
        except (OSError, ValueError):
            return _USUAL
