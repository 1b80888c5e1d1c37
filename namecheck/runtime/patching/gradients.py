"""The warning of torch 2.12 about a gradient with names, which the caller of autograd passes."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import torch

from namecheck.core.names import show
from namecheck.core.semantics import Semantics
from namecheck.runtime.core import native_warnings, tensor_names
from namecheck.runtime.core.name_propagation import names_or_none
from namecheck.runtime.core.patch_table import Patch

_ENGINE: Final = "_engine_run_backward"


def patches(semantics: Semantics) -> Iterator[Patch]:
    """The call of autograd's engine; namecheck's own semantics does not warn."""
    if semantics is Semantics.NATIVE:
        yield Patch(torch.autograd, _ENGINE, _warning(vars(torch.autograd)[_ENGINE]))


def _warning(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def engine_run_backward(outputs: Any, gradients: Sequence[Any], *args: Any, **kw: Any) -> Any:
        for names in filter(None, map(names_or_none, gradients)):
            if any(name is not None for name in names):
                shown = show(tensor_names.lift(names))
                native_warnings.warn(native_warnings.NAMED_GRADIENT.format(shown))
        return original(outputs, gradients, *args, **kw)

    return engine_run_backward
