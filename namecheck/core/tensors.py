"""What is known of a tensor: its dimensions and its attributes; and of other arguments of calls."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar, Final

from namecheck.core import devices, dtypes
from namecheck.core.devices import Device
from namecheck.core.dims import OPEN, Dims, covers_dims, join_dims
from namecheck.core.dtypes import DType
from namecheck.core.memory_order import Memory
from namecheck.core.names import UNKNOWN, Name, Unknown


@dataclass(frozen=True, slots=True)
class Tensor:
    """What is known of one tensor; `memory` is the order in which its dims lie in memory."""

    dims: Dims = OPEN
    dtype: DType = UNKNOWN
    device: Device = UNKNOWN
    layout: str | Unknown = UNKNOWN
    memory: Memory = UNKNOWN

    @property
    def names(self) -> tuple[Name, ...]:
        """The names of all known dims, in order."""
        return self.dims.names


@dataclass(frozen=True, slots=True)
class Many:
    """A sequence of tensors, alike in what is known of them, whose number is not known."""

    each: Tensor


@dataclass(frozen=True, slots=True)
class Maybe:
    """A tensor, or None: an attribute that is filled in later."""

    tensor: Tensor


@dataclass(frozen=True, slots=True)
class Constant:
    """A constant of torch: ``Constant("dtype", "float32")``.

    The kinds are dtype, device, layout and memory_format. As text it is what torch prints.
    """

    kind: str
    name: str

    def __str__(self) -> str:
        return self.name if self.kind == "device" else f"torch.{self.name}"

    def __repr__(self) -> str:
        if self.kind != "device":
            return str(self)
        kind, _, index = self.name.partition(":")
        return f"device(type='{kind}', index={index})" if index else f"device(type='{kind}')"


class SomeNumber(float):
    """Some number, to a rule like any other; `examples` has one of each type that it may be."""

    __slots__ = ()
    examples: ClassVar[tuple[complex, ...]] = (1, 1.0)


class SomeInt(SomeNumber):
    """Some int."""

    __slots__ = ()
    examples = (1,)


class SomeBool(SomeNumber):
    """True or False."""

    __slots__ = ()
    examples = (True,)


class SomeComplex(SomeNumber):
    """Some complex number; an int or a float may be taken for one."""

    __slots__ = ()
    examples = (1, 1.0, 1j)


SOME_NUMBERS: Final[Mapping[str, SomeNumber]] = MappingProxyType(
    {
        "int": SomeInt(1),
        "bool": SomeBool(1),
        "float": SomeNumber(1),
        "complex": SomeComplex(1),
    }
)
"""The numbers of which only the type is known, by its name."""


def join(left: Tensor, right: Tensor) -> Tensor:
    """The least that covers both tensors."""
    return Tensor(
        join_dims(left.dims, right.dims),
        dtypes.join(left.dtype, right.dtype),
        devices.join(left.device, right.device),
        left.layout if left.layout == right.layout else UNKNOWN,
        left.memory if left.memory == right.memory else UNKNOWN,
    )


def covers(general: Tensor, specific: Tensor) -> bool:
    """Whether `general` says nothing that `specific` contradicts."""
    return (
        dtypes.covers(general.dtype, specific.dtype)
        and devices.covers(general.device, specific.device)
        and general.layout in (UNKNOWN, specific.layout)
        and general.memory in (UNKNOWN, specific.memory)
        and covers_dims(general.dims, specific.dims)
    )
