"""The layout of a result: that of the operands, or what its row says (torch.layout).

What is computed from strided tensors is strided, and so is what a factory makes that is asked for
nothing else. A row's `layout` tells what else there is: a layout, or that of the first operand
(``first``, ``coo`` if that is sparse_coo). `refuses` tells what torch says of a first operand of
some layout, as ``sparse_coo = "aten::exp"``: the kernel that it does not have, or its words. All of
it is held against torch 2.13 by tests/runtime/test_layout_rows.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from namecheck.attributes.layouts import LAYOUTS, SPARSE, STRIDED
from namecheck.names import UNKNOWN, Contradiction, Unknown
from namecheck.values import Constant, Many, Tensor


@dataclass(frozen=True, slots=True)
class Keeping:
    """What the row of an operator tells of layouts; `operands` are the parameters for tensors."""

    word: str = ""
    refuses: Mapping[str, str] | None = None
    operands: tuple[str, ...] = ()


def kept_as(answer: Any, row: Keeping, arguments: Mapping[str, Any], *, written: bool) -> Any:
    """A result with its layout; raises `Contradiction` where torch has no kernel for an operand.

    What is `written` to a tensor, or asks for a dtype, is not told of: other kernels do that.
    """
    first = next(_tensors(arguments, row.operands[:1]), UNKNOWN)
    other = written or isinstance(arguments.get("dtype"), (Constant, Unknown))
    if row.refuses and not other and isinstance(first, Tensor) and isinstance(first.layout, str):
        _check_layout(first.layout, row.refuses)
    layout = _layout(row, arguments, first)
    return answer if isinstance(layout, Unknown) else _each(answer, layout)


def fault_of(word: str) -> str | None:
    """What is wrong with the word of a row, if anything is."""
    words = ("", "first", "coo", "unknown", *LAYOUTS)
    return None if word in words else f"layout: unknown word '{word}'"


def _each(answer: Any, layout: str) -> Any:
    if isinstance(answer, Tensor):
        return answer if answer.layout == layout else replace(answer, layout=layout)
    if isinstance(answer, Many):
        return Many(_each(answer.each, layout))
    if isinstance(answer, (tuple, list)):
        return type(answer)(_each(part, layout) for part in answer)
    return answer


def _layout(row: Keeping, arguments: Mapping[str, Any], first: Tensor | Unknown) -> str | Unknown:
    asked = arguments.get("layout")
    if isinstance(asked, Constant):
        return asked.name if asked.name in LAYOUTS else UNKNOWN
    if isinstance(asked, Unknown) or row.word == "unknown":
        return UNKNOWN
    if row.word in LAYOUTS:
        return row.word
    own = first.layout if isinstance(first, Tensor) else UNKNOWN
    if row.word == "first" or (row.word == "coo" and own == SPARSE):
        return own
    given = list(_tensors(arguments, row.operands))
    data = arguments.get("data")
    given += [data] if isinstance(data, (Tensor, Unknown)) else []
    dense = all(isinstance(each, Tensor) and each.layout == STRIDED for each in given)
    return STRIDED if dense else UNKNOWN


def _tensors(arguments: Mapping[str, Any], names: tuple[str, ...]) -> Iterator[Tensor | Unknown]:
    """The tensors in some arguments; UNKNOWN for what may be any."""
    for name in names:
        value = arguments.get(name)
        for part in value if isinstance(value, (tuple, list)) else (value,):
            if isinstance(part, Tensor):
                yield part
            elif isinstance(part, Many):
                yield part.each
            elif isinstance(part, Unknown):
                yield UNKNOWN


_BACKENDS: Final = {SPARSE: "SparseCPU"}


def _check_layout(layout: str, refuses: Mapping[str, str]) -> None:
    words = refuses.get(layout)
    if words is None:
        return
    if words.startswith("aten::"):
        backend = _BACKENDS.get(layout, "SparseCsrCPU")
        words = (
            f"NotImplementedError; Could not run '{words}' with arguments from the '{backend}' "
            "backend."
        )
    error, _, text = words.rpartition("; ")
    raise Contradiction(
        "NC503",
        text,
        error=error or "RuntimeError",
        help=f"The tensor is kept as {layout}: call `to_dense()` first.",
    )
