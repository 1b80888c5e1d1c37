"""Devices as a small lattice (tensor_attributes.rst, "torch.device").

A device is written as torch prints it: ``cpu``, ``cuda:1``; ``cuda`` is whichever is the current
one. Which one a program takes may depend on the machine: ``cuda|cpu`` is the first that there is.
What is known of the device of a tensor is one of these, one of several, or nothing.
"""

from __future__ import annotations

from functools import cache
from typing import Final, TypeAlias

from namecheck.names import UNKNOWN, Unknown

Device: TypeAlias = str | frozenset[str] | Unknown

# So many devices may be meant; of more nothing is known.
_MOST: Final = 4


def possible(device: Device) -> frozenset[str]:
    """All devices that may be meant, of nothing known none."""
    if isinstance(device, str):
        return frozenset({device})
    return frozenset() if isinstance(device, Unknown) else device


@cache
def join(left: Device, right: Device) -> Device:
    """The least that covers both."""
    if left == right:
        return left
    if isinstance(left, Unknown) or isinstance(right, Unknown):
        return UNKNOWN
    several = possible(left) | possible(right)
    return several if len(several) <= _MOST else UNKNOWN


def covers(general: Device, specific: Device) -> bool:
    """Whether the first says nothing that the second contradicts."""
    if isinstance(general, Unknown) or general == specific:
        return True
    return bool(possible(specific)) and possible(specific) <= possible(general)
