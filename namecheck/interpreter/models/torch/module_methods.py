"""Methods that all modules of ``torch.nn`` have."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from namecheck.core.tensors import Tensor
from namecheck.interpreter.domain.addresses import HeldTensor
from namecheck.interpreter.domain.cells import TRAINING_MODE, ModuleHook
from namecheck.interpreter.domain.values import (
    NONE,
    BuiltinMethod,
    Const,
    Held,
    Instance,
    ListValue,
    Repeated,
    TensorValue,
    TorchModule,
    TupleValue,
    Value,
)
from namecheck.interpreter.evaluation.frames import Call
from namecheck.interpreter.evaluation.interpreter import Interpreter
from namecheck.interpreter.models import primitives
from namecheck.interpreter.models.registry import method, model
from namecheck.interpreter.models.torch import submodules

_MOVING: Final = (
    *("to", "cpu", "cuda", "xpu", "to_empty"),
    *("float", "double", "half", "bfloat16", "type"),
)


@method(TorchModule, "requires_grad_", "share_memory")
def itself(interpreter: Interpreter, receiver: Value, call: Call) -> Value:
    """``module.requires_grad_(False)`` returns the module."""
    return receiver


@method(TorchModule, "zero_grad", "compile", "extra_repr")
def nothing(interpreter: Interpreter, receiver: Value, call: Call) -> Value:
    """``module.zero_grad()`` changes nothing that the analysis tracks."""
    return NONE


@method(
    TorchModule,
    *("register_backward_hook", "register_full_backward_hook", "register_full_backward_pre_hook"),
    *("register_load_state_dict_post_hook", "register_state_dict_pre_hook"),
    *("state_dict", "get_submodule", "get_parameter", "get_buffer"),
)
def unknown(interpreter: Interpreter, receiver: Value, call: Call) -> Value:
    """``module.state_dict()``: an unknown value."""
    interpreter.havoc_arguments(call)
    return interpreter.fresh("module")


@method(TorchModule, "register_forward_hook")
def register_forward_hook(interpreter: Interpreter, receiver: Value, call: Call) -> Value:
    """``module.register_forward_hook(f)``: what f returns replaces the result."""
    return _add_hook(interpreter, ModuleHook.AFTER, receiver, call)


@method(TorchModule, "register_forward_pre_hook")
def register_forward_pre_hook(interpreter: Interpreter, receiver: Value, call: Call) -> Value:
    """``module.register_forward_pre_hook(f)``: what f returns replaces the arguments."""
    return _add_hook(interpreter, ModuleHook.BEFORE, receiver, call)


@model("torch.nn.modules.module.register_module_forward_hook")
def register_hook_of_all(interpreter: Interpreter, call: Call) -> Value:
    """A forward hook of every module."""
    return _add_hook(interpreter, ModuleHook.AFTER, None, call)


@model("torch.nn.modules.module.register_module_forward_pre_hook")
def register_pre_hook_of_all(interpreter: Interpreter, call: Call) -> Value:
    """A hook before the call of every module."""
    return _add_hook(interpreter, ModuleHook.BEFORE, None, call)


def _add_hook(interpreter: Interpreter, kind: str, receiver: Value | None, call: Call) -> Value:
    from namecheck.interpreter.evaluation import module_calls  # few programs have hooks

    hook = call.argument(0, "hook", interpreter.fresh("hook"))
    if receiver is None or isinstance(receiver, (Instance, TorchModule)):
        address = None if receiver is None else receiver.address
        module_calls.add_hook(kind, address, hook, call.store)
    interpreter.havoc_arguments(call)
    return interpreter.fresh("handle")


@method(TorchModule, "load_state_dict")
def load_state_dict(interpreter: Interpreter, receiver: Value, call: Call) -> Value:
    """``module.load_state_dict(state, assign=True)`` assigns the tensors themselves."""
    if call.argument(2, "assign", Const(False)) != Const(False):
        interpreter.torch_nn.havoc(receiver, call.store)
    return NONE


@method(TorchModule, "train", "eval")
def train(interpreter: Interpreter, receiver: Value, call: Call) -> Value:
    """``module.train()``: the attribute `training` may differ from here on."""
    call.store.set(TRAINING_MODE, Const(interpreter.new_address()))
    return receiver


def _moving(name: str) -> Callable[[Interpreter, Value, Call], Value]:
    def move(interpreter: Interpreter, receiver: Value, call: Call) -> Value:
        """``module.to(device)`` moves its parameters, and no tensors that are passed to it."""
        devices, store, frame = interpreter.torch_devices, call.store, call.frame
        device, dtype = devices.target_device(name, call), devices.target_dtype(name, call)
        memory_format = call.kwargs.get("memory_format", NONE)
        noted: dict[str, Value] = {}
        if device is not None:
            noted["device"] = device
        if dtype is not None:
            noted["dtype"] = dtype
        if memory_format != NONE:
            noted["format"] = memory_format
        if noted:
            for address in submodules.addresses(interpreter, receiver, store):
                devices.note(noted, address, store, frame)
        return receiver

    return move


for _name in _MOVING:
    method(TorchModule, _name)(_moving(_name))


@method(TorchModule, "apply")
def apply(interpreter: Interpreter, receiver: Value, call: Call) -> Value:
    """``module.apply(f)`` calls it on all modules below, then on the module."""
    _apply(interpreter, receiver, call)
    return receiver


def _apply(interpreter: Interpreter, module_value: Value, call: Call) -> None:
    callee = call.argument(0, "fn")
    pairs = submodules.children(interpreter, module_value, call.store)
    for _, child in [(NONE, interpreter.fresh("module"))] if pairs is None else pairs:
        if interpreter.torch_nn.is_module(child):
            _apply(interpreter, child, call)
        else:
            primitives.invoke(interpreter, callee, [child], call)
    primitives.invoke(interpreter, callee, [module_value], call)


@method(TorchModule, "add_module", "register_module")
def add_module(interpreter: Interpreter, receiver: Value, call: Call) -> Value:
    """``module.add_module(name, layer)``: a sequence gets a layer, which may be unknown code."""
    name, value = _registered(interpreter, call)
    layers = submodules.layers(receiver, call.store)
    if isinstance(layers, ListValue) and value != NONE:
        submodules.add_name(receiver, layers, name, call.store)
        primitives.invoke(interpreter, BuiltinMethod(layers, "append"), [value], call)
    return _set_by_name(interpreter, receiver, name, value, call)


@method(TorchModule, "register_buffer", "register_parameter")
def register(interpreter: Interpreter, receiver: Value, call: Call) -> Value:
    """``module.register_buffer(name, tensor)`` sets an attribute."""
    return _set_by_name(interpreter, receiver, *_registered(interpreter, call), call)


def _registered(interpreter: Interpreter, call: Call) -> tuple[Value, Value]:
    """The name and the value that a call registers."""
    others = [*call.args[1:2], *(arg for word, arg in call.kwargs.items() if word != "name")]
    return call.argument(0, "name"), others[0] if others else interpreter.fresh("registered")


def _set_by_name(
    interpreter: Interpreter, receiver: Value, name: Value, value: Value, call: Call
) -> Value:
    if isinstance(name, Const) and isinstance(name.value, str):
        value = interpreter.torch_defaults.of_module(value, call.store)
        interpreter.write_attribute(receiver, name.value, value, call.node, call.store, call.frame)
    else:
        from namecheck.interpreter.models import matching

        matching.add(interpreter, receiver, name, value, call)
    return NONE


@method(TorchModule, "children")
def children(interpreter: Interpreter, receiver: Value, call: Call) -> Value:
    """``module.children()``."""
    pairs = submodules.children(interpreter, receiver, call.store)
    return _listed(interpreter, None if pairs is None else [child for _, child in pairs])


@method(TorchModule, "named_children")
def named_children(interpreter: Interpreter, receiver: Value, call: Call) -> Value:
    """``module.named_children()``."""
    pairs = submodules.children(interpreter, receiver, call.store)
    return _listed(interpreter, None if pairs is None else list(map(TupleValue, pairs)))


@method(TorchModule, "modules")
def modules(interpreter: Interpreter, receiver: Value, call: Call) -> Value:
    """``module.modules()``."""
    walked = [below for _, below in submodules.walk(interpreter, receiver, call.store)]
    below_it = [below for below in walked if below is not None]
    return _listed(interpreter, below_it if len(below_it) == len(walked) else None)


@method(TorchModule, "named_modules")
def named_modules(interpreter: Interpreter, receiver: Value, call: Call) -> Value:
    """``module.named_modules()``."""
    walked = list(submodules.walk(interpreter, receiver, call.store))
    pairs = [TupleValue((name, below)) for name, below in walked if below is not None]
    return _listed(interpreter, pairs if len(pairs) == len(walked) else None)


def _listed(interpreter: Interpreter, item_values: Sequence[Value] | None) -> Value:
    if item_values is None:
        return Repeated(interpreter.fresh("module"))
    return primitives.iterator(interpreter, item_values)


@method(TorchModule, "parameters", "buffers")
def tensors(interpreter: Interpreter, receiver: Value, call: Call) -> Value:
    """``module.parameters()``."""
    return Repeated(_any_tensor(interpreter))


@method(TorchModule, "named_parameters", "named_buffers")
def named_tensors(interpreter: Interpreter, receiver: Value, call: Call) -> Value:
    """``module.named_parameters()``."""
    name = interpreter.fresh("name", "str")
    return Repeated(TupleValue((name, _any_tensor(interpreter))))


def _any_tensor(interpreter: Interpreter) -> TensorValue:
    """An unknown parameter or buffer: it may be any of the module's."""
    return TensorValue(HeldTensor(interpreter.new_address()), Held(Tensor()))
