"""Annotations in evaluation: binds them in calls, and checks results and variables against them.

The axes of a function are bound to dims of its caller, consistently over one call. The bindings are
in the store beside the function's variables, or, if a constructor or a field binds them, beside the
instance's attributes (docs/semantics.md, "Two kinds of name").
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from namecheck.annotations.bindings import Bindings, bind_number, settle, with_number
from namecheck.annotations.declarations import (
    Declared,
    declares_dims,
    meet,
    of_dims_alone,
)
from namecheck.core.dataclasses import replace
from namecheck.core.dims import Size
from namecheck.core.findings import Facts, Place
from namecheck.core.names import UNKNOWN, Contradiction, word
from namecheck.core.sizes import symbol
from namecheck.core.syntax import Located as Node
from namecheck.interpreter.domain import class_lookup, meter
from namecheck.interpreter.domain.scopes import FUNCTIONS
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.values import (
    NONE,
    ClassValue,
    Const,
    DictValue,
    Entries,
    Environment,
    FunctionValue,
    Instance,
    Opaque,
    TensorValue,
    TupleValue,
    Union,
    Value,
    size_of,
    sized,
)
from namecheck.interpreter.evaluation import axis_bindings, declared_choices
from namecheck.interpreter.evaluation.annotation_files import AnnotationFiles
from namecheck.interpreter.evaluation.declared import Annotations, Signature, axes_of
from namecheck.interpreter.evaluation.declared import fields as fields_of
from namecheck.interpreter.evaluation.declared_values import DeclaredValues, LocatedAnnotation
from namecheck.interpreter.evaluation.frames import Call, Frame
from namecheck.interpreter.evaluation.interpreter import Interpreter


class Declarations:
    """Checks values against annotations, and makes values from annotations."""

    def __init__(self, interpreter: Interpreter) -> None:
        self.interpreter = interpreter
        self.values = DeclaredValues(interpreter)
        self._files = AnnotationFiles(interpreter)
        self._fields: dict[ast.ClassDef, Mapping[str, ast.expr]] = {}
        self._axes: dict[ast.ClassDef, frozenset[str]] = {}

    def of(self, environment: Environment) -> Annotations:
        """The annotations of the file that contains the code of a frame."""
        return self._files.of(self.interpreter.context.source_of(environment))

    # Calls

    def declares_dims(self, function: FunctionValue) -> bool:
        """Whether a function declares dims of its parameters or its result."""
        signature = self.of(function.environment).signature(function.node)
        return signature.declares_dims or declares_dims(signature.result)

    def enter(
        self, function: FunctionValue, environment: Environment, call: Call, store: Store
    ) -> bool:
        """Bind the declared parameters to the arguments; False where they contradict."""
        signature = self.of(environment).signature(function.node)
        if signature.choices:
            from namecheck.interpreter.evaluation import declared_candidates  # some have no types

            declared_candidates.note_all(self.interpreter, signature, function, environment, store)
        if not signature.declares_dims:
            return True
        store.ledger.meter.spend(meter.PARAMETER * len(signature.parameters))
        values = {name: store.get((environment.number, name)) for name in signature.parameters}
        try:
            bindings = self._met(signature, values, environment, store, function.name)
        except Contradiction as contradiction:
            if call.node is function.node:
                return False
            caller = call.frame.environment
            if declared_choices.is_undecided(
                self.of(caller).signature(caller.scope), call.store, call.frame
            ) or declared_choices.may_fit(
                lambda supposed: self._met(signature, values, environment, supposed, function.name),
                store,
            ):
                self.interpreter.progress.unknowns += 1
            else:
                self._refuse(contradiction, signature, environment, call)
            return False
        self._keep(bindings, environment, store, function)
        if call.node is function.node and signature.optional:
            from namecheck.interpreter.evaluation import optional_parameters

            optional_parameters.keep(signature, values, environment, store)
        scope = None if call.node is function.node else environment.number
        for name, parameter in signature.parameters.items():
            value = self.values.refine(
                parameter.declared,
                values[name],
                bindings,
                scope,
                self._located(parameter.annotation, environment),
                store,
            )
            store.set((environment.number, name), value)
        return True

    def _met(
        self,
        signature: Signature,
        argument_values: Mapping[str, Value | None],
        environment: Environment,
        store: Store,
        function: str,
    ) -> Bindings:
        """The bindings of a signature to the values of its parameters; raises `Contradiction`."""
        store.ledger.meter.spend_on_axes(len(signature.axes))
        bindings = axis_bindings.read(signature.axes, environment, store, function)
        for name, parameter in signature.parameters.items():
            argument = self.values.checkable(argument_values[name], store)
            bindings = meet(parameter.declared, argument, bindings, name)
        for name in sorted(signature.numbers):
            size = size_of(store.get((environment.number, name), NONE))
            if size is not None:
                bindings = with_number(bindings, name, size)
        return settle(bindings)

    def _refuse(
        self,
        contradiction: Contradiction,
        signature: Signature,
        environment: Environment,
        call: Call,
    ) -> None:
        """Report a call whose arguments contradict its annotations."""
        interpreter, marks = self.interpreter, list[Place]()
        declared_operands: list[tuple[ast.expr, Value]] = []
        if isinstance(call.node, ast.Call):
            declared_operands += zip(
                call.node.args, call.args[-len(call.node.args) :], strict=False
            )
            for node, value in declared_operands:
                shown = interpreter.torch.show(value, call.store)
                if isinstance(value, (TensorValue, Opaque)) and shown:
                    marks.append(interpreter.place(node, shown))
        values = [*call.args, *call.kwargs.values()]
        origins = list(interpreter.torch.origins_of(contradiction.names, values, call.store))
        source = interpreter.context.source_of(environment)
        words = set(contradiction.message.splitlines()[0].split("'")[1::2])
        for name, parameter in signature.parameters.items():
            if name in words:
                located = LocatedAnnotation(parameter.annotation, source)
                origins.append(located.place(f"'{name}' is declared here"))
        interpreter.report(
            contradiction,
            call.node,
            call.store,
            call.frame,
            tuple(marks),
            tuple(origins),
            by_axes=contradiction.code == "NC112",
            facts=Facts(
                words=contradiction.names,
                operands=interpreter.torch.operand_facts(declared_operands, call.store),
            ),
        )

    def result(
        self,
        function: FunctionValue,
        environment: Environment,
        bindings: Bindings | None,
        value: Value,
        store: Store,
        *,
        is_told: bool = False,
    ) -> Value:
        """The declared result of a call, where the function's body leaves it unknown.

        What the declaration alone tells (`is_told`) has no dtype: a wrong one is reported in the
        function, and not once more for each use of its results.
        """
        signature = self.of(environment).signature(function.node)
        if bindings is None or self.interpreter.scope(function.node).generator:
            return value
        declared = of_dims_alone(signature.result) if is_told else signature.result
        bindings = replace(bindings, for_result=True)
        scope = environment.number
        located = self._located(getattr(function.node, "returns", None), environment)
        try:
            checkable = self.values.checkable(value, store)
            meet(declared, checkable, bindings, "result", returned=True)
        except Contradiction as contradiction:  # where the body contradicts
            mistyped = contradiction.code in ("NC301", "NC410")
            declared = of_dims_alone(declared) if mistyped else declared
            return self.values.create(declared, bindings, scope, located)
        value = self.values.outside(value, environment.number, store)
        if isinstance(value, Union) and declared_choices.takes_several(signature):
            return self.values.create(declared, bindings, scope, located)
        if isinstance(value, Union):

            def check(choice: Value) -> None:
                checkable = self.values.checkable(choice, store)
                meet(declared, checkable, bindings, "result", returned=True)

            value = declared_choices.fitting(value, check)
        value = self.values.refine(declared, value, bindings, scope, located, store)
        return declared_choices.result(value, declared)

    def overloads(self, function: FunctionValue) -> Sequence[ast.FunctionDef]:
        """The overloads of a function that stand beside it."""
        scope = function.environment.scope
        return self.of(function.environment).overloads(scope, function.name)

    def declares_result(self, function: FunctionValue) -> bool:
        """Whether a function declares its result."""
        return declares_dims(self.of(function.environment).signature(function.node).result)

    def bound(
        self, function: FunctionValue, environment: Environment, store: Store
    ) -> Bindings | None:
        """The axis bindings of a call; None where the declared result has no dims."""
        if not self.declares_result(function):
            return None
        signature = self.of(environment).signature(function.node)
        bindings = axis_bindings.read(signature.axes, environment, store, function.name)
        return replace(bindings, numbers=signature.numbers)

    def leave(self, return_node: ast.Return, value: Value, store: Store, frame: Frame) -> None:
        """Check a function's return value against its declaration."""
        environment = frame.environment
        signature = self.of(environment).signature(environment.scope)
        if (
            not declares_dims(signature.result)
            or self.interpreter.scope(environment.scope).generator
        ):
            return

        def check(layer: Store) -> None:
            layer.ledger.meter.spend_on_axes(len(signature.axes))
            bindings = axis_bindings.read(signature.axes, environment, layer, frame.name)
            if signature.optional:
                from namecheck.interpreter.evaluation import optional_parameters as optional

                bindings = optional.bound(signature, bindings, environment, layer, self.values)
            result = self.values.checkable(value, layer)
            settle(meet(signature.result, result, bindings, "result", returned=True))

        try:
            check(store)
        except Contradiction as contradiction:
            if declared_choices.may_fit(check, store) or declared_choices.is_undecided(
                signature, store, frame, value
            ):
                self.interpreter.progress.unknowns += 1
                return
            self._report(contradiction, return_node.value or return_node, [value], store, frame)

    def parameter(
        self, function: FunctionValue, name: str, instance: Instance | None, store: Store
    ) -> Value | None:
        """An unknown argument with its declared type; None where it has none.

        The axes of a constructor belong to the instance that it is called for.
        """
        signature = self.of(function.environment).signature(function.node)
        if name in signature.numbers:
            return sized(symbol(name))
        parameter = signature.parameters.get(name)
        if parameter is None:
            return None
        located = self._located(parameter.annotation, function.environment)
        if instance is None:
            bindings = Bindings(function.name)
            return self.values.create(parameter.declared, bindings, None, located)
        environment = replace(
            function.environment, number=self.interpreter.new_address(), receiver=instance
        )
        bindings = axis_bindings.read(
            axes_of(parameter.declared), environment, store, function.name
        )
        return self.values.create(parameter.declared, bindings, _scope(instance), located)

    def seed(self, instance: Instance, method: FunctionValue, store: Store) -> None:
        """Bind the axes of an instance that its method mentions to the axes of the method."""
        bindings = Bindings(method.name)
        for axis in sorted(self.shared_axes(instance.cls, method)):
            bindings = bind_number(bindings, axis, symbol(axis), "self")
        axis_bindings.write(bindings, instance, store)
        axis_bindings.mark_representative(instance, store)

    def fields(self, class_node: ast.ClassDef) -> Mapping[str, ast.expr]:
        """The annotated names in the body of a class."""
        fields = self._fields.get(class_node)
        if fields is None:
            fields = self._fields[class_node] = fields_of(class_node)
        return fields

    def shared_axes(self, cls: ClassValue, method: FunctionValue) -> frozenset[str]:
        """The axes that the annotations of a class and of its method both mention."""
        bases = (base for base in class_lookup.mro(cls) if isinstance(base, ClassValue))
        named = frozenset[str]().union(*map(self._axes_of, bases))
        return named & self.of(method.environment).axes(method.node)

    def are_apart(self, contradiction: Contradiction, frame: Frame) -> bool:
        """Whether a contradiction is between an axis of a function and one of its surroundings.

        The two axes may be one dim: a method binds its axes in each call, and so does an inner
        function. Only the axes of one of them, or of the class, or of the outer function, differ
        among themselves. Two dims of one tensor always differ.
        """
        if len(contradiction.names) < 2:
            return False
        entered = frame
        for entered in frame.stack():
            if entered.call is not None and entered.call.node is entered.environment.scope:
                break
        environment = entered.environment
        instance, node = environment.receiver, environment.scope
        outer = environment.enclosing.scope if environment.enclosing else node
        inside = around = shared = frozenset[str]()
        if isinstance(instance, Instance) and isinstance(node, FUNCTIONS):
            inside = self.of(environment).axes(node)
            # A word of the result alone may have another meaning than it has in the constructor.
            parameters = self.of(environment).signature(node).parameters.values()
            shared = shared.union(*(axes_of(each.declared) for each in parameters))
            around = around.union(*map(self._words_of, self._classes(instance)))
        elif isinstance(outer, FUNCTIONS):
            inside, around = (self._signed(environment, each) for each in (node, outer))
            shared = inside
        sides = [set(re.findall(r"\w+", name)) for name in contradiction.names]
        lone = [axis for side in sides for axis in side & (inside - around)]
        others = [axis for side in sides for axis in side & (around - shared)]
        pairs = [{one, other} for one in lone for other in others]
        return bool(pairs) and not any(
            pair <= {word(name) for name in dims.names}
            for dims in self.interpreter.progress.shapes
            for pair in pairs
        )

    def _signed(self, environment: Environment, node: ast.AST) -> frozenset[str]:
        """The axes of the parameters and the result of a function."""
        signature = self.of(environment).signature(node)
        every = [signature.result, *(each.declared for each in signature.parameters.values())]
        return signature.numbers.union(*map(axes_of, every))

    def _words_of(self, cls: ClassValue) -> frozenset[str]:
        """The axes of a class, and the sizes that its constructor is given as numbers."""
        if cls.node is None or cls.environment is None:
            return frozenset()
        annotations = self.of(cls.environment)
        makers = [node for node in cls.node.body if getattr(node, "name", "") == "__init__"]
        numbers = (annotations.signature(maker).numbers for maker in makers)
        return self._axes_of(cls).union(*numbers)

    def _classes(self, instance: Instance) -> Iterator[ClassValue]:
        for cls in class_lookup.mro(instance.cls):
            if isinstance(cls, ClassValue):
                yield cls

    def _axes_of(self, cls: ClassValue) -> frozenset[str]:
        """The axes in the annotations of a class's fields and of its constructor."""
        if cls.node is None or cls.environment is None:
            return frozenset()
        axes = self._axes.get(cls.node)
        if axes is None:
            axes = self._axes[cls.node] = self._read_axes(cls.node, self.of(cls.environment))
        return axes

    def _read_axes(self, class_node: ast.ClassDef, annotations: Annotations) -> frozenset[str]:
        fields = [annotations.read(annotation) for annotation in self.fields(class_node).values()]
        makers = [node for node in class_node.body if getattr(node, "name", "") == "__init__"]
        return frozenset[str]().union(*map(axes_of, fields), *map(annotations.axes, makers))

    def names_axes(self, maker: FunctionValue, cls: ClassValue) -> bool:
        """Whether a constructor, or the fields of its class, have axes in their annotations."""
        annotations = self.of(maker.environment)
        fields = self.fields(cls.node) if isinstance(cls.node, ast.ClassDef) else {}
        in_fields = any(
            declares_dims(annotations.read(annotation)) for annotation in fields.values()
        )
        return in_fields or bool(annotations.axes(maker.node))

    # Variables

    def assigned(
        self, assignment: ast.AnnAssign, value: Value, store: Store, frame: Frame
    ) -> Value:
        """The value of an annotated variable, with the declared dims."""
        declared = self.of(frame.environment).read(assignment.annotation)
        if not declares_dims(declared):
            return value
        environment = frame.environment
        name = ast.unparse(assignment.target)
        of_field = isinstance(assignment.target, ast.Attribute)
        axes = axes_of(declared)
        store.ledger.meter.spend_on_axes(len(axes))
        bindings = axis_bindings.read(axes, environment, store, frame.name, of_field=of_field)
        try:
            assigned_value = self.values.checkable(value, store)
            bindings = settle(meet(declared, assigned_value, bindings, name, returned=True))
        except Contradiction as contradiction:
            self._report(contradiction, assignment.value or assignment, [value], store, frame)
            return self.interpreter.failed()
        owner = environment.receiver if isinstance(assignment.target, ast.Attribute) else None
        scope = None
        if isinstance(owner, Instance):
            scope = None if axis_bindings.is_representative(owner, store) else _scope(owner)
            axis_bindings.write(bindings, owner, store, of_field=True)
        else:
            axis_bindings.write(bindings, environment, store)
        return self.values.refine(
            declared,
            value,
            bindings,
            scope,
            self._located(assignment.annotation, environment),
            store,
        )

    def _report(
        self,
        contradiction: Contradiction,
        node: Node,
        ingredients: Iterable[Value],
        store: Store,
        frame: Frame,
    ) -> None:
        interpreter, values = self.interpreter, list(ingredients)
        marks = tuple(
            interpreter.place(node, interpreter.torch.show(value, store))
            for value in values
            if isinstance(value, TensorValue) and interpreter.torch.show(value, store)
        )
        origins = interpreter.torch.origins_of(contradiction.names, values, store)
        interpreter.report(
            contradiction,
            node,
            store,
            frame,
            marks,
            origins,
            by_axes=contradiction.code == "NC112",
        )

    # Fields

    def field(self, instance: Instance, name: str, store: Store) -> Value | None:
        """An attribute of an instance that its class only declares; None if it does not."""
        for cls in class_lookup.mro(instance.cls):
            node = cls.node if isinstance(cls, ClassValue) else None
            if not isinstance(cls, ClassValue) or node is None or cls.environment is None:
                continue
            annotation = self.fields(node).get(name)
            if annotation is None:
                continue
            environment = Environment(self.interpreter.new_address(), node, cls.environment)
            declared = self.of(environment).read(annotation)
            if declares_dims(declared):
                located = self._located(annotation, environment)
                return self._of_instance(instance, declared, located, environment, store)
        return None

    def filled(
        self,
        cls: ClassValue,
        field_values: Mapping[str, Value],
        call: Call,
        instance: Instance | None = None,
    ) -> dict[str, Value]:
        """The fields of a new instance, checked together against their declarations."""
        values = dict(field_values)
        if cls.node is None or cls.environment is None:
            return values
        environment = Environment(self.interpreter.new_address(), cls.node, cls.environment)
        annotations = self.of(environment)
        declared = {
            name: (annotations.read(annotation), annotation)
            for name, annotation in self.fields(cls.node).items()
            if name in values
        }
        axes = annotations.axes(cls.node)
        bindings = Bindings(cls.name)
        try:
            for name in sorted(axes & values.keys()):
                size = size_of(values[name])
                if size is not None:
                    bindings = bind_number(bindings, name, size, name)
            for name, (declaration, _) in declared.items():
                bindings = meet(
                    declaration, self.values.checkable(values[name], call.store), bindings, name
                )
            bindings = settle(bindings)
        except Contradiction as contradiction:
            every = list(values.values())
            self._report(contradiction, call.node, every, call.store, call.frame)
            return {name: self.interpreter.failed() for name in values}
        scope = self.interpreter.new_address()
        if instance is not None:
            axis_bindings.write(bindings, instance, call.store, of_field=True)
        for name, (declaration, annotation) in declared.items():
            values[name] = self.values.refine(
                declaration,
                values[name],
                bindings,
                scope,
                self._located(annotation, environment),
                call.store,
            )
        return values

    def named_tuple(self, cls: ClassValue, store: Store) -> Value:
        """An unknown named tuple: its axes are its own."""
        holder = Instance(self.interpreter.new_address(), cls)
        names = tuple(name for name, _ in cls.fields)
        made = (self.field(holder, name, store) for name in names)
        items = tuple(value or self.interpreter.fresh("field") for value in made)
        return TupleValue(items, names, cls)

    def entries(self, cls: ClassValue, store: Store) -> Value:
        """An unknown dict of a TypedDict: its axes belong to the dict."""
        holder = Instance(self.interpreter.new_address(), cls)
        names = [] if cls.node is None else [name for name, _ in cls.fields]
        made = [(Const(name), self.field(holder, name, store)) for name in names]
        items = tuple((key, value) for key, value in made if value is not None)
        return DictValue(
            self.interpreter.new_address(), Entries(items, self.interpreter.fresh("item"))
        )

    def _of_instance(
        self,
        instance: Instance,
        declared: Declared,
        located: LocatedAnnotation | None,
        environment: Environment,
        store: Store,
    ) -> Value:
        """A value with the type that a field declares; its axes belong to the instance."""
        scope = _scope(instance)
        inner = replace(environment, receiver=instance)
        bindings = axis_bindings.read(
            axes_of(declared), inner, store, instance.cls.name, of_field=True
        )
        value = self.values.create(declared, bindings, scope, located)
        bindings = meet(declared, self.values.checkable(value, store), bindings, "field")
        axis_bindings.write(bindings, instance, store, of_field=True)
        return value

    # Bindings of axes

    def size_of_axis(self, axis: str, store: Store, frame: Frame) -> Size:
        """The size of the axis with this name in a function's annotations; UNKNOWN without one."""
        environment, call = frame.environment, frame.call
        if axis not in self.of(environment).signature(environment.scope).axes:
            return UNKNOWN
        bindings = axis_bindings.read([axis], environment, store, frame.name)
        inside = call is not None and call.node is not environment.scope
        return bindings.dim(axis, environment.number if inside else None).size

    def _keep(
        self, bindings: Bindings, environment: Environment, store: Store, function: FunctionValue
    ) -> None:
        axis_bindings.write(bindings, environment, store)
        if function.name == "__init__" and isinstance(environment.receiver, Instance):
            numbers = self.of(environment).signature(function.node).numbers
            sizes = {axis: bound for axis, bound in bindings.axes.items() if axis in numbers}
            axis_bindings.write(bindings, environment.receiver, store, of_field=True)
            own = replace(bindings, axes=sizes, runs={})
            axis_bindings.write(own, environment.receiver, store)

    def _located(
        self, annotation: ast.expr | None, environment: Environment
    ) -> LocatedAnnotation | None:
        if annotation is None:
            return None
        return LocatedAnnotation(annotation, self.interpreter.context.source_of(environment))


def _scope(instance: Instance) -> int | None:
    """The scope of the axes of an instance."""
    return instance.address if isinstance(instance.address, int) else None
