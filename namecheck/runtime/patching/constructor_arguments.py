"""What a module of torch.nn was made with, as far as its attributes tell."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from namecheck.operators import Operator, signatures


def made_with(row: Operator, module: torch.nn.Module) -> Mapping[str, Any]:
    """The arguments of the constructor that the table names, by keyword."""
    named = [p.name for p in signatures.parse(row.ctor) if not (p.variadic or p.mapping)]
    return {name: getattr(module, name) for name in named if hasattr(module, name)}
