"""Classes of the program: their bodies, their instances, and their decorators."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Final

from namecheck.core.dataclasses import replace
from namecheck.core.trees import last_word
from namecheck.interpreter.domain import class_lookup, merges, meter
from namecheck.interpreter.domain.provenance import Result
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.values import (
    FALSE,
    BoundMethod,
    ClassValue,
    Const,
    DictValue,
    Entries,
    Environment,
    External,
    FieldOptions,
    FunctionValue,
    Instance,
    Opaque,
    TupleValue,
    Value,
    Wrapped,
)
from namecheck.interpreter.evaluation.frames import Arguments, Call, Frame
from namecheck.interpreter.evaluation.interpreter import Interpreter

_STYLES = {
    "NamedTuple": "namedtuple",
    "TypedDict": "typeddict",
    "Enum": "enum",
    "IntEnum": "enum",
    "StrEnum": "enum",
    "Flag": "enum",
    "IntFlag": "enum",
}
# The libraries whose classes leave the annotations in the body of a derived class alone.
_PLAIN_LIBRARIES: Final = frozenset(
    {"abc", "builtins", "collections", "contextlib", "enum", "torch", "typing", "typing_extensions"}
)


class Classes:
    """Makes classes and instances."""

    def __init__(self, interpreter: Interpreter) -> None:
        self.interpreter = interpreter

    def define(
        self, class_node: ast.ClassDef, decorators: Sequence[Value], store: Store, frame: Frame
    ) -> ClassValue:
        """Run a class body; its names become attributes of the class."""
        bases = tuple(self.interpreter.evaluate(base, store, frame) for base in class_node.bases)
        address = self.interpreter.new_address()
        style = _style(bases)
        if style == "plain" and self._is_foreign(class_node, bases, decorators, store, frame):
            style = "foreign"
        cls = ClassValue(address, class_node.name, bases, class_node, (), style, frame.environment)
        cls = replace(cls, fields=_inherited(bases))
        # Each class has an order, and fields, of its own.
        store.ledger.meter.spend((len(class_lookup.mro(cls)) >> 2) + len(cls.fields))
        environment = Environment(address, class_node, frame.environment, cls)
        body = Frame(environment, frame, None, None, class_node.name)
        body.guards = frame.guards
        ends = self.interpreter.execute(class_node.body, [store.fork()], body)
        if ends:
            store.absorb(merges.merge(store, ends))
        fields = dict(cls.fields)
        for name, default in self._fields(class_node, cls, store):
            fields[name] = default
        cls = replace(cls, fields=tuple(fields.items()))
        if cls.style == "enum":
            self._make_members(cls, store)
        self._notify_bases(cls, store, frame)
        return cls

    def _is_foreign(
        self,
        class_node: ast.ClassDef,
        bases: tuple[Value, ...],
        decorators: Sequence[Value],
        store: Store,
        frame: Frame,
    ) -> bool:
        """Whether unknown code may construct the instances of a class, and set their fields."""
        if not all(map(self.interpreter.libraries.keeps_classes, decorators)):
            return True
        makers = [self.interpreter.evaluate(w.value, store, frame) for w in _metaclass(class_node)]
        return any(map(_may_construct, (*bases, *makers)))

    def _is_called_by_metaclass(self, cls: ClassValue, store: Store) -> bool:
        """Whether a metaclass of the program decides what a call of the class makes."""
        for base in class_lookup.mro(cls):
            if not isinstance(base, ClassValue) or base.node is None or base.environment is None:
                continue
            for word in _metaclass(base.node):
                makes = self.interpreter.evaluate(word.value, store, Frame(base.environment))
                if isinstance(makes, ClassValue):
                    return class_lookup.attribute(makes, "__call__", store) is not None
        return False

    def _notify_bases(self, cls: ClassValue, store: Store, frame: Frame) -> None:
        """Call ``__init_subclass__`` of the nearest base that has one with the new class."""
        assert cls.node is not None
        for base in cls.bases:
            if not isinstance(base, ClassValue):
                continue
            hook = class_lookup.attribute(base, "__init_subclass__", store)
            if hook is not None:
                keywords = {
                    word.arg: self.interpreter.evaluate(word.value, store, frame)
                    for word in cls.node.keywords
                    if word.arg is not None and word.arg != "metaclass"
                }
                function = hook.function if isinstance(hook, Wrapped) else hook
                self.interpreter.call_values(function, [cls], cls.node, store, frame, keywords)
                return

    def _fields(
        self, class_node: ast.ClassDef, cls: ClassValue, store: Store
    ) -> list[tuple[str, Value | None]]:
        """The annotated names of a body in order, with their defaults; for an enum its members."""
        own_fields: list[tuple[str, Value | None]] = []
        for statement in class_node.body:
            if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                if _start_of(statement.annotation) not in ("ClassVar", "KW_ONLY"):
                    name = statement.target.id
                    own_fields.append((name, store.get((cls.address, name))))
            elif cls.style == "enum" and isinstance(statement, ast.Assign):
                own_fields.extend(
                    (t.id, None) for t in statement.targets if isinstance(t, ast.Name)
                )
        return own_fields

    def _make_members(self, cls: ClassValue, store: Store) -> None:
        made_by = class_lookup.attribute(cls, "_generate_next_value_", store)
        is_lowered = made_by is None and class_lookup.derives(cls, "StrEnum")
        for name, _ in cls.fields:
            raw: Value | None = store.get((cls.address, name))
            if raw is None:
                continue
            if is_lowered and _is_automatic(raw):
                raw = Const(name.lower())
            member = Instance(self.interpreter.new_address(), cls)
            store.set((member.address, "value"), raw)
            store.set((member.address, "name"), Const(name))
            store.set((cls.address, name), member)

    def instantiate(self, cls: ClassValue, call: Call) -> Value:
        """Call a class."""
        call.store.ledger.meter.spend(meter.FIELD * len(cls.fields))
        if cls.style == "namedtuple":
            return self._named_tuple(cls, call)
        if cls.style == "typeddict":
            return self._typed_dict(cls, call)
        if cls.style == "enum":
            return self._member(cls, call)
        if self._is_called_by_metaclass(cls, call.store):
            self.interpreter.havoc_arguments(call)
            return self.interpreter.fresh("instance")
        creator = class_lookup.attribute(cls, "__new__", call.store)
        if isinstance(creator, FunctionValue):  # for what it writes to the class
            self.interpreter.call(BoundMethod(creator, cls), call)
        instance = Instance(self.interpreter.new_address(), cls)
        maker = class_lookup.attribute(cls, "__init__", call.store)
        if maker is not None:
            self.interpreter.call(BoundMethod(maker, instance), call)
        elif cls.style == "dataclass":
            self._fill(instance, call)
        elif base := self.interpreter.libraries.base(class_lookup.mro(cls)):
            self.interpreter.libraries.initialise(instance, base, call)
        else:
            self.interpreter.havoc_arguments(call, stranger=cls.style == "foreign")
        return instance

    def _arguments(self, cls: ClassValue, call: Call) -> dict[str, Value]:
        """The fields of a new instance; those without an argument are left out."""
        parameters = [name for name, default in cls.fields if not _is_set_later(default)]
        field_values = dict(zip(parameters, call.args, strict=False))
        field_values.update(call.kwargs)
        for name, default in cls.fields:
            if name in field_values:
                continue
            if default is None or (call.arguments.open and not _is_set_later(default)):
                field_values[name] = self.interpreter.fresh("field")
            elif (content := self._default(default, call)) is not None:
                field_values[name] = content
        return field_values

    def _default(self, default: Value, call: Call) -> Value | None:
        """The default of a field, if it has one; ``field(default_factory=f)`` calls it."""
        if not isinstance(default, FieldOptions):
            return default
        factory = default.default_factory
        if factory is not None:
            return self.interpreter.call_values(factory, [], call.node, call.store, call.frame)
        return default.default

    def _fill(self, instance: Instance, call: Call) -> None:
        """Run the generated ``__init__`` of a dataclass."""
        field_values = self._arguments(instance.cls, call)
        field_values = self.interpreter.declarations.filled(
            instance.cls, field_values, call, instance
        )
        init_arguments = [
            field_values.pop(name) for name in _passed_on(instance.cls) if name in field_values
        ]
        for name, value in field_values.items():
            call.store.set((instance.address, name), value)
        after = class_lookup.attribute(instance.cls, "__post_init__", call.store)
        if after is not None:
            rest = Call(Arguments(init_arguments), call.node, call.store, call.frame)
            self.interpreter.call(BoundMethod(after, instance), rest)

    def _named_tuple(self, cls: ClassValue, call: Call) -> Value:
        field_values = self.interpreter.declarations.filled(cls, self._arguments(cls, call), call)
        names = tuple(name for name, _ in cls.fields)
        return TupleValue(tuple(field_values[name] for name in names), names, cls)

    def _typed_dict(self, cls: ClassValue, call: Call) -> Value:
        field_values = self.interpreter.declarations.filled(cls, dict(call.kwargs), call)
        items = tuple((Const(name), value) for name, value in field_values.items())
        rest = self.interpreter.fresh("item") if call.args or call.arguments.open else None
        return DictValue(self.interpreter.new_address(), Entries(items, rest))

    def _member(self, cls: ClassValue, call: Call) -> Value:
        """``Layout('nchw')``: the member with this value."""
        content = call.argument(0)
        for name, _ in cls.fields:
            member: Value | None = call.store.get((cls.address, name))
            if isinstance(member, Instance) and content == call.store.get(
                (member.address, "value")
            ):
                return member
        return self.interpreter.fresh("member")


def _is_automatic(raw: Value) -> bool:
    """Whether a class makes the value of a member: ``auto()``."""
    if not isinstance(raw, Opaque) or not isinstance(raw.key.provenance, Result):
        return False
    return raw.key.provenance.function == "enum.auto"


def _is_set_later(default: Value | None) -> bool:
    """Whether the constructor has no parameter for a field: ``field(init=False)``."""
    return isinstance(default, FieldOptions) and default.init == FALSE


def _passed_on(cls: ClassValue) -> list[str]:
    """The fields that are passed to ``__post_init__`` only: those of ``InitVar``."""
    names = (
        statement.target.id
        for base in reversed(class_lookup.mro(cls))
        if isinstance(base, ClassValue) and base.node is not None
        for statement in base.node.body
        if isinstance(statement, ast.AnnAssign)
        and isinstance(statement.target, ast.Name)
        and _start_of(statement.annotation) == "InitVar"
    )
    return list(dict.fromkeys(names))


def _start_of(annotation: ast.expr) -> str:
    """The last part of the name at the start of an annotation: InitVar of ``InitVar[int]``."""
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        return annotation.value.partition("[")[0].rpartition(".")[2].strip()
    if isinstance(annotation, ast.Subscript):
        return _start_of(annotation.value)
    return last_word(annotation)


def _metaclass(class_node: ast.ClassDef) -> list[ast.keyword]:
    return [word for word in class_node.keywords if word.arg == "metaclass"]


def _may_construct(base: Value) -> bool:
    """Whether a class is one of an unknown library, which may set the annotated fields."""
    if isinstance(base, External):
        return base.path.partition(".")[0] not in _PLAIN_LIBRARIES
    return isinstance(base, Opaque)


def _style(bases: tuple[Value, ...]) -> str:
    for base in bases:
        if isinstance(base, ClassValue) and base.style != "plain":
            return base.style
        if isinstance(base, External):
            style = _STYLES.get(base.path.rpartition(".")[2])
            if style is not None:
                return style
    return "plain"


def _inherited(bases: tuple[Value, ...]) -> tuple[tuple[str, Value | None], ...]:
    fields: dict[str, Value | None] = {}
    for base in reversed(bases):
        if isinstance(base, ClassValue):
            fields.update(base.fields)
    return tuple(fields.items())
