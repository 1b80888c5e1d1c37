"""The attribute columns of a row: read once, and checked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Final, Protocol, TypeAlias

from namecheck.core.dataclasses import dataclass
from namecheck.effects import (
    conditions,
    device,
    dtype,
    layout,
    memory_order,
    needs,
    outputs,
    overlap,
)
from namecheck.effects.attributes import Effects
from namecheck.effects.words import ParameterNames, WordError, read_condition
from namecheck.rules import registry


class Row(Protocol):
    """The attribute columns of a row; `Operator` has them."""

    @property
    def names(self) -> str:
        """The rule for the names."""

    @property
    def dtype(self) -> str:
        """The dtype of the result."""

    @property
    def needs(self) -> Mapping[str, str]:
        """The dtypes that arguments must have."""

    @property
    def lacks(self) -> tuple[str, ...]:
        """The dtypes without a kernel, by overload."""

    @property
    def into(self) -> tuple[str, ...]:
        """The dtypes that an output may have, by overload."""

    @property
    def irregular(self) -> str:
        """The condition on which the dtype of the result is unknown."""

    @property
    def device(self) -> str:
        """The device of the result."""

    @property
    def memory(self) -> str:
        """The memory order of the result."""

    @property
    def layout(self) -> str:
        """The layout of the result."""

    @property
    def refuses(self) -> Mapping[str, str]:
        """The layouts that the first operand must not have."""

    @property
    def overlaps(self) -> str:
        """Whether the tensor that is written to may have elements that share memory."""

    @property
    def may_be(self) -> str:
        """Whether the result may be the input itself."""


@dataclass(frozen=True, slots=True)
class Overload:
    """The parameters of one overload: those for `tensors`, and all `operands`.

    `formats` is whether it has a parameter for a memory format, `makes` whether it has one for the
    device of a tensor that it makes. A `layer` has parameters; `switches` are the arguments that
    ask for these.
    """

    tensors: tuple[str, ...]
    operands: tuple[str, ...]
    formats: bool
    makes: bool
    layer: bool
    switches: tuple[str, ...]


def read(columns: Row, place: int, overload: Overload) -> Effects:
    """Read the attribute columns of a row for the overload at an index; raises `WordError`."""
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
    parameters = {*of_dtype.parameters, *of_device.walked, *of_layout.counted}
    return Effects(
        of_dtype,
        of_device,
        of_memory,
        of_layout,
        read_condition(columns.irregular) if columns.irregular else None,
        columns.overlaps != "taken" and traits.overlaps == "refused",
        overlap.copied(columns.overlaps),
        tuple(sorted(parameters)),
    )


def _at(texts: tuple[str, ...], place: int) -> str:
    """The cell of one overload; the last cell holds for all further ones."""
    return texts[min(place, len(texts) - 1)] if texts else ""


@dataclass(frozen=True, slots=True)
class Fault:
    """The mistake in one column of a row, and what is allowed there, if that is a list."""

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
        "irregular": conditions.check_cell,
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
    """The mistake in one column of a row; None where there is none.

    `column_content` is the content of the column: text, a list of texts, or a table. `parameters`
    are all parameters of the row, including those of the constructor of a layer; None where they
    are unknown.
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
