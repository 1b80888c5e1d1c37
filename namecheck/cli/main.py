"""The verbs and flags of the command; each verb imports what it needs when it is called."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, redirect_stdout
from typing import Any

from namecheck.cli import check, migrate
from namecheck.cli.console import (
    CLEAN,
    FOUND,
    INTERRUPTED,
    WRONG,
    Usage,
    add_verb,
    color_flag,
    painter,
    print_lines,
    semantics_flag,
    standard_input,
)
from namecheck.version import VERSION, table_version


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit status."""
    parser = _parser()
    arguments, unknown = parser.parse_known_args(argv)
    if unknown:
        used: argparse.ArgumentParser = getattr(arguments, "parser", parser)
        used.error(_unrecognized(unknown, used.prog))
    if "run" not in arguments:
        parser.print_help()
        return WRONG
    return _run(arguments) if arguments.unguarded else _guarded(arguments)


def _unrecognized(unknown: Sequence[str], verb: str) -> str:
    """What to say of options that a verb has not."""
    if verb.endswith((" run", " compare")) and unknown[0] == "-c":
        return "-c is no option: a finding has to stand in a file, so put the code into one"
    return f"unrecognized arguments: {' '.join(unknown)}"


def _guarded(arguments: argparse.Namespace) -> int:
    """Run a verb; what can go wrong is told in one line."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        status: int = arguments.run(arguments)
        sys.stdout.flush()
        return status
    except KeyboardInterrupt:
        print("\nInterrupted.", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # Python would complain once more when it closes the stream at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FOUND
    except Exception as error:
        if not _is_expected(error):
            raise
        print(f"namecheck: {error}", file=sys.stderr)
        return WRONG


def _is_expected(error: Exception) -> bool:
    from namecheck.operators import TableError
    from namecheck.project.settings import SettingsError

    return isinstance(error, Usage | TableError | SettingsError)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="namecheck",
        description="Dimension names for PyTorch tensors, checked before anything runs.",
        epilog="Exit status: 0 clean, 1 something found, 2 wrong usage or an internal error.",
    )
    parser.add_argument("--version", action=_Version)
    verbs = parser.add_subparsers(title="commands", metavar="COMMAND")
    check.add_parser(verbs)
    migrate.add_parser(verbs)
    _reveal_parser(verbs)
    _run_parser(verbs)
    _rule_parser(verbs)
    _coverage_parser(verbs)
    _conformance_parser(verbs)
    _compare_parser(verbs)
    return parser


class _Version(argparse.Action):
    def __init__(self, option_strings: Sequence[str], dest: str) -> None:
        super().__init__(option_strings, argparse.SUPPRESS, nargs=0, help="print the versions")

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        print(f"namecheck {VERSION} (table of operators: version {table_version()})")
        parser.exit()


def _reveal_parser(verbs: Any) -> None:
    verb = add_verb(verbs, "reveal", _reveal, "show the dimensions of every tensor in a file")
    verb.add_argument("file", metavar="FILE", help="a file of Python, - for standard input")
    semantics_flag(verb)
    verb.add_argument("--output-format", choices=("text", "json"), default="text")
    color_flag(verb)
    verb.add_argument("--stdin-filename", metavar="FILE", help="what standard input is called")


def _run_parser(verbs: Any) -> None:
    verb = add_verb(verbs, "run", _run, "run a program with its names checked")
    verb.set_defaults(unguarded=True)  # what a program does, and raises, is its own business
    verb.usage = "namecheck run [OPTION ...] (SCRIPT | -m MODULE) [ARGUMENT ...]"
    verb.add_argument(
        "program",
        nargs=argparse.REMAINDER,
        metavar="SCRIPT | -m MODULE",
        help="a file or a module, and its arguments",
    )
    verb.add_argument("-m", dest="is_module", action="store_true", help=argparse.SUPPRESS)
    verb.add_argument(
        "--mode",
        choices=("error", "warn", "record"),
        default="error",
        help="what a contradiction does: it raises (default), it is told, or kept for the end",
    )
    verb.add_argument(
        "--packages",
        action="append",
        metavar="NAMES",
        help="check the annotated functions of these packages too; with commas",
    )
    semantics_flag(verb)
    verb.add_argument("--output-format", choices=("text", "json"), default="text")
    color_flag(verb)
    verb.add_argument(
        "--output-file", metavar="FILE", help="where what was found goes (default: standard error)"
    )


def _rule_parser(verbs: Any) -> None:
    verb = add_verb(verbs, "rule", _rule, "explain a code, or list them all")
    verb.add_argument("code", nargs="?", metavar="CODE", help="a code or its name")
    verb.add_argument("--output-format", choices=("text", "json"), default="text")
    color_flag(verb)


def _coverage_parser(verbs: Any) -> None:
    verb = add_verb(verbs, "coverage", _coverage, "show the table of operators")
    verb.add_argument("--output-format", choices=("text", "json"), default="text")
    color_flag(verb)


def _conformance_parser(verbs: Any) -> None:
    verb = add_verb(
        verbs, "conformance", _conformance, "compare with recorded answers of torch 2.12"
    )
    verb.add_argument("cases", metavar="CASES", help="recorded calls, .jsonl or .jsonl.gz")
    verb.add_argument("--side", choices=("static", "runtime", "native"), default="static")
    semantics_flag(verb)
    verb.add_argument(
        "--deviations",
        metavar="FILE",
        help="the intended differences (default: deviations.toml near CASES or in fixtures/)",
    )
    verb.add_argument("--output-format", choices=("text", "json"), default="text")


def _compare_parser(verbs: Any) -> None:
    verb = add_verb(
        verbs, "compare", _compare, "run a script, and compare its names with those inferred"
    )
    verb.add_argument("script", metavar="SCRIPT", help="a file of Python, run as `python SCRIPT`")
    verb.add_argument(
        "arguments", nargs=argparse.REMAINDER, metavar="...", help="the arguments of the script"
    )
    semantics_flag(verb)
    verb.add_argument("--output-format", choices=("text", "json"), default="text")
    verb.add_argument(
        "--all", action="store_true", help="list what is weaker, unreached and unsettled as well"
    )
    color_flag(verb)


def _reveal(arguments: argparse.Namespace) -> int:
    from namecheck import report
    from namecheck.core.syntax import Refused
    from namecheck.project import file_check, settings
    from namecheck.report import reveals

    given: dict[str, bytes] = {}
    if arguments.file == "-":
        name, data = standard_input(arguments)
        given[name] = data
    else:
        name, data = arguments.file, _read(arguments.file)
    found = settings.above(os.path.dirname(name) or ".").over(
        semantics=settings.semantics(arguments.semantics) if arguments.semantics else None,
        color=arguments.color,
    )
    paint = painter(found.color)
    try:
        revealed = file_check.reveal(data, name, found)
    except Refused as refused:
        print_lines(report.full([refused.finding], report.reader(given), paint))
        return WRONG if refused.finding.code == "NC005" else FOUND
    if arguments.output_format == "json":
        print(reveals.as_json(revealed, name))
    else:
        print_lines(reveals.as_text(revealed, paint))
    return CLEAN


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
        _listed(arguments.packages),
        arguments.mode,
        Semantics(arguments.semantics or "namecheck"),
    )
    if arguments.mode != "error" or arguments.output_format == "json":
        atexit.register(_tell_record, arguments, os.getpid())
    try:
        program.run()
    except CannotRun as error:
        print(error, file=sys.stderr)
        return error.status
    return CLEAN


def _listed(packages: Sequence[str] | None) -> tuple[str, ...]:
    words = [word.strip() for item in packages or () for word in item.split(",")]
    return tuple(word for word in words if word)


def _tell_record(arguments: argparse.Namespace, process: int) -> None:
    """Tell at exit what was found; a process that was forked leaves that to its parent."""
    if os.getpid() != process:
        return
    from namecheck.report import counts
    from namecheck.runtime import shim

    found, paint = shim.recorded().counts, painter(arguments.color, sys.stderr)
    if arguments.output_format == "json":
        lines: Iterable[str] = [counts.as_json(found)]
    else:
        lines = (counts.summary if arguments.mode == "warn" else counts.full)(found, paint)
    if arguments.output_file:
        with open(arguments.output_file, "w", encoding="utf-8") as file:
            print(*lines, sep="\n", file=file)
    else:
        for line in lines:
            print(line, file=sys.stderr)


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise Usage(f"cannot read {path}: {error.strerror}") from error


def _rule(arguments: argparse.Namespace) -> int:
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


def _coverage(arguments: argparse.Namespace) -> int:
    from namecheck import operators
    from namecheck.project import settings
    from namecheck.report import coverage

    rows = settings.above(".").rows() or operators.table()
    if arguments.output_format == "json":
        print(coverage.as_json(rows))
    else:
        print_lines(coverage.as_text(rows, painter(arguments.color)))
    return CLEAN


def _conformance(arguments: argparse.Namespace) -> int:
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


def _compare(arguments: argparse.Namespace) -> int:
    from namecheck import compare
    from namecheck.compare import report
    from namecheck.project import settings

    found = settings.above(os.path.dirname(arguments.script) or ".").over(
        semantics=settings.semantics(arguments.semantics) if arguments.semantics else None,
        color=arguments.color,
    )
    as_json = arguments.output_format == "json"
    try:
        with _output_to_errors() if as_json else nullcontext():
            comparison = compare.compare(arguments.script, arguments.arguments, found)
    except compare.CompareError as error:
        raise Usage(str(error)) from error
    if comparison.failed:
        sys.stderr.write(report.failure(comparison))
    if as_json:
        print(report.as_json(comparison))
    else:
        print_lines(report.as_text(comparison, painter(found.color), everything=arguments.all))
    if comparison.counts[compare.Verdict.INCORRECT]:
        return FOUND
    return WRONG if comparison.failed else CLEAN


@contextmanager
def _output_to_errors() -> Iterator[None]:
    """What a script prints goes to standard error, and leaves standard output to the report."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)
