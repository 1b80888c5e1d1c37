"""Joins the table and the rules: `infer` is the only door to a rule.

In-place and ``out=`` semantics live here, once (name_inference.rst, "out function and in-place
variants"; semantics.md, "Where 2.12.1 differs", 6 and 7).
"""

from __future__ import annotations

import enum
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib import resources
from types import MappingProxyType
from typing import Any, Final

from namecheck import signatures
from namecheck.names import UNKNOWN, Answer, Contradiction, Unknown
from namecheck.rules import refusals, registry
from namecheck.signatures import Signature
from namecheck.values import Dims, Tensor


class Semantics(enum.Enum):
    """Whose answers are given (semantics.md, "Two semantics, one switch")."""

    NAMECHECK = "namecheck"
    NATIVE = "torch-2.12"


class TableError(Exception):
    """A row of the table that cannot be used; the message tells file, line and reason."""


@dataclass(frozen=True)
class Operator:
    """One row of the table.

    `forms` are letters: f ``torch.x``, m ``Tensor.x``, i ``Tensor.x_``, j ``torch.x_``, o ``out=``,
    n ``torch.nn.functional.x``, a an attribute, s an attribute that can be set, c a class of
    ``torch.nn``. `native` is empty where torch 2.12 follows the same rule, "refuses" where it
    is not yet supported, else the rule that it follows. `aten` tells for each of `params` the name
    in the not-yet-supported message, nothing where that overload is supported, `x(dimname)` where
    torch refuses a name in place of an index; `aten_out` the same for calls with ``out=``.
    `documented` maps forms to the label of the documented table.
    """

    key: str
    forms: str
    names: str
    native: str = ""
    aten: tuple[str, ...] = ()
    aten_out: tuple[str, ...] = ()
    params: tuple[str, ...] = ()
    returns: tuple[str, ...] = ()
    inplace: str = "unifies"
    documented: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    note: str = ""

    @cached_property
    def signatures(self) -> tuple[Signature, ...]:
        return tuple(map(signatures.parse, self.params))

    def refused_as(self, overload: int, *, inplace: bool, out: bool) -> str:
        """The name under which torch 2.12 refuses this overload; empty where it supports it."""
        if out and self.aten_out:
            return self.aten_out[min(overload, len(self.aten_out) - 1)]
        if not self.aten:
            return refusals.variant(self.key, inplace, out) if self.native == "refuses" else ""
        return refusals.variant(self.aten[min(overload, len(self.aten) - 1)], inplace, out)


@dataclass(frozen=True, slots=True)
class Inference:
    """What a call gives.

    `result` is a Tensor, a tuple of tensors (`fields` names its parts), or another value;
    `after` maps an argument (0 for the first positional one, or a keyword) to the tensor that
    it has become; after a `contradiction` the result is UNKNOWN.
    """

    result: Any
    after: Mapping[int | str, Tensor] = field(default_factory=dict)
    contradiction: Contradiction | None = None
    fields: tuple[str, ...] = ()


@cache
def table() -> Mapping[str, Operator]:
    """All operators that ship with namecheck, by key."""
    text = resources.files("namecheck").joinpath("operators.toml").read_text("utf-8")
    return MappingProxyType(read(text, "operators.toml"))


_FIELDS: Final = frozenset(Operator.__dataclass_fields__) - {"key"}
_FORMS: Final = frozenset("fmijonasc")


