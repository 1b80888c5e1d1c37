"""A batch of one with which a program tries a function: to the function it has any size."""

from __future__ import annotations

from namecheck.core.dataclasses import replace
from namecheck.core.dims import Dims
from namecheck.core.names import UNKNOWN
from namecheck.interpreter.domain import joins
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.values import TensorValue
from namecheck.interpreter.evaluation.frames import Call


def forget(call: Call, store: Store) -> None:
    """Forget that the first dim of an argument has the size 1, where no dim has a name.

    ``model(torch.randn(1, 3, 224, 224))`` says how many sizes there are, and not that the batch is
    one. Source: docs/evidence.md.
    """
    for value in (*call.args, *call.kwargs.values()):
        if isinstance(value, TensorValue):
            content = joins.held(value, store)
            if _is_lone(content.tensor.dims):
                dims = content.tensor.dims
                dims = dims.replace(0, replace(dims[0], size=UNKNOWN))
                joins.write(
                    value, store, replace(content, tensor=replace(content.tensor, dims=dims))
                )


def _is_lone(dims: Dims) -> bool:
    """Whether dims without a name are a batch of one."""
    if dims.open or len(dims.prefix) < 2 or dims.prefix[0].size != 1:
        return False
    return all(dim.name is None for dim in dims.prefix)
