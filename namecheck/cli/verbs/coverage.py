"""``namecheck coverage``: shows the table of operators."""

from __future__ import annotations

import argparse
from typing import Final

from namecheck.cli.console import CLEAN, add_color_flag, add_format_flag, painter, print_lines
from namecheck.cli.verbs import Verb


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_format_flag(parser)
    add_color_flag(parser)


def _run(arguments: argparse.Namespace) -> int:
    from namecheck import operators
    from namecheck.project import settings
    from namecheck.report import coverage

    operators.check_shipped()
    rows = settings.above(".").rows() or operators.table()
    if arguments.output_format == "json":
        print(coverage.as_json(rows))
    else:
        print_lines(coverage.as_text(rows, painter(arguments.color)))
    return CLEAN


VERB: Final = Verb("show the table of operators", _add_arguments, _run)
