"""What the verbs of the command share: exit codes, flags, standard input, what is printed."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final, TextIO

if TYPE_CHECKING:
    from namecheck.report.painter import Painter

CLEAN: Final = 0
FOUND: Final = 1
WRONG: Final = 2
INTERRUPTED: Final = 130

SEMANTICS: Final = ("namecheck", "torch-2.12")


class Usage(Exception):
    """Something on the command line that cannot be done; the message tells what."""


def add_verb(verbs: Any, name: str, run: Any, help: str) -> argparse.ArgumentParser:
    """A verb of the command, which `run` carries out."""
    verb: argparse.ArgumentParser = verbs.add_parser(
        name, help=help, description=f"{help[0].upper()}{help[1:]}."
    )
    verb.set_defaults(run=run, unguarded=False, parser=verb)
    return verb


def codes_flag(verb: argparse.ArgumentParser, flag: str, help: str) -> None:
    """A flag that takes codes."""
    verb.add_argument(flag, action="append", metavar="CODES", help=f"{help}; with commas")


def semantics_flag(verb: argparse.ArgumentParser) -> None:
    """The flag for whose answers count."""
    verb.add_argument("--semantics", choices=SEMANTICS, help="whose answers count")


def color_flag(verb: argparse.ArgumentParser) -> None:
    """The flag for colours."""
    verb.add_argument("--color", choices=("auto", "always", "never"))


def standard_input(arguments: argparse.Namespace) -> tuple[str, bytes]:
    """What standard input is called, and what it holds."""
    return arguments.stdin_filename or "<stdin>", sys.stdin.buffer.read()


def print_lines(lines: Iterable[str]) -> None:
    """Print texts, a line each."""
    for line in lines:
        print(line)


def painter(color: str | None, stream: TextIO | None = None) -> Painter:
    """What puts colours on texts for a stream, if it is to have any."""
    from namecheck.report.painter import Painter

    if color in (None, "auto"):
        return Painter((stream or sys.stdout).isatty() and not os.environ.get("NO_COLOR"))
    return Painter(color == "always")
