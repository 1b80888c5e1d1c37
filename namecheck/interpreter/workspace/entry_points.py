"""Entry points: calls functions as code in other files might, on unknown arguments."""

from __future__ import annotations

import ast
import contextlib
import itertools
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from namecheck.core.dataclasses import replace
from namecheck.core.trees import is_name, last_word, nodes
from namecheck.interpreter.domain import class_lookup, joins, meter
from namecheck.interpreter.domain.cells import NumberTest
from namecheck.interpreter.domain.provenance import Item, Parameter
from namecheck.interpreter.domain.scopes import decorators, is_stub, refuses
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.values import (
    NONE,
    BoundMethod,
    ClassValue,
    Const,
    DictValue,
    Entries,
    FunctionValue,
    Generator,
    Instance,
    Key,
    ListValue,
    Opaque,
    TupleValue,
    Value,
    Wrapped,
)
from namecheck.interpreter.evaluation.events import EntryRun
from namecheck.interpreter.evaluation.frames import Arguments, Call, Frame, PathEnds
from namecheck.interpreter.evaluation.interpreter import Interpreter
from namecheck.interpreter.workspace.typed_values import NUMBERS, PLAIN, TypedValues

if TYPE_CHECKING:
    from namecheck.interpreter.workspace.later import Later

# The least budget of one entry point, however much is spent already.
_LEAST: Final = 500
_SUBCLASSES: Final = 3
# A default of -1 stands for a size that every caller gives.
_NEGATIVE_SIZE: Final = "NC209"


# Decorators of numba and jax; those of torch have other names.
_COMPILERS: Final = frozenset({"guvectorize", "jit", "njit", "vectorize"})