def read(text: str, filename: str) -> dict[str, Operator]:
    """The rows of one table; raises `TableError` with file and line."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise TableError(f"{filename}: {error}") from error
    return {key: _row(key, row, text, filename) for key, row in data.get("operators", {}).items()}


def _row(key: str, row: Any, text: str, filename: str) -> Operator:
    def refuse(reason: str) -> TableError:
        return TableError(f"{filename}:{_line_of(key, text)}: operator '{key}': {reason}")

    if not isinstance(row, dict):
        raise refuse("a row is a table: { forms = \"fm\", names = \"keeps_input_names\" }")
    for name in row:
        if name not in _FIELDS:
            raise refuse(f"unknown field '{name}'; the fields are {', '.join(sorted(_FIELDS))}")
    for name in ("forms", "names"):
        if not isinstance(row.get(name), str):
            raise refuse(f"the field '{name}' is missing or no string")
    if unknown := set(row["forms"]) - _FORMS:
        raise refuse(f"unknown form '{min(unknown)}'; the forms are {' '.join(sorted(_FORMS))}")
    known = registry.load()
    for name in (row["names"], row.get("native", "")):
        if name not in ("", "refuses", "unknown") and name not in known:
            raise refuse(f"there is no rule '{name}'")
    lists = {name: _strings(row.get(name, ())) for name in ("params", "aten", "aten_out")}
    for line in lists["params"]:
        try:
            bad = [k for p in signatures.parse(line) for k in p.kinds if k not in signatures.KINDS]
        except ValueError as error:
            raise refuse(f"params: {error}") from error
        if bad:
            raise refuse(f"params: unknown kind '{bad[0]}'")
    fields = {**row, **lists, "returns": tuple(row.get("returns", "").split())}
    return Operator(key=key, **fields)


def _strings(value: Any) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


def _line_of(key: str, text: str) -> int:
    for number, line in enumerate(text.splitlines(), 1):
        if line.split("=")[0].strip().strip("\"'") == key:
            return number
    return 1


def infer(
    operator: str,
    *args: Any,
    semantics: Semantics = Semantics.NAMECHECK,
    rows: Mapping[str, Operator] | None = None,
    **kwargs: Any,
) -> Inference:
    """What calling `operator` on these arguments gives, by the table and its rule.

    `operator` is a key of the table, with a trailing underscore for the in-place form.
    Arguments are `Tensor`, `Many`, `Constant`, plain Python values, or UNKNOWN.
    """
    rows = table() if rows is None else rows
    row, inplace = _find(operator, rows)
    try:
        return _apply(row, operator, inplace, args, kwargs, semantics)
    except Contradiction as contradiction:
        return Inference(UNKNOWN, contradiction=contradiction)


def _find(operator: str, rows: Mapping[str, Operator]) -> tuple[Operator, bool]:
    inplace = operator.endswith("_") and not operator.endswith("__")
    return rows[operator if operator in rows else operator.removesuffix("_")], inplace


def _apply(
    row: Operator,
    operator: str,
    inplace: bool,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    semantics: Semantics,
) -> Inference:
    native = semantics is Semantics.NATIVE
    name = row.native if native and row.native not in ("", "refuses") else row.names
    rule = _nothing_known if name == "unknown" else registry.load()[name]
    out = kwargs.pop("out", None) if "o" in row.forms else None
    bindings = signatures.bind(
        operator, row.signatures or (signatures.of(rule),), args, kwargs, by_name=not native
    )
    answers: list[Any] = []
    for binding in bindings:
        try:
            if native:
                aten = row.refused_as(binding.overload, inplace=inplace, out=out is not None)
                refusals.refuse_named(aten, [*binding.arguments.values(), out])
            answers.append(_wrap(_call(rule, binding.arguments)))
        except Contradiction as contradiction:
            answers.append(contradiction)
    result = _common(answers)
    if inplace:
        return _in_place(row, result, args[0], semantics)
    if isinstance(out, Tensor) and isinstance(result, Tensor):
        return Inference(after := into(out, result), {"out": after})
    return Inference(result, fields=row.returns)


def _nothing_known() -> Unknown:
    return UNKNOWN


def _call(rule: registry.Rule, arguments: Mapping[str, Any]) -> Any:
    wanted = {parameter.name for parameter in signatures.of(rule)}
    return rule(**{key: value for key, value in arguments.items() if key in wanted})


def _common(answers: list[Any]) -> Any:
    """What all alternatives of a call agree on; a contradiction only where each has one."""
    if all(isinstance(answer, Contradiction) for answer in answers):
        raise answers[0]
    return answers[0] if all(answer == answers[0] for answer in answers) else UNKNOWN


def _wrap(answer: Any) -> Any:
    if isinstance(answer, Dims):
        return Tensor(answer)
    if isinstance(answer, (tuple, list)):
        return type(answer)(_wrap(part) for part in answer)
    return answer


def _in_place(row: Operator, result: Any, receiver: Any, semantics: Semantics) -> Inference:
    if not isinstance(result, Tensor) or not isinstance(receiver, Tensor):
        return Inference(UNKNOWN)
    if row.inplace == "unifies":
        result = check_shape(receiver, result)
        if semantics is Semantics.NATIVE:
            result = into(receiver, result)
    return Inference(result, {0: result})


def check_shape(receiver: Tensor, result: Tensor) -> Tensor:
    """Refuse an in-place result of more dims than the receiver has (recorded: add_)."""
    if receiver.dims.rank is not None and result.dims.min_rank > receiver.dims.rank:
        raise Contradiction(
            "NC201",
            f"output with shape {list(receiver.dims.sizes)} doesn't match the broadcast shape "
            f"{list(result.dims.sizes)}",
        )
    return result


def into(out: Tensor, computed: Tensor) -> Tensor:
    """What a tensor given as ``out=`` becomes: it takes the names, or must have the same ones."""
    named = out.dims.named()
    if named is Answer.NO:
        return computed
    if named is Answer.YES and out.dims.complete and computed.dims.complete:
        if out.names != computed.names:
            raise Contradiction(
                "NC110",
                f"Name mismatch: specified out tensor with names {out.dims.show()} are not the same "
                f"as the computed output names {computed.dims.show()}. Please rename the out "
                "tensor's dims with `Tensor.rename`.",
            )
    return computed
