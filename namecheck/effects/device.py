"""The device of a result: one mechanism that reads the column `device` of a row.

torch moves only 0-d CPU tensors between devices (tensor_attributes.rst, the last note on devices):
so all operands are on one device, and the result is there too. The column `device` states the
exceptions: the result is on the device of the ``first`` or the ``last`` tensor, on the ``cpu`` or
on ``cuda``, or ``each`` result is on the device of its tensor; the further operands of an ``index``
may be on the CPU; a ``meta`` operator computes beside a tensor on the meta device with tensors on
another; a ``host`` operator runs on the CPU alone; a ``cast`` may be to a class that
names the device; ``alike(input,weight)`` lists all operands that must be on one device. A factory
uses the requested device, else that of its input, else the default device.
tests/runtime/test_device_agreement.py compares all of it with torch.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import Any, Final

from namecheck.core import devices
from namecheck.core.dataclasses import dataclass
from namecheck.core.devices import CPU, META, Chosen, Device
from namecheck.core.dtypes import Defaults
from namecheck.core.names import UNKNOWN, Contradiction
from namecheck.core.tensors import Constant, Tensor
from namecheck.effects.operands import Operands
from namecheck.effects.words import ParameterNames, WordError, check_parameters, read_word

# The parameters whose device a new tensor takes.
_MODELS: Final = ("input", "data")

WORDS: Final = ("alike", "cast", "cpu", "cuda", "each", "first", "host", "index", "last", "meta")


@dataclass(frozen=True, slots=True)
class DeviceEffect:
    """The device effect of a row, for one overload.

    `word` is the word in the row, `parameters` are those whose tensors count. An operator that
    `broadcasts` does not move a 0-d tensor from another device either; one that `makes` a tensor
    has a parameter for its device. The parameters of a `layer` must be on the same device too: a
    layer with optional parameters has those that one of `switches` asks for, which are arguments of
    its constructor.
    """

    word: str
    parameters: tuple[str, ...]
    broadcasts: bool
    makes: bool
    layer: bool
    switches: tuple[str, ...] = ()

    @property
    def walked(self) -> tuple[str, ...]:
        """The parameters whose operands count."""
        return (*self.parameters, *_MODELS) if self.makes else self.parameters


def read(
    text: str,
    parameters: ParameterNames,
    *,
    broadcasts: bool,
    makes: bool,
    is_layer: bool,
    switches: tuple[str, ...],
) -> DeviceEffect:
    """Read the column `device`; `parameters` count where it names none."""
    word = read_word(text)
    return DeviceEffect(
        word.name or "alike",
        word.arguments or tuple(parameters),
        broadcasts,
        makes,
        is_layer,
        switches,
    )


def check_cell(text: str, parameters: ParameterNames | None) -> None:
    """Check a cell of `device`; raises `WordError`."""
    word = read_word(text)
    if word.name and word.name not in WORDS:
        raise WordError(f"unknown word '{word.name}'", WORDS)
    check_parameters(word.arguments, parameters)


def of_result(
    effect: DeviceEffect, call_operands: Operands, defaults: Defaults, target: Any = None
) -> Device:
    """The device of a result; raises `Contradiction` where torch refuses those of the operands."""
    arguments = call_operands.arguments
    request = arguments.get("device") if effect.makes else None
    if isinstance(request, str) and (wrong := devices.refusal(request)) is not None:
        raise wrong
    word = effect.word
    if (
        word == "cuda"
        and isinstance(on := requested_device(request), str)
        and not on.startswith("cuda")
    ):
        raise _no_cuda()
    tensors = call_operands.tensors(effect.parameters)
    if word in ("alike", "meta") and not effect.makes:
        if not effect.layer:
            different = {tensor.device for tensor in tensors}
            if isinstance(target, Tensor):
                different.add(target.device)
            if len(different) == 1:
                return different.pop()
        checked = tensors if word == "alike" else [t for t in tensors if not _is_empty(t)]
        _check_alike(checked, _others(effect, arguments, target), effect.broadcasts, target)
    elif word == "host":
        _check_host(tensors, arguments)
    elif word == "index":
        _check_index(tensors)
    elif word == "cast":
        return _of_class(arguments.get("dtype"), tensors)
    if request is None and effect.makes and word != "cuda":
        # The arguments whose device the new tensor takes, if they are tensors.
        models = [call_operands.single.get(name) for name in _MODELS]
        if not any(isinstance(model, Tensor) for model in models):
            is_vague = bool(tensors) or any(model is UNKNOWN for model in models)
            return UNKNOWN if is_vague else defaults.device
    return _device(word, tensors, request, effect.broadcasts)


def _others(effect: DeviceEffect, arguments: Mapping[str, Any], target: Any) -> list[Tensor]:
    """The other tensors on the device of the operands: the target, the parameters of a layer."""
    others = [target] if isinstance(target, Tensor) else []
    if effect.layer and arguments.get("device") is not None and _has_parameters(effect, arguments):
        others.append(Tensor(device=requested_device(arguments["device"])))
    return others


def _has_parameters(effect: DeviceEffect, arguments: Mapping[str, Any]) -> bool:
    """Whether a layer certainly has parameters, or buffers."""
    return not effect.switches or any(arguments.get(name) is True for name in effect.switches)


def _no_cuda() -> Contradiction:
    """The error of torch for ``x.cuda("cpu")`` (recorded)."""
    return Contradiction(
        "NC402",
        "Invalid device, must be cuda device",
        help="Move it with `.to(device)`, or `.cpu()`.",
    )


def _device(word: str, tensors: list[Tensor], request: Any, broadcasts: bool) -> Device:
    if word == "cuda" and (request is None or isinstance(request, int)):
        return "cuda" if request is None else f"cuda:{request}"
    if request is not None:
        return requested_device(request)
    if word in ("cpu", "host"):
        return CPU
    if word == "each" and len(tensors) > 1:
        return UNKNOWN
    if word in ("first", "index", "last") and tensors:
        return tensors[-1 if word == "last" else 0].device
    if (
        (word == "meta" or not broadcasts)
        and len({t.device for t in tensors}) > 1
        and any(map(_is_empty, tensors))
    ):
        return UNKNOWN  # how torch treats tensors without data is unknown
    return _common(tensors)


def _of_class(request: Any, tensors: list[Tensor]) -> Device:
    """The device of a cast: a dtype keeps it, ``torch.cuda.FloatTensor`` moves the tensor."""
    if isinstance(request, str):
        return "cuda" if request.startswith("torch.cuda.") else CPU
    stays = isinstance(request, Constant) and tensors
    return tensors[0].device if stays else UNKNOWN


def requested_device(request: Any) -> Device:
    """The device that an argument requests."""
    if isinstance(request, Chosen):
        return request
    if isinstance(request, Constant) and request.kind == "device":
        return devices.of_tensor(request.name)
    if isinstance(request, str) and devices.is_word(request):
        return devices.of_tensor(request)
    return UNKNOWN


def _common(tensors: list[Tensor]) -> Device:
    """The device of all operands; a 0-d one may be moved from the CPU."""
    counting = [tensor.device for tensor in tensors if tensor.dims.min_rank]
    if not counting:
        moved = [tensor.device for tensor in tensors if tensor.device != CPU]
        counting = moved or [tensor.device for tensor in tensors]
    return reduce(devices.meet, counting) if counting else UNKNOWN


def _is_empty(tensor: Tensor) -> bool:
    return tensor.device == META


def _check_alike(
    tensors: list[Tensor], placed: list[Tensor], broadcasts: bool, target: Any
) -> None:
    """Refuse tensors that certainly are on two devices; the target is never moved.

    torch allows most operators on meta tensors (recorded: add_, matmul on meta).
    """
    counting = [*(tensor for tensor in tensors if _counts(tensor, broadcasts)), *placed]
    for number, one in enumerate(counting):
        for other in counting[number + 1 :]:
            if META in (one.device, other.device) and (target is not None or not broadcasts):
                continue
            if devices.differ(one.device, other.device):
                raise mixed(one.device, other.device)


def _counts(tensor: Tensor, broadcasts: bool) -> bool:
    """Whether a tensor must be on the device of the others."""
    if tensor.dims.min_rank:
        return True
    return broadcasts and devices.differ(tensor.device, CPU)


_TWO_DEVICES: Final = (
    "Expected all tensors to be on the same device, but found at least two devices, {} and {}!"
)


def mixed(device: Device, other_device: Device) -> Contradiction:
    """The error for tensors on two devices."""
    if META in (device, other_device):
        text = (
            f"Tensor on device {devices.spoken(other_device)} is not on the expected device "
            f"{devices.spoken(device)}!"
        )
    else:
        device, other_device = (other_device, device) if device == CPU else (device, other_device)
        text = _TWO_DEVICES.format(devices.spoken(device), devices.spoken(other_device))
    chosen = next((d for d in (device, other_device) if isinstance(d, Chosen)), None)
    where = "" if chosen is None else f" Where the program chooses {_choice(chosen)}, they differ."
    return Contradiction(
        "NC401",
        text,
        help=f"Move one of them with `.to(other.device)`, or make it with `device=`.{where}",
    )


def _choice(chosen: Chosen) -> str:
    return next((name for name in chosen.names if name != CPU), CPU)


def _check_index(tensors: list[Tensor]) -> None:
    """Refuse an index on another device, except on the CPU (recorded: getitem)."""
    if not tensors:
        return
    indexed = tensors[0].device
    for index in tensors[1:]:
        device = index.device
        if device == META:
            continue
        if devices.differ(device, CPU) and devices.differ(indexed, device):
            raise Contradiction(
                "NC401",
                "indices should be either on cpu or on the same device as the indexed tensor "
                f"({devices.spoken(indexed)})",
                help="Move the index with `.to(x.device)`, or with `.cpu()`.",
            )


def _check_host(tensors: list[Tensor], arguments: Mapping[str, Any]) -> None:
    """Refuse a tensor that NumPy cannot read (recorded: numpy)."""
    if arguments.get("force", False) is not False or not tensors:
        return
    device = tensors[0].device
    if devices.differ(device, CPU):
        raise Contradiction(
            "NC403",
            f"can't convert {devices.spoken(device)} device type tensor to numpy. Use "
            "Tensor.cpu() to copy the tensor to host memory first.",
            error="TypeError",
            help="Write `.cpu().numpy()`; where a gradient is needed `.detach().cpu().numpy()`.",
        )
