"""The shim and torch's compilers: torch.compile, and TorchScript.

Both know torch's functions by their identity, and look them up in tables of their own.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any, Final

import torch
from torch import _jit_internal
from torch.jit import _builtins, _recursive, _script

from namecheck.runtime.compilation import originals
from namecheck.runtime.core.errors import UntestedTorchWarning
from namecheck.runtime.core.patch_table import TABLE, Deferred, Patch

# Where TorchScript asks what a function is.
_LOOKUPS: Final = (
    (_builtins, "_find_builtin"),
    (_jit_internal, "_try_get_dispatched_fn"),
    (_recursive, "try_compile_fn"),
    (_script, "_get_overloads"),
)

_hooked: list[ModuleType] = []


def patches() -> Iterator[Patch | Deferred]:
    """What the compilers need; the tracer of torch.compile once it has been imported."""
    for module, name in _LOOKUPS:
        yield Patch(module, name, _of_original(getattr(module, name)))
    yield Deferred("torch._dynamo", _hook, bare=True)


def _of_original(lookup: Callable[..., Any]) -> Callable[..., Any]:
    """What stands in the place of a function of torch is looked up as that function."""

    @functools.wraps(lookup)
    def look_up(function: Any, *args: Any) -> Any:
        return lookup(originals.original_of(function) or function, *args)

    return look_up


def _hook(module: ModuleType) -> Iterator[Patch]:
    """Set the hooks, once for the process; what was compiled without names is forgotten."""
    if not _hooked:
        try:
            with TABLE.suspended():
                from namecheck.runtime.compilation import dynamo_hooks  # it imports torch._dynamo

                dynamo_hooks.hook()
        except (AttributeError, ImportError) as error:
            warnings.warn(
                f"namecheck does not know torch.compile of torch {torch.__version__} ({error}): "
                "compiled functions neither check names nor give them",
                UntestedTorchWarning,
                stacklevel=2,
            )
        else:
            _hooked.append(module)
            module.reset()
    return iter(())
