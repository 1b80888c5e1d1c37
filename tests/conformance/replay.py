"""Replays recorded calls on real tensors, and describes the resulting variables."""

from __future__ import annotations

import contextlib
import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import torch

from namecheck.core.dims import Dims
from namecheck.core.names import UNKNOWN
from namecheck.core.tensors import Constant, Tensor
from namecheck.runtime.core import tensor_names


@dataclass(frozen=True, slots=True)
class Ended:
    """The end of a piece of a program: its variables, and its error, without traceback."""

    variables: dict[str, Any]
    error: Exception | None = None


def tensor(recorded: Tensor, requires_grad: bool) -> torch.Tensor:
    """An input of a recorded call, with its original data (fixtures/oracle/README.md)."""
    dtype = getattr(torch, str(recorded.dtype))
    sizes = [size for size in recorded.dims.sizes if isinstance(size, int)]
    indices = range(math.prod(sizes))
    data: list[Any] = [(1 + index * 3 % 7) / 8 for index in indices]
    if dtype is torch.bool:
        data = [index % 2 == 0 for index in indices]
    elif dtype is torch.int64:
        data = [index % 2 for index in indices]
    replayed: Any = torch.tensor(data, dtype=dtype).reshape(sizes).clone()
    if any(name is not None for name in recorded.names):
        replayed.rename_(*recorded.names)
    return cast(torch.Tensor, replayed.requires_grad_() if requires_grad else replayed)


def run(source: str, variables: Mapping[str, Any]) -> Ended:
    """Run source text with these variables, and with the same random numbers at every run."""
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


def described(value: Any, *, native: bool = False) -> Any:
    """A value in its recorded form: abstract tensors, plain constants, UNKNOWN for anything else.

    With `native` the names are torch's own, in a version that has them.
    """
    if isinstance(value, torch.Tensor):
        names: Sequence[Any] = (
            cast(Any, value).names if native else tensor_names.names_of(value) or ()
        )
        names = names or (None,) * value.dim()
        dims = Dims.of(*tensor_names.lift(names), sizes=list(value.shape))
        return Tensor(dims, str(value.dtype).removeprefix("torch."))
    if isinstance(value, (tuple, list)):
        parts = [described(part, native=native) for part in value]
        return parts if isinstance(value, list) else tuple(parts)
    if value is None or isinstance(value, (bool, int, float, complex, str)):
        return value
    if isinstance(value, torch.dtype):
        return Constant("dtype", str(value).removeprefix("torch."))
    return UNKNOWN
