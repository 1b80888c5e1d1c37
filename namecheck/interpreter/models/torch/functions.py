"""torch: functions and classes by their dotted names; most are operators of the table."""

from __future__ import annotations

import ast
from typing import Final

from namecheck.core.dataclasses import replace
from namecheck.core.tensors import Tensor
from namecheck.interpreter.domain import equalities, joins, opaque_tensors
from namecheck.interpreter.domain.values import (
    FALSE,
    NONE,
    TRANSPARENT,
    Alternative,
    Const,
    External,
    Held,
    Instance,
    ListValue,
    Opaque,
    Repeated,
    TensorValue,
    TorchModule,
    TupleValue,
    Value,
)
from namecheck.interpreter.evaluation import narrowing
from namecheck.interpreter.evaluation.frames import Arguments, Call
from namecheck.interpreter.evaluation.interpreter import Interpreter
from namecheck.interpreter.models import inheritance, primitives
from namecheck.interpreter.models.registry import decorator, family, model, transparent
from namecheck.interpreter.models.standard_library.builtins import containers
from namecheck.interpreter.models.torch import devices

transparent("torch.*")


@model("torch.Size")
def size(interpreter: Interpreter, call: Call) -> Value:
    """``torch.Size(items)``."""
    return containers.tuple_(interpreter, call)


@model(
    *("torch._assert", "torch._check", "torch._check_index", "torch._check_is_size"),
    *("torch._check_tensor_all", "torch._check_type", "torch._check_value"),
)
def check(interpreter: Interpreter, call: Call) -> Value:
    """``torch._assert(condition, message)``: the condition holds from now on."""
    if call.args and isinstance(call.node, ast.Call) and call.node.args:
        test, value = call.node.args[0], call.args[0]
        if not narrowing.assume(interpreter, test, value, True, call.store, call.frame):
            interpreter.fail("RuntimeError")
    return NONE


@model("torch.testing.assert_close", "torch.testing.assert_allclose")
def assert_close(interpreter: Interpreter, call: Call) -> Value:
    """``torch.testing.assert_close(actual, expected)``: they have one shape from now on."""
    values = call.argument(0, "actual"), call.argument(1, "expected")
    tensors = [
        joins.held(value, call.store).tensor for value in values if isinstance(value, TensorValue)
    ]
    if len(tensors) == len(values):
        equalities.equate_dims(tensors[0].dims, tensors[1].dims, call.store)
    return NONE


@decorator(
    *("torch.vmap", "torch.func.vmap", "torch.func.grad", "torch.func.grad_and_value"),
    *("torch.func.jacrev", "torch.func.jacfwd", "torch.func.hessian", "torch.func.functionalize"),
)
def transformed(interpreter: Interpreter, value: Value) -> Value:
    """``@torch.vmap``: what it makes takes or gives other dims than the function declares."""
    return interpreter.fresh("decorated")


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
        if name.startswith("nn.init.") and name.endswith("_"):
            return call.argument(0, "tensor")
        # Tensors that torch changes in place keep their names.
        word = path.rpartition(".")[2].rstrip("_")
        return interpreter.call_unknown(External(path), word, call, TRANSPARENT)
    args, kwargs = list(call.args), dict(call.kwargs)
    form = "Tensor" if name.startswith("Tensor.") else "torch"
    if form == "Tensor" and args and isinstance(args[0], Opaque):
        args[0] = torch.promote(args[0], call.store)
    if args and _has_further_options(interpreter, operator, call):
        # Nobody passes names in this way, where the code declares none.
        kwargs = {word: interpreter.fresh(word) for word in ("dtype", "device")} | kwargs
        call = replace(call, arguments=Arguments(args))
    call.arguments.kwargs = kwargs
    return interpreter.call_operator(f"{form}.{operator}", args, call)


# Operators that make a tensor of sizes, whose other options are about its elements.
_MAKERS: Final = frozenset({"empty", "full", "ones", "rand", "randn", "zeros"})


def _has_further_options(interpreter: Interpreter, operator: str, call: Call) -> bool:
    """Whether a tensor is made of known sizes, with unknown options: ``zeros(1, d, **options)``."""
    arguments = call.arguments
    if operator not in _MAKERS or not arguments.open or not arguments.by_keyword:
        return False
    return interpreter.context.evidence.is_observed


def layer(interpreter: Interpreter, key: str, call: Call) -> Value:
    """A layer of the table, by its row."""
    args, words = tuple(call.args), tuple(call.kwargs.items())
    if interpreter.context.evidence.is_observed:
        from namecheck.interpreter.models import observed_sizes  # only where asked for

        args, words = observed_sizes.of_layer(interpreter, key, args, words, call.store)
    made = TorchModule(interpreter.new_address(), key, args, words, call.node)
    interpreter.torch_devices.on_layer(made, call)
    return made


def _initialise(interpreter: Interpreter, path: str, instance: Instance, call: Call) -> Value:
    """``nn.Linear.__init__(self, 3, 4)``."""
    if inheritance.model_of(interpreter, path) is not None:
        arguments = replace(call.arguments, args=call.args[1:])
        inheritance.initialise(interpreter, instance, path, replace(call, arguments=arguments))
    return NONE


