"""A row of the table of operators: its columns and the properties derived from them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Any, Final

from namecheck.core.dataclasses import dataclass, field
from namecheck.effects import columns
from namecheck.effects.attributes import Effects
from namecheck.effects.words import Signature, SignatureCell, WordError, read_signature
from namecheck.operators import signatures
from namecheck.operators.shipped import fault
from namecheck.rules import refusals, registry


@dataclass(frozen=True)
class Operator:
    """One row of the table of operators; a column that a row leaves out has its default.

    Needed by every row:

    - `forms`: the forms in which it is called, one letter each: ``f`` torch.x, ``m`` Tensor.x,
      ``i`` Tensor.x_, ``j`` torch.x_, ``o`` out=, ``n`` torch.nn.functional.x, ``a`` an attribute,
      ``s`` an attribute that can be set, ``c`` a class of torch.nn, ``p`` a function and ``l`` a
      layer (a class) of another package, under its whole dotted name.
    - `names`: the rule for the names of the result (`namecheck.rules`), or "unknown".

    The call (`namecheck.effects.words` has the grammar):

    - `params`: the parameters, one text for each overload; by default those of the rule.
    - `ctor`: the constructor parameters of a class of torch.nn; a call of the row has these
      arguments first, then those of `params`.
    - `constants`: numbers that the rule takes besides the arguments of the call.
    - `returns`: the names of the fields, where the result is a named tuple.
    - `inplace`: the receiver after an in-place call: it "unifies" (takes the names of the result),
      "contracts" (the same, with another message for another shape), "keeps" its names, or
      "becomes" the result.
    - `out`: a tensor passed as out= after the call: it "takes" the names of the result, "keeps" its
      own, is "resized" (takes them whatever its shape was); it keeps its own if no input has any,
      and else "contracts" (takes those of the result), "reshapes" (the same, whatever its shape
      was) or "unifies" (its names and those of the result must match); "abandoned": it keeps its
      first name. An elementwise result is not written to an input of another shape, unless it
      "takes late", after the inputs were read.
    - `may_be`: "input" where the result may be the input itself, as for ``x.contiguous()``; "input
      unless changed" where it is, unless the call changes its dtype or device (``x.float()``);
      "input of its rank" where it is, unless the rank changes (``x.flatten(1)``).

    Differences of torch 2.12, the last version with named tensors:

    - `native`: the rule that torch 2.12 follows; "refuses" where it supports no names; clauses
      where it refuses some calls (`namecheck.operators.native`); empty where it does not differ.
    - `aten`: the kernel that torch 2.12 names in its refusal, one for each overload: "" where it
      supports names, ``x(dimname)`` where it refuses a name in place of an index.
    - `aten_out`: the same for calls with out=.

    Attributes (`namecheck.effects` has the words of each column in the module of its name):

    - `dtype`: the dtype of the result.
    - `needs`: the dtypes that arguments must have, by parameters, and torch's errors for others.
    - `lacks`: the dtypes without a kernel, one text for each overload.
    - `into`: the dtypes that an out= tensor may have, one text for each overload
      (`effects.outputs`).
    - `irregular`: a condition on which the dtype of the result is not checked, and unknown.
    - `device`: the device of the result; by default the one that all tensors share.
    - `memory`: the memory order of the result; by default that of the rule.
    - `layout`: the layout of the result.
    - `refuses`: the layouts that the first tensor must not have, perhaps on a condition, with
      torch's errors.
    - `overlaps`: "taken" where torch writes to tensors whose elements share memory;
      "copies(parameter)" where it does so if it copies these elements to themselves.
    - `holds`: the sizes of the tensors of a layer, by their names.

    Columns for other parts of namecheck:

    - `flow`: its effect on a value that lints follow (`namecheck.lints`): it "normalises", "turns",
      "carries", "reduces", "selects", "contracts", "indexes", "bounds", "classifies", "picks",
      "scales", "divides" or "meets".
    - `relevance`: why a function that contains the last word of its key is analysed
      (`namecheck.interpreter.workspace.relevance`): for "names", for "attributes", or it is not, as
      the word is "rare".
    - `runtime`: "by hand" where the shim has a hand-written function for it.
    - `layer`: "whole" where torch computes a class of torch.nn in a function without a row, so that
      at run time the call of the layer is the operator.
    - `documented`: the label in the table of torch's documentation (coverage.rst), by forms.
    - `note`: a remark for readers.
    """

    key: str
    forms: str
    names: str
    params: tuple[str, ...] = ()
    ctor: str = ""
    constants: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    returns: tuple[str, ...] = ()
    inplace: str = "unifies"
    out: str = "takes"
    may_be: str = ""
    native: str = ""
    aten: tuple[str, ...] = ()
    aten_out: tuple[str, ...] = ()
    dtype: str = ""
    needs: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    lacks: tuple[str, ...] = ()
    into: tuple[str, ...] = ()
    irregular: str = ""
    device: str = ""
    memory: str = ""
    layout: str = ""
    refuses: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    overlaps: str = ""
    holds: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    flow: str = ""
    relevance: str = ""
    runtime: str = ""
    layer: str = ""
    documented: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    note: str = ""

    @cached_property
    def signatures(self) -> tuple[Signature, ...]:
        """The overloads, one for each text of `params`."""
        return tuple(cell.signature for cell in self._signature_cells)

    @cached_property
    def constructor(self) -> Signature:
        """The constructor parameters of a layer."""
        return self._signature_cell("ctor", self.ctor).signature

    @cached_property
    def _signature_cells(self) -> tuple[SignatureCell, ...]:
        return tuple(self._signature_cell("params", text) for text in self.params)

    def _signature_cell(self, column: str, text: str) -> SignatureCell:
        try:
            return read_signature(text)
        except WordError as error:
            raise fault(self.key, f"column '{column}': {error}") from error

    @cached_property
    def native_rule(self) -> str:
        """The rule that torch 2.12 follows."""
        is_rule = self.native not in ("", "refuses") and "(" not in self.native
        return self.native if is_rule else self.names

    def refuse_natively(self, arguments: Mapping[str, Any], *, rule_accepts: bool = False) -> None:
        """Raise `Contradiction` where torch 2.12 refuses a call: before its rule, or after that."""
        # Only `Semantics.NATIVE` calls it; other runs need not import the module.
        from namecheck.operators import native

        try:
            clauses = native.read(self.native)
        except WordError as error:
            raise fault(self.key, f"column 'native': {error}") from error
        native.check(clauses.after if rule_accepts else clauses.before, self.key, arguments)

    @cached_property
    def is_placed(self) -> bool:
        """Whether it is a layer with parameters, which are on a device."""
        return any(p.name == "device" for p in self.constructor)

    @cached_property
    def is_laid(self) -> bool:
        """Whether it is a layer whose weights have a relevant memory order."""
        return any(p.name == "weight_format" for p in self.constructor)

    @cached_property
    def declares_out(self) -> bool:
        """Whether some overload declares ``out=``, so that the others do not accept it."""
        return any(p.name == "out" for signature in self.signatures for p in signature)

    def effects(self, overload: int) -> Effects:
        """The attribute effects of the row, for this overload."""
        effects = self._effects.get(overload)
        if effects is None:
            try:
                effects = columns.read(self, overload, self._takes(overload))
            except WordError as error:
                raise fault(self.key, self._located(error)) from error
            self._effects[overload] = effects
        return effects

    def _located(self, word_error: WordError) -> str:
        """The mistake in an attribute column, with the column where the mistake is in its words."""
        cells = ((name, getattr(self, name)) for name in columns.COLUMNS)
        faults = (columns.check(name, cell, None) for name, cell in cells if cell)
        first = next(filter(None, faults), None)
        return str(word_error) if first is None else f"column '{first.column}': {first.text}"

    @cached_property
    def _effects(self) -> dict[int, Effects]:
        return {}

    def _takes(self, overload: int) -> columns.Overload:
        """The parameters of an overload; without `params`, those of the rule."""
        rule = registry.find(self.names)
        declared = self.signatures[overload] if self.params else ()
        parameters = declared or (signatures.of(rule) if rule and not self.params else ())
        return columns.Overload(
            tuple(p.role or p.name for p in declared if p.kinds & {"tensor", "tensors"}),
            tuple(p.role or p.name for p in parameters if not p.kinds or p.kinds & _TAKING),
            any(p.name == "memory_format" for p in declared),
            any(p.name == "device" and "device" in p.kinds for p in parameters),
            self.is_placed,
            tuple(p.name for p in self.constructor if p.name in _SWITCHES),
        )

    def alternatives(self, form: str) -> tuple[tuple[int, Signature], ...]:
        """The overloads that a call in this form may mean, each with its index."""
        overloads = self._alternatives.get(form)
        if overloads is None:
            overloads = self._alternatives[form] = tuple(
                (index, cell.signature)
                for index, cell in enumerate(self._signature_cells)
                if not form or form in (cell.forms or form)
            )
        return overloads

    @cached_property
    def _alternatives(self) -> dict[str, tuple[tuple[int, Signature], ...]]:
        return {}

    def refused_as(self, overload: int, *, inplace: bool, out: bool) -> str:
        """The name under which torch 2.12 refuses this overload; empty where it supports it."""
        if out and self.aten_out:
            return self.aten_out[min(overload, len(self.aten_out) - 1)]
        if not self.aten:
            return refusals.variant(self.key, inplace, out) if self.native == "refuses" else ""
        return refusals.variant(self.aten[min(overload, len(self.aten) - 1)], inplace, out)


LISTS: Final = ("params", "aten", "aten_out", "lacks", "into")
"""The columns with a text or a list of texts, one for each overload."""

TABLES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "constants": "parameters and numbers",
        "needs": "parameters and dtypes",
        "refuses": "layouts and messages",
        "holds": "tensors and sizes",
        "documented": "forms and labels",
    }
)
"""The columns that are tables, and the type of their entries."""

WORDS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "inplace": ("unifies", "contracts", "keeps", "becomes"),
        "out": (
            "takes",
            "keeps",
            "resized",
            "contracts",
            "reshapes",
            "unifies",
            "abandoned",
            "takes late",
        ),
        "may_be": ("input", "input unless changed", "input of its rank"),
        "flow": (
            *("normalises", "turns", "carries", "reduces", "selects", "contracts", "indexes"),
            *("bounds", "classifies", "picks", "scales", "divides", "meets"),
        ),
        "relevance": ("names", "attributes", "rare"),
        "runtime": ("by hand",),
        "layer": ("whole",),
    }
)
"""The allowed words of enumerated columns; `namecheck.effects` has those of attributes."""


def of_toml(key: str, toml: Mapping[str, Any]) -> Operator:
    """The row with this key and these columns, in their TOML form."""
    lists = {name: texts(toml.get(name, ())) for name in LISTS}
    return Operator(key=key, **{**toml, **lists, "returns": tuple(toml.get("returns", "").split())})


def texts(text_or_list: str | Iterable[str]) -> tuple[str, ...]:
    """The texts of a column that may hold a single text."""
    return (text_or_list,) if isinstance(text_or_list, str) else tuple(text_or_list)


def described() -> dict[str, str]:
    """The description of each column, by its name, in the order of the docstring of `Operator`."""
    entries = re.split(r"\n *- (?=`)", Operator.__doc__ or "")[1:]
    paragraphs = (" ".join(entry.split("\n\n")[0].split()) for entry in entries)
    return {
        name.strip("`"): text for name, _, text in (each.partition(": ") for each in paragraphs)
    }


# The kinds of parameters that take tensors.
_TAKING: Final = frozenset({"tensor", "tensors", "any"})
# The constructor arguments of a layer that ask for its parameters and buffers.
_SWITCHES: Final = frozenset({"affine", "elementwise_affine", "track_running_stats"})
