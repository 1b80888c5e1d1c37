"""The columns of a row that speak of attributes: how they are read, once, and what is wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Final, Protocol, TypeAlias

from namecheck.core.dataclasses import dataclass
from namecheck.effects import device, dtype, layout, memory_order, needs, outputs, overlap
from namecheck.effects.attributes import Effects
from namecheck.effects.words import ParameterNames, WordError
from namecheck.rules import registry


class Row(Protocol):
    """What a row says in the columns for attributes; `Operator` has them."""

    @property
    def names(self) -> str:
        """The rule for the names."""

    @property
    def dtype(self) -> str:
        """What becomes of dtypes."""

    @property
    def needs(self) -> Mapping[str, str]:
        """Which dtypes arguments must have."""

    @property
    def lacks(self) -> tuple[str, ...]:
        """Which kernel there is not, by overload."""

    @property
    def into(self) -> tuple[str, ...]:
        """Which dtypes an output may have, by overload."""

    @property
    def device(self) -> str:
        """Where the result is."""

    @property
    def memory(self) -> str:
        """How the result lies in memory."""

    @property
    def layout(self) -> str:
        """The layout of the result."""

    @property
    def refuses(self) -> Mapping[str, str]:
        """Which layouts the first operand must not have."""

    @property
    def overlaps(self) -> str:
        """Whether what is written to may have elements that share memory."""

    @property
    def may_be(self) -> str:
        """Whether the result may be the input itself."""


@dataclass(frozen=True, slots=True)
class Overload:
    """What one overload takes: the parameters for `tensors`, all `operands` that may be some.

    `formats` is whether it takes a memory format, `makes` whether it takes a device for a tensor
    that it makes. A `layer` has parameters; `switches` are the arguments that ask for these.
    """

    tensors: tuple[str, ...]
    operands: tuple[str, ...]
    formats: bool
    makes: bool
    layer: bool
    switches: tuple[str, ...]


def read(columns: Row, place: int, overload: Overload) -> Effects:
    """What a row says of attributes for its overload at a place; raises `WordError`."""
    traits = registry.traits_of(columns.names)
    of_dtype = dtype.read(
        columns.dtype,
        columns.needs,
        _at(columns.lacks, place),
        _at(columns.into, place),
        is_layer=overload.layer,
    )
    of_device = device.read(
        columns.device,
        overload.operands,
        broadcasts=traits.broadcasts,
        makes=overload.makes,
        is_layer=overload.layer,
        switches=overload.switches,
    )
    of_memory = memory_order.read(
        columns.memory,
        columns.names,
        overload.tensors,
        formats=overload.formats,
        copies=not columns.may_be,
    )
    of_layout = layout.read(
        columns.layout, columns.refuses, overload.tensors, formats=overload.formats
    )
    parameters = {*of_dtype.parameters, *of_device.parameters, *of_layout.counted}
    return Effects(
        of_dtype,
        of_device,
        of_memory,
        of_layout,
        not columns.overlaps and traits.overlaps == "refused",
        tuple(sorted(parameters)),
    )


def _at(texts: tuple[str, ...], place: int) -> str:
    """What is said of one overload; the last cell holds for all further ones."""
    return texts[min(place, len(texts) - 1)] if texts else ""


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong in one column of a row, and what is allowed there, if that is a list."""

    column: str
    problem: str
    allowed: tuple[str, ...]
    kind: str
    text: str

    def __str__(self) -> str:
        return f"{self.column}: {self.text}"


Cell: TypeAlias = str | Iterable[str] | Mapping[str, str]

_CELLS: Final[Mapping[str, Callable[[str, ParameterNames | None], None]]] = MappingProxyType(
    {
        "dtype": dtype.check_cell,
        "lacks": dtype.check_kernel,
        "into": outputs.check_cell,
        "device": device.check_cell,
        "memory": memory_order.check_cell,
        "layout": layout.check_cell,
        "overlaps": overlap.check_cell,
    }
)
_ENTRIES: Final[Mapping[str, Callable[[str, str, ParameterNames | None], None]]] = MappingProxyType(
    {"needs": needs.check_entry, "refuses": layout.check_refusal}
)
COLUMNS: Final = (*_CELLS, *_ENTRIES)
"""The columns that `check` knows."""


def check(column: str, column_content: Cell, parameters: ParameterNames | None) -> Fault | None:
    """What is wrong with one column of a row; None where nothing is.

    `column_content` is what the row says there: text, a list of texts, or a table. `parameters` are
    all that the row has, also those with which a layer is made; None where they are not known.
    """
    try:
        if isinstance(column_content, Mapping):
            for key, text in column_content.items():
                _ENTRIES[column](key, text, parameters)
        else:
            for text in (column_content,) if isinstance(column_content, str) else column_content:
                _CELLS[column](text, parameters)
    except WordError as error:
        return Fault(column, error.problem, error.allowed, error.kind, str(error))
    return None
