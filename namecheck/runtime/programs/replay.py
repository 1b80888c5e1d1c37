"""Makes recorded calls on real tensors, and tells what their variables hold."""

from __future__ import annotations

import contextlib
import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from namecheck.core.dims import Dims
from namecheck.core.names import UNKNOWN
from namecheck.core.tensors import Constant, Tensor
from namecheck.runtime.core import tensor_names


@dataclass(frozen=True, slots=True)
class Ended:
    """How a piece of a program ended: the variables it left, and what it raised, without frames."""

    variables: dict[str, Any]
    error: Exception | None = None


def tensor(described: Tensor, requires_grad: bool) -> torch.Tensor:
    """An input of a recorded call, with the data that it had (fixtures/oracle/README.md)."""
    dtype = getattr(torch, str(described.dtype))
    sizes = [size for size in described.dims.sizes if isinstance(size, int)]
    indices = range(math.prod(sizes))
    data: list[Any] = [(1 + index * 3 % 7) / 8 for index in indices]
    if dtype is torch.bool:
        data = [index % 2 == 0 for index in indices]
    elif dtype is torch.int64:
        data = [index % 2 for index in indices]
    made: Any = torch.tensor(data, dtype=dtype).reshape(sizes).clone()
    if any(name is not None for name in described.names):
        made.rename_(*described.names)
    result: torch.Tensor = made.requires_grad_() if requires_grad else made
    return result


def run(source: str, variables: Mapping[str, Any]) -> Ended:
    """Run source text that finds these variables; random numbers are the same at every run."""
    space = dict(variables)
    torch.manual_seed(0)
    with warnings.catch_warnings(), contextlib.suppress(SystemExit):
        warnings.simplefilter("ignore")
        try:
            exec(compile(source, "<replayed>", "exec"), space)
        except Exception as error:
            error.__cause__ = error.__context__ = None
            return Ended(space, error.with_traceback(None))
    return Ended(space)


def known(value: Any, *, native: bool = False) -> Any:
    """A real value as it is recorded: tensors with their names, whatever else plainly.

    With `native` the names are torch's own, of a version that has them.
    """
    if isinstance(value, torch.Tensor):
        own: Any = value
        names: Sequence[Any] = own.names if native else tensor_names.names_of(value) or ()
        names = names or (None,) * value.dim()
        dims = Dims.of(*tensor_names.lift(names), sizes=list(value.shape))
        return Tensor(dims, str(value.dtype).removeprefix("torch."))
    if isinstance(value, (tuple, list)):
        parts = [known(part, native=native) for part in value]
        return parts if isinstance(value, list) else tuple(parts)
    if value is None or isinstance(value, (bool, int, float, complex, str)):
        return value
    if isinstance(value, torch.dtype):
        return Constant("dtype", str(value).removeprefix("torch."))
    return UNKNOWN
