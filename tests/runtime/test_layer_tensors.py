"""The column ``holds`` of the table, compared with the layers of torch."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from namecheck.core.parameters import REQUIRED
from namecheck.core.syntax import parse
from namecheck.interpreter.domain.joins import held
from namecheck.interpreter.domain.values import NONE, TensorValue
from namecheck.interpreter.workspace.analysis import run
from namecheck.operators import table

HOLDING = sorted(key for key in table() if table()[key].holds)
SWITCHES = ("bias", "affine", "track_running_stats")


def made_with(key: str, value: bool) -> dict[str, Any]:
    """Arguments for the constructor of a layer: a different size for every number."""
    signature = table()[key].constructor
    needed = [p.name for p in signature if p.default is REQUIRED]
    switches = {p.name: value for p in signature if p.name in SWITCHES}
    return {**{name: 2 + index for index, name in enumerate(needed)}, **switches}


@pytest.mark.parametrize("switch", [True, False], ids=str)
@pytest.mark.parametrize("key", HOLDING)
def test_a_layer_holds_what_its_row_says(key: str, switch: bool) -> None:
    arguments = made_with(key, switch)
    if key == "nn.GroupNorm":
        arguments["num_channels"] = 2 * arguments["num_groups"]
    layer = getattr(nn, key.removeprefix("nn."))(**arguments)
    given = ", ".join(f"{name}={value!r}" for name, value in arguments.items())
    names = list(table()[key].holds)
    reads = "".join(f"{name} = layer.{name}\n" for name in names)
    source = f"import torch\nlayer = torch.{key}({given})\n{reads}"
    program = run(parse(source.encode(), "program.py"))
    for name in names:
        tensor, inferred = getattr(layer, name), program.variable(name)
        if tensor is None:
            assert inferred == NONE
            continue
        assert isinstance(tensor, torch.Tensor)
        assert isinstance(inferred, TensorValue)
        dims = held(inferred, program.store).tensor.dims
        assert dims.rank == tensor.dim()
        known = [
            (a, b) for a, b in zip(dims.sizes, tensor.shape, strict=True) if isinstance(a, int)
        ]
        assert known
        assert all(a == b for a, b in known)
