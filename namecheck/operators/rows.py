"""The rows of the table of operators: what one says, and how a table is read."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from types import MappingProxyType
from typing import Any, Final

from namecheck.core.faults import TableError
from namecheck.effects import columns
from namecheck.effects.attributes import Effects
from namecheck.operators import native as native_column
from namecheck.operators import signatures
from namecheck.operators.native import Refusals
from namecheck.operators.shipped import Shipped, column, shipped
from namecheck.operators.signatures import Signature
from namecheck.rules import refusals, registry


@dataclass(frozen=True)
class Operator:
    """One row of the table.

    `forms` are letters: f ``torch.x``, m ``Tensor.x``, i ``Tensor.x_``, j ``torch.x_``, o ``out=``,
    n ``torch.nn.functional.x``, a an attribute, s an attribute that can be set, c a class of
    ``torch.nn``, p a function and l a layer (a class) of another package, under its whole dotted
    name. `native` is empty where torch 2.12 follows the same rule, "refuses" where it
    is not yet supported, the clauses of `operators.native` where it refuses some calls, else the
    rule that it follows. `aten` tells for each of `params` the name
    in the not-yet-supported message, nothing where that overload is supported, `x(dimname)` where
    torch refuses a name in place of an index; `aten_out` the same for calls with ``out=``.
    `inplace` tells what an in-place call does: "unifies" (the receiver takes the computed names),
    "contracts" (the same, with the other shape message), "keeps" (its names stay), "becomes" (it is
    the result, whatever that is); `out` whether a tensor given as ``out=`` "takes" the computed
    names or "keeps" its own; "resized" that it takes them whatever its shape was, "abandoned" that
    its first name stays. `may_be` is "input" where the result may be the input itself and no new
    tensor, as ``x.float()`` of floats is. `ctor` has the parameters with which a class of
    ``torch.nn`` is made; a call has these arguments first, then those of `params`. `layer`
    is "whole" where torch runs such a class in a function that is in no row, so that at run time
    the call of the layer is the operator. `flow` tells what the operator does to what lints follow
    (`FLOWS`), `relevance` that the last word of its key makes a function worth an analysis: for
    "names" or for "attributes" (`namecheck.interpreter.workspace.relevance`); `runtime` is
    "by hand" where the shim has a function of its own for it. What `dtype` and `lacks`
    tell of elements is said in `effects.dtype`, what `needs` tells in `effects.needs`, what `into`
    tells of outputs in `effects.outputs`, what `device` tells in `effects.device`, what `memory`
    tells of their order in `effects.memory_order`, what `layout` and `refuses` tell of layouts in
    `effects.layout`, what `overlaps` tells of tensors that are written to in `effects.overlap`.
    `constants` are what the rule takes besides the call's arguments. `documented` maps forms to the
    label of the documented table.
    """

    key: str
    forms: str
    names: str
    native: str = ""
    aten: tuple[str, ...] = ()
    aten_out: tuple[str, ...] = ()
    params: tuple[str, ...] = ()
    ctor: str = ""
    layer: str = ""
    flow: str = ""
    relevance: str = ""
    runtime: str = ""
    dtype: str = ""
    needs: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    lacks: tuple[str, ...] = ()
    into: tuple[str, ...] = ()
    device: str = ""
    memory: str = ""
    layout: str = ""
    overlaps: str = ""
    refuses: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    holds: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    returns: tuple[str, ...] = ()
    inplace: str = "unifies"
    out: str = "takes"
    may_be: str = ""
    constants: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    documented: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    note: str = ""

    @cached_property
    def signatures(self) -> tuple[Signature, ...]:
        """The overloads, one for each line of `params`."""
        return tuple(map(signatures.parse, self.params))

    @cached_property
    def native_rule(self) -> str:
        """The rule that torch 2.12 follows."""
        other = self.native not in ("", "refuses") and not native_column.is_conditional(self.native)
        return self.native if other else self.names

    @cached_property
    def native_refusals(self) -> Refusals:
        """What torch 2.12 refuses under a condition."""
        return native_column.parse(self.native)

    @cached_property
    def is_placed(self) -> bool:
        """Whether it is a layer that has parameters, which are on a device."""
        return any(p.name == "device" for p in signatures.parse(self.ctor))

    @cached_property
    def is_laid(self) -> bool:
        """Whether it is a layer of which the order of the weights in memory counts."""
        return any(p.name == "weight_format" for p in signatures.parse(self.ctor))

    @cached_property
    def declares_out(self) -> bool:
        """Whether some overload has no ``out=``, so that the table tells which has."""
        return any(p.name == "out" for signature in self.signatures for p in signature)

    def effects(self, overload: int) -> Effects:
        """What the row says of attributes, for this overload."""
        effects = self._effects.get(overload)
        if effects is None:
            effects = self._effects[overload] = columns.read(self, overload, self._takes(overload))
        return effects

    @cached_property
    def _effects(self) -> dict[int, Effects]:
        return {}

    def _takes(self, overload: int) -> columns.Overload:
        """What an overload takes; where the row has no `params`, what the rule takes."""
        rule = registry.load().get(self.names)
        declared = self.signatures[overload] if self.params else ()
        taken = declared or (signatures.of(rule) if rule and not self.params else ())
        return columns.Overload(
            tuple(p.role or p.name for p in declared if p.kinds & {"tensor", "tensors"}),
            tuple(p.role or p.name for p in taken if not p.kinds or p.kinds & _TAKING),
            any(p.name == "memory_format" for p in declared),
            any(p.name == "device" and "device" in p.kinds for p in taken),
            self.is_placed,
            tuple(p.name for p in signatures.parse(self.ctor) if p.name in _SWITCHES),
        )

    def alternatives(self, form: str) -> tuple[tuple[int, Signature], ...]:
        """The overloads that a call in this form may mean, each with its index."""
        return tuple(
            (index, signature)
            for index, signature in enumerate(self.signatures)
            if not form or form in (signatures.forms(self.params[index]) or form)
        )

    def refused_as(self, overload: int, *, inplace: bool, out: bool) -> str:
        """The name under which torch 2.12 refuses this overload; empty where it supports it."""
        if out and self.aten_out:
            return self.aten_out[min(overload, len(self.aten_out) - 1)]
        if not self.aten:
            return refusals.variant(self.key, inplace, out) if self.native == "refuses" else ""
        return refusals.variant(self.aten[min(overload, len(self.aten) - 1)], inplace, out)


# The kinds of parameters that take tensors.
_TAKING: Final = frozenset({"tensor", "tensors", "any"})
# What a layer is made with that asks for its parameters and buffers.
_SWITCHES: Final = frozenset({"affine", "elementwise_affine", "track_running_stats"})


class ShippedTable(Mapping[str, Operator]):
    """The table that ships with namecheck, of which a row is read when it is asked for."""

    def __init__(self, text: Shipped) -> None:
        self._lines = text.rows
        self._rows: dict[str, Operator] = {}
        tables = tomllib.loads(text.head)
        self.python: Mapping[str, str] = MappingProxyType(tables["python"])

    def __getitem__(self, key: str) -> Operator:
        row = self._rows.get(key)
        if row is None:
            try:
                data = tomllib.loads(self._lines[key])
            except tomllib.TOMLDecodeError as error:
                raise TableError(f"operator '{key}': the row does not parse: {error}") from error
            row = self._rows[key] = _operator(key, data[key])
        return row

    def __contains__(self, key: object) -> bool:
        return key in self._lines

    def __iter__(self) -> Iterator[str]:
        return iter(self._lines)

    def __len__(self) -> int:
        return len(self._lines)


@cache
def table() -> ShippedTable:
    """All operators that ship with namecheck, by key."""
    return ShippedTable(shipped())


def flow() -> Mapping[str, str]:
    """What each operator of the shipped table does to what lints follow, by key."""
    return column("flow")


def python_operators() -> Mapping[str, str]:
    """The operator of the table for each operator of Python, by the name of its syntax node."""
    return table().python


_FIELDS: Final = frozenset(Operator.__dataclass_fields__) - {"key"}
_FORMS: Final = frozenset("fmijonascpl")


def read(text: str, filename: str) -> dict[str, Operator]:
    """The rows of one table; raises `TableError` with file and line."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        reason, _, place = str(error).partition(" (at line ")
        line = place.split(",")[0] if place[:1].isdigit() else len(text.splitlines())
        raise TableError(f"{filename}:{line}: {reason}") from error
    for key, value in data.items():
        if key not in ("version", "operators", "python"):
            raise TableError(
                f"{filename}:{_line_of(key, text)}: unknown key '{key}'; "
                "the rows of operators stand under the line [operators]"
            )
        if key == "operators" and not isinstance(value, dict):
            raise TableError(f"{filename}:{_line_of(key, text)}: [operators] is a table of rows")
    rows = data.get("operators", {})
    for key, row in rows.items():
        if fault := _fault_of(row):
            raise TableError(f"{filename}:{_line_of(key, text)}: operator '{key}': {fault}")
    return {key: _operator(key, row) for key, row in rows.items()}


def _fault_of(row: Any) -> str | None:
    """What is wrong with one row, if anything is."""
    if not isinstance(row, dict):
        return 'a row is a table: { forms = "fm", names = "keeps_input_names" }'
    for name, value in row.items():
        if name not in _FIELDS:
            return f"unknown field '{name}'; the fields are {', '.join(sorted(_FIELDS))}"
        if name in _TABLES:
            if not isinstance(value, dict):
                return f"the field '{name}' is a table of {_TABLES[name]}"
        elif not isinstance(value, str) and not (name in _LISTS and _is_strings(value)):
            return f"the field '{name}' is a string{' or a list of them' * (name in _LISTS)}"
    for name in ("forms", "names"):
        if name not in row:
            return f"the field '{name}' is missing"
    if unknown := set(row["forms"]) - _FORMS:
        return f"unknown form '{min(unknown)}'; the forms are {' '.join(sorted(_FORMS))}"
    known = registry.load()
    for name in (row["names"], row.get("native", "")):
        if native_column.is_conditional(name) or name in ("", "refuses", "unknown"):
            continue
        if name not in known:
            return f"there is no rule '{name}'"
    lines = (*_strings(row.get("params", ())), row.get("ctor", ""))
    return (
        _fault_of_parameters(lines)
        or _fault_of_native(row.get("native", ""), lines)
        or _fault_of_columns(row)
    )


def _fault_of_columns(row: Mapping[str, Any]) -> str | None:
    """What is wrong in the columns for attributes, if anything is."""
    parameters = _parameters(row)
    faults = (columns.check(name, row[name], parameters) for name in columns.COLUMNS if name in row)
    return next((str(fault) for fault in faults if fault is not None), None)


def _parameters(row: Mapping[str, Any]) -> frozenset[str] | None:
    """The parameters of a row, by the names that its rule has for them; None if not known."""
    lines = _strings(row.get("params", ()))
    rule = registry.load().get(row["names"])
    if not lines and rule is None:
        return None
    taken = [signatures.parse(line) for line in (*lines, row.get("ctor", ""))]
    if not lines and rule is not None:
        taken.append(signatures.of(rule))
    names = {p.role or p.name for signature in taken for p in signature}
    return frozenset(names | row.get("constants", {}).keys())


def _fault_of_native(text: str, lines: tuple[str, ...]) -> str | None:
    try:
        names = native_column.parse(text).names
    except ValueError as error:
        return f"native: {error}"
    allowed = {p.role or p.name for line in lines for p in signatures.parse(line)}
    if unknown := names - allowed - {"each", "result", "out"}:
        listed = ", ".join(sorted(allowed))
        return f"native: unknown parameter '{min(unknown)}'; the parameters are {listed}"
    return None


def _fault_of_parameters(lines: tuple[str, ...]) -> str | None:
    for line in lines:
        try:
            bad = [k for p in signatures.parse(line) for k in p.kinds if k not in signatures.KINDS]
        except (ValueError, SyntaxError) as error:
            return f"params: {error}"
        if bad:
            kinds = ", ".join(sorted(signatures.KINDS))
            return f"params: unknown kind '{bad[0]}'; the kinds are {kinds}"
    return None


_LISTS: Final = ("params", "aten", "aten_out", "lacks", "into")
_TABLES: Final = {
    "documented": "forms and labels",
    "constants": "arguments",
    "needs": "arguments and dtypes",
    "refuses": "layouts and messages",
    "holds": "tensors and sizes",
}


def _operator(key: str, row: Mapping[str, Any]) -> Operator:
    lists = {name: _strings(row.get(name, ())) for name in _LISTS}
    return Operator(key=key, **{**row, **lists, "returns": tuple(row.get("returns", "").split())})


def _is_strings(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _strings(value: Any) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


def _line_of(key: str, text: str) -> int:
    for number, line in enumerate(text.splitlines(), 1):
        head = line.split("=")[0].strip().removeprefix("[").removesuffix("]")
        if head.removeprefix("operators.").strip("\"' ") == key:
            return number
    return 1
