"""Which callables of torch take names, and in which of their parameters: read from the table.

A row is read when a call asks for it: most files call few of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from namecheck.operators import Operator, table
from namecheck.operators.signatures import REQUIRED, Parameter, Signature
from namecheck_mypy.vocabulary import lines

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


def method(name: str) -> Spoken | None:
    """How ``Tensor.name`` is spoken to by names; None where nothing in it takes any."""
    return _spoken((name, "m"), (name, "i"), (name.removesuffix("_"), "i"))


def function(name: str) -> Spoken | None:
    """The same of ``torch.name``."""
    return _spoken((name, "n"), (name, "f"), (name, "j"), (name.removesuffix("_"), "j"))


def naming_api() -> Iterator[Operator]:
    """The rows of the naming API: methods, and the attribute ``names``."""
    return (table()[key] for key in lines.naming_api())


def _spoken(*places: tuple[str, str]) -> Spoken | None:
    """What the first of these places, key and form, tells that is in the table."""
    for key, form in places:
        if key in table() and form in table()[key].forms:
            return _read([signature for _, signature in table()[key].alternatives(form)])
    return None


def _read(overloads: list[Signature]) -> Spoken | None:
    parameters = [p for each in overloads for p in each]
    indices = {p.name for p in parameters if p.kinds & _INDICES}
    new = [p for p in parameters if p.kinds & _NAMES and p.name not in indices]
    keywords = {p.name: p for p in new if p.keyword_only and _is_optional(p)}
    dims: dict[str, bool] = {}
    for parameter in parameters:
        if parameter.name not in keywords and parameter.kinds & (_INDICES | _NAMES):
            several = bool(parameter.kinds & _SEVERAL)
            dims[parameter.name] = several or dims.get(parameter.name, False)
    naming = tuple(each for each in overloads if dims.keys() & {p.name for p in each} - indices)
    return Spoken(dims, keywords, naming) if dims or keywords else None


def _is_optional(parameter: Parameter) -> bool:
    return "none" in parameter.kinds or parameter.default is not REQUIRED
