"""The verbs of the command: each module here is one, by the name of its file.

A module registers itself by the constant `VERB`. It is imported when its verb is called or the help
of the whole command is printed, so slow imports are inside its functions.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from importlib import import_module
from typing import NamedTuple

from namecheck.core.discovery import modules_in


class Verb(NamedTuple):
    """A verb of the command.

    `help` is its line in the help of the command. `add_arguments` declares its arguments on its own
    parser; `run` runs it and returns the exit status. The exceptions of an `unguarded` verb are not
    turned into messages: they belong to the program that it runs.
    """

    help: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]
    unguarded: bool = False


def names() -> tuple[str, ...]:
    """The names of all verbs."""
    return modules_in([os.path.dirname(__file__)])


def load(name: str) -> Verb:
    """The verb with this name."""
    verb: Verb = import_module(f"{__name__}.{name}").VERB
    return verb
