"""Built-in functions of one value, and those that are computed where all arguments are known."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Final

from namecheck.core import parsing
from namecheck.core.dataclasses import replace
from namecheck.interpreter.domain import class_lookup, identities, joins, scopes
from namecheck.interpreter.domain.cells import lacking
from namecheck.interpreter.domain.provenance import Parameter, Result, Version
from namecheck.interpreter.domain.values import (
    FALSE,
    NONE,
    TRUE,
    BoundMethod,
    ClassValue,
    Const,
    DictValue,
    External,
    FunctionValue,
    Instance,
    ListValue,
    Opaque,
    Repeated,
    SliceValue,
    TensorValue,
    TorchModule,
    TupleValue,
    Value,
    Wrapped,
)
from namecheck.interpreter.evaluation import havoc, python_operators
from namecheck.interpreter.evaluation.frames import Call
from namecheck.interpreter.evaluation.interpreter import Interpreter
from namecheck.interpreter.models import primitives
from namecheck.interpreter.models.registry import decorator, family, model, transparent
from namecheck.interpreter.models.third_party import namecheck

# The types of results that are otherwise unknown.
_KINDS: Final[Mapping[str, str]] = {
    "len": "int",
    "int": "int",
    "float": "float",
    "str": "str",
    "repr": "str",
    "bool": "bool",
    "input": "str",
    "id": "int",
    "hash": "int",
    "ord": "int",
    "chr": "str",
    "isinstance": "bool",
    "issubclass": "bool",
    "hasattr": "bool",
    "callable": "bool",
    "any": "bool",
    "all": "bool",
}
# Functions with another result each time.
_IMPURE: Final = frozenset({"input"})
# The operators that implement them for tensors.
_OPERATORS: Final[Mapping[str, str]] = {
    "abs": "Tensor.abs",
    "float": "__float__",
    "int": "__int__",
}
_PURE: Final[Mapping[str, Callable[..., Any]]] = {
    "abs": abs,
    "round": round,
    "int": int,
    "float": float,
    "str": str,
    "repr": repr,
    "ord": ord,
    "chr": chr,
    "divmod": divmod,
    "pow": pow,
}

transparent("builtins.object", "builtins.object.*")


@decorator("builtins.property")
def property_(interpreter: Interpreter, value: Value) -> Value:
    """``@property``."""
    return Wrapped("property", value)


@decorator("builtins.staticmethod")
def staticmethod_(interpreter: Interpreter, value: Value) -> Value:
    """``@staticmethod``."""
    return Wrapped("staticmethod", value)


@decorator("builtins.classmethod")
def classmethod_(interpreter: Interpreter, value: Value) -> Value:
    """``@classmethod``."""
    return Wrapped("classmethod", value)


@model("builtins.property")
def make_property(interpreter: Interpreter, call: Call) -> Value:
    """``property(getter, setter)``."""
    setter = call.argument(1, "fset")
    return Wrapped("property", call.argument(0, "fget"), None if setter == NONE else setter)


@model("builtins.staticmethod")
def make_staticmethod(interpreter: Interpreter, call: Call) -> Value:
    """``staticmethod(function)``."""
    return Wrapped("staticmethod", call.argument(0))


@model("builtins.classmethod")
def make_classmethod(interpreter: Interpreter, call: Call) -> Value:
    """``classmethod(function)``."""
    return Wrapped("classmethod", call.argument(0))


@model("builtins.print")
def print_(interpreter: Interpreter, call: Call) -> Value:
    """``print(values)``."""
    return NONE


@model("builtins.reveal_type")
def reveal_type(interpreter: Interpreter, call: Call) -> Value:
    """``reveal_type(value)``; for values that are no tensors type checkers report more."""
    value = call.argument(0)
    return namecheck.reveal_names(interpreter, call) if isinstance(value, TensorValue) else value


@model("builtins.slice")
def slice_(interpreter: Interpreter, call: Call) -> Value:
    """``slice(start, stop, step)``."""
    if len(call.args) == 1:
        return SliceValue(NONE, call.args[0], NONE)
    lower, upper, step = [*call.args, NONE, NONE, NONE][:3]
    return SliceValue(lower, upper, step)


@model("builtins.len")
def len_(interpreter: Interpreter, call: Call) -> Value:
    """``len(value)``."""
    value = call.argument(0)
    if isinstance(value, TupleValue):
        return Const(len(value.items))
    if isinstance(value, ListValue):
        content = joins.items(value, call.store)
        if not isinstance(content, Repeated):
            return Const(len(content))
    if isinstance(value, DictValue):
        entries = joins.entries(value, call.store)
        if entries.rest is None:
            return Const(len(entries.items))
    if isinstance(value, Const) and isinstance(value.value, (str, bytes)):
        return Const(len(value.value))
    if isinstance(value, TensorValue) and interpreter.torch.has("__len__", "m"):
        return interpreter.call_operator("__len__", [value], call)
    if isinstance(value, Instance):
        own_method = class_lookup.method(value, "__len__", call.store)
        if own_method is not None:
            return primitives.invoke(interpreter, BoundMethod(own_method, value), [], call)
        own = joins.inherited(value, call.store)
        if own is not None:
            call.arguments.args = [own]
            return len_(interpreter, call)
    return _same_for_same("len", "int", call)


@model("builtins.bool", open=True)
def bool_(interpreter: Interpreter, call: Call) -> Value:
    """``bool(value)``."""
    if len(call.args) == 1 and isinstance(call.args[0], TensorValue):
        return interpreter.call_operator("__bool__", call.args, call)
    if call.arguments.open:
        return interpreter.fresh("builtin", "bool")
    if not call.args:
        return FALSE
    return interpreter.negate(interpreter.negate(call.args[0], call.store), call.store)


@model("builtins.isinstance", "torch.jit.isinstance")
def isinstance_(interpreter: Interpreter, call: Call) -> Value:
    """``isinstance(value, type)``."""
    from namecheck.interpreter.evaluation import tensor_types, type_tests  # not every program asks

    value, kinds, tested = call.argument(0), call.argument(1), None
    if isinstance(call.node, ast.Call) and len(call.node.args) == 2:
        tested = tensor_types.tested_by(interpreter, call.node.args[1], kinds, call.frame)
    answer = tensor_types.is_instance(interpreter, value, kinds, tested, call.store, call.frame)
    if answer is None and isinstance(value, Opaque):
        answer = type_tests.is_candidate_instance(value, kinds, call.store)
    if answer is None:
        return _same_for_same("isinstance", "bool", call)
    return TRUE if answer else FALSE


@model("builtins.hasattr")
def hasattr_(interpreter: Interpreter, call: Call) -> Value:
    """``hasattr(value, name)``; for a library the result depends on its version."""
    value, name = call.argument(0), call.argument(1)
    if isinstance(name, Const) and isinstance(value, Instance):
        own = call.store.get((value.address, name.value))
        if own is not None and _may_lack(value, str(name.value), call):
            return interpreter.fresh("hasattr", "bool")
        if own is not None or class_lookup.attribute(value.cls, str(name.value), call.store):
            return TRUE
    if isinstance(value, External):
        return Opaque(Version(value, name), "bool")
    if _is_missing(interpreter, value, name, call):
        return FALSE
    return _same_for_same("hasattr", "bool", call)


@model("builtins.getattr")
def getattr_(interpreter: Interpreter, call: Call) -> Value:
    """``getattr(value, name, default)``."""
    value, name = call.argument(0), call.argument(1)
    if not isinstance(name, Const) or not isinstance(name.value, str):
        return _matching(interpreter, value, name, call) or interpreter.fresh("attribute")
    if len(call.args) > 2 and _is_missing(interpreter, value, name, call):
        return call.args[2]
    content = interpreter.read_attribute(value, name.value, call.node, call.store, call.frame)
    if isinstance(content, Opaque):
        content = _matching(interpreter, value, name, call) or content
    if len(call.args) <= 2:
        return content
    if not isinstance(content, Opaque) and not _may_lack(value, name.value, call):
        return content
    default = call.argument(2)
    if isinstance(default, Const) and type(default.value) is int:
        # Whichever it is, it is one number.
        return Opaque(Parameter(interpreter.new_address(), name.value))
    return interpreter.fresh("attribute")


def _may_lack(value: Value, name: str, call: Call) -> bool:
    """Whether an object lacks an attribute on some path, which it has on another one."""
    return (
        isinstance(value, Instance)
        and call.store.get((value.address, lacking(name))) is not None
        and class_lookup.attribute(value.cls, name, call.store) is None
    )


def _is_missing(interpreter: Interpreter, value: Value, name: Value, call: Call) -> bool:
    """Whether an object certainly has no attribute of a name."""
    if not interpreter.budget.is_program or not isinstance(name, Const):
        return False
    from namecheck.interpreter.evaluation import missing_attributes  # only where programs run

    return missing_attributes.lacks(interpreter, value, str(name.value), call.store)


def _matching(interpreter: Interpreter, value: Value, name: Value, call: Call) -> Value | None:
    """An attribute that was set under a name that is partly known."""
    from namecheck.interpreter.models import matching

    return matching.read(interpreter, value, name, call) if isinstance(value, Instance) else None


@model("builtins.setattr")
def setattr_(interpreter: Interpreter, call: Call) -> Value:
    """``setattr(target, name, value)``."""
    target, name = call.argument(0), call.argument(1)
    if isinstance(name, Const) and isinstance(name.value, str):
        interpreter.write_attribute(
            target, name.value, call.argument(2), call.node, call.store, call.frame
        )
    else:
        from namecheck.interpreter.models import matching

        if not matching.add(interpreter, target, name, call.argument(2), call):
            interpreter.forget_attributes(target, call.store)
    return NONE


@model("builtins.type")
def type_(interpreter: Interpreter, call: Call) -> Value:
    """``type(value)``."""
    value = call.argument(0)
    if isinstance(value, Instance):
        return value.cls
    if isinstance(value, TensorValue):
        return External("torch.Tensor")
    if isinstance(value, Const):
        return External(f"builtins.{type(value.value).__name__}")
    return interpreter.fresh("type")


# The kinds of lists that are none of layers.
_UNCALLABLE: Final = ("list", "set", "iterator")


@model("builtins.callable")
def callable_(interpreter: Interpreter, call: Call) -> Value:
    """``callable(value)``."""
    value = call.argument(0)
    if isinstance(value, (Const, DictValue, SliceValue, TensorValue)):
        return FALSE
    if isinstance(value, TupleValue) and value.cls is None:
        return FALSE
    if isinstance(value, ListValue) and value.kind in _UNCALLABLE:
        return FALSE
    if isinstance(value, (BoundMethod, ClassValue, FunctionValue, TorchModule)):
        return TRUE
    return _same_for_same("callable", "bool", call)


@family("builtins", open=True)
def function(interpreter: Interpreter, name: str, call: Call) -> Value:
    """Any other: computed for constants, ``dict.update(receiver)`` is a method, else unknown."""
    operator = _OPERATORS.get(name)
    if operator is not None and len(call.args) == 1 and isinstance(call.args[0], TensorValue):
        return interpreter.call_operator(operator, call.args, call)
    if name in _PURE and not call.kwargs and not call.arguments.open:
        constants = [arg.value for arg in call.args if isinstance(arg, Const)]
        if len(constants) == len(call.args):
            return _computed(interpreter, name, constants, call)
    owner, _, method = name.partition(".")
    if owner in ("object", "dict", "list", "set") and method and call.args:
        return _unbound(interpreter, owner, method, call)
    if name.endswith(("Error", "Exception", "Warning")):
        return interpreter.fresh("error")
    kind = _KINDS.get(name)
    if name in _IMPURE or kind is None or call.arguments.open:
        return interpreter.fresh("builtin", kind)
    return _same_for_same(name, kind, call)


def _unbound(interpreter: Interpreter, owner: str, method: str, call: Call) -> Value:
    """``dict.__getitem__(self, key)``, ``object.__setattr__(self, name, value)``."""
    receiver, *rest = call.args
    inner = replace(call, arguments=replace(call.arguments, args=rest))
    if method == "__setattr__":
        interpreter.set_attribute(receiver, inner.argument(0), inner.argument(1), call.store)
        return NONE
    value = joins.opened(receiver, call.store)
    if owner == "object" or not isinstance(value, (ListValue, DictValue)):
        return NONE if owner == "object" else interpreter.fresh("native")
    return interpreter.methods.call(value, method, inner)


@model("builtins.vars")
def vars_(interpreter: Interpreter, call: Call) -> Value:
    """``vars(instance)``: its attributes, which may be written to."""
    if not call.args:
        return interpreter.fresh("dict", "dict")
    return interpreter.read_attribute(call.args[0], "__dict__", call.node, call.store, call.frame)


@model("builtins.globals")
def globals_(interpreter: Interpreter, call: Call) -> Value:
    """``globals()``: the variables of the module, which may be written to."""
    return Opaque(Result("globals", (call.frame.environment.module.number,)), "dict")


@model("builtins.exec")
def exec_(interpreter: Interpreter, call: Call) -> Value:
    """``exec(text)`` binds the variables that the text binds; an unknown text may bind any."""
    text = call.argument(0)
    names = None
    if isinstance(text, Const) and isinstance(text.value, str):
        with suppress(SyntaxError, ValueError):
            names = scopes.examine(parsing.module(text.value)).local
    environment = call.frame.environment
    for number in dict.fromkeys((environment.number, environment.module.number)):
        havoc.variables(number, call.store, names)
    return NONE


@model("builtins.exit", "builtins.quit", open=True)
def exit_(interpreter: Interpreter, call: Call) -> Value:
    """``exit(status)`` and ``quit(status)`` leave the program, as ``sys.exit`` does."""
    interpreter.fail("SystemExit")


def _same_for_same(name: str, kind: str, call: Call) -> Opaque:
    """An unknown result that is the same for the same arguments."""
    args = tuple(identities.of(value, call.store) for value in call.args)
    return Opaque(Result(name, args), kind)


def _computed(interpreter: Interpreter, name: str, constants: list[Any], call: Call) -> Value:
    if name == "pow" and python_operators.too_big(constants):
        return interpreter.fresh("big")
    try:
        result = _PURE[name](*constants)
    except (TypeError, ValueError, ArithmeticError) as error:
        if interpreter.expects(type(error).__name__, call.frame):
            interpreter.fail(type(error).__name__)
        return interpreter.fresh("builtin", _KINDS.get(name))
    return interpreter.torch.lift(result, {}, call.node)
