"""operator: the operators of Python as functions, and functions that read items and attributes."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Final

from namecheck.core.syntax import Located as Node
from namecheck.interpreter.domain.values import Const, External, Operand, Partial, Value
from namecheck.interpreter.evaluation.frames import Call
from namecheck.interpreter.evaluation.interpreter import Interpreter
from namecheck.interpreter.models.registry import family, model

# The functions, and the operators of `ast`; with a leading ``i`` they work in place.
_OPERATORS: Final[Mapping[str, str]] = {
    "add": "Add",
    "sub": "Sub",
    "mul": "Mult",
    "truediv": "Div",
    "floordiv": "FloorDiv",
    "mod": "Mod",
    "pow": "Pow",
    "matmul": "MatMult",
    "and_": "BitAnd",
    "or_": "BitOr",
    "xor": "BitXor",
    "lshift": "LShift",
    "rshift": "RShift",
    "eq": "Eq",
    "ne": "NotEq",
    "lt": "Lt",
    "le": "LtE",
    "gt": "Gt",
    "ge": "GtE",
    "neg": "USub",
    "pos": "UAdd",
    "invert": "Invert",
}


@model("operator.getitem")
def getitem(interpreter: Interpreter, call: Call) -> Value:
    """``operator.getitem(receiver, index)``."""
    return _item(interpreter, call.argument(0), call.argument(1), call)


@model("operator.itemgetter")
def itemgetter(interpreter: Interpreter, call: Call) -> Value:
    """``operator.itemgetter(index)``: a function that reads an item of its argument."""
    return Partial(External("operator.itemgetter()"), tuple(call.args), ())


@model("operator.itemgetter()")
def get_item(interpreter: Interpreter, call: Call) -> Value:
    """``itemgetter(index)(receiver)``."""
    return _item(interpreter, call.args[-1], call.args[0], call)


@model("operator.attrgetter")
def attrgetter(interpreter: Interpreter, call: Call) -> Value:
    """``operator.attrgetter(name)``: a function that reads an attribute of its argument."""
    return Partial(External("operator.attrgetter()"), tuple(call.args), ())


@model("operator.attrgetter()")
def get_attribute(interpreter: Interpreter, call: Call) -> Value:
    """``attrgetter(name)(receiver)``."""
    return _attribute(interpreter, call)


@model("operator.methodcaller")
def methodcaller(interpreter: Interpreter, call: Call) -> Value:
    """``operator.methodcaller(name, *args)``: a function that calls the method."""
    words = tuple(call.kwargs.items())
    return Partial(External("operator.methodcaller()"), tuple(call.args), words)


@model("operator.methodcaller()")
def call_method(interpreter: Interpreter, call: Call) -> Value:
    """``methodcaller(name, *args)(receiver)``."""
    if not isinstance(call.args[0], Const):
        return interpreter.fresh("operator")
    args = call.args[1:-1]
    return interpreter.call_values(
        _attribute(interpreter, call), args, call.node, call.store, call.frame, call.kwargs
    )


def _item(interpreter: Interpreter, receiver: Value, index: Value, call: Call) -> Value:
    return interpreter.read_item(receiver, index, call.node, call.store, call.frame)


def _attribute(interpreter: Interpreter, call: Call) -> Value:
    """The attribute of the last argument whose name is the first argument."""
    if not isinstance(call.args[0], Const):
        return interpreter.fresh("operator")
    name = str(call.args[0].value)
    return interpreter.read_attribute(call.args[-1], name, call.node, call.store, call.frame)


@family("operator")
def operator(interpreter: Interpreter, name: str, call: Call) -> Value:
    """``operator.add(x, y)`` is ``x + y``, ``operator.iadd(x, y)`` is ``x += y``."""
    in_place = name.startswith("i") and name not in _OPERATORS
    stem = name[1:] if in_place else name
    symbol = _OPERATORS.get(stem) or _OPERATORS.get(f"{stem}_" if in_place else "")
    if symbol is None or not call.args:
        return interpreter.fresh("operator")
    nodes = call.node.args if isinstance(call.node, ast.Call) else []
    sites: list[Node] = [*nodes] if len(nodes) == len(call.args) else [call.node] * 2
    operands: list[Operand] = list(zip(sites, call.args, strict=False))
    where = call.store, call.frame
    if in_place:
        return interpreter.augment(symbol, call.node, operands, *where)
    return interpreter.operate(symbol, call.node, operands, *where)
