"""What holds of every tensor that a call returns or writes to, whatever its rule."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from namecheck.core import names as naming
from namecheck.core.names import Answer
from namecheck.core.semantics import Semantics
from namecheck.core.tensors import Many, Tensor
from namecheck.rules import dim_map, refusals


def check(results: Iterable[Any], semantics: Semantics) -> None:
    """Refuse names that no tensor can have: a label twice; natively names of too many dims.

    Native torch has tensors with a name twice, the products of some batches (recorded: matmul).
    """
    for tensor in _tensors(results):
        if semantics is Semantics.NAMECHECK:
            naming.check_distinct(tensor.names)
        elif refusals.has_named(tensor) is Answer.YES:
            dim_map.check_name_count(tensor.dims, tensor.names)


def _tensors(values: Iterable[Any]) -> Iterator[Tensor]:
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, Many):
            yield value.each
        elif isinstance(value, (tuple, list)):
            yield from _tensors(value)
