"""Keeps input names; unifies names from inputs (name_inference.rst, the sections of these names)."""

from __future__ import annotations

from namecheck import names as naming
from namecheck.names import UNKNOWN, Answer, Contradiction
from namecheck.rules.registry import rule
from namecheck.values import ANY_DIM, Dim, Dims, Tensor


@rule
def keeps_input_names(input: Tensor) -> Dims:
    """The result has the names of the input (name_inference.rst, "Keeps input names")."""
    return input.dims


@rule
def unifies_names_from_inputs(input: Tensor, other: Tensor | float) -> Dims:
    """The names of both inputs, unified from the right (name_inference.rst, same title)."""
    if not isinstance(input, Tensor):
        return other.dims if isinstance(other, Tensor) else Dims()
    if not isinstance(other, Tensor):
        return input.dims
    return broadcast(input.dims, other.dims)


def broadcast(left: Dims, right: Dims, action: str = "broadcast") -> Dims:
    """Unify two lists of dims position by position from the right.

    Raises NC101 where two names at one position differ, NC102 where one name stands at two
    positions, NC201 where two sizes can not be broadcast.
    """
    closed = not left.open and not right.open
    reach = max(left.min_rank, right.min_rank) if closed else max(_right_part(left), _right_part(right))
    unified: list[Dim] = []
    for offset in range(1, reach + 1):
        a, b = left.from_right(offset), right.from_right(offset)
        _check_position(a, b, left, right, action)
        unified.append(_unify_dim(a, b))
    for offset in range(1, reach + 1):
        _check_size(left.from_right(offset), right.from_right(offset), offset, reach)
    result = tuple(reversed(unified))
    if closed:
        return Dims(result)
    return Dims(_outer_prefix(left, right), result, True)


def _right_part(dims: Dims) -> int:
    return len(dims.suffix if dims.open else dims.prefix)


def _outer_prefix(left: Dims, right: Dims) -> tuple[Dim, ...]:
    """The prefix that survives: of an open list that the other, closed, certainly does not reach."""
    for one, other in ((left, right), (right, left)):
        if one.open and not other.open and len(other.prefix) <= len(one.suffix):
            return one.prefix
    return ()


def _check_position(a: Dim | None, b: Dim | None, left: Dims, right: Dims, action: str) -> None:
    one, two = (a.name if a else None), (b.name if b else None)
    if naming.match(one, two) is Answer.NO:
        raise Contradiction(
            "NC101",
            f"Error when attempting to {action} dims {left.show()} and dims {right.show()}: "
            f"dim {naming.show_name(one)} and dim {naming.show_name(two)} are at the same position "
            "from the right but do not match.",
            names=[str(naming.word(one)), str(naming.word(two))],
            help=_alignment_help(left, right),
        )
    if one is None and isinstance(two, str):
        _check_misaligned(two, right, left, action)
    if two is None and isinstance(one, str):
        _check_misaligned(one, left, right, action)


def _check_misaligned(name: str, dims: Dims, others: Dims, action: str) -> None:
    if others.has(name) is Answer.YES:
        raise Contradiction(
            "NC102",
            f"Misaligned dims when attempting to {action} dims {dims.show()} and dims "
            f"{others.show()}: dim '{name}' appears in a different position from the right across "
            "both lists.",
            names=[name],
            help=_alignment_help(dims, others),
        )


def _alignment_help(left: Dims, right: Dims) -> str:
    """The way out of two layouts that do not fit."""
    for one, other in ((right, left), (left, right)):
        words = [naming.word(name) for name in one.names]
        if one.complete and None not in words and all(other.has(str(w)) is Answer.YES for w in words):
            listed = " ".join(str(w) for w in words)
            return f"Align by name: call `.align_as` of the other operand on [{listed}]."
    return "Align the operands with `align_to` or `align_as`, or `rename` a dim if both mean the same."


def _unify_dim(a: Dim | None, b: Dim | None) -> Dim:
    if a is None or b is None:
        return a or b or ANY_DIM
    if a.size == 1:
        size = b.size
    elif b.size == 1 or a.size == b.size:
        size = a.size
    elif a.size is UNKNOWN:
        size = b.size
    else:
        size = a.size
    return Dim(naming.unify(a.name, b.name), size, a.purposeful and b.purposeful)


def _check_size(a: Dim | None, b: Dim | None, offset: int, rank: int) -> None:
    if a is None or b is None or UNKNOWN in (a.size, b.size) or 1 in (a.size, b.size):
        return
    if a.size != b.size:
        raise Contradiction(
            "NC201",
            f"The size of tensor a ({a.size}) must match the size of tensor b ({b.size}) "
            f"at non-singleton dimension {rank - offset}",
            help="Only dims of equal size, or of size 1, can be broadcast together.",
        )
