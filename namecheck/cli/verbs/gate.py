"""``namecheck gate``: builds the compiled part of names at run time, on request."""

from __future__ import annotations

import argparse
from typing import Final

from namecheck.cli.console import CLEAN, WRONG, complain
from namecheck.cli.verbs import Verb


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "action",
        choices=("build", "status", "remove"),
        help="build: compile it for this Python and this torch; status: say whether it is used; "
        "remove: delete what was built",
    )


def _run(arguments: argparse.Namespace) -> int:
    try:
        from namecheck.runtime.gate import cache, compiler, loading
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        complain("torch is not installed; `gate` needs it")
        return WRONG
    try:
        if arguments.action == "build":
            print(f"built {compiler.build().library}")
        elif arguments.action == "remove":
            print("removed" if compiler.remove() else "there was none")
        else:
            used = "not used" if loading.wanted() is False else "used"
            print(f"{used}: {cache.built().library}")
    except cache.NotBuilt as error:
        print(f"not built: {error}")
    except cache.Unusable as error:
        print(f"not used: {error}")
    except compiler.CannotBuild as error:
        complain(f"{error}; names at run time are in Python alone")
        return WRONG
    return CLEAN


VERB: Final = Verb("compile names at run time, with your C compiler", _add_arguments, _run)
