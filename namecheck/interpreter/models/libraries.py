"""Calls and decorators of libraries: the registered model, or the default without one."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from namecheck.core.syntax import Located as Node
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.values import (
    TRANSPARENT,
    ClassValue,
    External,
    FunctionValue,
    Instance,
    Opaque,
    Super,
    Value,
    Wrapped,
)
from namecheck.interpreter.evaluation.frames import Call, Frame
from namecheck.interpreter.evaluation.havoc import is_bystander
from namecheck.interpreter.evaluation.interpreter import Interpreter
from namecheck.interpreter.models import inheritance, registry
from namecheck.interpreter.models.torch import functions


class Libraries:
    """Calls functions and classes of libraries, and applies decorators."""

    def __init__(self, interpreter: Interpreter) -> None:
        registry.start()
        self.interpreter = interpreter

    def call(self, path: str, call: Call) -> Value:
        """Call a function or class of a library."""
        entry = registry.function_of(path)
        if entry is not None and (entry.open or not call.arguments.open):
            return entry.function(self.interpreter, call)
        library, _, name = path.partition(".")
        family = registry.family_of(library)
        if family is not None and (family.open or not call.arguments.open):
            return family.function(self.interpreter, name, call)
        return self._without_model(path, call)

    def _without_model(self, path: str, call: Call) -> Value:
        """An operator of the table under its dotted name (``einops.rearrange``), or unknown."""
        interpreter, name = self.interpreter, path.rpartition(".")[2]
        if call.arguments.open:
            interpreter.havoc_arguments(call, name, stranger=not is_bystander(path))
            return interpreter.fresh("result")
        if interpreter.torch.has(path, "l"):
            return functions.layer(interpreter, path, call)
        if interpreter.torch.has(path, "fp"):
            return interpreter.call_operator(path, call.args, call)
        function = call.argument(0)
        is_decorated = isinstance(function, (FunctionValue, ClassValue))
        if is_decorated and registry.is_transparent(path, when_called=True):
            return function
        transparent = registry.is_transparent(path)
        kind = TRANSPARENT if transparent else registry.kind_of(path)
        return interpreter.call_unknown(External(path), name, call, kind)

    # Library classes as bases

    def base(self, bases: Iterable[Value]) -> str | None:
        """The first library class with a model among some bases, by its dotted name."""
        return inheritance.base(self.interpreter, bases)

    def initialise(self, instance: Instance, path: str, call: Call) -> None:
        """Run the ``__init__`` of a library class on an instance."""
        inheritance.initialise(self.interpreter, instance, path, call)

    # super, decorators

    def super_of(self, call_node: ast.Call, store: Store, frame: Frame) -> Value:
        """``super()``, with or without arguments."""
        if call_node.args:
            values = [self.interpreter.evaluate(a, store, frame) for a in call_node.args]
            if len(values) == 2 and isinstance(values[0], ClassValue):
                return Super(values[0], values[1])
            return self.interpreter.fresh("super")
        environment = frame.environment
        while environment.enclosing is not None and not isinstance(
            environment.scope, (ast.FunctionDef, ast.AsyncFunctionDef)
        ):
            environment = environment.enclosing
        if environment.cls is not None and environment.receiver is not None:
            return Super(environment.cls, environment.receiver)
        return self.interpreter.fresh("super")

    def decorate(
        self, decorator: Value, value: Value, node: Node, store: Store, frame: Frame
    ) -> Value:
        """Apply a decorator to a function or class."""
        if isinstance(decorator, External):
            apply = registry.decorator_of(decorator.path)
            made = None if apply is None else apply(self.interpreter, value)
            if made is not None:
                return made
            if registry.is_transparent(decorator.path):
                return value
        if isinstance(decorator, Opaque) and decorator.kind == TRANSPARENT:
            return value
        call = self.interpreter.call_values
        result = call(decorator, [value], node, store, frame)
        return self.interpreter.fresh("decorated") if isinstance(result, Opaque) else result

    def keeps_classes(self, decorator: Value) -> bool:
        """Whether it is known what a decorator makes of a class."""
        if isinstance(decorator, External):
            is_modelled = registry.decorator_of(decorator.path) is not None
            return is_modelled or registry.is_transparent(decorator.path)
        return not isinstance(decorator, Opaque) or decorator.kind == TRANSPARENT

    def call_wrapped(self, wrapped: Wrapped, call: Call) -> Value:
        """Call a function under a decorator of the standard library."""
        if wrapped.kind == "contextmanager":
            return self.interpreter.with_statements.make(wrapped, call)
        return self.interpreter.call(wrapped.function, call)
