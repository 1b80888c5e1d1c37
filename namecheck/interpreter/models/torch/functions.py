"""torch: functions and classes by their dotted names; most are operators of the table."""

from __future__ import annotations

from namecheck.core.dataclasses import replace
from namecheck.interpreter.domain.values import (
    NONE,
    TRANSPARENT,
    External,
    Instance,
    Opaque,
    TorchModule,
    Value,
)
from namecheck.interpreter.evaluation.frames import Call
from namecheck.interpreter.evaluation.interpreter import Interpreter
from namecheck.interpreter.models import inheritance
from namecheck.interpreter.models.registry import family, model, transparent
from namecheck.interpreter.models.standard_library.builtins import containers
from namecheck.interpreter.models.torch import devices

transparent("torch.*")


@model("torch.Size")
def size(interpreter: Interpreter, call: Call) -> Value:
    """``torch.Size(items)``."""
    return containers.tuple_(interpreter, call)


@family("torch", open=True)
def function(interpreter: Interpreter, name: str, call: Call) -> Value:
    """A layer, an operator of the table, or a call that is not followed."""
    torch, path = interpreter.torch, f"torch.{name}"
    if name.startswith("nn.") and torch.has(name, "c"):
        return layer(interpreter, name, call)
    if name.startswith("nn.") and inheritance.model_of(interpreter, path) is not None:
        return inheritance.instance(interpreter, path, call)
    if name.endswith(".__init__") and call.args and isinstance(call.args[0], Instance):
        return _initialise(interpreter, path.removesuffix(".__init__"), call.args[0], call)
    operator = torch.function(path)
    if operator is None:
        devices.check_first(interpreter, path, call)
        if name.startswith("nn.init."):
            return call.argument(0, "tensor")
        # Tensors that torch changes in place keep their names.
        word = path.rpartition(".")[2].rstrip("_")
        return interpreter.call_unknown(External(path), word, call, TRANSPARENT)
    args, kwargs = list(call.args), dict(call.kwargs)
    form = "Tensor" if name.startswith("Tensor.") else "torch"
    if form == "Tensor" and args and isinstance(args[0], Opaque):
        args[0] = torch.promote(args[0], call.store)
    call.arguments.kwargs = kwargs
    return interpreter.call_operator(f"{form}.{operator}", args, call)


def layer(interpreter: Interpreter, key: str, call: Call) -> Value:
    """A layer of the table, by its row."""
    made = TorchModule(
        interpreter.new_address(), key, tuple(call.args), tuple(call.kwargs.items()), call.node
    )
    interpreter.torch_devices.on_layer(made, call)
    return made


def _initialise(interpreter: Interpreter, path: str, instance: Instance, call: Call) -> Value:
    """``nn.Linear.__init__(self, 3, 4)``."""
    if inheritance.model_of(interpreter, path) is not None:
        arguments = replace(call.arguments, args=call.args[1:])
        inheritance.initialise(interpreter, instance, path, replace(call, arguments=arguments))
    return NONE
