"""Classes of the program that derive from library classes: lists, dicts, layers of torch.

``class Head(nn.Sequential)`` makes instances that are sequences of layers too. This library part of
an instance is in the store under the instance; it handles what the class itself does not define.
"""

from __future__ import annotations

from collections.abc import Iterable

from namecheck.interpreter.domain import joins
from namecheck.interpreter.domain.values import ClassValue, External, Instance, Value
from namecheck.interpreter.evaluation.frames import Call
from namecheck.interpreter.evaluation.interpreter import Interpreter
from namecheck.interpreter.models import registry
from namecheck.interpreter.models.registry import BaseModel


def model_of(interpreter: Interpreter, path: str) -> BaseModel | None:
    """The model of a library class that other classes may derive from."""
    model = registry.base_of(path)
    if model is not None:
        return model
    family = registry.base_family_of(path.partition(".")[0])
    return None if family is None else family(interpreter, path)


def instance(interpreter: Interpreter, path: str, call: Call) -> Value:
    """Call a library class to make the library part of an instance of a derived class."""
    cls = ClassValue(path, path.rpartition(".")[2], (External(path),))
    made = Instance(interpreter.new_address(), cls)
    initialise(interpreter, made, path, call)
    return made


def base(interpreter: Interpreter, bases: Iterable[Value]) -> str | None:
    """The first library class with a model among some bases, by its dotted name."""
    for each in bases:
        if isinstance(each, External) and model_of(interpreter, each.path) is not None:
            return each.path
    return None


def initialise(interpreter: Interpreter, instance: Instance, path: str, call: Call) -> None:
    """Run the ``__init__`` of a library class on an instance."""
    model = model_of(interpreter, path)
    own = None if model is None else model(interpreter, instance, call)
    if own is not None:
        joins.inherit(instance, own, call.store)
