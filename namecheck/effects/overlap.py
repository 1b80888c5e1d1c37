"""Refuses to write to a tensor whose elements share memory, such as an expanded one.

torch refuses to write an elementwise result there, in place or as ``out=``: the rule says
``overlaps="refused"``. A row that differs says ``overlaps = "taken"``; the meta device is always
allowed. ``copies(other)`` is refused unless `other` may be the very elements that are written to,
which torch then leaves as they are. tests/runtime/test_overlap_rows.py compares it with torch 2.13.
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
from namecheck.effects.words import ParameterNames, Word, WordError, check_parameters, read_word
from namecheck.rules import registry
from namecheck.rules.dim_map import same_shape


def check_cell(text: str, parameters: ParameterNames | None) -> None:
    """Check a cell of `overlaps`; raises `WordError`."""
    word = read_word(text)
    if word.name not in ("", "taken", "copies") or bool(word.arguments) is not _copies(word):
        raise WordError(f"unknown word '{text}'", ("taken", "copies(parameter)"))
    check_parameters(word.arguments, parameters)


def _copies(parsed: Word) -> bool:
    return parsed.name == "copies"


def copied(text: str) -> str | None:
    """The parameter whose elements are copied as they are, in a cell of `overlaps`."""
    word = read_word(text)
    return word.arguments[0] if _copies(word) else None


def check(answer: Any, target: Any, source: Any) -> None:
    """Refuse to write a result of the same shape where elements certainly share memory.

    `source` is what is copied as it is, None where the result is computed.
    """
    if not isinstance(target, Tensor) or not isinstance(target.memory, Gapped):
        return
    if not isinstance(answer, Tensor) or same_shape(answer.dims, target.dims) is not Answer.YES:
        return
    is_shaped = isinstance(source, Tensor) and same_shape(source.dims, target.dims) is Answer.NO
    if is_shaped or not _may_be(source, target):
        _refuse(target)


def _may_be(source: Any, target: Tensor) -> bool:
    """Whether a value, stretched to the dims of a tensor, may have its elements."""
    if not isinstance(source, Tensor):
        return isinstance(source, Unknown)
    own, sizes = source.dims.sizes, target.dims.sizes
    if source.dims.open or len(own) > len(sizes):
        return True
    return memory_order.agrees(
        target.memory, memory_order.stretched(source.memory, own, sizes), sizes
    )


def assigned(answer: Any, memory_effect: object, call_operands: Operands) -> Unknown:
    """The view that ``x[index] = value`` writes to, unless the index takes elements one by one."""
    arguments = call_operands.arguments
    tensor, index = call_operands.single.get("input"), arguments.get("index")
    if not isinstance(tensor, Tensor) or not _overlaps(tensor):
        return UNKNOWN
    parts = index if isinstance(index, tuple) else (index,)
    if all(part is ... or part is None or type(part) in (int, slice) for part in parts):
        dims = registry.called(registry.load()["indexing"], {"input": tensor, "index": index})
        part = Tensor(dims, memory=strides.of_index(tensor, dims, arguments))
        if not dims.open and not _may_be(arguments.get("value"), part):
            _refuse(part)
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
