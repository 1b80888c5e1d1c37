"""Weights that methods replace in the layers of a module: ``self.head.weight = …``.

Such a method may have run before another one uses the layer: then the layer has other sizes.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from namecheck.core.dataclasses import dataclass
from namecheck.core.tensors import Tensor
from namecheck.core.trees import nodes
from namecheck.interpreter.domain import joins
from namecheck.interpreter.domain.cells import AttributeNames
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.values import Instance, ListValue, TorchModule, Value, each_of
from namecheck.interpreter.evaluation.interpreter import Interpreter


@dataclass(frozen=True, slots=True)
class WeightWrite:
    """A write to the weight `name` of the layer `owner`, an attribute; of any layer if None.

    `tied` is the layer whose weight is assigned.
    """

    owner: str | None
    name: str
    tied: str | None


def written_by(methods: Iterable[ast.AST]) -> tuple[WeightWrite, ...]:
    """The weights of layers that some methods write."""
    assignments = (node for node in nodes(*methods) if isinstance(node, ast.Assign))
    writes = (
        write
        for assignment in assignments
        for target_node in assignment.targets
        for write in _of_target(target_node, assignment.value)
    )
    return tuple(dict.fromkeys(writes))


def _of_target(target_node: ast.expr, value_node: ast.expr) -> Iterator[WeightWrite]:
    if isinstance(target_node, (ast.Tuple, ast.List)):
        for each in target_node.elts:
            yield from _of_target(each, each)
        return
    if isinstance(target_node, ast.Attribute) and target_node.attr == "data":
        target_node = target_node.value
    if not isinstance(target_node, ast.Attribute) or "weight" not in target_node.attr:
        return
    owner = (
        target_node.value.value
        if isinstance(target_node.value, ast.Subscript)
        else target_node.value
    )
    if isinstance(owner, ast.Attribute):
        yield WeightWrite(owner.attr, target_node.attr, _tied(value_node, target_node.attr))
    elif getattr(owner, "id", "") != "self":
        yield WeightWrite(None, target_node.attr, None)


def _tied(value_node: ast.expr, name: str) -> str | None:
    """The layer whose weight an expression is: `emb` in ``self.emb.weight``."""
    if isinstance(value_node, ast.Attribute) and value_node.attr == name:
        return value_node.value.attr if isinstance(value_node.value, ast.Attribute) else None
    return None


def forget(
    interpreter: Interpreter, instance: Instance, weight_writes: Iterable[WeightWrite], store: Store
) -> None:
    """Forget the sizes of the layers of an instance whose weights may have been replaced."""
    for write in weight_writes:
        tied = next(_layers(instance, write.tied, store), None) if write.tied else None
        for layer in _layers(instance, write.owner, store):
            before = interpreter.torch_nn.attribute(layer, write.name, store)
            if tied is None or not _are_alike(interpreter, layer, tied, write.name, store):
                store.write((layer.address, write.name), before, interpreter.fresh("written"))


def _layers(instance: Instance, owner: str | None, store: Store) -> Iterator[TorchModule]:
    """The layer that an attribute is, or those in its list; those of all attributes for None."""
    names = store.get(AttributeNames(instance.address), ()) if owner is None else (owner,)
    for name in names:
        value: Value | None = store.get((instance.address, name))
        if value is not None:
            value = joins.opened(value, store)
            held = each_of(joins.items(value, store)) if isinstance(value, ListValue) else (value,)
            yield from (each for each in held if isinstance(each, TorchModule))


def _are_alike(
    interpreter: Interpreter, layer: TorchModule, tied: TorchModule, name: str, store: Store
) -> bool:
    """Whether the weights of two layers have equal sizes."""
    weights = [interpreter.torch_nn.attribute(each, name, store) for each in (layer, tied)]
    lowered = [interpreter.torch.lower(each, store) for each in weights if each is not None]
    sizes = [each.dims.sizes for each in lowered if isinstance(each, Tensor)]
    return len(sizes) == len(weights) and sizes[0] == sizes[1]
