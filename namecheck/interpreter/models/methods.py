"""Methods of built-in values: the registered model, or the methods that all types have."""

from __future__ import annotations

from namecheck.interpreter.domain.values import Value
from namecheck.interpreter.evaluation import python_operators
from namecheck.interpreter.evaluation.frames import Call
from namecheck.interpreter.evaluation.interpreter import Interpreter
from namecheck.interpreter.models import registry
from namecheck.interpreter.models.standard_library.builtins import objects


class Methods:
    """Calls the methods of built-in values."""

    def __init__(self, interpreter: Interpreter) -> None:
        registry.start()
        self.interpreter = interpreter

    def call(self, receiver: Value, name: str, call: Call) -> Value:
        """``receiver.name(…)``."""
        kind = type(receiver)
        method = registry.METHODS.get((kind, name))
        if method is not None and not call.arguments.open:
            return method(self.interpreter, receiver, call)
        of_receiver = registry.RECEIVERS.get(kind)
        if of_receiver is not None:
            return of_receiver(self.interpreter, receiver, name, call)
        return self._without_model(receiver, name, call)

    def _without_model(self, receiver: Value, name: str, call: Call) -> Value:
        if call.arguments.open:
            call.arguments.args.append(receiver)
            self.interpreter.havoc_arguments(call)
        elif name in python_operators.SPECIAL_METHODS:
            return objects.operator(self.interpreter, receiver, name, call)
        elif name in objects.ITEM_METHODS:
            return objects.of_items(self.interpreter, receiver, name, call)
        return self.interpreter.fresh("native")
