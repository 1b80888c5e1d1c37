"""Tensors as annotations describe them, for tests of rules: ``annotated("b t heads*d 1")``."""

from __future__ import annotations

from typing import Any

from namecheck.core.dims import Dim, Dims, axis, merged, with_occurrences
from namecheck.core.names import UNKNOWN, Axis, Contradiction, Name
from namecheck.core.sizes import Known, symbol
from namecheck.core.tensors import Tensor
from namecheck.operators import Inference, infer

B, T, D, S, HEADS = map(symbol, ("b", "t", "d", "s", "heads"))


def annotated(text: str, dtype: str | None = None) -> Tensor:
    """A tensor of these dims: ``d`` an axis, ``h*w`` a merged one, ``3`` a literal size.

    ``~1`` is a deliberate size of 1, ``t?`` a part of an axis, ``_`` has an unknown size.
    """
    dims = with_occurrences(Dims(tuple(map(_dim, text.split()))))
    return Tensor(dims) if dtype is None else Tensor(dims, dtype)


def _dim(word: str) -> Dim:
    if word == "_":
        return Dim(None)
    if word == "~1":
        return Dim(None, 1, purposeful=True)
    if word.endswith("?"):
        return Dim(Axis(word[:-1]), UNKNOWN)
    factors = word.split("*")
    return merged([Dim(None, int(each)) if each.isdigit() else axis(each) for each in factors])


def at_size(name: str, size: Known) -> Dim:
    """An axis of another size than its own."""
    return Dim(Axis(name), size)


def told(answer: Inference) -> str:
    """The dims of a result as `brief` prints them, or the code of the contradiction."""
    assert answer.fits
    if isinstance(answer.contradiction, Contradiction):
        return answer.contradiction.code
    return _shown(answer.result)


def _shown(value: Any) -> str:
    return value.dims.brief() if isinstance(value, Tensor) else " | ".join(map(_shown, value))


def run(operator: str, *args: Any, **kwargs: Any) -> str:
    """The result of an operator; a string among the arguments is the annotation of a tensor."""
    given = [annotated(arg[1:]) if _is_annotation(arg) else arg for arg in args]
    return told(infer(operator, *given, **kwargs))


def _is_annotation(value: Any) -> bool:
    return isinstance(value, str) and value.startswith(":")


def names(answer: Inference) -> tuple[Name, ...]:
    """The names of a result."""
    assert answer.contradiction is None, answer.contradiction.message
    assert isinstance(answer.result, Tensor)
    return answer.result.names
