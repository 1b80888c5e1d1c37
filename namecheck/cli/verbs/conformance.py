"""``namecheck conformance``: compares with recorded answers of torch 2.12."""

from __future__ import annotations

import argparse
from typing import Final

from namecheck.cli.console import CLEAN, FOUND, Usage, add_format_flag, add_semantics_flag
from namecheck.cli.verbs import Verb


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("cases", metavar="CASES", help="recorded calls, .jsonl or .jsonl.gz")
    parser.add_argument("--side", choices=("static", "runtime", "native"), default="static")
    add_semantics_flag(parser)
    parser.add_argument(
        "--deviations",
        metavar="FILE",
        help="the intended differences (default: deviations.toml near CASES or in fixtures/)",
    )
    add_format_flag(parser)


def _run(arguments: argparse.Namespace) -> int:
    import json
    from pathlib import Path

    from namecheck import conformance
    from namecheck.core.semantics import Semantics

    try:
        outcome = conformance.run(
            Path(arguments.cases),
            arguments.side,
            Semantics(arguments.semantics or "namecheck"),
            Path(arguments.deviations) if arguments.deviations else None,
        )
    except conformance.ConformanceError as error:
        raise Usage(str(error)) from error
    if arguments.output_format == "json":
        print(json.dumps(outcome.to_json(), indent=2, ensure_ascii=False))
    else:
        print(outcome.text())
    return FOUND if outcome.disagree else CLEAN


VERB: Final = Verb("compare with recorded answers of torch 2.12", _add_arguments, _run)