# Functions that take a function

# The options of `checkpoint`; other keywords are those of the function.
_OPTIONS: Final = frozenset(
    {
        "use_reentrant",
        "context_fn",
        "determinism_check",
        "debug",
        "early_stop",
        "preserve_rng_state",
    }
)


@model("torch.compile", "torch.jit.script", "torch.jit.trace", "torch.compiler.disable")
def compile(interpreter: Interpreter, call: Call) -> Value:
    """``torch.compile(f)`` computes what f computes; with options alone it is a decorator."""
    words = ("model", "obj", "func", "fn")
    function = next((call.kwargs[word] for word in words if word in call.kwargs), NONE)
    if call.args:
        function = call.args[0]
    if function == NONE:
        return interpreter.call_unknown(External("torch.compile"), "compile", call, TRANSPARENT)
    return function


@model("torch.utils.checkpoint.checkpoint", open=True)
def checkpoint(interpreter: Interpreter, call: Call) -> Value:
    """``checkpoint(f, *args, use_reentrant=False)`` calls f."""
    function = call.argument(0, "function")
    words = {word: value for word, value in call.kwargs.items() if word not in _OPTIONS}
    words.pop("function", None)
    arguments = replace(call.arguments, args=call.args[1:], kwargs=words)
    return interpreter.call(function, replace(call, arguments=arguments))


@model("torch.utils.checkpoint.checkpoint_sequential")
def checkpoint_sequential(interpreter: Interpreter, call: Call) -> Value:
    """``checkpoint_sequential(functions, segments, input)`` calls one after the other."""
    functions, input = call.argument(0, "functions"), call.argument(2, "input")
    functions = joins.opened(functions, call.store)
    content = joins.items(functions, call.store) if isinstance(functions, ListValue) else None
    if content is None or isinstance(content, Repeated):
        return interpreter.call_unknown(External(__name__), "checkpoint_sequential", call)
    for function in content:
        input = primitives.invoke(interpreter, function, [input], call)
    return input


@model("torch.autograd.grad")
def grad(interpreter: Interpreter, call: Call) -> Value:
    """``torch.autograd.grad(outputs, inputs)``: for each input a gradient of the same shape."""
    inputs = call.argument(1, "inputs")
    batched = call.kwargs.get("is_grads_batched", FALSE)
    if batched != FALSE:
        return interpreter.fresh("gradients")
    unused = call.kwargs.get("allow_unused", FALSE)
    if isinstance(inputs, (TensorValue, Opaque)):
        if isinstance(inputs, Opaque) and not opaque_tensors.is_tensor(inputs, call.store):
            return interpreter.fresh("gradients")
        content: tuple[Value, ...] | Repeated = (inputs,)
    else:
        content = primitives.items(interpreter, inputs, call, whole=True)
    if isinstance(content, Repeated):
        return Repeated(_gradient(interpreter, content.each, unused, call))
    return TupleValue(tuple(_gradient(interpreter, one, unused, call) for one in content))


def _gradient(interpreter: Interpreter, value: Value, unused: Value, call: Call) -> Value:
    """The gradient of one input; None where this input may be unused."""
    if not isinstance(value, TensorValue):
        return interpreter.fresh("gradient")
    content = joins.held(value, call.store)
    tensor, likely = content.tensor, content.tensor.likely
    dims = tensor.dims.without_labels()
    abstract = Tensor(dims, tensor.dtype, tensor.device, likely=likely and likely.without_labels())
    gradient = interpreter.torch.tensor(abstract, content.origins)
    if unused == FALSE:
        return gradient
    choices = [Alternative(NONE), Alternative(gradient)]
    return joins.union(choices, interpreter.context.ledger)


_PARAMETRIZE: Final = "torch.nn.utils.parametrize.register_parametrization"


@model(_PARAMETRIZE)
def register_parametrization(interpreter: Interpreter, call: Call) -> Value:
    """``register_parametrization(module, "weight", p)``: an unsafe one may change its sizes."""
    module, name = call.argument(0, "module"), call.argument(1, "tensor_name")
    unsafe = call.argument(3, "unsafe", FALSE)
    result = interpreter.call_unknown(External(_PARAMETRIZE), "register_parametrization", call)
    if unsafe != FALSE and isinstance(name, Const):
        interpreter.set_attribute(module, name, interpreter.fresh("parametrized"), call.store)
    return result


@model("torch.utils.swap_tensors")
def swap_tensors(interpreter: Interpreter, call: Call) -> Value:
    """``swap_tensors(a, b)``: each has the content of the other."""
    tensors = [each for each in call.args if isinstance(each, TensorValue)]
    contents = [joins.held(each, call.store) for each in tensors]
    for each, content in zip(tensors, reversed(contents), strict=True):
        joins.write(each, call.store, content if len(call.args) == len(tensors) else Held(Tensor()))
    return NONE
