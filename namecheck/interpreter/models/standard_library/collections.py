"""collections: named tuples, deques, and dicts with more to them."""

from __future__ import annotations

import dataclasses

from namecheck.interpreter.domain.values import NONE, ClassValue, Const, DictValue, Value
from namecheck.interpreter.evaluation.frames import Call
from namecheck.interpreter.evaluation.interpreter import Interpreter
from namecheck.interpreter.models.registry import model


@model("collections.namedtuple")
def namedtuple(interpreter: Interpreter, call: Call) -> Value:
    """``collections.namedtuple(name, fields)``."""
    listed = interpreter.torch.lower(call.argument(1, "field_names"), call.store)
    names = listed.replace(",", " ").split() if isinstance(listed, str) else listed
    if not isinstance(names, (list, tuple)) or not all(isinstance(n, str) for n in names):
        return interpreter.fresh("class")
    title = call.argument(0, "typename")
    name = str(title.value) if isinstance(title, Const) else "namedtuple"
    fields = tuple((n, None) for n in names)
    return ClassValue(interpreter.new_address(), name, (), None, fields, "namedtuple")


@model("collections.OrderedDict")
def ordered_dict(interpreter: Interpreter, call: Call) -> Value:
    """``collections.OrderedDict(items)``."""
    made = interpreter.libraries.builtins.dict_(call)
    return dataclasses.replace(made, ordered=True) if isinstance(made, DictValue) else made


@model("collections.defaultdict")
def defaultdict(interpreter: Interpreter, call: Call) -> Value:
    """``collections.defaultdict(factory, items)``."""
    arguments = dataclasses.replace(call.arguments, args=call.args[1:])
    made = interpreter.libraries.builtins.dict_(dataclasses.replace(call, arguments=arguments))
    if isinstance(made, DictValue) and call.args and call.args[0] != NONE:
        return dataclasses.replace(made, factory=call.args[0])
    return made


@model("collections.deque")
def deque(interpreter: Interpreter, call: Call) -> Value:
    """``collections.deque(items)``."""
    return interpreter.libraries.builtins.list_(call)


@model("collections.UserDict")
def user_dict(interpreter: Interpreter, call: Call) -> Value:
    """``collections.UserDict(items)``."""
    return interpreter.libraries.inheritance.instance("collections.UserDict", call)


@model("collections.UserList")
def user_list(interpreter: Interpreter, call: Call) -> Value:
    """``collections.UserList(items)``."""
    return interpreter.libraries.inheritance.instance("collections.UserList", call)
