"""Runs lines of source on real tensors, and tells what its variables hold."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from namecheck.names import UNKNOWN
from namecheck.runtime import tensor_names
from namecheck.values import Constant, Dims, Tensor


@dataclass(frozen=True, slots=True)
class Ended:
    """How a piece of a program ended: the variables it left, and what it raised."""

    variables: dict[str, Any]
    error: Exception | None = None


def run(source: str, before: Ended | None = None) -> Ended:
    """Run source text, after another piece whose variables it finds."""
    space = dict(before.variables) if before is not None else {}
    with warnings.catch_warnings(), contextlib.suppress(SystemExit):
        warnings.simplefilter("ignore")
        try:
            exec(compile(source, "<replayed>", "exec"), space)
        except Exception as error:
            return Ended(space, error)
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
