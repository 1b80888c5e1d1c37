"""The keys of store cells other than variables, attributes and mutable values.

They are dataclasses and not named tuples: a named tuple is equal to every tuple of the same items,
and a store would take it for the ``(owner, name)`` of a variable or an attribute. `AxisCell`,
`ArgumentCell` and `Representative` are the second item of such a pair, where a variable or
attribute has its name: they belong to the owner as these do.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import ClassVar, Final

from namecheck.core.dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fact:
    """An assumption of a path."""

    keeps_hash: ClassVar[bool] = True


@dataclass(frozen=True, slots=True)
class Truth(Fact):
    """Whether the value with this identity is true."""

    key: Hashable


@dataclass(frozen=True, slots=True)
class ConstantOf(Fact):
    """The constant that an opaque value is, by its key."""

    key: Hashable


@dataclass(frozen=True, slots=True)
class CandidatesOf(Fact):
    """What an opaque value may be, by its key: constants and types (`domain.candidates`)."""

    key: Hashable


@dataclass(frozen=True, slots=True)
class BoundsOf(Fact):
    """The least and the greatest int that an opaque int may be, by its key; None for no bound."""

    key: Hashable


@dataclass(frozen=True, slots=True)
class Unless(Fact):
    """Another fact about truth, with its content, that holds unless this one does.

    `key` and `truth` say what this one is: that the value with this identity is true, or is not.
    """

    key: Hashable
    truth: bool


@dataclass(frozen=True, slots=True)
class TensorTest(Fact):
    """Whether an opaque value is a tensor, by its key."""

    key: Hashable


@dataclass(frozen=True, slots=True)
class LayerTest(Fact):
    """The layer of torch, by the key of its row, that an opaque value was tested to be."""

    key: Hashable


@dataclass(frozen=True, slots=True)
class NumberTest(Fact):
    """Whether an opaque value is a number, since it is used as a size, by its key."""

    key: Hashable


@dataclass(frozen=True, slots=True)
class RankOf(Fact):
    """The rank of the tensor that an opaque value is, by its key."""

    key: Hashable


@dataclass(frozen=True, slots=True)
class ForeignVersion(Fact):
    """Whether a library version, or a value that perhaps never is, decides that a path is taken."""


@dataclass(frozen=True, slots=True)
class EqualSizes(Fact):
    """Which sizes are equal (namecheck.interpreter.domain.equalities)."""


@dataclass(frozen=True, slots=True)
class UnequalSizes(Fact):
    """The pairs of sizes that a test has told to differ, each as the words of both."""


@dataclass(frozen=True, slots=True)
class Written:
    """The number of the last write to a mutable value."""

    keeps_hash: ClassVar[bool] = True
    address: Hashable


@dataclass(frozen=True, slots=True)
class Initial:
    """The content with which the value of a written cell was made."""

    cell: Hashable


@dataclass(frozen=True, slots=True)
class AttributeNames:
    """The names of the attributes that any path has written to an instance."""

    keeps_hash: ClassVar[bool] = True
    address: Hashable


def lacking(name: str) -> str:
    """The attribute under which an object has a mark that it may lack an attribute.

    It was deleted, or written on one of several paths only.
    """
    return f"<may lack {name}>"


@dataclass(frozen=True, slots=True)
class MembersOf:
    """What all variables of a scope, or all attributes of an object, are called on one path."""

    address: Hashable


@dataclass(frozen=True, slots=True)
class ModuleImport:
    """Whether a file of the program was imported under this name."""

    name: str


@dataclass(frozen=True, slots=True)
class GeneratorItems:
    """The items that the generator of an environment may still yield."""

    environment: int


@dataclass(frozen=True, slots=True)
class CollectedItems:
    """The items that the generator of an environment has yielded so far."""

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
    """The return value of a path that left a ``with`` block early."""

    number: int


@dataclass(frozen=True, slots=True)
class TorchState:
    """A state of torch that the whole program shares."""

    name: str


@dataclass(frozen=True, slots=True)
class ModuleAttributes:
    """The attributes of a module's tensors by its address, after the run that wrote them.

    These are the device, the dtype and the memory format. One cell has all, as each layer has one.
    """

    keeps_hash: ClassVar[bool] = True
    address: Hashable


@dataclass(frozen=True, slots=True)
class ModuleHook:
    """Whether a hook of this kind changes the calls of a module; of every module for None."""

    BEFORE: ClassVar[str] = "before"
    AFTER: ClassVar[str] = "after"

    kind: str
    address: Hashable


@dataclass(frozen=True, slots=True)
class AxisCell:
    """The binding of an axis, in an environment or an instance.

    `of_field` where a field or an attribute of the instance has bound it.
    """

    keeps_hash: ClassVar[bool] = True
    axis: str
    of_field: bool = False


@dataclass(frozen=True, slots=True)
class ArgumentCell:
    """The argument for an optional parameter with dims, in the environment of an entry point."""

    parameter: str


@dataclass(frozen=True, slots=True)
class Representative:
    """Whether entry points made this instance, for any instance of its class."""


MOST_CANDIDATES: Final = 16
"""How many candidates of one value are kept apart."""
FOREIGN: Final = ForeignVersion()
EQUAL_SIZES: Final = EqualSizes()
UNEQUAL_SIZES: Final = UnequalSizes()
DEFAULT_DEVICE: Final = TorchState("default device")
DEFAULT_DTYPE: Final = TorchState("default dtype")
# Changes where a module is switched to training or evaluation: its `training` may differ then.
TRAINING_MODE: Final = TorchState("training mode")
# Set where calls of modules may differ from torch's own: after a hook, or a patch of torch.
MODULE_CALLS: Final = TorchState("calls of modules")
# Set in the block of a context of the program that changes what operators do.
TORCH_MODE: Final = TorchState("mode")
