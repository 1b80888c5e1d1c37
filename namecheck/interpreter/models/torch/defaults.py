"""The default dtype, where autocast may be on, and the attributes of parameters.

A file that contains the word autocast may run any of its code under it, and so may the code that it
calls; where one mentions the meta device, a tensor of an unknown device may be there. Another file
is assumed not to have set a default dtype before, unless the file itself, or the one that is
checked, contains the call (docs/semantics.md).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Final

from namecheck.core import dtypes
from namecheck.core.dataclasses import replace
from namecheck.core.dtypes import STANDARD, Defaults, DType
from namecheck.core.names import UNKNOWN, Contradiction
from namecheck.core.tensors import Constant
from namecheck.effects.dtype import without_gradient
from namecheck.interpreter.domain import joins
from namecheck.interpreter.domain.cells import DEFAULT_DTYPE
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.tags import LEARNED, OF_MODULE, with_tag
from namecheck.interpreter.domain.values import NONE, Const, TensorValue, Value
from namecheck.interpreter.evaluation.frames import Call, Frame
from namecheck.interpreter.evaluation.interpreter import Interpreter
from namecheck.interpreter.models.registry import model

# The dtypes that a layer may be cast to, or made with under another default.
LAYERS: Final = frozenset({"float32", "float64", "float16", "bfloat16"})


class TorchDefaults:
    """Knows the default dtype and device on each path, and where autocast may be on."""

    def __init__(self, interpreter: Interpreter) -> None:
        self.interpreter = interpreter
        self.checked = interpreter.source.text

    def at(self, store: Store) -> Defaults:
        """The defaults on this path, in the current file."""
        texts = (self.checked, self.interpreter.source.text)
        standard = _left_open(*texts)
        if standard.device is not STANDARD.device:
            device = self.interpreter.torch_devices.default(standard.device, store)
            standard = replace(standard, device=device)
        if standard.dtype == STANDARD.dtype:
            return standard
        default: Value | None = store.get(DEFAULT_DTYPE)
        if isinstance(default, Const) and isinstance(default.value, Constant):
            return replace(standard, dtype=default.value.name)
        return standard

    def dtype(self, store: Store) -> Value:
        """The default dtype on this path."""
        dtype = self.at(store).dtype
        if isinstance(dtype, str):
            return Const(Constant("dtype", dtype))
        return self.interpreter.fresh("dtype")

    def of_module(self, value: Value, store: Store) -> Value:
        """A tensor as a parameter or a buffer: its module may change its dtype and order."""
        if not isinstance(value, TensorValue):
            return value
        content = joins.held(value, store)
        dtype = castable(content.tensor.dtype)
        tensor = replace(content.tensor, dtype=dtype, device=UNKNOWN, memory=UNKNOWN)
        tags = with_tag(value.tags, OF_MODULE, True)
        own = TensorValue(self.interpreter.new_address(), replace(content, tensor=tensor), tags)
        self.interpreter.torch_devices.add_tensor(own)
        return own


@model("torch.set_default_dtype")
def set_default_dtype(interpreter: Interpreter, call: Call) -> Value:
    """``torch.set_default_dtype(torch.float64)``."""
    dtype = call.argument(0, "d")
    _check(interpreter, dtype, dtypes.unfit, dtypes.unfit_text, call)
    call.store.write(DEFAULT_DTYPE, NONE, dtype)
    return NONE


@model("torch.get_default_dtype")
def get_default_dtype(interpreter: Interpreter, call: Call) -> Value:
    """``torch.get_default_dtype()``."""
    return interpreter.torch_defaults.dtype(call.store)


@model("torch.finfo")
def finfo(interpreter: Interpreter, call: Call) -> Value:
    """``torch.finfo(dtype)``."""
    return _limits(interpreter, "finfo", call)


@model("torch.iinfo")
def iinfo(interpreter: Interpreter, call: Call) -> Value:
    """``torch.iinfo(dtype)``."""
    return _limits(interpreter, "iinfo", call)


def _limits(interpreter: Interpreter, name: str, call: Call) -> Value:
    text = f"{name}(): argument 'type' (position 1) must be torch.dtype, not str"
    _check(
        interpreter,
        call.argument(0, "type"),
        partial(dtypes.limited, floating=name == "finfo"),
        partial(dtypes.misspelt, message=text),
        call,
    )
    return interpreter.fresh("limits")


def _check(
    interpreter: Interpreter,
    dtype_value: Value,
    of_dtype: Callable[[str], Contradiction | None],
    of_text: Callable[[str], Contradiction],
    call: Call,
) -> None:
    """Report a dtype that is not allowed here, or a string in its place."""
    wrong = None
    if isinstance(dtype_value, Const) and isinstance(dtype_value.value, Constant):
        wrong = of_dtype(dtype_value.value.name)
    elif isinstance(dtype_value, Const) and isinstance(dtype_value.value, str):
        wrong = of_text(dtype_value.value)
    if wrong is not None:
        interpreter.report(wrong, call.node, call.store, call.frame)


@model("torch.nn.Parameter", "torch.nn.parameter.Parameter")
def parameter(interpreter: Interpreter, call: Call) -> Value:
    """``nn.Parameter(x)`` has the names of x."""
    data = call.argument(0, "data")
    if not isinstance(data, TensorValue):
        return interpreter.fresh("parameter")
    if call.argument(1, "requires_grad", Const(True)) == Const(True):
        wrong = without_gradient(joins.held(data, call.store).tensor.dtype)
        if wrong is not None and not _is_of_another_case(interpreter, call.frame):
            interpreter.report(wrong, call.node, call.store, call.frame)
    learned = replace(data, tags=with_tag(data.tags, LEARNED, True))
    return interpreter.torch_defaults.of_module(learned, call.store)


def _is_of_another_case(interpreter: Interpreter, frame: Frame) -> bool:
    """Whether plain code makes a parameter in a case that need not be that of its caller."""
    if not interpreter.context.evidence.is_observed:
        return False
    from namecheck.interpreter.models import observed_purposes  # only where asked for

    return observed_purposes.is_in_undecided_case(frame)


@lru_cache(maxsize=256)
def _left_open(checked: str, running: str) -> Defaults:
    """The defaults that the texts of two files leave open."""
    one, other = map(_left_open_in, (checked, running))
    return Defaults(
        one.dtype if other.dtype is STANDARD.dtype else other.dtype,
        one.autocast or other.autocast,
        one.device if other.device is STANDARD.device else other.device,
        one.meta or other.meta,
    )


@lru_cache(maxsize=256)
def _left_open_in(text: str) -> Defaults:
    """The defaults that one text leaves open, which is searched once for all files beside it."""
    return Defaults(
        LAYERS if re.search(_OF_DTYPES, text) else STANDARD.dtype,
        "autocast" in text,
        UNKNOWN if re.search(_OF_DEVICES, text) else STANDARD.device,
        bool(re.search(_OF_META, text)),
    )


_OF_DTYPES: Final = r"set_default_(?:dtype|tensor_type)"
# The calls that set the default device, here or in a block: a context that is a call of a device.
_OF_DEVICES: Final = (
    r"(?m)set_default_device|set_default_tensor_type|DeviceContext|init_empty_weights"
    r"|(?:^[ \t]*+(?:async[ \t]++)?with\b[^\n]*|enter_context\((?:(?!enter_context\()[^\n])*)"
    r"(?<!cuda\.)\bdevice\b(?!=|\.type)"
)
_OF_META: Final = r"([\"'])meta(?::\d+)?\1|\bis_meta\b|init_empty_weights|FakeTensor"


def castable(dtype: DType) -> DType:
    """The dtypes that a parameter or a buffer of a module may be cast to (nn.Module.to)."""
    possible = set(dtypes.possible(dtype))
    if possible & dtypes.FLOATINGS:
        return dtypes.one_of(possible | LAYERS)
    if possible & dtypes.COMPLEXES:
        return dtypes.one_of(dtypes.COMPLEXES)
    return dtype
