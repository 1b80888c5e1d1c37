"""The layout of a result: that of the operands, or that in the row (torch.layout).

A result computed from strided tensors is strided, and so is a new tensor by default. The column
`layout` states the exceptions: a layout, or that of the first operand (``first``, ``coo`` if that
is sparse_coo), or of a ``product`` of matrices. `refuses` has torch's error for a first operand
with some layout, as ``sparse_coo = "aten::exp"``: the kernel that is missing, or the message.
tests/runtime/test_layout_rows.py compares all of it with torch 2.13.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from namecheck.core.dataclasses import dataclass
from namecheck.core.layouts import LAYOUTS, SPARSE, STRIDED
from namecheck.core.names import UNKNOWN, Contradiction, Unknown
from namecheck.core.tensors import Constant, Many, Tensor
from namecheck.effects.operands import Operands
from namecheck.effects.words import Message, ParameterNames, WordError, read_message, read_word

WORDS: Final = ("first", "coo", "product", "unknown", *LAYOUTS)


@dataclass(frozen=True, slots=True)
class LayoutEffect:
    """The layout effect of a row; `tensors` are the parameters that may take tensors.

    `counted` are the parameters whose layouts count: tensors, and the arguments of a factory.
    """

    word: str
    refusals: Mapping[str, Message]
    tensors: tuple[str, ...]
    counted: tuple[str, ...]


def read(
    text: str, refuses: Mapping[str, str], tensor_parameters: tuple[str, ...], *, formats: bool
) -> LayoutEffect:
    """Read the columns `layout` and `refuses`; `formats` if the call takes a memory format."""
    word = read_word(text).name or ("first" if formats and tensor_parameters else "")
    refusals = {layout: _refusal(layout, words) for layout, words in refuses.items()}
    return LayoutEffect(word, refusals, tensor_parameters, tensor_parameters or ("data",))


def check_cell(text: str, parameters: ParameterNames | None) -> None:
    """Check a cell of `layout`; raises `WordError`."""
    word = read_word(text)
    if word.name and word.name not in WORDS:
        raise WordError(f"unknown word '{word.name}'", WORDS)


def check_refusal(layout: str, text: str, parameters: ParameterNames | None) -> None:
    """Check an entry of `refuses`; raises `WordError`."""
    if layout not in LAYOUTS:
        raise WordError(f"unknown layout '{layout}'", LAYOUTS, "layouts")


def of_result(effect: LayoutEffect, call_operands: Operands, *, writes: bool) -> str | Unknown:
    """The layout of a result; raises `Contradiction` where torch has no kernel for an operand.

    A call that writes to a tensor, or requests a dtype, is not refused: it uses other kernels.
    """
    own = _of(call_operands.leaves[effect.tensors[0]]) if effect.tensors else UNKNOWN
    if isinstance(own, str) and own in effect.refusals:
        other = writes or isinstance(call_operands.arguments.get("dtype"), (Constant, Unknown))
        if not other:
            raise _refused(own, effect.refusals[own])
    return _layout(effect, call_operands, own)


def _of(leaves: tuple[Any, ...]) -> str | Unknown | None:
    """The layout of an argument, UNKNOWN where it may be any; None where it is no tensor."""
    if len(leaves) == 1:  # usually one tensor
        leaf = leaves[0]
        return leaf.layout if isinstance(leaf, Tensor) else _of_leaf(leaf)
    layouts = {_of_leaf(leaf) for leaf in leaves} - {None}
    return layouts.pop() if len(layouts) == 1 else UNKNOWN if layouts else None


def _of_leaf(leaf: Any) -> str | Unknown | None:
    if isinstance(leaf, Tensor):
        return leaf.layout
    if isinstance(leaf, Many):
        return leaf.each.layout
    return UNKNOWN if isinstance(leaf, Unknown) else None


def _layout(
    effect: LayoutEffect, call_operands: Operands, own_layout: str | Unknown | None
) -> str | Unknown:
    request = call_operands.arguments.get("layout")
    if isinstance(request, Constant):
        return request.name if request.name in LAYOUTS else UNKNOWN
    word = effect.word
    if isinstance(request, Unknown) or word == "unknown":
        return UNKNOWN
    if word in LAYOUTS:
        return word
    if word == "first" or (word == "coo" and own_layout == SPARSE):
        return own_layout or UNKNOWN
    if word == "product":
        return _of_product({_of(call_operands.leaves[name]) for name in effect.tensors} - {None})
    for name in effect.counted:
        layout = _of(call_operands.leaves[name])
        if layout != STRIDED and layout is not None:
            return UNKNOWN
    return STRIDED


def _of_product(layouts: set[str | Unknown | None]) -> str | Unknown:
    """The product with a strided matrix is strided; that of sparse ones is sparse (torch.mm)."""
    if STRIDED in layouts:
        return STRIDED
    return SPARSE if layouts == {SPARSE} else UNKNOWN


_WAY_OUT: Final = {STRIDED: "to_sparse"}
_BACKENDS: Final = {SPARSE: "SparseCPU", STRIDED: "CPU"}


def _refusal(layout: str, text: str) -> Message:
    """The error of torch for a layout: that there is no kernel, or its message."""
    if not text.startswith("aten::"):
        return read_message(text)
    backend = _BACKENDS.get(layout, "SparseCsrCPU")
    missing = f"Could not run '{text}' with arguments from the '{backend}' backend."
    return Message("NotImplementedError", missing)


def _refused(layout: str, refusal: Message) -> Contradiction:
    return Contradiction(
        "NC503",
        refusal.text,
        error=refusal.error,
        help=f"The tensor is kept as {layout}: call `{_WAY_OUT.get(layout, 'to_dense')}()` first.",
    )
