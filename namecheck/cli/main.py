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

    from namecheck.cli.verbs import Verb


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit status."""
    words = sys.argv[1:] if argv is None else argv
    if list(words) == ["--version"]:
        print(_versions())
        return 0
    from namecheck.cli import verbs
    from namecheck.cli.console import WRONG

    names = verbs.names()
    if words and not words[0].startswith("-") and words[0] not in names:
        _parser(names).error(_no_command(words[0], names))
    parser = _parser([words[0]] if words and words[0] in names else names)
    arguments, unknown = parser.parse_known_args(words)
    if unknown:
        verb_parser: argparse.ArgumentParser = getattr(arguments, "parser", parser)
        verb_parser.error(_unrecognized(unknown, verb_parser))
    if "verb" not in arguments:
        parser.print_help()
        return WRONG
    verb: Verb = arguments.verb
    return verb.run(arguments) if verb.unguarded else _guarded(verb, arguments)


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


def _guarded(verb: Verb, arguments: argparse.Namespace) -> int:
    """Run a verb; expected errors are printed in one line."""
    from namecheck.cli.console import FOUND, INTERRUPTED, WRONG

    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        status = verb.run(arguments)
        sys.stdout.flush()
        return status
    except KeyboardInterrupt:
        print("\nInterrupted.", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # Python would report the error once more when it closes the stream at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FOUND
    except ImportError as error:
        # No verb imports the code that it checks: an ImportError in a script of `run` or `compare`
        # is the script's.
        print(f"namecheck: the installation is damaged: {error}", file=sys.stderr)
        return WRONG
    except Exception as error:
        if not _is_expected(error):
            raise
        print(f"namecheck: {error}", file=sys.stderr)
        return WRONG


def _is_expected(error: Exception) -> bool:
    from namecheck.cli.console import Usage
    from namecheck.core.faults import LimitError, TableError
    from namecheck.project.settings import SettingsError

    return isinstance(error, Usage | TableError | LimitError | SettingsError)


def _parser(verb_names: Iterable[str]) -> argparse.ArgumentParser:
    """The parser of the command with these verbs."""
    import argparse

    from namecheck.cli import verbs

    def layout(prog: str) -> argparse.HelpFormatter:
        return argparse.HelpFormatter(prog, width=_columns() - 2)

    parser = argparse.ArgumentParser(
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
