"""opt_einsum: its contraction computes what ``torch.einsum`` computes, in a better order."""

from __future__ import annotations

from typing import Final

from namecheck.interpreter.domain.values import Const, Value
from namecheck.interpreter.evaluation.frames import Call
from namecheck.interpreter.evaluation.interpreter import Interpreter
from namecheck.interpreter.models.registry import model

_SYMBOLS: Final = frozenset(" ,.->")


@model("opt_einsum.contract")
def contract(interpreter: Interpreter, call: Call) -> Value:
    """``opt_einsum.contract(equation, *operands)``; other forms, and other letters, are unknown."""
    equation = call.argument(0)
    text = equation.value if isinstance(equation, Const) else None
    if not isinstance(text, str) or not all(
        letter in _SYMBOLS or (letter.isascii() and letter.isalpha()) for letter in text
    ):
        return interpreter.fresh("contracted")
    call.arguments.kwargs = {}
    return interpreter.call_operator("torch.einsum", call.args, call)
