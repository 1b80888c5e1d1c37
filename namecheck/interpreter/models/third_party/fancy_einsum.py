"""fancy_einsum: ``einsum("batch time dim, dim out -> batch time out", x, w)``."""

from __future__ import annotations

import re
from collections import Counter
from typing import Final

from namecheck.interpreter.domain.values import Const, Value
from namecheck.interpreter.evaluation.frames import Call
from namecheck.interpreter.evaluation.interpreter import Interpreter
from namecheck.interpreter.models import primitives
from namecheck.interpreter.models.registry import model

_TOKENS: Final = r"\.{3}|\w+|,|->"
_SYMBOLS: Final = frozenset({"...", ",", "->"})


@model("fancy_einsum.einsum")
def einsum(interpreter: Interpreter, call: Call) -> Value:
    """The equation comes first; every other word in it is a dim, as in ``einops.einsum``."""
    equation = call.argument(0, "equation")
    text = equation.value if isinstance(equation, Const) else None
    if not isinstance(text, str) or call.kwargs:
        return interpreter.fresh("contracted")
    pattern = Const(explicit(text))
    return primitives.operate(interpreter, "einops.einsum", [*call.args[1:], pattern], call)


def explicit(equation: str) -> str:
    """An equation in the form of einops, with its result written out."""
    tokens = re.findall(_TOKENS, equation)
    if "->" not in tokens:
        counts = Counter(tokens)
        once = sorted(word for word in tokens if word not in _SYMBOLS and counts[word] == 1)
        tokens += ["->", *(["..."] if "..." in tokens else []), *once]
    return " ".join(tokens)
