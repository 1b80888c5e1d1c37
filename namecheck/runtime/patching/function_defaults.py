"""Functions of torch that are defaults of parameters: torch read them before they were patched.

The layers of a transformer compare ``activation`` with `torch.nn.functional.relu`, and pickle finds
it there, so the default has to be the function that is there now.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import FunctionType
from typing import Any

import torch

from namecheck.runtime.core.patch_table import ABSENT, Deferred, Patch, read


def patches(ruled: Iterable[Patch | Deferred]) -> Iterator[Patch]:
    """The defaults of the constructors of ``torch.nn``, with what `ruled` put in their place."""
    replacements = {id(original): replacement for original, replacement in _replaced(ruled)}
    for constructor in _constructors():
        defaults = constructor.__defaults__ or ()
        if any(id(default) in replacements for default in defaults):
            current = tuple(replacements.get(id(default), default) for default in defaults)
            yield Patch(constructor, "__defaults__", current)


def _replaced(ruled: Iterable[Patch | Deferred]) -> Iterator[tuple[Any, Any]]:
    for patch in ruled:
        if isinstance(patch, Patch):
            original = read(patch.owner, patch.attribute)
            if original is not ABSENT and callable(patch.replacement):
                yield original, patch.replacement


def _constructors() -> Iterator[FunctionType]:
    for layer in vars(torch.nn).values():
        constructor = vars(layer).get("__init__") if isinstance(layer, type) else None
        if isinstance(constructor, FunctionType):
            yield constructor
