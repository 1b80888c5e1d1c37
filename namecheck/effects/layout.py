"""The layout of a result: that of the operands, or that in the row (torch.layout).

A result computed from strided tensors is strided, and so is a new tensor by default. The column
`layout` states the exceptions: a layout, or that of the first operand (``first``, ``coo`` if that
is sparse_coo), or of a ``product`` of matrices. `refuses` has torch's error for a first operand
with some layout, as ``sparse_coo = "aten::exp"``: the kernel that is missing, or the message. A
condition may follow the layout, about the arguments and the ``result`` too, where torch returns
some tensors as they are: ``sparse_coo if any(pad)``. tests/runtime/test_layout_rows.py compares all
of it with torch 2.13.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from namecheck.core.dataclasses import dataclass
from namecheck.core.layouts import LAYOUTS, SPARSE, STRIDED
from namecheck.core.names import UNKNOWN, Contradiction, Unknown
from namecheck.core.tensors import Constant, Many, Tensor
from namecheck.effects import conditions
from namecheck.effects.operands import Operands
from namecheck.effects.words import (
    Condition,
    Message,
    ParameterNames,
    Subject,
    WordError,
    check_parameters,
    read_message,
    read_subject,
    read_word,
)

WORDS: Final = ("first", "coo", "product", "unknown", *LAYOUTS)


@dataclass(frozen=True, slots=True)
class Refusal:
    """The error of torch for a layout, and on what condition, if not always."""

    message: Message
    condition: Condition | None = None

    def counts(self, arguments: Mapping[str, Any], result: Any) -> bool:
        """Whether torch certainly refuses a call with these arguments."""
        if self.condition is None:
            return True
        return conditions.holds(self.condition, {**arguments, "result": result})


@dataclass(frozen=True, slots=True)
class LayoutEffect:
    """The layout effect of a row; `tensors` are the parameters that may take tensors.

    `counted` are the parameters whose layouts count: tensors, and the arguments of a factory.
    """

    word: str
    refusals: Mapping[str, Refusal]
    tensors: tuple[str, ...]
    counted: tuple[str, ...]


def read(
    text: str, refuses: Mapping[str, str], tensor_parameters: tuple[str, ...], *, formats: bool
) -> LayoutEffect:
    """Read the columns `layout` and `refuses`; `formats` if the call takes a memory format."""
    word = read_word(text).name or ("first" if formats and tensor_parameters else "")
    refusals = dict(_refusal(subject, words) for subject, words in refuses.items())
    return LayoutEffect(word, refusals, tensor_parameters, tensor_parameters or ("data",))


def check_cell(text: str, parameters: ParameterNames | None) -> None:
    """Check a cell of `layout`; raises `WordError`."""
    word = read_word(text)
    if word.name and word.name not in WORDS:
        raise WordError(f"unknown word '{word.name}'", WORDS)


def refused_layout(subject: Subject) -> str:
    """The layout that an entry of `refuses` is about; raises `WordError`."""
    match subject:
        case Subject((layout,), "" | "if") if layout in LAYOUTS:
            return layout
    raise WordError(f"unknown layout '{','.join(subject.parameters)}'", LAYOUTS, "layouts")


def check_refusal(subject_text: str, text: str, parameters: ParameterNames | None) -> None:
    """Check an entry of `refuses`; raises `WordError`."""
    subject = read_subject(subject_text)
    refused_layout(subject)
    if subject.condition is not None:
        conditions.check(subject.condition)
        check_parameters(sorted(subject.condition.parameters - {"result"}), parameters)


def of_result(
    answer: Any, effect: LayoutEffect, call_operands: Operands, *, writes: bool
) -> str | Unknown:
    """The layout of a result; raises `Contradiction` where torch has no kernel for an operand.

    A call that writes to a tensor, or requests a dtype, is not refused: it uses other kernels.
    """
    own = _of(call_operands.leaves[effect.tensors[0]]) if effect.tensors else UNKNOWN
    if isinstance(own, str) and own in effect.refusals:
        refusal, arguments = effect.refusals[own], call_operands.arguments
        other = writes or isinstance(arguments.get("dtype"), (Constant, Unknown))
        if not other and refusal.counts(arguments, answer):
            raise _refused(own, refusal.message)
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


def _refusal(subject_text: str, text: str) -> tuple[str, Refusal]:
    """A layout, and the error of torch for it: that there is no kernel, or its message."""
    subject = read_subject(subject_text)
    layout = refused_layout(subject)
    if not text.startswith("aten::"):
        return layout, Refusal(read_message(text), subject.condition)
    backend = _BACKENDS.get(layout, "SparseCsrCPU")
    missing = f"Could not run '{text}' with arguments from the '{backend}' backend."
    return layout, Refusal(Message("NotImplementedError", missing), subject.condition)


def _refused(layout: str, refusal: Message) -> Contradiction:
    return Contradiction(
        "NC503",
        refusal.text,
        error=refusal.error,
        help=f"The tensor is kept as {layout}: call `{_WAY_OUT.get(layout, 'to_dense')}()` first.",
    )
