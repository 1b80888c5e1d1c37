"""Which callables of torch take names, and in which of their parameters: read from the table.

A row is read when a call asks for it: most files call few of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Final

from namecheck.operators import Operator, table
from namecheck.signatures import REQUIRED, Parameter, Signature

OWNERS: Final = ("torch._C.TensorBase", "torch._tensor.Tensor")
"""The classes in which torch's stubs keep what is called ``Tensor.x``."""

# The modules in which they keep what is called ``torch.x``.
_MODULES: Final = ("torch._C._VariableFunctions.", "torch.functional.", "torch.")

# How the table marks the rows of the naming API (named_tensor.rst).
_NAMING: Final = "See documentation"

# The kinds that stand for a dim or for several; a name goes wherever an index goes.
_INDICES: Final = frozenset({"dim", "dims"})
_NAMES: Final = frozenset({"name", "names"})
_SEVERAL: Final = frozenset({"dims", "names"})


@dataclass(frozen=True, slots=True)
class Spoken:
    """How one callable is spoken to by names.

    `dims` tells of each parameter that looks dims up whether it takes several of them at once;
    `keywords` are the optional keywords that name what is made; `naming` are the overloads in
    which something can be said by names alone.
    """

    dims: dict[str, bool]
    keywords: dict[str, Parameter]
    naming: tuple[Signature, ...]


@cache
def method(name: str) -> Spoken | None:
    """How ``Tensor.name`` is spoken to by names; None where nothing in it takes any."""
    return _spoken((name, "m"), (name, "i"), (name.removesuffix("_"), "i"))


@cache
def function(fullname: str) -> Spoken | None:
    """The same of a function of torch, by its full name in the stubs."""
    name = next((fullname.removeprefix(m) for m in _MODULES if fullname.startswith(m)), "")
    return _spoken((name, "n"), (name, "f"), (name, "j"), (name.removesuffix("_"), "j"))


def naming_api() -> Iterator[Operator]:
    """The rows of the naming API: methods, and the attribute ``names``."""
    return (table()[key] for key in table().mentioning(_NAMING))


def _spoken(*places: tuple[str, str]) -> Spoken | None:
    """What the first of these places, key and form, tells that is in the table."""
    for key, form in places:
        if key in table() and form in table()[key].forms:
            return _read([line for _, line in table()[key].alternatives(form)])
    return None


def _read(lines: list[Signature]) -> Spoken | None:
    parameters = [p for line in lines for p in line]
    indices = {p.name for p in parameters if p.kinds & _INDICES}
    new = [p for p in parameters if p.kinds & _NAMES and p.name not in indices]
    keywords = {p.name: p for p in new if p.keyword_only and _is_optional(p)}
    dims: dict[str, bool] = {}
    for parameter in parameters:
        if parameter.name not in keywords and parameter.kinds & (_INDICES | _NAMES):
            several = bool(parameter.kinds & _SEVERAL)
            dims[parameter.name] = several or dims.get(parameter.name, False)
    naming = tuple(line for line in lines if dims.keys() & {p.name for p in line} - indices)
    return Spoken(dims, keywords, naming) if dims or keywords else None


def _is_optional(parameter: Parameter) -> bool:
    return "none" in parameter.kinds or parameter.default is not REQUIRED
