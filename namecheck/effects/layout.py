"""The layout of a result: that of the operands, or what its row says (torch.layout).

What is computed from strided tensors is strided, and so is what a factory makes that is asked for
nothing else. A row's `layout` tells what else there is: a layout, or that of the first operand
(``first``, ``coo`` if that is sparse_coo), or of a ``product`` of matrices. `refuses` tells what
torch says of a first operand of some layout, as ``sparse_coo = "aten::exp"``: the kernel that it
does not have, or its words. All of it is held against torch 2.13 by
tests/runtime/test_layout_rows.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from namecheck.core.layouts import LAYOUTS, SPARSE, STRIDED
from namecheck.core.names import UNKNOWN, Contradiction, Unknown
from namecheck.core.tensors import Constant, Many, Tensor


@dataclass(frozen=True, slots=True)
class Keeping:
    """What the row of an operator tells of layouts; `operands` are the parameters for tensors."""

    word: str = ""
    refuses: Mapping[str, str] | None = None
    operands: tuple[str, ...] = ()

    @property
    def counted(self) -> tuple[str, ...]:
        """The arguments whose layouts count: tensors, and what a factory is given."""
        return self.operands if self.operands else _DATA


_DATA: Final = ("data",)


def of_result(row: Keeping, arguments: Mapping[str, Any], *, written: bool) -> str | Unknown:
    """The layout of a result; raises `Contradiction` where torch has no kernel for an operand.

    What is `written` to a tensor, or asks for a dtype, is not told of: other kernels do that.
    """
    own = _of(arguments.get(row.operands[0])) if row.operands else UNKNOWN
    if row.refuses and isinstance(own, str) and own in row.refuses:
        other = written or isinstance(arguments.get("dtype"), (Constant, Unknown))
        if not other:
            raise _refused(own, row.refuses[own])
    return _layout(row, arguments, own)


def _of(value: Any) -> str | Unknown | None:
    """The layout of an argument, UNKNOWN where it may be any; None of what is no tensor."""
    if isinstance(value, Tensor):
        return value.layout
    if isinstance(value, Many):
        return value.each.layout
    if isinstance(value, (tuple, list)):
        layouts = {_of(part) for part in value} - {None}
        return layouts.pop() if len(layouts) == 1 else UNKNOWN if layouts else None
    return UNKNOWN if isinstance(value, Unknown) else None


def fault_of(word: str) -> str | None:
    """What is wrong with the word of a row, if anything is."""
    words = ("", "first", "coo", "product", "unknown", *LAYOUTS)
    return None if word in words else f"layout: unknown word '{word}'"


def _layout(row: Keeping, arguments: Mapping[str, Any], own: str | Unknown | None) -> str | Unknown:
    asked = arguments.get("layout")
    if isinstance(asked, Constant):
        return asked.name if asked.name in LAYOUTS else UNKNOWN
    if isinstance(asked, Unknown) or row.word == "unknown":
        return UNKNOWN
    if row.word in LAYOUTS:
        return row.word
    if row.word == "first" or (row.word == "coo" and own == SPARSE):
        return own or UNKNOWN
    if row.word == "product":
        return _of_product({_of(arguments.get(name)) for name in row.operands} - {None})
    for name in row.counted:
        if _of(arguments.get(name)) not in (STRIDED, None):
            return UNKNOWN
    return STRIDED


def _of_product(layouts: set[str | Unknown | None]) -> str | Unknown:
    """What a strided matrix has part in is strided; of sparse ones it is sparse (torch.mm)."""
    if STRIDED in layouts:
        return STRIDED
    return SPARSE if layouts == {SPARSE} else UNKNOWN


_WAY_OUT: Final = {STRIDED: "to_sparse"}
_BACKENDS: Final = {SPARSE: "SparseCPU", STRIDED: "CPU"}


def _refused(layout: str, words: str) -> Contradiction:
    if words.startswith("aten::"):
        backend = _BACKENDS.get(layout, "SparseCsrCPU")
        words = (
            f"NotImplementedError; Could not run '{words}' with arguments from the '{backend}' "
            "backend."
        )
    error, _, text = words.rpartition("; ")
    return Contradiction(
        "NC503",
        text,
        error=error or "RuntimeError",
        help=f"The tensor is kept as {layout}: call `{_WAY_OUT.get(layout, 'to_dense')}()` first.",
    )
