"""The settings with which a layer of torch runs: its constructor's, unless it was changed since.

A layer computes with the tensors and the attributes that it has at the call. Where its weight was
replaced, the sizes that it expects and gives are those of the new weight.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from namecheck.core.names import Unknown
from namecheck.core.parameters import REQUIRED
from namecheck.core.tensors import Tensor
from namecheck.effects.words import Parameter, Signature, read_sizes
from namecheck.interpreter.domain.cells import AttributeNames
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.values import Instance, TorchModule, Value, sized
from namecheck.interpreter.evaluation.interpreter import Interpreter

# A bias has the sizes of the weight, or the layer fails.
_BIAS: Final = "bias"
# The kinds of a parameter that is a single size.
_SINGLE: Final = frozenset({"int", "none"})


def current(
    interpreter: Interpreter, layer: TorchModule, store: Store
) -> tuple[tuple[Value, ...], dict[str, Value]]:
    """The constructor's arguments of a layer, as they would be for the layer of now."""
    keywords = dict(layer.kwargs)
    written = dict(_written(layer, store))
    if not written:
        return layer.args, keywords
    signature = interpreter.context.rows[layer.key].constructor
    settings = _changed(interpreter, layer, signature, written, store)
    positional = [parameter.name for parameter in signature if not parameter.keyword_only]
    names = positional[: len(layer.args)]
    if len(names) < len(layer.args):
        return layer.args, keywords
    args = [settings.pop(name, value) for name, value in zip(names, layer.args, strict=True)]
    return tuple(args), keywords | settings


def pass_on(
    interpreter: Interpreter,
    module: Instance,
    layer: TorchModule,
    name: str,
    value: Value,
    store: Store,
) -> None:
    """An attribute of a module was set, whose class derives from a layer."""
    if _is_setting(interpreter, layer, name):
        is_one = module.address not in store.ledger.several
        written = value if is_one else interpreter.fresh("written")
        before = interpreter.torch_nn.attribute(layer, name, store)
        store.write((layer.address, name), before, written)


def _is_setting(interpreter: Interpreter, layer: TorchModule, name: str) -> bool:
    """Whether a layer computes with an attribute of this name."""
    row = interpreter.context.rows[layer.key]
    return "weight" in name or name in row.holds or any(p.name == name for p in row.constructor)


def _written(layer: TorchModule, store: Store) -> Iterator[tuple[str, Value]]:
    for name in store.get(AttributeNames(layer.address), ()):
        value: Value | None = store.get((layer.address, name))
        if value is not None:
            yield name, value


def _changed(
    interpreter: Interpreter,
    layer: TorchModule,
    signature: Signature,
    written: Mapping[str, Value],
    store: Store,
) -> dict[str, Value]:
    """The settings that differ from the constructor's, by parameter."""
    holds = interpreter.context.rows[layer.key].holds
    parameters = {parameter.name for parameter in signature}
    weights = [
        name
        for name, value in written.items()
        if name != _BIAS
        and ("weight" in name or name in holds or interpreter.torch_nn.is_module(value))
    ]
    unknown = parameters & written.keys()
    if weights:
        unknown |= {parameter.name for parameter in signature if _is_size(parameter)}
    by_parameter: dict[str, Value] = {
        parameter.name: interpreter.fresh("setting")
        for parameter in signature
        if parameter.name in unknown
    }
    for name in weights:
        by_parameter |= _sizes(interpreter, holds.get(name), written[name], store)
    return by_parameter


def _is_size(parameter: Parameter) -> bool:
    if "int" not in parameter.kinds:
        return False
    return parameter.default is REQUIRED or parameter.kinds <= _SINGLE


def _sizes(
    interpreter: Interpreter, cell: str | None, value: Value, store: Store
) -> dict[str, Value]:
    """The settings that a new tensor of a layer tells, by the words of its sizes."""
    tensor = interpreter.torch.lower(value, store)
    if cell is None or not isinstance(tensor, Tensor) or tensor.dims.open:
        return {}
    words, dims = read_sizes(cell).sizes, tensor.dims.prefix
    if len(words) != len(dims):
        return {}
    return {
        word: sized(dim.size)
        for word, dim in zip(words, dims, strict=True)
        if word != "_" and not isinstance(dim.size, Unknown)
    }
