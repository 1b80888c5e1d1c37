"""Follows a dim of a tensor from call to call, by a tag on the tensor's content.

The column ``flow`` of a row says whether the operator keeps a tag.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Final

from namecheck.core.dataclasses import replace
from namecheck.core.dims import Dims
from namecheck.core.names import UNKNOWN, Axis, Name, word
from namecheck.interpreter.domain.tags import with_tag
from namecheck.interpreter.domain.values import TensorValue, Value
from namecheck.interpreter.evaluation.events import Applied

PRODUCTS: Final = ("matmul", "bmm", "__matmul__")
"""The matrix products: they sum the last dim of the left factor, and dim -2 of the right one."""


def tagged(result: Value, key: str, tag: Hashable | None) -> Value:
    """A result with a tag on its content; unchanged where there is no tag."""
    if tag is None or not isinstance(result, TensorValue):
        return result
    content = result.initial
    return replace(result, initial=replace(content, tags=with_tag(content.tags, key, tag)))


def keeps_dims(applied: Applied) -> bool:
    """Whether the result has the same dims as the operand, or some more of size 1."""
    if applied.flow == "indexes":
        return _adds_dims(applied.inputs[1])
    return applied.flow == "carries"


def _adds_dims(index: Any) -> bool:
    """Whether an index keeps all dims, and adds only dims of size 1."""
    parts = index if isinstance(index, tuple) else (index,)
    return all(part is None or part is ... or part == slice(None) for part in parts)


def is_scaled(applied: Applied) -> bool:
    """Whether all but one of the operands are plain numbers."""
    return sum(not isinstance(each, (int, float)) for each in applied.inputs) == 1


def dim_argument(applied: Applied) -> int | str | None:
    """The one dim argument of a call, as its source."""
    keywords = applied.keywords
    for argument in [keywords["dim"]] if "dim" in keywords else applied.inputs:
        several = isinstance(argument, (list, tuple))
        dim = argument[0] if several and len(argument) == 1 else argument
        if isinstance(dim, str) or type(dim) is int:
            return dim
    return None


def name_at(dims: Dims, index_or_word: int | str | None) -> Name:
    """The name of the dim argument of a call."""
    if isinstance(index_or_word, int):
        return dims[index_or_word].name
    return index_or_word if index_or_word in map(word, dims.names) else None


def is_other(name: Name, followed: Name) -> bool:
    """Whether a dim certainly is another one than the followed dim."""
    if name in (None, UNKNOWN):
        return False
    if word(name) != word(followed):
        return True
    if not isinstance(name, Axis) or not isinstance(followed, Axis):
        return False
    return min(name.occurrence, followed.occurrence) > 0 and name.occurrence != followed.occurrence