class EntryPoints:
    """Calls the functions of a file on arguments that are made from their annotations."""

    def __init__(self, interpreter: Interpreter) -> None:
        self.interpreter = interpreter
        self.values = TypedValues(interpreter, self._made)
        self._names: dict[ast.ClassDef, frozenset[str]] = {}
        # How many classes of the file are indexed, and the classes that derive from each.
        self._indexed = 0
        self._first: dict[ClassValue, ClassValue] = {}
        self._heirs: dict[ClassValue, list[ClassValue]] = {}
        # The attributes of a class that a derived class may replace.
        self._open_names: dict[ClassValue, tuple[str, ...]] = {}
        # The instance that the methods of a class share, and the layers in which such instances
        # were made, each over the store from which the methods are called.
        self._instances: dict[ClassValue, Instance] = {}
        self._grounds: dict[tuple[ClassValue, Hashable, Store], tuple[Instance, Store]] = {}
        self._making: set[ast.AST] = set()
        self._later: Later | None = None
        self._returned: set[ast.AST] = set()

    def call(self, function: FunctionValue, store: Store, frame: Frame) -> None:
        """Call a function on unknown arguments, and with its defaults; a method once a class."""
        if isinstance(function.node, ast.Lambda):
            return
        self.interpreter.budget.left = max(self.interpreter.budget.left, _LEAST)
        if self.interpreter.budget.brief:
            self._briefly(function, store, frame)
            return
        classes = self._classes(function, store)
        ways = (False, True) if function.defaults else (False,)
        for cls in classes:
            ground = self._with_instance(function, cls, store, frame)
            for defaults in ways:
                layer = ground.fork()
                findings = self.interpreter.findings
                count = len(findings.entries)
                with (
                    self.interpreter.context.ledger.forgetting_attributes(),
                    contextlib.suppress(PathEnds),
                ):
                    arguments = self._arguments(function, cls, layer, frame, defaults=defaults)
                    is_last = cls is classes[-1] and defaults is ways[-1]
                    self._call_for_records(function, arguments, layer, frame, is_last=is_last)
                if defaults:
                    findings.drop_code(count, _NEGATIVE_SIZE)

    def _briefly(self, function: FunctionValue, store: Store, frame: Frame) -> None:
        """Call a function once; a method on the instance that all methods of its class share."""
        own = function.cls if isinstance(function.environment.scope, ast.ClassDef) else None
        if own is not None and own not in self._instances and function.name != "__init__":
            self._instances[own] = self._instance(function, own, store, frame)
        layer = store.fork()
        arguments = self._arguments(function, own, layer, frame, defaults=False)
        with contextlib.suppress(PathEnds):
            self._call(function, arguments, store, frame)

    def call_once(
        self,
        function: FunctionValue,
        receivers: list[Value],
        store: Store,
        frame: Frame,
    ) -> None:
        """Call a function once, with its receiver, if it has one, and unknown arguments."""
        arguments = self._arguments(function, None, store, frame, defaults=False)
        arguments.args[: len(receivers)] = receivers
        self._call(function, arguments, store, frame)

    def _call_for_records(
        self,
        function: FunctionValue,
        arguments: Arguments,
        store: Store,
        frame: Frame,
        *,
        is_last: bool,
    ) -> None:
        """Call a function; for records of what is observed, once more with what that has told."""
        context = self.interpreter.context
        if context.recorder is None or not context.evidence.is_observed:
            self._call(function, arguments, store, frame, is_last=is_last)
            return
        from namecheck.interpreter.workspace import second_runs  # only where values are shown

        returned = self._returned

        def run(arguments: Arguments, store: Store) -> None:
            self._returned = returned.copy()
            self._call(function, arguments, store, frame)

        interpreter, recorder = self.interpreter, context.recorder
        second_runs.record(interpreter, recorder, function, arguments, store, run)

    def _call(
        self,
        function: FunctionValue,
        arguments: Arguments,
        store: Store,
        frame: Frame,
        *,
        is_last: bool = False,
    ) -> None:
        """Call a function; call a function that it returns, run a generator that it returns."""
        call = Call(arguments, function.node, store, frame, is_last)
        store.ledger.meter.spend(meter.ENTRY + meter.EXPRESSION * len(arguments.args))
        made = self.interpreter.call_function(function, call)
        if self.interpreter.listeners.follow_entries:
            self._tell(function, arguments, store)
        if isinstance(made, Generator):
            self.interpreter.generators.sample(made, function.node, store, frame)
        elif isinstance(made, FunctionValue) and made.node not in self._returned:
            self._returned.add(made.node)
            self.call(made, store, frame)

    def _tell(self, function: FunctionValue, arguments: Arguments, store: Store) -> None:
        """Tell the listeners what a run has told of the parameters."""
        from namecheck.interpreter.workspace import told_dims  # only where asked for

        interpreter = self.interpreter
        is_silent = interpreter.findings.silent > 0
        dims = told_dims.told(function, arguments, store)
        interpreter.listeners.has_run(EntryRun(function, dims, interpreter.source, is_silent))

    def _classes(self, function: FunctionValue, store: Store) -> list[ClassValue | None]:
        """The class of a method and the classes that inherit it; None for a plain function."""
        cls = function.cls
        if cls is None or not isinstance(function.environment.scope, ast.ClassDef):
            return [None]
        heirs = (
            heir
            for heir in self._derived(cls)
            if _plain(class_lookup.attribute(heir, function.name, store)) == function
        )
        return [self._first.get(cls, cls), *itertools.islice(heirs, _SUBCLASSES)]

    def _derived(self, cls: ClassValue) -> Sequence[ClassValue]:
        """The classes of the file that derive from a class."""
        classes = self.interpreter.definitions.classes
        for known in classes[self._indexed :]:
            self._first.setdefault(known, known)
            for base in class_lookup.mro(known)[1:]:
                if isinstance(base, ClassValue):
                    self._heirs.setdefault(base, []).append(known)
        self._indexed = len(classes)
        return self._heirs.get(cls, [])

    def _arguments(
        self,
        function: FunctionValue,
        cls: ClassValue | None,
        store: Store,
        frame: Frame,
        *,
        defaults: bool,
        instance: Instance | None = None,
    ) -> Arguments:
        """Unknown values for the parameters; with `defaults`, the default where there is one.

        The axes of a constructor belong to the `instance` that it initialises. A default of None
        is not used: most often the body replaces it.
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
            receiver = None
            if cls is not None and not index:
                receiver = self._receiver(function, cls, store, frame)
            made = receiver or self._unknown(function, parameter, instance, store, frame)
            arguments.args.append(made)
        if not defaults:
            for parameter in spec.kwonlyargs:
                arguments.kwargs[parameter.arg] = self._unknown(
                    function, parameter, instance, store, frame
                )
        return arguments

    # Instances

    def _with_instance(
        self, function: FunctionValue, cls: ClassValue | None, store: Store, frame: Frame
    ) -> Store:
        """The store from which a method is called, with an instance that its constructor made.

        All methods of a class are called on one instance: what it costs to make it, which may be
        as much as the file is long, is not multiplied by the number of methods.
        """
        if cls is None or not _takes_instance(function):
            return store
        axes = self.interpreter.declarations.shared_axes(cls, function)
        key = cls, (function.name, axes) if axes else None, store
        if key not in self._grounds:
            layer = store.fork()
            self._grounds[key] = self._instance(function, cls, layer, frame), layer
        self._instances[cls], ground = self._grounds[key]
        return ground

    def _receiver(
        self, function: FunctionValue, cls: ClassValue, store: Store, frame: Frame
    ) -> Value | None:
        """The receiver of a method: an instance as unknown code would make it, or the class."""
        if _takes_instance(function):
            return self._instances.get(cls) or self._instance(function, cls, store, frame)
        decorated = decorators(function.node)
        if "staticmethod" in decorated:
            return None
        if "classmethod" in decorated or function.name == "__new__":
            return cls
        instance = Instance(self.interpreter.new_address(), cls)
        self.interpreter.declarations.seed(instance, function, store)
        return instance

    def _instance(
        self, function: FunctionValue, cls: ClassValue, store: Store, frame: Frame
    ) -> Instance:
        """An instance for a method, initialised by its constructor."""
        instance = Instance(self.interpreter.new_address(), cls)
        self.interpreter.declarations.seed(instance, function, store)
        self._initialise(instance, store, frame)
        self._forget_writes(instance, store)
        self._leave_open(instance, store)
        return instance

    def _initialise(self, instance: Instance, store: Store, frame: Frame) -> None:
        maker = class_lookup.attribute(instance.cls, "__init__", store)
        if isinstance(maker, FunctionValue):
            arguments = self._arguments(
                maker, None, store, frame, defaults=False, instance=instance
            )
            self._construct(instance, maker, arguments, store, frame)
        self._fill(instance, store, frame)
        self._finish(instance, store, frame)

    def _finish(self, instance: Instance, store: Store, frame: Frame) -> None:
        """Run the ``__post_init__`` of an instance whose ``__init__`` is generated."""
        if isinstance(class_lookup.attribute(instance.cls, "__init__", store), FunctionValue):
            return
        after = class_lookup.attribute(instance.cls, "__post_init__", store)
        if isinstance(after, FunctionValue) and after.node not in self._making:
            self._making.add(after.node)
            arguments = self._arguments(
                after, None, store, frame, defaults=False, instance=instance
            )
            self._construct(instance, after, arguments, store, frame)
            self._making.discard(after.node)

    def _construct(
        self,
        instance: Instance,
        maker: FunctionValue,
        arguments: Arguments,
        store: Store,
        frame: Frame,
    ) -> None:
        """Run ``__init__``, or ``__post_init__``, on an instance, the first argument."""
        arguments.args = arguments.args[1:]
        layer = store.fork()
        call = Call(arguments, maker.node, layer, frame)
        with self.interpreter.findings.silenced(), contextlib.suppress(PathEnds):
            self.interpreter.call(BoundMethod(maker, instance), call)
            store.absorb(layer.changes_since(store))

    def _made(self, cls: ClassValue, store: Store, frame: Frame) -> Instance:
        """An instance that unknown code has made, with unknown sizes and axes."""
        instance = Instance(self.interpreter.new_address(), cls)
        maker = class_lookup.attribute(cls, "__init__", store)
        if (
            isinstance(maker, FunctionValue)
            and maker.node not in self._making
            and not self.interpreter.declarations.names_axes(maker, cls)
        ):
            self._making.add(maker.node)
            arguments = self._arguments(
                maker, None, store, frame, defaults=False, instance=instance
            )
            arguments.args = [self.interpreter.fresh("parameter") for _ in arguments.args]
            arguments.kwargs = {n: self.interpreter.fresh("parameter") for n in arguments.kwargs}
            self._construct(instance, maker, arguments, store, frame)
            self._making.discard(maker.node)
        self._forget_defaults(instance, store)
        self._finish(instance, store, frame)
        self._forget_writes(instance, store)
        self._leave_open(instance, store)
        return instance

    def _forget_writes(self, instance: Instance, store: Store) -> None:
        """Forget what its methods may have written to an instance that was made earlier."""
        from namecheck.interpreter.workspace.later import Later  # not every file has a class

        if self._later is None:
            self._later = Later(self.interpreter)
        self._later.forget_instance(instance, store)

    def _forget_defaults(self, instance: Instance, store: Store) -> None:
        """Make the fields with a default unknown: unknown code may have passed another value."""
        for cls in class_lookup.mro(instance.cls):
            for name, annotation in self._annotated(cls).items():
                known = store.get((instance.address, name))
                default = class_lookup.attribute(instance.cls, name, store)
                if known is not None or default is None or _is_constant(annotation):
                    continue
                if self.interpreter.declarations.field(instance, name, store) is None:
                    word = annotation.id if isinstance(annotation, ast.Name) else ""
                    kind = word if word in PLAIN else None
                    made = self.interpreter.fresh("field", kind)
                    store.set((instance.address, name), made)
                    self._note_choice(instance, name, made, store)

    def _note_choice(self, instance: Instance, name: str, value: Value, store: Store) -> None:
        """Note of an unknown field of an instance what its annotation allows."""
        from namecheck.interpreter.evaluation import declared_candidates  # few are unknown

        declared_candidates.note_field(self.interpreter, instance.cls, name, value, store)

    def _annotated(self, cls: Value) -> Mapping[str, ast.expr]:
        """The annotated names in the body of a class."""
        node = cls.node if isinstance(cls, ClassValue) else None
        return {} if node is None else self.interpreter.declarations.fields(node)

    def _fill(self, instance: Instance, store: Store, frame: Frame) -> None:
        """Set the annotated fields of an instance that no ``__init__`` has set."""
        annotations = self._annotated(instance.cls)
        for name, _ in instance.cls.fields:
            key = (instance.address, name)
            if store.get(key) is None and name in annotations:
                declared = self.interpreter.declarations.field(instance, name, store)
                made = declared or self.values.of(annotations[name], store, frame)
                store.set(key, made)
                self._note_choice(instance, name, made, store)

    def _leave_open(self, instance: Instance, store: Store) -> None:
        """Make the attributes unknown that a derived class may replace.

        These are the attributes that a derived class of this file replaces, stubs, and what a class
        has in place of a value: ``bands = ()``. The instance may be one of a derived class.
        """
        names = self._open_names.get(instance.cls)
        if names is None:
            names = self._open_names[instance.cls] = tuple(self._replaceable(instance.cls, store))
        for name in names:
            store.set((instance.address, name), self.interpreter.fresh("overridden"))

    def _replaceable(self, cls: ClassValue, store: Store) -> Iterator[str]:
        overridden = set[str]().union(*map(self._bound_names, self._derived(cls)))
        # In a long chain of classes most bases lack most names.
        binding_classes: dict[str, list[ClassValue]] = {}
        for base in class_lookup.mro(cls):
            if isinstance(base, ClassValue):
                for name in self._bound_names(base):
                    binding_classes.setdefault(name, []).append(base)
        for name in sorted(binding_classes):
            if name in overridden or self._is_missing_in(binding_classes[name], name, store):
                yield name

    def _is_missing_in(self, classes: Sequence[ClassValue], name: str, store: Store) -> bool:
        """Whether the first of some classes that has this attribute leaves it to derived ones."""
        for cls in classes:
            member: Value | None = store.get((cls.address, name))
            if member is not None:
                return self._is_bare_stub(_plain(member)) or _stands_for_a_value(member, store)
        return False

    def _is_bare_stub(self, value: Value | None) -> bool:
        """Whether a method has an empty body and no declared result."""
        if not isinstance(value, FunctionValue) or not is_stub(value.node) or refuses(value.node):
            return False
        return not self.interpreter.declarations.declares_result(value)

    def _bound_names(self, cls: Value) -> frozenset[str]:
        """The names that the body of a class binds, and the attributes that its methods set."""
        node = cls.node if isinstance(cls, ClassValue) else None
        if node is None:
            return frozenset()
        names = self._names.get(node)
        if names is None:
            attributes = (inner for inner in nodes(node) if isinstance(inner, ast.Attribute))
            set_names = {inner.attr for inner in attributes if isinstance(inner.ctx, ast.Store)}
            names = self._names[node] = frozenset(set_names | self.interpreter.scope(node).local)
        return names

    # Values by their annotations

    def _unknown(
        self,
        function: FunctionValue,
        parameter: ast.arg,
        instance: Instance | None,
        store: Store,
        frame: Frame,
    ) -> Value:
        """A value for a parameter, of the type in its annotation."""
        if parameter.annotation is None or _is_for_arrays(function):
            unknown = Opaque(Parameter(self.interpreter.new_address(), parameter.arg))
            if self.interpreter.context.evidence.is_observed:
                self._note_number(function, parameter, unknown, store)
            return unknown
        declared = self.interpreter.declarations.parameter(function, parameter.arg, instance, store)
        if declared is not None:
            return declared
        made = self.values.of(parameter.annotation, store, frame)
        # Its name is that of a size, if it is used as one.
        provenance = Parameter(self.interpreter.new_address(), parameter.arg)
        if isinstance(made, Opaque) and made.link is None:
            is_wrong = made.kind in NUMBERS and _has_items(parameter.arg, function.node)
            return Opaque(provenance, None if is_wrong else made.kind)
        if isinstance(made, TupleValue) and made.cls is None:
            return replace(made, items=tuple(_items(made.items, Key(provenance))))
        return made

    def _note_number(
        self, function: FunctionValue, parameter: ast.arg, unknown: Opaque, store: Store
    ) -> None:
        """Note that a parameter with a number as its default is a number."""
        spec = function.node.args
        positional = [*spec.posonlyargs, *spec.args]
        by_position = positional[len(positional) - len(function.defaults) :]
        defaults = dict(zip([each.arg for each in by_position], function.defaults, strict=True))
        default = (defaults | dict(function.keyword_defaults)).get(parameter.arg)
        if isinstance(default, Const) and type(default.value) in (int, float):
            store.set(NumberTest(unknown.key), True)


def _items(unknown_items: Iterable[Value], tuple_key: Key) -> Iterator[Value]:
    """The items of a parameter that is a tuple: each is told by its place, ``size[0]``."""
    for index, value in enumerate(unknown_items):
        if isinstance(value, Opaque) and value.link is None:
            yield Opaque(Item(tuple_key, index), value.kind)
        else:
            yield value


def _is_for_arrays(function: FunctionValue) -> bool:
    """Whether a function is compiled for arrays, which its annotations may call tensors."""
    for decorator in getattr(function.node, "decorator_list", ()):
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        if last_word(called) in _COMPILERS:
            return True
    return False


def _has_items(word: str, definition: ast.AST) -> bool:
    """Whether a function takes the length or the items of a parameter, whatever its annotation."""
    for node in nodes(definition):
        taken: ast.expr | None = None
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            taken = node.args[0] if node.func.id == "len" and node.args else None
        elif isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)):
            taken = node.iter
        elif isinstance(node, ast.Subscript):
            taken = node.value
        if is_name(taken, word):
            return True
    return False


def _takes_instance(method: FunctionValue) -> bool:
    """Whether a method is called on an instance that is made before it is called."""
    if method.name in ("__init__", "__new__"):
        return False
    return not decorators(method.node) & {"staticmethod", "classmethod"}


def _is_constant(annotation: ast.expr) -> bool:
    """Whether an annotation marks a class constant: ``ClassVar[int]``, ``Final``."""
    words = {getattr(n, "id", None) or getattr(n, "attr", None) for n in nodes(annotation)}
    return bool(words & {"ClassVar", "Final"})


def _stands_for_a_value(member: Value, store: Store) -> bool:
    """Whether an attribute of a class is what stands for a value until some class has one."""
    if isinstance(member, TupleValue):
        return not member.items
    if isinstance(member, ListValue):
        return joins.items(member, store) == ()
    if isinstance(member, DictValue):
        return joins.entries(member, store) == Entries()
    if not isinstance(member, Const):
        return False
    constant = member.value
    return constant in (None, "") or (type(constant) is int and constant <= 0)


def _plain(value: Value | None) -> Value | None:
    """The function under a property, a static or a class method."""
    return value.function if isinstance(value, Wrapped) else value
