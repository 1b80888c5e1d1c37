"""Follows the scores of an attention, the product of queries and transposed keys, by a tag."""

from __future__ import annotations

from typing import Final

from namecheck.core.names import word
from namecheck.interpreter.domain.tags import SCORES
from namecheck.interpreter.domain.values import TensorValue, Value
from namecheck.interpreter.evaluation.events import Applied
from namecheck.lints.shared import following, subscripts
from namecheck.lints.shared.following import PRODUCTS
from namecheck.lints.shared.subscripts import SUBSCRIPTS

KEY: Final = SCORES
"""The key of the tag: its kind is `ATTENTION`, or another product.

The scores of an attention are the products with a transposed tensor, of queries and keys; other
products may be assignments, and those with a matrix, `x @ words.T`, are the logits of classes.
"""
ATTENTION: Final = "attention"
_OTHER: Final = "other scores"
TURNED: Final = "turned"
"""The key of the tag of tensors that were transposed last, and this tag."""
_MATRIX: Final = "matrix"
_OF_A_MATRIX: Final = ("T", "t")
_OF_SCORES: Final = ("scales", "divides", "carries", "meets", "bounds", "masks")
_VIEWS: Final = ("view", "reshape")
# The last two dims of scores, counted from the right.
_SIDES: Final = (1, 2)


def tagged(applied: Applied, result: Value) -> Value:
    """The result of an operator, with its tags: of scores, and of what was transposed."""
    result = following.tagged(result, KEY, _scores(applied))
    return following.tagged(result, TURNED, _turned(applied))


def _turned(applied: Applied) -> str | None:
    """The tag of a transposed tensor: whether it is a matrix."""
    if applied.flow != "turns":
        return None
    return _MATRIX if applied.operator in _OF_A_MATRIX else TURNED


def viewed(applied: Applied, result: Value) -> Value:
    """The result of a view, with the tag of the scores whose last two dims it keeps."""
    kind = applied.operands[0].tag(KEY) if applied.operands else None
    if kind is None or applied.operator not in _VIEWS or not isinstance(result, TensorValue):
        return result
    sides, sides_of_result = (
        [None if dim is None else word(dim.name) for dim in map(dims.from_right, _SIDES)]
        for dims in (applied.operands[0].dims, result.initial.tensor.dims)
    )
    kept = sides == sides_of_result and None not in sides
    return following.tagged(result, KEY, kind) if kept else result


def _scores(applied: Applied) -> str | None:
    """The tag of a product, perhaps scaled or masked: the kind of its right factor."""
    operands = applied.operands
    if applied.operator in SUBSCRIPTS:
        return _scores_of_equation(applied)
    if applied.operator in PRODUCTS:
        right = [each for each in operands if each.position == 1]
        return ATTENTION if right and right[0].tag(TURNED) == TURNED else _OTHER
    if applied.flow not in _OF_SCORES:
        return None
    kinds = [each.tag(KEY) for each in operands if each.tags]
    return next((kind for kind in (ATTENTION, _OTHER) if kind in kinds), None)


def _scores_of_equation(applied: Applied) -> str | None:
    """The tag of ``bhid,bhjd->bhij``: each of the last two dims is that of one operand alone."""
    spelt = subscripts.of(applied)
    if spelt is None or len(spelt.operands) != 2 or len(spelt.result) < 3:
        return None
    one, other = ({*term} for term in spelt.operands)
    queries, keys = spelt.result[-2:]
    if queries not in one - other or keys not in other - one:
        return None
    return ATTENTION if len(one & other - {*spelt.result}) == 1 else None
