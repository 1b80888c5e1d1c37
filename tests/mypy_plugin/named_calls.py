"""Calls of every row of the table that takes a dim: with ints, with names, and with wrong types.

For each parameter that takes a dim there is a call by position and one by keyword, in each form
that the row has. The other arguments follow from the kinds of the parameters.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from namecheck.core.parameters import REQUIRED
from namecheck.effects.words import Parameter, Signature
from namecheck.operators import Operator, table

_NAMES: Final = frozenset({"name", "names"})
_DIMS: Final = frozenset({"dim", "dims"}) | _NAMES

# Source for a value of each kind, the simplest kind of a parameter first.
_WRITTEN: Final = {
    "tensor": "x",
    "tensors": "[x, x]",
    "dim": "0",
    "int": "1",
    "ints": "[1, 2]",
    "number": "1.0",
    "float": "0.5",
    "bool": "True",
    "dims": "[0, 1]",
    "name": '"N"',
    "names": '["N", "C"]',
    "str": '"mean"',
    "any": "1",
}
_NEITHER: Final = "object()"


@dataclass(frozen=True, slots=True)
class NamedCall:
    """One call in several forms: `ints` is empty where only names are possible."""

    names: str
    ints: str
    neither: str


def all_calls() -> list[NamedCall]:
    """All of them, each once, in the order of the table."""
    return list(dict.fromkeys(call for row in table().values() for call in _calls_of(row)))


def _calls_of(row: Operator) -> Iterator[NamedCall]:
    for form in row.forms:
        callee = _callee(row.key, form)
        for _, line in row.alternatives(form) if callee else ():
            for index, parameter in enumerate(line):
                if parameter.kinds & _DIMS:
                    yield from _calls(callee, line[form in "mi" :], index - (form in "mi"))


def _callee(key: str, form: str) -> str:
    """The callee of a row in one form; empty where the form is no call."""
    in_place = key if key.endswith("_") else f"{key}_"
    by_form = {"m": f"x.{key}", "i": f"x.{in_place}", "j": f"torch.{in_place}"}
    return by_form.get(form, f"torch.{key}" if form in "fn" else "")


def _calls(callee: str, line: Signature, target: int) -> Iterator[NamedCall]:
    parameter = line[target]
    for names, ints in _spellings(parameter):
        spoken = [names, ints, _NEITHER]
        if not parameter.keyword_only:
            yield _call(callee, line, target, spoken, keyword=False)
        if not parameter.variadic:
            yield _call(callee, line, target, spoken, keyword=True)


def _spellings(parameter: Parameter) -> Iterator[tuple[str, str]]:
    """The values of a parameter, as names and as ints; no ints where it accepts only names."""
    alone = not parameter.kinds - _NAMES - {"none"}
    if parameter.kinds & {"dim", "name"}:
        yield '"N"', "" if alone else "0"
    if parameter.kinds & {"dims", "names"}:
        yield '["N", "C"]', "" if alone else "[0, 1]"
        yield '("N",)', "" if alone else "(0,)"
    if parameter.variadic:
        yield '"N", "C"', "0, 1"


def _call(
    callee: str, line: Signature, target: int, spoken: list[str], *, keyword: bool
) -> NamedCall:
    names, ints, neither = (
        f"{callee}({', '.join(_arguments(line, target, value, keyword=keyword))})" * bool(value)
        for value in spoken
    )
    return NamedCall(names, ints, neither)


def _arguments(line: Signature, target: int, value: str, *, keyword: bool) -> Iterator[str]:
    """The argument under test, with the required arguments before and after it."""
    named = keyword
    for index, parameter in enumerate(line):
        if index == target:
            yield f"{parameter.name}={value}" if named or parameter.keyword_only else value
            named = True
        elif parameter.default is REQUIRED and "none" not in parameter.kinds:
            written = next(text for kind, text in _WRITTEN.items() if kind in parameter.kinds)
            bare = index < target and not parameter.keyword_only
            yield written if bare or parameter.variadic else f"{parameter.name}={written}"
        elif index < target and not named and not parameter.keyword_only:
            yield repr(parameter.default)
