"""What a test asks of an answer of `infer`."""

from __future__ import annotations

from namecheck.core.names import Name
from namecheck.core.tensors import Tensor
from namecheck.operators import Inference


def names(answer: Inference) -> tuple[Name, ...]:
    """The names of the result, a tensor."""
    assert answer.contradiction is None, answer.contradiction.message
    assert isinstance(answer.result, Tensor)
    return answer.result.names


def code(answer: Inference) -> str:
    """The code of the contradiction."""
    assert answer.contradiction is not None
    return answer.contradiction.code
