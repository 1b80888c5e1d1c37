"""math: functions of numbers, computed where all of them are known."""

from __future__ import annotations

import math
from typing import Final

from namecheck.core import sizes
from namecheck.interpreter.domain.values import Const, Repeated, Value
from namecheck.interpreter.evaluation import python_operators
from namecheck.interpreter.evaluation.frames import Call
from namecheck.interpreter.evaluation.interpreter import Interpreter
from namecheck.interpreter.models import primitives
from namecheck.interpreter.models.registry import family, model

# Functions whose results may become too large to be useful.
_GROWING: Final = frozenset({"comb", "factorial", "perm"})


@model("math.prod")
def prod(interpreter: Interpreter, call: Call) -> Value:
    """``math.prod(items)``."""
    content = primitives.items(interpreter, call.argument(0), call, whole=True)
    if isinstance(content, Repeated):
        return interpreter.fresh("product", "int")
    total: Value = Const(1)
    for factor in content:
        operands = [(call.node, total), (call.node, factor)]
        total = interpreter.operate("Mult", call.node, operands, call.store, call.frame)
    return total


_KINDS: Final = {
    **dict.fromkeys(("ceil", "floor", "gcd", "isqrt", "lcm", "prod", "trunc", *_GROWING), "int"),
    **dict.fromkeys(("isclose", "isfinite", "isinf", "isnan"), "bool"),
    **dict.fromkeys(("frexp", "modf", "sumprod"), None),
}


@family("math")
def function_of_numbers(interpreter: Interpreter, name: str, call: Call) -> Value:
    """``math.sqrt(2.0)``."""
    numbers = [arg.value for arg in call.args if isinstance(arg, Const)]
    function = getattr(math, name, None)
    growing = name in _GROWING and python_operators.too_big(numbers)
    if len(numbers) == len(call.args) and callable(function) and not growing:
        try:
            result = function(*numbers)
        except (TypeError, ValueError, OverflowError):
            return interpreter.fresh("math")
        if isinstance(result, float) or (isinstance(result, int) and sizes.fits(result)):
            return Const(result)
    return interpreter.fresh("math", _KINDS.get(name, "float"))
