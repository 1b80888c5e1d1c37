"""The mypy plugin: dimension names of PyTorch tensors, checked inside mypy.

mypy loads it by ``plugins = ["namecheck_mypy"]`` and calls `plugin`.
"""

from __future__ import annotations

import sys

from mypy.plugin import Plugin

from namecheck_mypy.versions import of_daemon

__all__ = ["plugin"]

_OTHERWISE = "`namecheck check` needs no mypy"


def plugin(version: str) -> type[Plugin]:
    """The entry point that mypy calls: returns the class of the plugin.

    A mypy that the plugin was not tried with gets the same plugin, or one that does nothing if it
    lacks what the plugin needs. Standard error says which.
    """
    try:
        from namecheck_mypy import surfaces
        from namecheck_mypy.hooks import NamecheckPlugin
    except ImportError as error:
        return _inert(version, " ".join(str(error).split()))
    if surfaces.release_of(version) in surfaces.ADAPTERS:
        return NamecheckPlugin
    if missing := surfaces.lacks():
        return _inert(version, missing)
    first, last = (".".join(map(str, choose(surfaces.ADAPTERS))) for choose in (min, max))
    if not surfaces.is_worker_process():
        _complain(
            f"mypy {version} was not tried with this namecheck, which was tried with mypy {first} "
            f"to {last}. Findings are reported all the same; {_OTHERWISE}."
        )
    return NamecheckPlugin


def _inert(version: str, missing: str) -> type[Plugin]:
    """A plugin that does nothing, for a mypy that lacks what the plugin needs."""
    _complain(
        f"no findings are reported: mypy {version} was not tried with this namecheck, and does not "
        f"have what it needs ({missing}). {_OTHERWISE}."
    )
    return Plugin


def _complain(text: str) -> None:
    print(f"namecheck_mypy: {text}", file=sys.stderr)


def __getattr__(name: str) -> str:
    """The ``__version__`` for mypy; a daemon restarts when it changes."""
    if name == "__version__":
        return of_daemon()
    raise AttributeError(name)
