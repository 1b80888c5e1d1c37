"""Where ``namecheck check`` prints its findings: standard output, files, in several formats."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from namecheck.cli.console import Usage, complain, near, painter, print_lines
from namecheck.core.regular_files import real_path
from namecheck.report import formats
from namecheck.report.painter import Painter

if TYPE_CHECKING:
    from namecheck.project.settings import Settings
    from namecheck.report.listing import Listing


class Output(NamedTuple):
    """One output of a run; `file` is None for standard output."""

    format: formats.Format
    file: str | None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags that choose the formats."""
    parser.add_argument("--output-format", choices=formats.names(), help="default: full")
    parser.add_argument(
        "--output",
        action="append",
        metavar="FORMAT=FILE",
        help="write the findings to a file in this format, - for standard output; may be repeated",
    )


def requested(arguments: argparse.Namespace, settings: Settings) -> tuple[Output, ...]:
    """The outputs that the command line asks for; raises `Usage`.

    Without ``--output`` that is one: to standard output, in the format of the settings.
    """
    if not arguments.output:
        return (Output(formats.load(settings.output_format), None),)
    if arguments.output_format is not None:
        raise Usage("--output-format does not go with --output FORMAT=FILE")
    outputs = tuple(_output(word) for word in arguments.output)
    real_paths = [file and real_path(file) for _, file in outputs]
    for position, (_, file) in enumerate(outputs):
        if real_paths[position] in real_paths[:position]:
            raise Usage(f"--output: {file or 'standard output'} is named twice")
    return outputs


def _output(word: str) -> Output:
    name, separator, file = word.partition("=")
    if not separator or not file:
        raise Usage(f"--output takes FORMAT=FILE, such as sarif=namecheck.sarif, not '{word}'")
    if name not in formats.names():
        hint = near(name, formats.names()) or f"; the formats are {', '.join(formats.names())}"
        raise Usage(f"--output: there is no format '{name}'{hint}")
    if file in ("-", "/dev/stdout"):
        return Output(formats.load(name), None)
    if reason := unfit(file):
        raise Usage(f"--output: {reason}")
    return Output(formats.load(name), file)


def unfit(file: str) -> str:
    """Why no report is written to a file; an empty text if one may be."""
    if os.path.isdir(file) or not os.path.isdir(os.path.dirname(file) or "."):
        return f"{file} is no file in an existing folder"
    if real_path(file).endswith((".py", ".pyi")):
        return f"{file} is a program, which a report would replace"
    return ""


def show(
    outputs: Sequence[Output], listing: Callable[[Painter], Listing], color: str | None
) -> bool:
    """Print or write the findings; returns whether all files could be written.

    The last line goes to standard error where no findings go to standard output.
    """
    whole = True
    for output in outputs:
        if output.file is None:
            print_lines(output.format.lines(listing(painter(color))))
        else:
            plain = listing(Painter(False))
            whole = _is_written(output.file, output.format.lines(plain)) and whole
    if all(output.file is not None for output in outputs):
        summary = listing(Painter(False)).summary
        if summary:
            complain(summary)
    return whole


def _is_written(file: str, lines: Iterable[str]) -> bool:
    from namecheck.core.file_replacement import CannotWrite, save

    text = "".join(f"{line}\n" for line in lines)
    try:
        target = save(file, text.encode("utf-8", "backslashreplace"))
    except CannotWrite as error:
        complain(f"not written: {error}")
        return False
    if os.path.islink(file) and not file.startswith("/dev/"):
        complain(f"wrote {target} through the link {file}")
    return True
