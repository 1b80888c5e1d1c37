"""``namecheck rule``: explains a code, or lists them all."""

from __future__ import annotations

import argparse
from typing import Final

from namecheck.cli.console import (
    CLEAN,
    Usage,
    add_color_flag,
    add_format_flag,
    painter,
    print_lines,
)
from namecheck.cli.verbs import Verb


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("code", nargs="?", metavar="CODE", help="a code or its name")
    add_format_flag(parser)
    add_color_flag(parser)


def _run(arguments: argparse.Namespace) -> int:
    from namecheck.core import findings
    from namecheck.fixing import registry
    from namecheck.project import settings
    from namecheck.report import handbook

    register = findings.register()
    if arguments.code is None:
        codes = list(register.values())
    else:
        code = findings.resolve(arguments.code)
        if code is None:
            raise Usage(settings.no_code(arguments.code))
        codes = [register[code]]
    paint = painter(arguments.color)
    if arguments.output_format == "json":
        print(handbook.as_json(codes, registry.described))
    elif arguments.code is None:
        print_lines(handbook.contents(paint))
    else:
        print_lines(handbook.page(codes[0], registry.described(codes[0].code), paint))
    return CLEAN


VERB: Final = Verb("explain a code, or list them all", _add_arguments, _run)
