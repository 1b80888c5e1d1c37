"""Makes unknown what may have changed in a module or an instance before code elsewhere uses it.

Entry points run at any time. By then functions may have bound the variables of the module again,
methods the attributes of an instance, and both may have filled a list that was empty at first.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Final

from namecheck.core.dataclasses import dataclass
from namecheck.core.trees import add_children, changed_container, nodes
from namecheck.interpreter.domain import class_lookup, joins
from namecheck.interpreter.domain.cells import AttributeNames
from namecheck.interpreter.domain.scopes import FUNCTIONS
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.values import (
    ClassValue,
    DictValue,
    Entries,
    Environment,
    FunctionValue,
    Instance,
    ListValue,
    TensorValue,
    TorchModule,
    TupleValue,
    Value,
    Wrapped,
    each_of,
)
from namecheck.interpreter.evaluation.interpreter import Interpreter

if TYPE_CHECKING:
    from namecheck.interpreter.workspace.weight_writes import WeightWrite

_NOTHING: Final = frozenset[str]()
# What a constructor puts into a module.
_OF_MODULES: Final = (Instance, ListValue, TensorValue, TorchModule)
# The methods that initialise an instance: their writes come before any other.
_MAKERS: Final = frozenset({"__init__", "__new__", "__post_init__"})


@dataclass(frozen=True, slots=True)
class _Writes:
    """The names of variables and attributes that some functions write, by the kind of write.

    `bound` are bound again, `added` only computed from themselves, `emptied` only set to None,
    `filled` are containers that are changed. Annotated attributes keep their declared types.
    `weights` are those of layers.
    """

    bound: frozenset[str] = _NOTHING
    added: frozenset[str] = _NOTHING
    filled: frozenset[str] = _NOTHING
    emptied: frozenset[str] = _NOTHING
    weights: tuple[WeightWrite, ...] = ()


@dataclass(frozen=True, slots=True)
class _FileWrites:
    """What the functions of a file write outside themselves.

    `declared` are the variables that they declare global, `bound` the attributes that they bind, by
    the name before the dot; `variables` and `attributes` have containers that are changed.
    """

    declared: frozenset[str]
    bound: Mapping[str, frozenset[str]]
    variables: frozenset[str]
    attributes: frozenset[str]


# The words of annotations that tell no dims: what a method writes may be another value.
_PLAIN_TYPES: Final = (
    r"(?:\W|\b(?:"
    r"Any|Callable|Dict|Iterable|List|Mapping|None|Optional|Sequence|Set|Tensor|Tuple|Union|bool|"
    r"bytes|collections|complex|deque|dict|float|frozenset|int|list|object|set|str|torch|tuple|typing"
    r")\b)*"
)


class Later:
    """Forgets what may have been written since a module, or an instance, was made."""

    def __init__(self, interpreter: Interpreter) -> None:
        self.interpreter = interpreter
        self._by_methods: dict[ast.ClassDef, _Writes] = {}

    def forget_module(self, environment: Environment, tree: ast.Module, store: Store) -> None:
        """Forget what the functions of a file may have written to its variables."""
        writes = _file_writes(tree)
        for name in sorted(writes.declared):
            if store.get((environment.number, name)) is not None:
                store.set((environment.number, name), self.interpreter.fresh("rebound"))
        for name in sorted(self.interpreter.scope(tree).local):
            value: Value | None = store.get((environment.number, name))
            if value is None:
                continue
            self._fill(value, name in writes.variables, store)
            if isinstance(value, Instance):
                self.forget_instance(value, store)
            elif isinstance(value, ClassValue) and value.node is not None:
                self._class(value, value.node, writes, store)

    def forget_instance(self, instance: Instance, store: Store) -> None:
        """Forget what methods may have written to an instance, and to those that it holds."""
        instances, met = [instance], set[object]()
        while instances:
            each = instances.pop()
            if each.address not in met:
                met.add(each.address)
                instances += self._forget_writes(each, store)

    def _forget_writes(self, instance: Instance, store: Store) -> list[Instance]:
        """Forget what its methods may have written to an instance; returns those that it holds."""
        held: list[Instance] = []
        writes = [self._written(cls.node) for cls in _classes(instance.cls)]
        bound = _NOTHING.union(*(each.bound for each in writes))
        added = _NOTHING.union(*(each.added for each in writes))
        filled = _NOTHING.union(*(each.filled for each in writes))
        emptied = _NOTHING.union(*(each.emptied for each in writes))
        # What may be None later is no None where it is used; nothing else says of it what it is.
        is_observed = self.interpreter.context.evidence.is_observed
        for name in store.get(AttributeNames(instance.address), ()):
            key = (instance.address, name)
            value: Value | None = store.get(key)
            if value is None:
                continue
            is_kept = is_observed and isinstance(value, _OF_MODULES)
            if (
                name in bound
                or (name in added and not isinstance(value, TensorValue))
                or (name in emptied and not is_kept)
            ):
                store.write(key, value, self.interpreter.fresh("written"))
            elif _is_empty(value, store):
                store.write(key, value, self.interpreter.fresh("filled"))
            else:
                self._fill(value, name in filled, store)
                held += _instances(value, store)
        self._defaults(instance, bound | emptied, store)
        for each in writes:
            if each.weights:
                from namecheck.interpreter.workspace import weight_writes  # few are replaced

                weight_writes.forget(self.interpreter, instance, each.weights, store)
        return held

    def _defaults(self, instance: Instance, later: frozenset[str], store: Store) -> None:
        """Forget the values of a class that its methods replace in the instance."""
        for cls in _classes(instance.cls):
            names = () if cls.node is None else self.interpreter.scope(cls.node).local
            for name in sorted(names):
                value: Value | None = store.get((cls.address, name))
                if value is None or isinstance(value, (FunctionValue, Wrapped)):
                    continue
                key = (instance.address, name)
                is_changed = name in later or _is_empty(value, store)
                if is_changed and store.get(key) is None:
                    store.set(key, self.interpreter.fresh("written"))

    def _written(self, class_node: ast.ClassDef | None) -> _Writes:
        if class_node is None:
            return _Writes()
        writes = self._by_methods.get(class_node)
        if writes is None:
            methods: list[ast.AST] = [
                node
                for node in class_node.body
                if isinstance(node, FUNCTIONS) and getattr(node, "name", "") not in _MAKERS
            ]
            writes = _writes(methods)
            declared = {
                node.target.attr
                for node in nodes(class_node)
                if isinstance(node, ast.AnnAssign)
                and isinstance(node.target, ast.Attribute)
                and _may_tell_dims(node.annotation)
            }
            writes = self._by_methods[class_node] = _Writes(
                writes.bound - declared,
                writes.added - declared,
                writes.filled,
                writes.emptied - declared,
                _weights(methods, writes.bound),
            )
        return writes

    def _class(
        self, cls: ClassValue, class_node: ast.ClassDef, file_writes: _FileWrites, store: Store
    ) -> None:
        """Forget the attributes of a class that functions write: ``Tape.current = …``."""
        bound = file_writes.bound
        class_attributes = bound.get(cls.name, _NOTHING) | bound.get("cls", _NOTHING)
        for name in sorted(self.interpreter.scope(class_node).local):
            value: Value | None = store.get((cls.address, name))
            if value is None or isinstance(value, (FunctionValue, Wrapped)):
                continue
            if name in class_attributes:
                store.set((cls.address, name), self.interpreter.fresh("written"))
            else:
                self._fill(value, name in file_writes.attributes, store)

    def _fill(self, value: Value, is_changed: bool, store: Store) -> None:
        """Forget the content of a container that is changed, or is there to be filled."""
        value = joins.opened(value, store)
        if isinstance(value, ListValue):
            if is_changed or joins.items(value, store) == ():
                self.interpreter.havoc_containers([value], store)
        elif isinstance(value, DictValue) and (
            is_changed or joins.entries(value, store) == Entries()
        ):
            self.interpreter.havoc_containers([value], store)


def _weights(methods: list[ast.AST], attribute_names: frozenset[str]) -> tuple[WeightWrite, ...]:
    """The weights of layers that methods replace, which bind attributes of these names."""
    if not any("weight" in name or name == "data" for name in attribute_names):
        return ()
    from namecheck.interpreter.workspace import weight_writes  # few methods do

    return weight_writes.written_by(methods)


def _may_tell_dims(annotation: ast.expr) -> bool:
    """Whether an annotation has a word other than those of plain types."""
    return re.fullmatch(_PLAIN_TYPES, ast.unparse(annotation)) is None


def _is_empty(value: Value, store: Store) -> bool:
    """Whether a value is a tensor without elements, which is there to be replaced."""
    return isinstance(value, TensorValue) and 0 in joins.held(value, store).tensor.dims.sizes


def _instances(value: Value, store: Store) -> Iterator[Instance]:
    """The instances that an attribute may be, or those in the container that it may be."""
    for choice in joins.alternatives(value):
        content = joins.opened(choice.value, store)
        held: Iterable[Value] = (content,)
        if isinstance(content, ListValue):
            held = each_of(joins.items(content, store))
        elif isinstance(content, TupleValue):
            held = content.items
        elif isinstance(content, DictValue):
            held = (entry for _, entry in joins.entries(content, store).items)
        for each in held:
            yield from (
                one.value for one in joins.alternatives(each) if isinstance(one.value, Instance)
            )


def _classes(cls: ClassValue) -> Iterator[ClassValue]:
    for base in class_lookup.mro(cls):
        if isinstance(base, ClassValue):
            yield base


def _outermost_functions(tree: ast.Module) -> list[ast.AST]:
    """The functions of a file that are in no other function."""
    functions: list[ast.AST] = []
    outside: list[ast.AST] = [tree]
    for node in outside:  # it grows meanwhile
        if isinstance(node, FUNCTIONS):
            functions.append(node)
        else:
            add_children(node, outside)
    return functions


def _file_writes(tree: ast.Module) -> _FileWrites:
    """The writes of the functions of a file, found in one walk."""
    declared, variables, attributes = set[str](), set[str](), set[str]()
    attributes_of: dict[str, set[str]] = {}
    for node in nodes(*_outermost_functions(tree)):
        if isinstance(node, ast.Global):
            declared.update(node.names)
            continue
        if (
            isinstance(node, ast.Attribute)
            and isinstance(node.ctx, ast.Store)
            and isinstance(node.value, ast.Name)
        ):
            attributes_of.setdefault(node.value.id, set()).add(node.attr)
        container = changed_container(node)
        if isinstance(container, ast.Name):
            variables.add(container.id)
        elif isinstance(container, ast.Attribute):
            attributes.add(container.attr)
    return _FileWrites(
        frozenset(declared),
        {receiver: frozenset(names) for receiver, names in attributes_of.items()},
        frozenset(variables),
        frozenset(attributes),
    )


def _writes(functions: Iterable[ast.AST]) -> _Writes:
    """The writes of functions to attributes."""
    bound, added, filled, emptied = set[str](), set[str](), set[str](), set[str]()
    for function in functions:
        inner = nodes(function)
        own = set(map(id, _updated(inner)))
        to_none = set(map(id, _emptied(inner)))
        for node in inner:
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                written = added if id(node) in own else emptied if id(node) in to_none else bound
                written.add(node.attr)
            container = changed_container(node)
            if isinstance(container, ast.Attribute):
                filled.add(container.attr)
    return _Writes(frozenset(bound), frozenset(added), frozenset(filled), frozenset(emptied))


def _emptied(inner_nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """The targets that are set to None."""
    for node in inner_nodes:
        if isinstance(node, ast.Assign):
            value = node.value
            if isinstance(value, ast.Constant) and value.value is None:
                yield from node.targets


def _updated(inner_nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """The targets that are computed from their own values: ``x.y += 1``, ``x.y = x.y * 2``."""
    for node in inner_nodes:
        if isinstance(node, ast.AugAssign):
            yield node.target
        elif isinstance(node, ast.Assign):
            targets = [each for each in node.targets if isinstance(each, ast.Attribute)]
            if targets:
                inner = nodes(node.value)
                read = {part.attr for part in inner if isinstance(part, ast.Attribute)}
                yield from (target for target in targets if target.attr in read)
