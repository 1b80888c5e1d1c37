"""Abstract tensors (dimensions and attributes) and other abstract arguments of calls."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar, Final

from namecheck.core import devices, dtypes, memory_order
from namecheck.core.dataclasses import dataclass, replace
from namecheck.core.devices import Device
from namecheck.core.dims import OPEN, Dims, covers_dims, join_dims
from namecheck.core.dtypes import DType
from namecheck.core.memory_order import Memory
from namecheck.core.names import UNKNOWN, Name, Unknown


@dataclass(frozen=True, slots=True)
class Tensor:
    """One abstract tensor; `memory` is the order of its dims in memory.

    `likely` are its dims if each unknown operand that it was computed from broadcasts to the known
    ones (docs/semantics.md, "Likely dims"): for lints and readers, never for a finding that has to
    be certain. None where the known `dims` say all.
    """

    keeps_hash: ClassVar[bool] = True
    dims: Dims = OPEN
    dtype: DType = UNKNOWN
    device: Device = UNKNOWN
    layout: str | Unknown = UNKNOWN
    memory: Memory = UNKNOWN
    likely: Dims | None = None

    @property
    def likeliest(self) -> Dims:
        """The likely dims, which are the known ones where nothing else is likely."""
        likely = self.likely
        if likely is None or (not self.dims.open and self.dims.rank != likely.rank):
            return self.dims
        return likely

    def brief(self) -> str:
        """The dims for a reader: ``N C=3 ... _``, with a word after those that are only likely."""
        likeliest = self.likeliest
        return likeliest.brief() if likeliest == self.dims else f"{likeliest.brief()} (likely)"

    @property
    def names(self) -> tuple[Name, ...]:
        """The names of all known dims, in order."""
        return self.dims.names

    def of_any_dims(self, likely: Dims | None = None) -> Tensor:
        """The tensor with unknown dims, whose order in memory is unknown with them."""
        return replace(self, dims=OPEN, memory=UNKNOWN, likely=likely)


@dataclass(frozen=True, slots=True)
class Many:
    """A sequence of an unknown number of tensors that share one description."""

    each: Tensor


@dataclass(frozen=True, slots=True)
class Maybe:
    """A tensor or None: an attribute that is set later."""

    tensor: Tensor


@dataclass(frozen=True, slots=True)
class Constant:
    """A constant of torch: ``Constant("dtype", "float32")``.

    The kinds are dtype, device, layout and memory_format. Its text is the one that torch prints.
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
    """Some number, to a rule like any other; `examples` has one of each possible type."""

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
    """Some complex number; it may also be an int or a float."""

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
"""The numbers of unknown value, by the name of their type."""


def join(tensor: Tensor, other_tensor: Tensor) -> Tensor:
    """The least upper bound of both tensors."""
    dims = join_dims(tensor.dims, other_tensor.dims)
    likely: Dims | None = None
    if tensor.likely is not None or other_tensor.likely is not None:
        likely = join_dims(tensor.likeliest, other_tensor.likeliest)
    return Tensor(
        dims,
        dtypes.join(tensor.dtype, other_tensor.dtype),
        devices.join(tensor.device, other_tensor.device),
        tensor.layout if tensor.layout == other_tensor.layout else UNKNOWN,
        tensor.memory if tensor.memory == other_tensor.memory else UNKNOWN,
        None if likely == dims else likely,
    )


def covers(general_tensor: Tensor, specific_tensor: Tensor) -> bool:
    """Whether `general_tensor` covers `specific_tensor`."""
    return (
        dtypes.covers(general_tensor.dtype, specific_tensor.dtype)
        and devices.covers(general_tensor.device, specific_tensor.device)
        and general_tensor.layout in (UNKNOWN, specific_tensor.layout)
        and memory_order.covers(
            general_tensor.memory, specific_tensor.memory, specific_tensor.dims.sizes
        )
        and covers_dims(general_tensor.dims, specific_tensor.dims)
        and (
            general_tensor.likely is None
            or covers_dims(general_tensor.likely, specific_tensor.likeliest)
        )
    )
