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
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from typing import Final

from namecheck.core import regular_files
from namecheck.core.discovery import modules_in
from namecheck.interpreter.evaluation.events import Listener


class LintError(ImportError):
    """A module of this folder that is no lint; the message names it."""


@cache
def discovered(requests: frozenset[str] | None = None) -> tuple[type[Listener], ...]:
    """The lints that listen on request of one of these words; None stands for all lints.

    They are sorted by the names of their files. Raises `LintError`.
    """
    return tuple(
        lint
        for lint in discover(__path__, __name__, requests)
        if requests is None or lint.on_request in requests
    )


def discover(
    folders: Iterable[str], package: str, requests: frozenset[str] | None = None
) -> Iterator[type[Listener]]:
    """The lint of each module of a package; raises `LintError` where a module has none.

    A module whose text says that it listens on another request is not imported.
    """
    for name in modules_in(folders):
        if requests is not None and _request(folders, name) not in requests:
            continue
        lint = getattr(importlib.import_module(f"{package}.{name}"), "Lint", None)
        if not isinstance(lint, type) or not issubclass(lint, Listener):
            raise LintError(f"{package}.{name} has no class `Lint` that is a `Listener`")
        yield lint


def _request(folders: Iterable[str], name: str) -> str:
    """The word on whose request a lint listens, by its text; "" where there is none."""
    for folder in folders:
        with suppress(OSError):
            text = regular_files.of_package(os.path.join(folder, f"{name}.py"))
            written = re.search(_ON_REQUEST, text.replace(b"\r", b""))
            return "" if written is None else written[1].decode()
    return ""


_ON_REQUEST: Final = rb'(?m)^    on_request: ClassVar\[str\] = "(\w*)"$'
