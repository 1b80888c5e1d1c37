"""collections: named tuples, deques, and special dicts."""

from __future__ import annotations

from namecheck.core import dataclasses
from namecheck.interpreter.domain import joins
from namecheck.interpreter.domain.values import (
    NONE,
    ClassValue,
    Const,
    Instance,
    Repeated,
    Value,
)
from namecheck.interpreter.evaluation.frames import Call
from namecheck.interpreter.evaluation.interpreter import Interpreter
from namecheck.interpreter.models import inheritance
from namecheck.interpreter.models.registry import base, model
from namecheck.interpreter.models.standard_library.builtins import containers


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
    return dataclasses.replace(containers.dict_(interpreter, call), ordered=True)


@model("collections.defaultdict")
def defaultdict(interpreter: Interpreter, call: Call) -> Value:
    """``collections.defaultdict(factory, items)``."""
    arguments = dataclasses.replace(call.arguments, args=call.args[1:])
    made = containers.dict_(interpreter, dataclasses.replace(call, arguments=arguments))
    if call.args and call.args[0] != NONE:
        return dataclasses.replace(made, factory=call.args[0])
    return made


@model("collections.deque")
def deque(interpreter: Interpreter, call: Call) -> Value:
    """``collections.deque(items)``; one of limited length drops items."""
    made = containers.list_(interpreter, call)
    if call.argument(1, "maxlen") == NONE or isinstance(made.initial, Repeated) or not made.initial:
        return made
    return dataclasses.replace(made, initial=Repeated(joins.either(made.initial, call.store)))


@model("collections.UserDict")
def user_dict(interpreter: Interpreter, call: Call) -> Value:
    """``collections.UserDict(items)``."""
    return inheritance.instance(interpreter, "collections.UserDict", call)


@model("collections.UserList")
def user_list(interpreter: Interpreter, call: Call) -> Value:
    """``collections.UserList(items)``."""
    return inheritance.instance(interpreter, "collections.UserList", call)


@base("collections.deque")
def deque_base(interpreter: Interpreter, instance: Instance, call: Call) -> Value:
    """``class Window(deque)``."""
    return containers.list_(interpreter, call)


@base("collections.OrderedDict")
def ordered_dict_base(interpreter: Interpreter, instance: Instance, call: Call) -> Value:
    """``class Registry(OrderedDict)``."""
    return containers.dict_(interpreter, call)


@base("collections.UserList")
def user_list_base(interpreter: Interpreter, instance: Instance, call: Call) -> Value:
    """``class Layers(UserList)`` has the list as its attribute ``data``, too."""
    data = containers.list_(interpreter, call)
    call.store.set((instance.address, "data"), data)
    return data


@base("collections.UserDict")
def user_dict_base(interpreter: Interpreter, instance: Instance, call: Call) -> Value:
    """``class Config(UserDict)`` has the dict as its attribute ``data``, too."""
    data = containers.dict_(interpreter, call)
    call.store.set((instance.address, "data"), data)
    return data
