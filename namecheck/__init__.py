"""Dimension names for PyTorch tensors, checked before anything runs, and while it runs."""

from __future__ import annotations

from namecheck.version import VERSION as __version__

# To mypy this name is that of `typing`, which takes longer to import than ``namecheck --version``.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any

    from namecheck.core.findings import Finding, Place, Span
    from namecheck.project.reports import Report, check
    from namecheck.project.settings import SettingsError
    from namecheck.revealing import reveal_names
    from namecheck.runtime import (
        NameIndexError,
        NameMismatch,
        NameNotImplementedError,
        NameTypeError,
        NameValueError,
        checked,
        install,
        install_import_hook,
        installed,
        runtime,
        uninstall,
    )

__all__ = [
    "Finding",
    "NameIndexError",
    "NameMismatch",
    "NameNotImplementedError",
    "NameTypeError",
    "NameValueError",
    "Place",
    "Report",
    "SettingsError",
    "Span",
    "__version__",
    "check",
    "checked",
    "install",
    "install_import_hook",
    "installed",
    "reveal_names",
    "runtime",
    "uninstall",
]

_HOMES = {
    "Finding": "namecheck.core.findings",
    "Place": "namecheck.core.findings",
    "Report": "namecheck.project.reports",
    "SettingsError": "namecheck.project.settings",
    "Span": "namecheck.core.findings",
    "check": "namecheck.project.reports",
    "reveal_names": "namecheck.revealing",
}


def __getattr__(name: str) -> Any:
    """Load a part of the API on first access: importing torch takes seconds."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES.get(name, "namecheck.runtime")), name)
