"""Lints: patterns that are no contradictions, and that only reading ahead can see.

Each module of this folder is one lint and is discovered. ``namecheck rule CODE`` prints the
docstring of the module: a sentence, what the lint reports and why, and two programs, after the
lines ``Bad:`` and ``Good:``. ``CODE`` is its number, the name of the file is its readable name
(`namecheck.core.findings.lint_codes` reads the three). The class ``Lint`` listens to the events of
an analysis (`namecheck.interpreter.evaluation.events`); each file has its own instance. Code that
several lints share is in `namecheck.lints.shared`.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator
from functools import cache

from namecheck.core.discovery import modules_in
from namecheck.interpreter.evaluation.events import Listener


class LintError(ImportError):
    """A module of this folder that is no lint; the message names it."""


@cache
def discovered() -> tuple[type[Listener], ...]:
    """The lints, by the names of their files; raises `LintError`."""
    return tuple(discover(__path__, __name__))


def discover(folders: Iterable[str], package: str) -> Iterator[type[Listener]]:
    """The lint of each module of a package; raises `LintError` where a module has none."""
    for name in modules_in(folders):
        lint = getattr(importlib.import_module(f"{package}.{name}"), "Lint", None)
        if not isinstance(lint, type) or not issubclass(lint, Listener):
            raise LintError(f"{package}.{name} has no class `Lint` that is a `Listener`")
        yield lint
