"""The submodules of a module of ``torch.nn``: the modules among its attributes, and its layers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from namecheck.interpreter.domain import joins
from namecheck.interpreter.domain.addresses import Submodules
from namecheck.interpreter.domain.provenance import Text
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.values import (
    Address,
    Const,
    DictValue,
    Entries,
    Instance,
    ListValue,
    Opaque,
    Repeated,
    TorchModule,
    TupleValue,
    Value,
)
from namecheck.interpreter.evaluation.interpreter import Interpreter

# The attribute of a module for its submodules, as torch calls it.
ATTRIBUTE: Final = "_modules"
_LAYER_NAMES: Final = "names of layers"
# The name of the module at the root of a walk.
_ROOT: Final = Const("")
# Layers that contain layers.
_COMPOSED: Final = ("nn.Transformer", "nn.MultiheadAttention", "nn.AdaptiveLogSoftmaxWithLoss")


def by_attribute(module: Instance, store: Store) -> DictValue:
    """The submodules among a module's attributes, in the order of their assignment."""
    stored: Value | None = store.get((module.address, ATTRIBUTE))
    if isinstance(stored, DictValue):
        return stored
    return DictValue(Submodules(module.address), Entries())


def names(module: Instance, store: Store) -> tuple[str, ...]:
    """The names of the submodules among the attributes, in order."""
    entries = joins.entries(by_attribute(module, store), store)
    return tuple(name.value for name, _ in entries.items if isinstance(name, Const))


def layers(module_value: Value, store: Store) -> ListValue | DictValue | None:
    """The list or dict of layers that a module is."""
    own = joins.inherited(module_value, store) if isinstance(module_value, Instance) else None
    return own if isinstance(own, (ListValue, DictValue)) else None


def name_layers(module: Instance, layer_names: Sequence[Value], store: Store) -> None:
    """Give the layers of a sequence names of their own."""
    store.set((module.address, _LAYER_NAMES), TupleValue(tuple(layer_names)))


def add_name(module_value: Value, sequence: ListValue, name: Value, store: Store) -> None:
    """Give a layer that is added to a sequence a name of its own."""
    before = _layer_names(module_value, sequence, store)
    if isinstance(module_value, Instance) and before is not None:
        name_layers(module_value, (*before, name), store)


def _layer_names(module_value: Value, sequence: ListValue, store: Store) -> Sequence[Value] | None:
    """The names of the layers of a sequence, numbers by default."""
    return _names_at(getattr(module_value, "address", None), sequence, store)


def _names_at(address: Address | None, sequence: ListValue, store: Store) -> Sequence[Value] | None:
    content = joins.items(sequence, store)
    if isinstance(content, Repeated):
        return None
    chosen = store.get((address, _LAYER_NAMES))
    named = chosen.items if isinstance(chosen, TupleValue) else ()
    return (*named, *(Const(str(index)) for index in range(len(named), len(content))))


def replace_layer(
    address: Address, library_part: Value | None, name: Value, value: Value, store: Store
) -> None:
    """Replace the layer of this name in the list or dict of layers that a module is."""
    if isinstance(library_part, DictValue):
        items = joins.entries(library_part, store).items
        if any(key == name for key, _ in items):
            replaced = tuple((key, value if key == name else entry) for key, entry in items)
            joins.write(
                library_part, store, Entries(replaced, joins.entries(library_part, store).rest)
            )
    elif isinstance(library_part, ListValue):
        content, layer_names = (
            joins.items(library_part, store),
            _names_at(address, library_part, store),
        )
        if isinstance(content, Repeated):
            if isinstance(name, Const) and str(name.value).isdigit():
                joins.write(
                    library_part, store, Repeated(joins.either((content.each, value), store))
                )
        elif name in (layer_names or ()):
            pairs = zip(layer_names or (), content, strict=False)
            joins.write(
                library_part, store, tuple(value if n == name else each for n, each in pairs)
            )


def children(
    interpreter: Interpreter, module_value: Value, store: Store
) -> list[tuple[Value, Value]] | None:
    """The direct submodules of a module, with their names; None where not all are known."""
    pairs, complete = _known_children(module_value, store)
    is_module = interpreter.torch_nn.is_module
    return pairs if complete and all(is_module(child) for _, child in pairs) else None


def _known_children(module_value: Value, store: Store) -> tuple[list[tuple[Value, Value]], bool]:
    """The possible direct submodules of a module, with their names; whether these are all."""
    if isinstance(module_value, TorchModule):
        return [], not module_value.key.startswith(_COMPOSED)
    if not isinstance(module_value, Instance):
        return [], False
    attributes = joins.entries(by_attribute(module_value, store), store)
    own = layers(module_value, store)
    pairs, rest = list(attributes.items), attributes.rest
    if isinstance(own, DictValue):
        entries = joins.entries(own, store)
        pairs += entries.items
        rest = rest or entries.rest
    elif isinstance(own, ListValue):
        listed, layer_names = joins.items(own, store), _layer_names(module_value, own, store)
        if isinstance(listed, Repeated):
            return [*pairs, (_ROOT, listed.each)], False
        if layer_names is None:
            return pairs, False
        pairs = [pair for pair in pairs if pair[1] not in listed]
        pairs += zip(layer_names, listed, strict=False)
    return pairs, rest is None


def walk(
    interpreter: Interpreter, module_value: Value, store: Store, name: Value = _ROOT
) -> Iterator[tuple[Value, Value | None]]:
    """A module and all its submodules, with their names; None where there may be others."""
    yield name, module_value
    pairs = children(interpreter, module_value, store)
    if pairs is None:
        yield name, None
        return
    for inner, child in pairs:
        yield from walk(interpreter, child, store, _dotted(name, inner))


def _dotted(name: Value, inner: Value) -> Value:
    if isinstance(name, Const) and isinstance(inner, Const):
        return Const(f"{name.value}.{inner.value}".lstrip("."))
    return Opaque(Text((name, ".", inner)), "str")


def addresses(interpreter: Interpreter, module_value: Value, store: Store) -> Iterator[Address]:
    """The known torch layers below a module, and the tensors of it and of its submodules."""
    queue, visited = [module_value], set[Address]()
    for below in queue:
        if not isinstance(below, (Instance, TorchModule)) or below.address in visited:
            continue
        visited.add(below.address)
        if isinstance(below, TorchModule):
            yield below.address
        else:
            yield from list(interpreter.torch_devices.tensors(below, store))
        children_values = [child for _, child in _known_children(below, store)[0]]
        queue += filter(interpreter.torch_nn.is_module, children_values)
