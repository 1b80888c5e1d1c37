"""The entry point of the command: finds the verb, runs it, turns failures into messages."""

from __future__ import annotations

import os
import sys

from namecheck.version import VERSION, table_version

# To mypy this name is that of `typing`, which takes longer to import than ``namecheck --version``.
TYPE_CHECKING = False

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Sequence
    from types import ModuleType
    from typing import Any, NoReturn

    from namecheck.cli.verbs import Verb
else:
    ModuleType = type(sys)


class _CalledModule(ModuleType):
    """This module where the script of another distribution, also called namecheck, calls it."""

    def __call__(self) -> int:
        """Say how to get the right script; returns the exit status."""
        print(f"namecheck: {OTHER_DISTRIBUTION}", file=sys.stderr)
        return 2


sys.modules[__name__].__class__ = _CalledModule

OTHER_DISTRIBUTION = (
    "the distribution `namecheck`, another tool, has replaced files of torch-namecheck: "
    "pip uninstall namecheck, then pip install --force-reinstall torch-namecheck"
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit status, which is 1 for findings alone."""
    words = sys.argv[1:] if argv is None else argv
    try:
        if None in (sys.stdin, sys.stdout, sys.stderr) and words[:1] != ["run"]:
            from namecheck.cli.failures import fill_closed_streams

            fill_closed_streams()
        if list(words) == ["--version"]:
            print(_versions(), flush=True)
            return 0
        if argv is None and words[:1] != ["run"]:
            _leave_garbage()
        arguments = _parsed(words)
        if arguments is None or not arguments.verb.unguarded:
            return _run(arguments)
    except KeyboardInterrupt:
        from namecheck.cli.console import INTERRUPTED

        print("\nInterrupted.", file=sys.stderr)
        return INTERRUPTED
    except Exception as error:
        from namecheck.cli.failures import status_of

        return status_of(error)
    verb: Verb = arguments.verb
    return verb.run(arguments)


def _leave_garbage() -> None:
    """Do not search what the process leaves for reference cycles: it ends with this command."""
    import atexit
    import gc

    from namecheck.core.garbage import collect_seldom

    collect_seldom()
    atexit.register(gc.freeze)


def _parsed(words: Sequence[str]) -> argparse.Namespace | None:
    """The arguments of a verb; None where there is no verb, and help was printed."""
    from namecheck.cli import verbs

    names = verbs.names()
    if words and not words[0].startswith("-") and words[0] not in names:
        _parser(names).error(_no_command(words[0], names))
    parser = _parser([words[0]] if words and words[0] in names else names)
    arguments, unknown = parser.parse_known_args(words)
    if unknown:
        verb_parser: argparse.ArgumentParser = getattr(arguments, "parser", parser)
        verb_parser.error(_unrecognized(unknown, verb_parser))
    if "verb" in arguments:
        return arguments
    parser.print_help()
    return None


def _run(arguments: argparse.Namespace | None) -> int:
    from namecheck.cli.console import WRONG

    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    status: int = WRONG if arguments is None else arguments.verb.run(arguments)
    sys.stdout.flush()
    return status


def _versions() -> str:
    return f"namecheck {VERSION} (table of operators: version {table_version()})"


def _no_command(word: str, verb_names: Iterable[str]) -> str:
    """The message about a first word that is no verb."""
    from namecheck.cli.console import near

    if os.path.exists(word):
        return f"there is no command '{word}'; to check this path: namecheck check {word}"
    hint = near(word, verb_names) or f"; the commands are {', '.join(verb_names)}"
    return f"there is no command '{word}'{hint}"


def _unrecognized(unknown_options: Sequence[str], verb_parser: argparse.ArgumentParser) -> str:
    """The message about options that a verb does not have."""
    from namecheck.cli.console import near

    first = unknown_options[0]
    if verb_parser.prog.endswith((" run", " compare")) and first == "-c":
        return "-c is no option: findings have a place in a file, so write the code to one"
    options = verb_parser.format_usage().replace("[", " ").replace("]", " ").split()
    hint = near(first.partition("=")[0], options) if first.startswith("--") else ""
    return f"unrecognized arguments: {' '.join(unknown_options)}{hint}"


def _parser(verb_names: Iterable[str]) -> argparse.ArgumentParser:
    """The parser of the command with these verbs."""
    import argparse

    from namecheck.cli import verbs

    def layout(prog: str) -> argparse.HelpFormatter:
        return argparse.HelpFormatter(prog, width=_columns() - 2)

    class Parser(argparse.ArgumentParser):
        def _print_message(self, message: str, stream: Any = None) -> None:
            print(message, end="", file=stream or sys.stderr)  # argparse hides that it fails

        def error(self, message: str) -> NoReturn:
            from namecheck.report.frame import visible

            super().error(visible(message))

        def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
            sys.stdout.flush()  # of a help text, which may fail
            super().exit(status, message)

    parser = Parser(
        prog="namecheck",
        formatter_class=layout,
        description="Dimension names for PyTorch tensors, checked before anything runs.",
        epilog="Exit status: 0 clean, 1 something found, 2 wrong usage or an internal error.",
    )
    parser.add_argument(
        "--version", action="version", version=_versions(), help="print the versions"
    )
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND")
    for name in verb_names:
        verb = verbs.load(name)
        description = f"{verb.help[0].upper()}{verb.help[1:]}."
        verb_parser = subparsers.add_parser(
            name, help=verb.help, description=description, formatter_class=layout
        )
        verb_parser.set_defaults(verb=verb, parser=verb_parser)
        verb.add_arguments(verb_parser)
    return parser


def _columns() -> int:
    """The width of the terminal; argparse asks `shutil` for it, which loads all compressions."""
    try:
        return int(os.environ["COLUMNS"])
    except (KeyError, ValueError):
        try:
            return os.get_terminal_size(1).columns
        except OSError:
            return 80
