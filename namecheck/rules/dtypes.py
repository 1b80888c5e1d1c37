"""What the elements of a result are, as far as the row of an operator tells it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from namecheck.names import UNKNOWN, Unknown
from namecheck.values import Constant, Many, Tensor


def typed(answer: Any, told: str, arguments: Mapping[str, Any]) -> Any:
    """A result of the dtype that was asked for, or of that which the row tells (`Operator.dtype`).

    Of several results each has its word; the last one holds for the rest.
    """
    asked = arguments.get("dtype")
    if isinstance(answer, Tensor) and isinstance(asked, (Constant, Unknown)):
        return replace(answer, dtype=asked.name if isinstance(asked, Constant) else UNKNOWN)
    words = told.split()
    if not words or asked is not None:
        return answer
    if isinstance(answer, Tensor):
        return _of_dtype(answer, words[0], arguments)
    if isinstance(answer, Many):
        return Many(_of_dtype(answer.each, words[0], arguments))
    if not isinstance(answer, (tuple, list)):
        return answer
    every = words + words[-1:] * len(answer)
    return type(answer)(
        _of_dtype(part, word, arguments) if isinstance(part, Tensor) else part
        for part, word in zip(answer, every, strict=False)
    )


def _of_dtype(result: Tensor, word: str, arguments: Mapping[str, Any]) -> Tensor:
    if word not in ("first", "common"):
        return replace(result, dtype=word)
    given = list(_dtypes(arguments.values()))
    numbers = any(isinstance(arguments.get(name), (int, float)) for name in ("other", "value"))
    one = given and (word == "first" or (len(set(given)) == 1 and not numbers))
    return replace(result, dtype=given[0]) if one else result


def _dtypes(values: Iterable[Any]) -> Iterator[str | Unknown]:
    """The dtypes of all tensors among arguments."""
    for value in values:
        if isinstance(value, Tensor):
            yield value.dtype
        elif isinstance(value, Many):
            yield value.each.dtype
        elif isinstance(value, (tuple, list)):
            yield from _dtypes(value)
