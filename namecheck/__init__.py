"""Dimension names for PyTorch tensors, checked before anything runs, and while it runs."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from namecheck.revealing import reveal_names
from namecheck.version import VERSION as __version__

if TYPE_CHECKING:
    from namecheck.runtime import (
        NameMismatch,
        checked,
        install,
        install_import_hook,
        installed,
        runtime,
        uninstall,
    )

__all__ = [
    "NameIndexError",
    "NameMismatch",
    "NameTypeError",
    "NameValueError",
    "__version__",
    "checked",
    "install",
    "install_import_hook",
    "installed",
    "reveal_names",
    "runtime",
    "uninstall",
]


def __getattr__(name: str) -> Any:
    """Load what needs torch on first access: importing torch takes seconds."""
    if name in __all__:
        return getattr(importlib.import_module("namecheck.runtime"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
