"""Refuses to write to a tensor whose elements share memory, such as an expanded one.

torch refuses to write an elementwise result there, in place or as ``out=``: the rule says
``overlaps="refused"``. A row that differs says ``overlaps = "taken"``; the meta device is always
allowed. tests/runtime/test_overlap_rows.py compares it with torch 2.13.
"""

from __future__ import annotations

from typing import Any

from namecheck.core import memory_order
from namecheck.core.devices import META
from namecheck.core.memory_order import Gapped
from namecheck.core.names import UNKNOWN, Answer, Contradiction, Unknown
from namecheck.core.tensors import Tensor
from namecheck.effects import strides
from namecheck.effects.operands import Operands
from namecheck.effects.words import ParameterNames, WordError, read_word
from namecheck.rules import registry
from namecheck.rules.dim_map import same_shape


def check_cell(text: str, parameters: ParameterNames | None) -> None:
    """Check a cell of `overlaps`; raises `WordError`."""
    if read_word(text).name not in ("", "taken"):
        raise WordError(f"unknown word '{text}'", ("taken",))


def check(answer: Any, target: Any) -> None:
    """Refuse to write a result of the same shape where elements certainly share memory."""
    if not isinstance(target, Tensor) or not isinstance(target.memory, Gapped):
        return
    if isinstance(answer, Tensor) and same_shape(answer.dims, target.dims) is Answer.YES:
        _refuse(target)


def assigned(answer: Any, memory_effect: object, call_operands: Operands) -> Unknown:
    """The view that ``x[index] = value`` writes to, unless the index takes elements one by one."""
    arguments = call_operands.arguments
    tensor, index = call_operands.single.get("input"), arguments.get("index")
    if not isinstance(tensor, Tensor) or not _overlaps(tensor):
        return UNKNOWN
    parts = index if isinstance(index, tuple) else (index,)
    if all(part is ... or part is None or type(part) in (int, slice) for part in parts):
        dims = registry.called(registry.load()["indexing"], {"input": tensor, "index": index})
        if not dims.open:
            _refuse(Tensor(dims, memory=strides.of_index(tensor, dims, arguments)))
    return UNKNOWN


def _refuse(target: Tensor) -> None:
    if _overlaps(target):
        raise Contradiction(
            "NC505",
            "unsupported operation: more than one element of the written-to tensor refers to a "
            "single memory location. Please clone() the tensor before performing the operation.",
            help="The tensor is stretched, as by `expand`: call `clone()` before it is written to.",
        )


def _overlaps(tensor: Tensor) -> bool:
    if not isinstance(tensor.memory, Gapped) or tensor.dims.open or tensor.device == META:
        return False
    return memory_order.overlaps(tensor.memory, tensor.dims.sizes)
