"""Devices as a small lattice (tensor_attributes.rst, "torch.device").

A device has the form in which torch prints it: ``cpu``, ``cuda:1``; ``cuda`` is the current CUDA
device. A device that a program chooses (``"cuda" if torch.cuda.is_available() else "cpu"``) is one
value, equal to itself. The abstract device of a tensor is a device, a choice of several, or
UNKNOWN.
"""

from __future__ import annotations

import re
from collections.abc import Hashable
from functools import cache
from typing import Final, TypeAlias

from namecheck.core.dataclasses import dataclass
from namecheck.core.names import UNKNOWN, Contradiction, Unknown


@dataclass(frozen=True, slots=True)
class Chosen:
    """One of several devices, each with the facts under which a program chooses it."""

    alternatives: tuple[tuple[str, tuple[tuple[Hashable, Hashable], ...]], ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The devices that may be chosen."""
        return tuple(name for name, _ in self.alternatives)


Single: TypeAlias = str | Chosen
Device: TypeAlias = Single | frozenset[Single] | Unknown

CPU: Final = "cpu"
META: Final = "meta"
STANDARD_DEVICE: Final = CPU

# A choice has at most this many devices; above that it is UNKNOWN.
_MOST: Final = 4
# The types with a single device, whatever its index.
_ONLY: Final = frozenset({CPU, META})
TYPES: Final = (
    "cpu, cuda, ipu, xpu, mkldnn, opengl, opencl, ideep, hip, ve, fpga, maia, xla, lazy, vulkan, "
    "mps, meta, hpu, mtia, privateuseone"
)
"""The types of devices in torch's own order, as its message lists them."""

_KNOWN: Final = frozenset(TYPES.split(", "))
_FORM: Final = r"([a-zA-Z_]+)(?::(0|[1-9]\d*))?"
_INDEXED: Final = r"([a-z]+)[ _-]?:? ?(\d+)"


def parted(device: str) -> tuple[str, int | None]:
    """The type of a device and its index; the index is None for the current device."""
    kind, _, index = device.partition(":")
    return kind, int(index) if index else None


def is_word(text: object) -> bool:
    """Whether a value is a string for a device of a type that torch knows."""
    match = re.fullmatch(_FORM, text) if isinstance(text, str) else None
    return match is not None and match[1] in _KNOWN


def refusal(word: str) -> Contradiction | None:
    """The error for a string that names no device; None where it may name one.

    A package may register a device type of its own. So only a misspelling of a type that torch has,
    or the name of a dtype, is certainly no device.
    """
    if not word:
        return _refused("Device string must not be empty", None)
    match = re.fullmatch(_FORM, word)
    if match is not None and match[1] in _KNOWN:
        return None
    near = nearest(word)
    if match is None:
        return _refused(f"Invalid device string: '{word}'", near)
    if near is None:
        return None
    return _refused(
        f"Expected one of {TYPES} device type at start of device string: {match[1]}", near
    )


def _refused(message: str, near: str | None) -> Contradiction:
    help_ = f"Did you mean '{near}'?" if near else "A device is written 'cpu', 'cuda', 'cuda:0'."
    return Contradiction("NC402", message, help=help_)


def negative() -> Contradiction:
    """The error for a negative index."""
    return Contradiction("NC402", "Device index must not be negative")


def spelt_index() -> Contradiction:
    """The error for an index that is a string."""
    return Contradiction(
        "NC402",
        "device(): argument 'index' (position 2) must be int, not str",
        error="TypeError",
        help="Write the index as a number, or in the string: 'cuda:0'.",
    )


def twice(word: str) -> Contradiction | None:
    """The error for a string with an index beside an argument `index`; None where it has none."""
    if ":" not in word:
        return None
    return Contradiction(
        "NC402",
        "type (string) must not include an index because index was passed explicitly: " + word,
        help="Write the index once.",
    )


@cache
def nearest(word: str) -> str | None:
    """The device with the most similar spelling; None where none is close."""
    text = word.strip().lower()
    joined = re.fullmatch(_INDEXED, text)
    kind, index = (joined[1], f":{int(joined[2])}") if joined else (text.partition(":")[0], "")
    if kind not in _KNOWN:
        kind = _ALIASES.get(kind) or _like(kind) or ""
    return f"{kind}{index}" if kind else None


_ALIASES: Final = {"gpu": "cuda", "nvidia": "cuda", "cup": "cpu"}


def _like(kind: str) -> str | None:
    import difflib

    close = difflib.get_close_matches(kind, ("cuda", "cpu", "mps", "meta", "xpu"), 1, 0.74)
    return close[0] if close else None


def of_tensor(device: str) -> str:
    """The device as a tensor reports it: the CPU has no index."""
    kind, _, _ = device.partition(":")
    return kind if kind in _ONLY else device


def possible(device: Device) -> frozenset[Single]:
    """All devices that it may be; empty where it is unknown."""
    if isinstance(device, frozenset):
        return device
    return frozenset() if isinstance(device, Unknown) else frozenset({device})


@cache
def join(device: Device, other_device: Device) -> Device:
    """The least upper bound of both."""
    if device == other_device:
        return device
    if isinstance(device, Unknown) or isinstance(other_device, Unknown):
        return UNKNOWN
    several = possible(device) | possible(other_device)
    return several if len(several) <= _MOST else UNKNOWN


def covers(general: Device, specific: Device) -> bool:
    """Whether `general` covers `specific`."""
    if isinstance(general, Unknown) or general == specific:
        return True
    singles = possible(specific)
    return bool(singles) and all(any(_covers(g, one) for g in possible(general)) for one in singles)


def _covers(general: Single, specific: Single) -> bool:
    if isinstance(general, Chosen):
        names = specific.names if isinstance(specific, Chosen) else (specific,)
        return all(any(_covers(word, name) for word in general.names) for name in names)
    if isinstance(specific, Chosen):
        return False
    return general in (specific, specific.partition(":")[0])


@cache
def differ(device: Device, other_device: Device) -> bool:
    """Whether two devices certainly differ, at least on some machine.

    A program that chooses a device other than the CPU where there is one fails on such a machine if
    it ignores the choice elsewhere. So the choice counts as that other device, unless a path fact
    says otherwise.
    """
    pairs = [(one, other) for one in possible(device) for other in possible(other_device)]
    return bool(pairs) and all(_differ(one, other) for one, other in pairs)


def _differ(single: Single, other_single: Single) -> bool:
    if isinstance(single, Chosen) and isinstance(other_single, str):
        single, other_single = other_single, single
    if isinstance(single, Chosen) and isinstance(other_single, Chosen):
        return all(_differ(name, other_single) for name in single.names)
    if isinstance(other_single, Chosen):
        if single == CPU:
            return any(facts and _differ(single, name) for name, facts in other_single.alternatives)
        return all(_differ(single, name) for name in other_single.names)
    assert isinstance(single, str)
    (kind, index), (other, number) = parted(single), parted(other_single)
    if kind != other:
        return True
    return None not in (index, number) and index != number


def kinds(device: Device) -> frozenset[str] | None:
    """The possible types of a device; None where it is unknown."""
    if isinstance(device, Unknown):
        return None
    singles = possible(device)
    names = [n for one in singles for n in (one.names if isinstance(one, Chosen) else (one,))]
    return frozenset(parted(name)[0] for name in names)


def may_be_meta(device: Device, *, if_unknown: bool) -> bool:
    """Whether it may be the meta device; an unknown one only where `if_unknown` says so."""
    if isinstance(device, str):
        return device == META
    types = kinds(device)
    return if_unknown if types is None else META in types


def is_whole(device: str) -> bool:
    """Whether a device has an index, or its type needs none."""
    return device in _ONLY or ":" in device


def meet(device: Device, other_device: Device) -> Device:
    """The greatest lower bound of both: ``cuda:0`` of it and ``cuda``; UNKNOWN if there is none."""
    if device == other_device:
        return device
    if isinstance(device, str) and isinstance(other_device, str):
        (kind, index), (other, number) = parted(device), parted(other_device)
        if kind == other:
            return other_device if index is None else device if number is None else UNKNOWN
    return UNKNOWN


def spoken(device: Device) -> str:
    """A device as torch's messages print it; the current one of a type is printed with index 0."""
    single = next(iter(possible(device)), CPU)
    if isinstance(single, Chosen):
        single = next((name for name in single.names if name != CPU), CPU)
    kind, index = parted(single)
    return kind if kind in _ONLY else f"{kind}:{index or 0}"


def show(device: Device) -> str:
    """A device for a reader, a choice as its alternatives; empty where it is unknown."""
    words = [
        single.names if isinstance(single, Chosen) else (single,) for single in _sorted(device)
    ]
    return " or ".join(dict.fromkeys(name for names in words for name in names))


def _sorted(device: Device) -> list[Single]:
    return sorted(possible(device), key=str)
