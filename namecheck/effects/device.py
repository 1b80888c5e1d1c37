"""Where a result is: one mechanism that reads the row of an operator.

Nothing is moved between devices but CPU tensors without dims (tensor_attributes.rst, the last note
on devices): so all tensors that an operator takes are on one device, and so is its result. A row
says in `device` where that is not so: the result is where the ``first`` or the ``last`` tensor is,
on the ``cpu`` or on ``cuda``, or ``each`` stays where it was; the further ones of an ``index`` may
be on the CPU; what is ``host`` is done on the CPU alone; a ``cast`` may be to a class that tells
the device; ``alike(input,weight)`` are all that have to be on one device. What makes a tensor
makes it on the device that is asked for, else on that of its input, else on the default device.
All of it is held against torch by tests/runtime/test_device_agreement.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, reduce
from typing import Any, Final, TypeAlias

from namecheck.core import devices
from namecheck.core.devices import CPU, META, Chosen, Device
from namecheck.core.dtypes import Around
from namecheck.core.names import UNKNOWN, Contradiction
from namecheck.core.tensors import Constant, Tensor
from namecheck.effects.needs import tensors_in

Place: TypeAlias = tuple[str, Tensor]

WORDS: Final = ("alike", "cast", "cpu", "cuda", "each", "first", "host", "index", "last")


@dataclass(frozen=True, slots=True)
class Placing:
    """What the row of an operator tells of devices, for one overload.

    `word` is that of the row, `operands` the parameters that take tensors. What `broadcasts` does
    not move a tensor without dims from another device either; what `makes` a tensor has a
    parameter for its device. The parameters of a `layer` are on one too: of some it has those that
    one of `switches` asks for, arguments that it is made with.
    """

    word: str
    operands: tuple[str, ...]
    broadcasts: bool
    makes: bool
    layer: bool
    switches: tuple[str, ...] = ()


def of_result(
    row: Placing, arguments: Mapping[str, Any], around: Around, target: Any = None
) -> Device:
    """The device of a result; raises `Contradiction` where torch refuses those given."""
    asked = arguments.get("device") if row.makes else None
    if isinstance(asked, str) and (wrong := devices.refusal(asked)) is not None:
        raise wrong
    word, names = _read(row.word)
    if word == "cuda" and isinstance(told := asked_for(asked), str) and not told.startswith("cuda"):
        raise _no_cuda()
    every = _places(names or row.operands, arguments)
    if word == "alike" and not row.makes and not row.layer:
        found = {tensor.device for _, tensor in every}
        if isinstance(target, Tensor):
            found.add(target.device)
        if len(found) == 1:
            return found.pop()
    if word == "host":
        _check_host(every, arguments)
    if word == "index":
        _check_index(every)
    if word == "alike" and not row.makes:
        written = [("out", target)] if isinstance(target, Tensor) else []
        if row.layer and arguments.get("device") is not None and _has_parameters(row, arguments):
            written.append(("parameters", Tensor(device=asked_for(arguments["device"]))))
        _check_alike([*every, *written], row.broadcasts, len(every), target is not None)
    if word == "cast":
        return _of_class(arguments.get("dtype"), every)
    if asked is None and row.makes and word != "cuda" and not _is_modelled(arguments):
        return UNKNOWN if every else around.device
    return _device(word, every, asked, row.broadcasts)


def _has_parameters(row: Placing, arguments: Mapping[str, Any]) -> bool:
    """Whether a layer surely has parameters, or buffers."""
    return not row.switches or any(arguments.get(name) is True for name in row.switches)


def _places(names: tuple[str, ...], arguments: Mapping[str, Any]) -> list[Place]:
    """The tensors in some arguments; mostly one is in each."""
    found: list[Place] = []
    for name in names:
        value = arguments.get(name)
        if isinstance(value, Tensor):
            found.append((name, value))
        elif value is not None:
            found.extend((name, tensor) for tensor in tensors_in(value))
    return found


@cache
def _read(word: str) -> tuple[str, tuple[str, ...]]:
    name, _, names = word.removesuffix(")").partition("(")
    return name or "alike", tuple(names.split(",")) if names else ()


def fault_of(word: str) -> str | None:
    """What is wrong with the word of a row, if anything is."""
    name, _ = _read(word)
    if name not in WORDS:
        return f"device: unknown word '{name}'; the words are {', '.join(WORDS)}"
    return None


def _is_modelled(arguments: Mapping[str, Any]) -> bool:
    """Whether a tensor is given that tells where a new one is made."""
    return any(isinstance(arguments.get(name), Tensor) for name in ("input", "data"))


def _no_cuda() -> Contradiction:
    """What torch says of ``x.cuda("cpu")`` (recorded)."""
    return Contradiction(
        "NC402",
        "Invalid device, must be cuda device",
        help="Move it with `.to(device)`, or `.cpu()`.",
    )


def _device(word: str, every: list[Place], asked: Any, broadcasts: bool) -> Device:
    if word == "cuda" and (asked is None or isinstance(asked, int)):
        return "cuda" if asked is None else f"cuda:{asked}"
    if asked is not None:
        return asked_for(asked)
    if word in ("cpu", "host"):
        return CPU
    if word == "each" and len(every) > 1:
        return UNKNOWN
    if word in ("first", "index", "last") and every:
        return every[-1 if word == "last" else 0][1].device
    tensors = [tensor for _, tensor in every]
    if not broadcasts and len({t.device for t in tensors}) > 1 and any(map(_is_empty, tensors)):
        return UNKNOWN  # what torch does with what has no data is not told
    return _common(tensors)


def _of_class(dtype: Any, every: list[Place]) -> Device:
    """The device that a cast goes to: that of a dtype stays, ``torch.cuda.FloatTensor`` moves."""
    if isinstance(dtype, str):
        return "cuda" if dtype.startswith("torch.cuda.") else CPU
    stays = isinstance(dtype, Constant) and every
    return every[0][1].device if stays else UNKNOWN


def asked_for(asked: Any) -> Device:
    """The device that an argument asks for."""
    if isinstance(asked, Chosen):
        return asked
    if isinstance(asked, Constant) and asked.kind == "device":
        return devices.of_tensor(asked.name)
    if isinstance(asked, str) and devices.is_word(asked):
        return devices.of_tensor(asked)
    return UNKNOWN


def _common(tensors: list[Tensor]) -> Device:
    """The device that all are on, where one that has no dims may have to be moved from the CPU."""
    counting = [tensor.device for tensor in tensors if tensor.dims.min_rank]
    if not counting:
        moved = [tensor.device for tensor in tensors if tensor.device != CPU]
        counting = moved or [tensor.device for tensor in tensors]
    return reduce(devices.meet, counting) if counting else UNKNOWN


def _is_empty(tensor: Tensor) -> bool:
    return tensor.device == META


def _check_alike(every: list[Place], broadcasts: bool, inputs: int, writes: bool) -> None:
    """Refuse tensors that certainly are on two devices; what is written to is never moved.

    With what has no data torch lets most operators pass (recorded: add_, matmul on meta).
    """
    counting = [
        place
        for number, place in enumerate(every)
        if number >= inputs or _counts(place[1], broadcasts)
    ]
    for number, (_, one) in enumerate(counting):
        for _, other in counting[number + 1 :]:
            if META in (one.device, other.device) and (writes or not broadcasts):
                continue
            if devices.differ(one.device, other.device):
                raise mixed(one.device, other.device)


def _counts(tensor: Tensor, broadcasts: bool) -> bool:
    """Whether a tensor has to be where the others are."""
    if tensor.dims.min_rank:
        return True
    return broadcasts and devices.differ(tensor.device, CPU)


_TWO_DEVICES: Final = (
    "Expected all tensors to be on the same device, but found at least two devices, {} and {}!"
)


def mixed(one: Device, other: Device) -> Contradiction:
    """Tensors on two devices."""
    if META in (one, other):
        text = (
            f"Tensor on device {devices.spoken(other)} is not on the expected device "
            f"{devices.spoken(one)}!"
        )
    else:
        one, other = (other, one) if one == CPU else (one, other)
        text = _TWO_DEVICES.format(devices.spoken(one), devices.spoken(other))
    chosen = next((d for d in (one, other) if isinstance(d, Chosen)), None)
    where = "" if chosen is None else f" Where the program chooses {_choice(chosen)}, they differ."
    return Contradiction(
        "NC401",
        text,
        help=f"Move one of them with `.to(other.device)`, or make it with `device=`.{where}",
    )


def _choice(chosen: Chosen) -> str:
    return next((name for name in chosen.names if name != CPU), CPU)


def _check_index(every: list[Place]) -> None:
    """Refuse an index on another device: the CPU's may go anywhere (recorded: getitem)."""
    if not every:
        return
    indexed = every[0][1].device
    for _, index in every[1:]:
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


def _check_host(every: list[Place], arguments: Mapping[str, Any]) -> None:
    """Refuse what NumPy cannot see (recorded: numpy)."""
    if arguments.get("force", False) is not False or not every:
        return
    device = every[0][1].device
    if devices.differ(device, CPU):
        raise Contradiction(
            "NC403",
            f"can't convert {devices.spoken(device)} device type tensor to numpy. Use "
            "Tensor.cpu() to copy the tensor to host memory first.",
            error="TypeError",
            help="Write `.cpu().numpy()`; where a gradient is needed `.detach().cpu().numpy()`.",
        )
