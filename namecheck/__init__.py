"""Dimension names for PyTorch tensors, checked before anything runs, and while it runs."""

from __future__ import annotations

from namecheck.version import VERSION as __version__

# To mypy this name is that of `typing`, which takes longer to import than ``namecheck --version``.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any

    from namecheck.revealing import reveal_names
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
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    home = "namecheck.revealing" if name == "reveal_names" else "namecheck.runtime"
    return getattr(import_module(home), name)
