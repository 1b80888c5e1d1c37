"""The keys of the cells of a store that are no variable, no attribute and no mutable value.

They are dataclasses and not named tuples: a named tuple is equal to every tuple of the same items,
and a store would take it for the ``(owner, name)`` of a variable or an attribute.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final

from namecheck.core.dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fact:
    """What a path assumes."""


@dataclass(frozen=True, slots=True)
class Truth(Fact):
    """Whether the value of this identity is true."""

    key: Hashable


@dataclass(frozen=True, slots=True)
class ConstantOf(Fact):
    """The constant that an opaque value is, by its key."""

    key: Hashable


@dataclass(frozen=True, slots=True)
class CandidatesOf(Fact):
    """The constants one of which an opaque value is, by its key."""

    key: Hashable


@dataclass(frozen=True, slots=True)
class TensorTest(Fact):
    """That an opaque value is a tensor, by its key."""

    key: Hashable


@dataclass(frozen=True, slots=True)
class RankOf(Fact):
    """The rank of the tensor that an opaque value is, by its key."""

    key: Hashable


@dataclass(frozen=True, slots=True)
class ForeignVersion(Fact):
    """That only another version of a library takes this path."""


@dataclass(frozen=True, slots=True)
class EqualSizes(Fact):
    """Which sizes are equal (namecheck.interpreter.domain.equalities)."""


@dataclass(frozen=True, slots=True)
class Written:
    """The number of the last write to a mutable value."""

    address: Hashable


@dataclass(frozen=True, slots=True)
class ModuleImport:
    """That a file of the program was imported under this name."""

    name: str


@dataclass(frozen=True, slots=True)
class GeneratorItems:
    """What the generator of an environment still may give."""

    environment: int


@dataclass(frozen=True, slots=True)
class CollectedItems:
    """What the generator of an environment has given so far."""

    environment: int


@dataclass(frozen=True, slots=True)
class EnumerateIndex:
    """The next index of an ``enumerate`` of a generator."""

    number: int


@dataclass(frozen=True, slots=True)
class ExitKind:
    """How a path left a ``with`` block early: the kind of its exit."""

    number: int


@dataclass(frozen=True, slots=True)
class ExitValue:
    """What a path that left a ``with`` block early returns."""

    number: int


@dataclass(frozen=True, slots=True)
class TorchState:
    """A state of torch that the whole program shares."""

    name: str


@dataclass(frozen=True, slots=True)
class ModuleAttribute:
    """The device, dtype or format of what a module holds, by its address."""

    attribute: str
    address: Hashable


@dataclass(frozen=True, slots=True)
class ModuleAttributeRun:
    """The run that wrote a `ModuleAttribute`."""

    attribute: str
    address: Hashable


FOREIGN: Final = ForeignVersion()
EQUAL_SIZES: Final = EqualSizes()
DEFAULT_DEVICE: Final = TorchState("default device")
DEFAULT_DTYPE: Final = TorchState("default dtype")
# Changes where a module is switched to training or evaluation: its `training` may differ then.
TRAINING_MODE: Final = TorchState("training mode")
