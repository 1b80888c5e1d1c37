"""Checks a row of a table, and reports the column of a mistake and what is allowed there.

A test checks the shipped table; a user's own table is checked whenever it is read.
"""

from __future__ import annotations

import difflib
import inspect
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

from namecheck.effects import columns, conditions
from namecheck.effects.words import (
    Signature,
    SignatureCell,
    WordError,
    read_signature,
    read_sizes,
)
from namecheck.operators import native, signatures
from namecheck.operators.row import LISTS, TABLES, WORDS, Operator, texts
from namecheck.rules import registry

COLUMNS: Final = tuple(name for name in Operator.__dataclass_fields__ if name != "key")
FORMS: Final = "fmijonascpl"

# The columns that apply only to calls in certain forms.
_OF_FORMS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "inplace": "ij",
        "out": "o",
        "aten_out": "o",
        "into": "o",
        "ctor": "cl",
        "layer": "c",
        "holds": "c",
    }
)
# The columns with at most one text for each overload.
_OF_OVERLOADS: Final = ("aten", "aten_out", "lacks", "into")
# The longest list of allowed words in a message; instead of a longer one it has the nearest word.
_LISTED: Final = 60


class Fault(Exception):
    """The mistake in one column of a row, with all that is allowed there, if that is a list."""

    def __init__(
        self, column: str, problem: str, allowed: Iterable[str] = (), kind: str = "words"
    ) -> None:
        self.column = column
        self.problem = problem
        self.allowed = tuple(allowed)
        self.kind = kind
        super().__init__(problem)

    def __str__(self) -> str:
        words = re.findall("'([^']*)'", self.problem)
        near = difflib.get_close_matches(words[0], self.allowed, 1) if words else ()
        parts = [self.problem, *(f"did you mean '{word}'?" for word in near)]
        if 0 < len(self.allowed) <= _LISTED:
            parts.append(f"the {self.kind} are {', '.join(self.allowed)}")
        return "; ".join(parts)


def check(row: Any, *, shipped: bool = False) -> None:
    """Raises `Fault` for the first mistake in a row, as TOML has it.

    A row of the `shipped` table may have columns that only apply there.
    """
    if not isinstance(row, dict):
        raise Fault("", 'a row is a table: { forms = "fm", names = "keeps_input_names" }')
    for column, cell in row.items():
        _check_column(column, cell, shipped)
    for column in ("forms", "names"):
        if not row.get(column):
            raise Fault(column, f"the column '{column}' is missing")
    _check_forms(row)
    _check_rules(row)
    overloads = list(_overloads(row))
    ctor = _parsed("ctor", row.get("ctor", "")).signature
    _check_signatures(row, overloads, ctor)
    _check_native(row, overloads, ctor)
    _check_effects(row, overloads, ctor)
    _check_holds(row, ctor)


def _check_column(column: str, cell: Any, shipped: bool) -> None:
    """Check that a column exists, and that its cell has the right type and an allowed word."""
    if column not in COLUMNS:
        raise Fault(column, f"there is no column '{column}'", COLUMNS, "columns")
    if column in TABLES:
        if not isinstance(cell, dict):
            raise Fault(column, f"a table of {TABLES[column]} is expected")
        allowed = (int,) if column == "constants" else (str,)
        for key, value in cell.items():
            if not isinstance(value, allowed):
                expected = "a whole number" if column == "constants" else "a text"
                raise Fault(column, f"{expected} is expected for '{key}'")
    elif not isinstance(cell, str) and not (column in LISTS and _is_strings(cell)):
        several = " or a list of texts" if column in LISTS else ""
        raise Fault(column, f"a text{several} is expected")
    if column in WORDS and cell not in WORDS[column]:
        raise Fault(column, f"unknown word '{cell}'", WORDS[column])
    if column in ("relevance", "runtime") and not shipped:
        raise Fault(column, "this column applies only to the table of namecheck")


def _check_forms(row: Mapping[str, Any]) -> None:
    forms = row["forms"]
    for form in forms:
        if form not in FORMS:
            raise Fault("forms", f"unknown form '{form}'", FORMS, "forms")
    for column, needed in _OF_FORMS.items():
        if column in row and not set(forms) & set(needed):
            raise Fault(column, f"this column applies only to the forms {' '.join(needed)}")
    for letters in row.get("documented", ()):
        for form in letters:
            if form not in forms:
                raise Fault("documented", f"'{form}' is no form of the row", forms, "forms")
    overloads = max(1, len(texts(row.get("params", ()))))
    for column in _OF_OVERLOADS:
        if (count := len(texts(row.get(column, ())))) > overloads:
            raise Fault(column, f"there are {count} texts for {overloads} overloads")


def _check_rules(row: Mapping[str, Any]) -> None:
    """Check that the rules exist, and that they take the constants."""
    rules = registry.load()
    for column, others in (("names", ("unknown",)), ("native", ("", "refuses", "unknown"))):
        name = row.get(column, "")
        if name in others or native.is_conditional(name):
            continue
        if name not in rules:
            raise Fault(column, f"there is no rule '{name}'", (*rules, *others), "rules")
    for name in _rule_names(row):
        accepted = inspect.signature(rules[name]).parameters
        for key in row.get("constants", ()):
            if key not in accepted:
                problem = f"'{key}' is no parameter of the rule '{name}'"
                raise Fault("constants", problem, accepted, "parameters")


