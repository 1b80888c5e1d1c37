"""How opaque values are made: two opaque values with equal provenance are one value.

The fields of a provenance are what identifies the values that it is made of: the key of an opaque
value, the address and content of a tensor, any other value itself (`identities.of`).
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final

from namecheck.core.dataclasses import dataclass
from namecheck.core.sizes import Known


@dataclass(frozen=True, slots=True)
class Provenance:
    """How an opaque value is made."""

    def parts(self) -> list[object]:
        """The parts that it is made of."""
        field_names: tuple[str, ...] = self.__match_args__
        return [getattr(self, name) for name in field_names]


@dataclass(frozen=True, slots=True)
class Fresh(Provenance):
    """A value of unknown origin; its number makes it unequal to all others.

    `reason` helps whoever debugs the analysis; that of one of several values, "join", is also read:
    whichever it is, a number has one size.
    """

    reason: str
    number: int


@dataclass(frozen=True, slots=True)
class Failed(Provenance):
    """The missing result of an operator with a contradiction: nothing is concluded from it.

    So is a value that may be such a result.
    """

    number: int


@dataclass(frozen=True, slots=True)
class MadeOf(Provenance):
    """A value that unknown code made from others, some of them foreign or failed."""

    made: Hashable
    sources: tuple[Hashable, ...]


@dataclass(frozen=True, slots=True)
class Version(Provenance):
    """The version of a library, or whether a library has an attribute in that version."""

    subject: Hashable
    attribute: Hashable = None


@dataclass(frozen=True, slots=True)
class UnmeantTensor(Provenance):
    """A tensor, or a row of it, that is unpacked where the code is written for another value."""

    number: int


@dataclass(frozen=True, slots=True)
class Parameter(Provenance):
    """An unknown parameter, by the number of its environment and its name."""

    number: int
    name: str = ""


@dataclass(frozen=True, slots=True)
class Variable(Provenance):
    """A variable that was never written in the environment of this number."""

    environment: int
    name: str


@dataclass(frozen=True, slots=True)
class Attribute(Provenance):
    """An attribute that was never written."""

    owner: Hashable
    name: str


@dataclass(frozen=True, slots=True)
class Item(Provenance):
    """An item of an opaque value; `index_type` tells 1 from True."""

    container: Hashable
    index: Hashable
    index_type: str = ""


@dataclass(frozen=True, slots=True)
class SizeOf(Provenance):
    """A size that is no constant, which its symbols identify."""

    size: Known


@dataclass(frozen=True, slots=True)
class Operation(Provenance):
    """A Python operator, by the name of its node in `ast`.

    ``a > b`` is ``Lt`` of b and a; what negates another (``NotEq``, ``not``) is `Negation`.
    """

    operator: str
    operands: tuple[Hashable, ...]


@dataclass(frozen=True, slots=True)
class Negation(Provenance):
    """``not value``."""

    value: Hashable


@dataclass(frozen=True, slots=True)
class Chain(Provenance):
    """``a < b < c``: that all comparisons hold."""

    comparisons: tuple[Hashable, ...]


@dataclass(frozen=True, slots=True)
class Text(Provenance):
    """A string put together of parts."""

    fragments: tuple[Hashable, ...]


@dataclass(frozen=True, slots=True)
class OperatorResult(Provenance):
    """A result of an operator of the table that contains no tensor.

    `path` leads to one of several answers: the index in the tuple, and in the tuple within it.
    """

    operator: str
    operands: tuple[Hashable, ...]
    words: tuple[str, ...] = ()
    path: tuple[int, ...] = ()

    @property
    def key(self) -> str:
        """The key of the operator's row."""
        return self.operator.removeprefix("Tensor.")

    @property
    def reads_shape(self) -> bool:
        """Whether it is of all sizes of a tensor: ``x.shape``, ``x.size()``."""
        return self.operator in _SHAPES and len(self.operands) == 1


_SHAPES: Final = frozenset({"shape", "size", "Tensor.size"})


@dataclass(frozen=True, slots=True)
class Result(Provenance):
    """The result of a built-in function, equal for equal arguments."""

    function: str
    args: tuple[Hashable, ...]


@dataclass(frozen=True, slots=True)
class Asked(Provenance):
    """The result of a query of unknown code (``is_available()``) in one round of a loop."""

    round: int
    callee: Hashable
    args: tuple[Hashable, ...]
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Training(Provenance):
    """Whether a module is in training; `mode` changes where a module is switched."""

    module: Hashable
    mode: Hashable
