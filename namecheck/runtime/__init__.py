"""Runs the rules on real tensors: the only importer of torch.

The package can be called: ``with namecheck.runtime(mode="warn"):`` is `shim.runtime`.
"""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from types import ModuleType

from namecheck.core.semantics import Semantics
from namecheck.runtime.annotations.checked_functions import checked
from namecheck.runtime.annotations.import_hook import install_import_hook
from namecheck.runtime.core.errors import (
    Contradicted,
    NameIndexError,
    NameMismatch,
    NameNotImplementedError,
    NameTypeError,
    NameValueError,
    UntestedTorchWarning,
)
from namecheck.runtime.core.modes import Mode, Record
from namecheck.runtime.shim import InstallError, install, installed, runtime, uninstall

__all__ = [
    "Contradicted",
    "InstallError",
    "NameIndexError",
    "NameMismatch",
    "NameNotImplementedError",
    "NameTypeError",
    "NameValueError",
    "Record",
    "UntestedTorchWarning",
    "checked",
    "install",
    "install_import_hook",
    "installed",
    "runtime",
    "uninstall",
]


class _Callable(ModuleType):
    """The package, which is the context manager of its name as well."""

    def __call__(
        self,
        mode: Mode = "error",
        *,
        semantics: Semantics | str | None = None,
        experimental_warning: bool = False,
    ) -> AbstractContextManager[Record]:
        return runtime(mode, semantics=semantics, experimental_warning=experimental_warning)


sys.modules[__name__].__class__ = _Callable