def _rule_names(row: Mapping[str, Any]) -> set[str]:
    """The rule names in the row that exist."""
    return {row["names"], row.get("native", "")} & registry.load().keys()


def _overloads(row: Mapping[str, Any]) -> Iterator[tuple[str, Signature]]:
    """The overloads of the row, with the text of each."""
    for text in texts(row.get("params", ())):
        cell = _parsed("params", text)
        for form in cell.forms:
            if form not in row["forms"] and form != "p":
                raise Fault("params", f"'{form}' is no form of the row", row["forms"], "forms")
        yield text, cell.signature


def _parsed(column: str, text: str) -> SignatureCell:
    try:
        cell = read_signature(text)
    except WordError as error:
        raise Fault(column, error.problem, error.allowed, error.kind) from error
    names = [parameter.name for parameter in cell.signature]
    for number, parameter in enumerate(cell.signature):
        for kind in sorted(parameter.kinds):
            if kind not in signatures.KINDS:
                raise Fault(column, f"unknown kind '{kind}'", sorted(signatures.KINDS), "kinds")
        if parameter.name in names[:number]:
            raise Fault(column, f"the parameter '{parameter.name}' is there twice in '{text}'")
    return cell


def _check_signatures(
    row: Mapping[str, Any], overloads: list[tuple[str, Signature]], ctor: Signature
) -> None:
    """Check that every overload passes the parameters that the rules require, under their names."""
    rules = registry.load()
    allowed = {
        name for rule in _rule_names(row) for name in inspect.signature(rules[rule]).parameters
    }
    for _, signature in overloads if allowed else ():
        for declared in signature:
            if declared.role and declared.role not in allowed:
                problem = f"'{declared.role}' is no parameter of the rule '{row['names']}'"
                raise Fault("params", problem, sorted(allowed), "parameters")
    for name in sorted(_rule_names(row)):
        accepted = inspect.signature(rules[name]).parameters
        needed = [
            parameter.name
            for parameter in accepted.values()
            if parameter.default is parameter.empty
            and parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
        ]
        for text, signature in overloads:
            received = _roles(signature) | _roles(ctor) | row.get("constants", {}).keys()
            spare = [parameter for parameter in accepted if parameter not in received]
            for parameter in sorted(received.difference(accepted)):
                if difflib.get_close_matches(parameter, spare, 1, 0.8):
                    problem = f"'{parameter}' is no parameter of the rule '{name}'"
                    raise Fault("params", problem, accepted, "parameters")
            for parameter in needed:
                if parameter not in received:
                    raise Fault(
                        "params",
                        f"the rule '{name}' needs '{parameter}', which '{text}' does not give",
                    )


def _roles(signature: Signature) -> set[str]:
    """The parameters by the names that the rule uses."""
    return {parameter.role or parameter.name for parameter in signature}


def _check_native(
    row: Mapping[str, Any], overloads: list[tuple[str, Signature]], ctor: Signature
) -> None:
    try:
        clauses = native.read(row.get("native", "")).clauses
    except WordError as error:
        raise Fault("native", error.problem, error.allowed, error.kind) from error
    names = frozenset().union(*(clause.parameters for clause in clauses))
    allowed = _roles(ctor).union(*(_roles(signature) for _, signature in overloads))
    for name in sorted(names - allowed - native.OF_CLAUSES):
        raise Fault("native", f"unknown parameter '{name}'", sorted(allowed), "parameters")


def _check_effects(
    row: Mapping[str, Any], overloads: list[tuple[str, Signature]], ctor: Signature
) -> None:
    """Check the attribute columns, whose words `namecheck.effects` defines."""
    rule = registry.load().get(row["names"])
    declared = [signature for _, signature in overloads]
    if not declared and rule is not None:
        declared = [signatures.of(rule)]
    parameters: Collection[str] | None = None
    if declared:
        parameters = _roles(ctor).union(row.get("constants", ()), *map(_roles, declared))
    for column in columns.COLUMNS:
        if column in row and (fault := columns.check(column, row[column], parameters)):
            raise Fault(column, fault.problem, fault.allowed, fault.kind)


def _check_holds(row: Mapping[str, Any], ctor: Signature) -> None:
    """Check that the tensor sizes of a layer are settings of its class."""
    names = {parameter.name for parameter in ctor}
    for tensor, text in row.get("holds", {}).items():
        try:
            cell = read_sizes(text)
            if cell.condition is not None:
                conditions.check(cell.condition)
        except WordError as error:
            raise Fault("holds", error.problem, error.allowed, error.kind) from error
        tested = sorted(cell.condition.parameters) if cell.condition else ()
        for name in (*cell.sizes, *tested):
            if name != "_" and name not in names:
                problem = f"'{name}', the size of '{tensor}', is no parameter of ctor"
                raise Fault("holds", problem, sorted(names), "parameters")


def _is_strings(cell: Any) -> bool:
    return isinstance(cell, list) and all(isinstance(text, str) for text in cell)
