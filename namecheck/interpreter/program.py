"""One file, run from top to bottom; then every function that can be called from elsewhere."""

from __future__ import annotations

import ast

from namecheck.interpreter import joins
from namecheck.interpreter.attributes import Attributes
from namecheck.interpreter.calls import Arguments, Call, Calls
from namecheck.interpreter.expressions import Expressions
from namecheck.interpreter.libraries import Libraries
from namecheck.interpreter.machine import Activation, Machine, PathEnds
from namecheck.interpreter.natives import Natives
from namecheck.interpreter.objects import (
    NONE,
    BoundMethod,
    ClassValue,
    External,
    Frame,
    FunctionValue,
    Instance,
    Opaque,
    Value,
)
from namecheck.interpreter.statements import Statements
from namecheck.interpreter.store import Store
from namecheck.interpreter.torch_calls import TorchCalls
from namecheck.values import Tensor

# What analysing one function on unknown arguments may cost, however much is spent already.
_LEAST = 100
_NUMBERS = ("int", "float", "str", "bool")


class Program:
    """The run of one file."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        machine.expressions = Expressions(machine)
        machine.expressions.attributes = Attributes(machine)
        machine.statements = Statements(machine)
        machine.torch = TorchCalls(machine)
        machine.calls = Calls(machine)
        machine.calls.natives = Natives(machine)
        machine.calls.libraries = Libraries(machine)
        self.frame = Frame(0, machine.source.tree)
        self.store = Store()

    def run(self) -> None:
        """Run the module, then its functions on arguments of which nothing is known."""
        activation = Activation(self.frame)
        base = self.store
        ends = self.machine.statements.block(self.machine.source.tree.body, [base], activation)
        if ends and ends != [base]:
            base.absorb(joins.merge(base, ends))
        self.machine.sparing = True
        for node, function in list(self.machine.functions.items()):
            self._from_elsewhere(node, function, activation)

    def variable(self, name: str) -> Value | None:
        """What a variable of the module holds at the end."""
        found: Value | None = self.store.get((self.frame.number, name))
        return found

    def _from_elsewhere(
        self, node: ast.AST, function: FunctionValue, activation: Activation
    ) -> None:
        """Call a function as code in another file might."""
        if isinstance(node, ast.Lambda):
            return
        if node not in self.machine.relevant:
            return
        nested = not isinstance(function.frame.scope, (ast.Module, ast.ClassDef))
        called = node in self.machine.called
        if called and (nested or not function.node.args.args):
            return
        self.machine.budget = max(self.machine.budget, _LEAST)
        for defaults in (False, True) if function.defaults else (False,):
            store = self.store.fork()
            arguments = self._arguments(function, store, activation, defaults=defaults)
            call = Call(arguments, function.node, store, activation)
            try:
                self.machine.calls.function(function, call)
            except PathEnds:
                continue

    def _arguments(
        self, function: FunctionValue, store: Store, activation: Activation, *, defaults: bool
    ) -> Arguments:
        """Unknown values for the parameters; for those that have one the default, if asked.

        A default of None most often stands for something that the body makes up its mind about.
        """
        spec = function.node.args
        positional = [*spec.posonlyargs, *spec.args]
        arguments = Arguments(open=spec.vararg is not None or spec.kwarg is not None)
        plain = len(positional) - len(function.defaults)
        for index, parameter in enumerate(positional):
            default = function.defaults[index - plain] if defaults and index >= plain else NONE
            if default != NONE:
                arguments.args.append(default)
                continue
            receiver = self._receiver(function, index, store, activation)
            arguments.args.append(receiver or self._unknown(parameter, store, activation))
        if not defaults:
            for parameter in spec.kwonlyargs:
                arguments.kwargs[parameter.arg] = self._unknown(parameter, store, activation)
        return arguments

    def _receiver(
        self, function: FunctionValue, index: int, store: Store, activation: Activation
    ) -> Value | None:
        """An instance for ``self``, made as unknown code would make it."""
        cls = function.cls
        if cls is None or index or not isinstance(function.frame.scope, ast.ClassDef):
            return None
        decorators = getattr(function.node, "decorator_list", [])
        names = {d.id for d in decorators if isinstance(d, ast.Name)}
        if "staticmethod" in names:
            return None
        current = self._current(cls, store)
        if "classmethod" in names or function.name == "__new__":
            return current
        instance = Instance(joins.new_address(), current)
        if function.name != "__init__":
            self._initialise(instance, store, activation)
        return instance

    def _current(self, cls: ClassValue, store: Store) -> ClassValue:
        """The class as its decorators left it."""
        for key in ((self.frame.number, cls.name),):
            value: Value | None = store.get(key)
            if isinstance(value, ClassValue) and value == cls:
                return value
        return cls

    def _initialise(self, instance: Instance, store: Store, activation: Activation) -> None:
        attributes = self.machine.expressions.attributes
        maker = attributes.class_attribute(instance.cls, "__init__", store)
        self.machine.silent += 1
        try:
            if isinstance(maker, FunctionValue):
                arguments = self._arguments(maker, store, activation, defaults=False)
                arguments.args = arguments.args[1:]
                layer = store.fork()
                call = Call(arguments, maker.node, layer, activation)
                self.machine.calls.call(BoundMethod(maker, instance), call)
                store.absorb(layer.changes_since(store))
        except PathEnds:
            pass
        finally:
            self.machine.silent -= 1
        annotations = {} if instance.cls.node is None else _annotations(instance.cls.node)
        for name, _ in instance.cls.fields:
            key = (instance.address, name)
            if store.get(key) is None and name in annotations:
                store.set(key, self._of_type(annotations[name], store, activation))

    def _unknown(self, parameter: ast.arg, store: Store, activation: Activation) -> Value:
        """A value for a parameter, of the type that its annotation gives."""
        if parameter.annotation is None:
            return joins.fresh("parameter")
        return self._of_type(parameter.annotation, store, activation)

    def _of_type(self, annotation: ast.expr, store: Store, activation: Activation) -> Value:
        if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
            try:
                annotation = ast.parse(annotation.value, mode="eval").body
            except SyntaxError:
                return joins.fresh("parameter")
        if not isinstance(annotation, (ast.Name, ast.Attribute)):
            return joins.fresh("parameter")
        kind = self.machine.expressions.value(annotation, store, activation)
        if isinstance(kind, External):
            if kind.path in ("torch.Tensor", "torch.nn.Parameter"):
                return self.machine.torch.tensor(Tensor())
            name = kind.path.removeprefix("builtins.")
            if name in _NUMBERS:
                return joins.fresh("parameter", name)
        if isinstance(kind, ClassValue) and kind.style in ("plain", "dataclass"):
            return Instance(joins.new_address(), kind)
        return Opaque(("parameter", joins.new_address()))


def _annotations(node: ast.ClassDef) -> dict[str, ast.expr]:
    return {
        statement.target.id: statement.annotation
        for statement in node.body
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name)
    }
