"""The parameters of torch's callables that take names, read from the table.

A row is read at the first call of its operator: most files call few of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from namecheck.core.dataclasses import dataclass
from namecheck.core.parameters import REQUIRED
from namecheck.effects.words import Parameter, Signature
from namecheck.operators import Operator, table
from namecheck_mypy.vocabulary import lines

# The kinds of parameters that take an index or several; each also takes names.
_INDICES: Final = frozenset({"dim", "dims"})
_NAMES: Final = frozenset({"name", "names"})
_SEVERAL: Final = frozenset({"dims", "names"})


@dataclass(frozen=True, slots=True)
class NamedParameters:
    """The parameters of one callable that take names.

    `several_by_name` has each parameter that looks dims up, with True if it takes several dims.
    `keywords` are the optional keywords that name the dims of the result, `naming` the overloads
    with a parameter that takes names only.
    """

    several_by_name: dict[str, bool]
    keywords: dict[str, Parameter]
    naming: tuple[Signature, ...]


def method(name: str) -> NamedParameters | None:
    """The parameters of ``Tensor.name`` that take names, None if there are none."""
    return _of_first((name, "m"), (name, "i"), (name.removesuffix("_"), "i"))


def function(name: str) -> NamedParameters | None:
    """The parameters of ``torch.name`` that take names, None if there are none."""
    return _of_first((name, "n"), (name, "f"), (name, "j"), (name.removesuffix("_"), "j"))


def naming_api() -> Iterator[Operator]:
    """The rows of the naming API: methods, and the attribute ``names``."""
    return (table()[key] for key in lines.naming_api())


def _of_first(*operator_forms: tuple[str, str]) -> NamedParameters | None:
    """The parameters of the first pair of key and form that is in the table."""
    for key, form in operator_forms:
        if key in table() and form in table()[key].forms:
            return _read([signature for _, signature in table()[key].alternatives(form)])
    return None


def _read(overloads: list[Signature]) -> NamedParameters | None:
    parameters = [p for each in overloads for p in each]
    indices = {p.name for p in parameters if p.kinds & _INDICES}
    new = [p for p in parameters if p.kinds & _NAMES and p.name not in indices]
    keywords = {p.name: p for p in new if p.keyword_only and _is_optional(p)}
    several_by_name: dict[str, bool] = {}
    for parameter in parameters:
        if parameter.name not in keywords and parameter.kinds & (_INDICES | _NAMES):
            several = bool(parameter.kinds & _SEVERAL)
            several_by_name[parameter.name] = several or several_by_name.get(parameter.name, False)
    names_only = several_by_name.keys() - indices
    naming = tuple(each for each in overloads if names_only & {p.name for p in each})
    if not several_by_name and not keywords:
        return None
    return NamedParameters(several_by_name, keywords, naming)


def _is_optional(parameter: Parameter) -> bool:
    return "none" in parameter.kinds or parameter.default is not REQUIRED
