"""The patches for torch's compilers: torch.compile, TorchScript and torch.fx.

They recognise torch's functions by identity, in tables of their own or in those of the program.
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

from namecheck.runtime.core import replacements
from namecheck.runtime.core.errors import UntestedTorchWarning
from namecheck.runtime.core.patch_table import TABLE, Deferred, Patch

# The functions with which TorchScript looks up what a function is, and the names in its source.
_LOOKUPS: Final = (
    (_jit_internal, "createResolutionCallbackFromClosure"),
    (_builtins, "_find_builtin"),
    (_jit_internal, "_try_get_dispatched_fn"),
    (_recursive, "try_compile_fn"),
    (_script, "_get_overloads"),
)

_hooked: list[ModuleType] = []


def patches() -> Iterator[Patch | Deferred]:
    """The patches of TorchScript, and the hooks of torch.compile once it is there."""
    for module, name in _LOOKUPS:
        yield Patch(module, name, _of_original(getattr(module, name)))
    yield Deferred("torch._dynamo", _hook, bare=True)


def _of_original(lookup: Callable[..., Any]) -> Callable[..., Any]:
    """A wrapper of a look-up that looks our wrappers up as the originals."""

    @functools.wraps(lookup)
    def look_up(value: Any, *args: Any) -> Any:
        function = replacements.original_of(getattr(value, "__func__", value))
        return lookup(function or value, *args)

    return look_up


def _hook(module: ModuleType) -> Iterator[Patch]:
    """Set the hooks, once for the process, and discard what was compiled without them."""
    if not _hooked:
        try:
            with TABLE.suspended():
                from namecheck.runtime.compilation import dynamo_hooks  # it imports torch._dynamo

                dynamo_hooks.hook()
        except (AttributeError, ImportError) as error:
            warnings.warn(
                f"namecheck does not know torch.compile of torch {torch.__version__} ({error}): "
                "compiled functions neither check names nor set them",
                UntestedTorchWarning,
                stacklevel=2,
            )
        else:
            _hooked.append(module)
            module.reset()
    return iter(())
