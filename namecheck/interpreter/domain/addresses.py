"""The addresses of objects that the program did not make; those that it makes have numbers."""

from __future__ import annotations

from collections.abc import Hashable
from typing import ClassVar

from namecheck.core.dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class OpaqueTensor:
    """The tensor that an opaque value is, by its key."""

    keeps_hash: ClassVar[bool] = True
    key: Hashable


@dataclass(frozen=True, slots=True)
class ParameterTensor:
    """A tensor that unknown code passes for a parameter."""

    number: int


@dataclass(frozen=True, slots=True)
class AttributeTensor:
    """A tensor that is read from another one: it may be one that was read before."""

    number: int


@dataclass(frozen=True, slots=True)
class HeldTensor:
    """Any one of the parameters and buffers of a module."""

    number: int


@dataclass(frozen=True, slots=True)
class LayerTensor:
    """A parameter or buffer of a layer of torch."""

    layer: Hashable
    name: str


@dataclass(frozen=True, slots=True)
class Submodules:
    """The dict of a module's submodules."""

    module: Hashable
