"""``python -m tests.conformance CASES``: compares with recorded results of torch 2.12."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from namecheck.core.semantics import Semantics
from tests.conformance import SIDES, ConformanceError, run


def main(argv: Sequence[str] | None = None) -> int:
    """Compare and print the report; returns 0, 1 where results disagree, 2 for wrong usage."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.conformance",
        description="Compare with recorded answers of torch 2.12.",
        epilog="Exit status: 0 agreement, 1 answers disagree, 2 wrong usage.",
    )
    parser.add_argument("cases", metavar="CASES", help="recorded calls, .jsonl or .jsonl.gz")
    parser.add_argument("--side", choices=SIDES, default="static")
    parser.add_argument(
        "--semantics",
        choices=[semantics.value for semantics in Semantics],
        default=Semantics.NAMECHECK.value,
        help="the rules to check by: ours (default), or those of native torch 2.12",
    )
    parser.add_argument(
        "--deviations",
        metavar="FILE",
        help="the intended differences (default: deviations.toml near CASES or in fixtures/)",
    )
    parser.add_argument("--output-format", choices=("text", "json"), default="text")
    arguments = parser.parse_args(argv)
    try:
        report = run(
            Path(arguments.cases),
            arguments.side,
            Semantics(arguments.semantics),
            Path(arguments.deviations) if arguments.deviations else None,
        )
    except ConformanceError as error:
        print(error, file=sys.stderr)
        return 2
    if arguments.output_format == "json":
        print(json.dumps(report.to_json(), indent=2, ensure_ascii=False))
    else:
        print(report.text())
    return 1 if report.disagree else 0


if __name__ == "__main__":
    sys.exit(main())
