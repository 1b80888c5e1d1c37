"""The mypy plugin: dimension names of PyTorch tensors, checked inside mypy.

mypy loads it by ``plugins = ["namecheck_mypy"]`` and calls `plugin`.
"""

from __future__ import annotations

import sys
from typing import Final

from mypy.plugin import Plugin

from namecheck_mypy.versions import of_daemon

__all__ = ["plugin"]

TESTED: Final = ((2, 4), (2, 5))
"""The mypy versions that the plugin is tested with: from the first on, below the second."""


def plugin(version: str) -> type[Plugin]:
    """The entry point that mypy calls: returns the class of the plugin."""
    first, beyond = TESTED
    if not first <= _release(version) < beyond:
        tested = f"mypy {_dotted(first)} up to, but not including, {_dotted(beyond)}"
        print(
            f"namecheck_mypy: this is mypy {version}; the plugin is tested with {tested}. "
            "Findings are attempted all the same.",
            file=sys.stderr,
        )
    from namecheck_mypy.hooks import NamecheckPlugin

    return NamecheckPlugin


def _release(version: str) -> tuple[int, ...]:
    numbers = (part for part in version.split("+")[0].split(".")[:2])
    return tuple(int(number) if number.isdigit() else 0 for number in numbers)


def _dotted(release: tuple[int, ...]) -> str:
    return ".".join(map(str, release))


def __getattr__(name: str) -> str:
    """The ``__version__`` for mypy; a daemon restarts when it changes."""
    if name == "__version__":
        return of_daemon()
    raise AttributeError(name)
