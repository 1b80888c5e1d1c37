"""The constructor arguments of a module of torch.nn, read from its attributes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from namecheck.operators import Operator


def constructor_arguments(row: Operator, torch_module: torch.nn.Module) -> Mapping[str, Any]:
    """The arguments that the row's constructor signature names, by keyword, as far as set."""
    names = [p.name for p in row.constructor if not (p.variadic or p.mapping)]
    return {name: getattr(torch_module, name) for name in names if hasattr(torch_module, name)}
