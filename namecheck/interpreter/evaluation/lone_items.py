"""Slices of one item, ``x[:, i : i + 1]``, in plain code."""

from __future__ import annotations

import ast

from namecheck.core.sizes import symbol
from namecheck.interpreter.domain.values import Opaque, SliceValue, sized

# Any word will do: the size of the slice, the difference of its bounds, is without it.
_PLACE = symbol("place")


def bounded(slice_node: ast.Slice, slice_value: SliceValue) -> SliceValue:
    """A slice from an unknown place to the next one, with bounds whose difference is known.

    It has one item, as whoever writes it takes the place to be in the dim.
    """
    if isinstance(slice_value.lower, Opaque) and _is_next(slice_node.lower, slice_node.upper):
        return SliceValue(sized(_PLACE), sized(_PLACE + 1), slice_value.step)
    return slice_value


def _is_next(lower: ast.expr | None, upper: ast.expr | None) -> bool:
    """Whether a bound is the other one, a variable, and 1."""
    if not isinstance(lower, ast.Name) or not isinstance(upper, ast.BinOp):
        return False
    if not isinstance(upper.op, ast.Add):
        return False
    addends = {ast.dump(upper.left), ast.dump(upper.right)}
    return addends == {ast.dump(lower), ast.dump(ast.Constant(1))}
