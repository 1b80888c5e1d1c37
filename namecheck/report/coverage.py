"""The table of operators, for a reader and as data: forms, rule, native support, differences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

from namecheck.operators import Operator
from namecheck.report.formats import json
from namecheck.report.frame import visible
from namecheck.report.painter import Painter
from namecheck.report.wording import counted
from namecheck.version import VERSION, table_version

_SPELLED: Final = {
    "f": "torch.{}",
    "m": "Tensor.{}",
    "i": "Tensor.{}",
    "j": "torch.{}",
    "o": "out=",
    "n": "torch.nn.functional.{}",
    "a": "Tensor.{}",
    "s": "Tensor.{} = …",
    "c": "torch.nn.{}",
    "p": "{}",
    "l": "{}",
}

SUPPORT: Final = ("yes", "partly", "no")


def forms(operator: Operator) -> list[str]:
    """The ways to call an operator, spelled out."""
    return [_spelled(form, operator.key) for form in operator.forms]


def _spelled(form: str, key: str) -> str:
    if key.startswith("nn.") and form != "o":
        return f"torch.{key}"
    if form in "ij":
        key = f"__i{key[2:]}" if key.startswith("__") else f"{key.removesuffix('_')}_"
    return _SPELLED[form].format(key)


def support(operator: Operator) -> str:
    """Whether native torch 2.12 supported named tensors: yes, no, or for some overloads."""
    overloads = range(max(len(operator.params), len(operator.aten), 1))
    refused = [bool(operator.refused_as(n, inplace=False, out=False)) for n in overloads]
    if not any(refused):
        return "yes"
    return "no" if all(refused) else "partly"


def differences(operator: Operator) -> list[str]:
    """Where native torch, or the table of its documentation, differs from the rule."""
    sentences = []
    if operator.native_rule != operator.names:
        sentences.append(f"native rule: {operator.native_rule}")
    elif operator.native not in ("", "refuses"):
        sentences.append(f"torch 2.12 {operator.native}")
    documented: dict[str, str] = {}
    for letters, label in operator.documented.items():
        if label != operator.names:
            documented[label] = documented.get(label, "") + letters
    sentences += [f"documented as {label} ({letters})" for label, letters in documented.items()]
    return sentences + ([operator.note] if operator.note else [])


def as_json(rows: Mapping[str, Operator]) -> str:
    """All operators as data."""
    listed = [_object(row) for _, row in sorted(rows.items())]
    return json.text({"version": VERSION, "table": table_version(), "operators": listed})


def _object(operator: Operator) -> dict[str, Any]:
    return {
        "operator": operator.key,
        "forms": forms(operator),
        "rule": operator.names,
        "native": support(operator),
        "differs": differences(operator),
        "documented": dict(operator.documented),
    }


def as_text(rows: Mapping[str, Operator], paint: Painter) -> Iterator[str]:
    """All operators as lines of a table."""
    listed = [row for _, row in sorted(rows.items())]
    key = max([len(row.key) for row in listed] + [len("operator")])
    letters = max([len(row.forms) for row in listed] + [len("forms")])
    rule = max([len(row.names) for row in listed] + [len("rule")])
    yield paint("dim", "f torch.x   m Tensor.x   i Tensor.x_   j torch.x_   o out=")
    yield paint("dim", "n torch.nn.functional.x   c torch.nn.x   a attribute   s attribute, set")
    yield ""
    yield paint(
        "bold", f"{'operator':{key}}  {'forms':{letters}}  {'rule':{rule}}  native  differs"
    )
    for row in listed:
        native = paint(_ROLES[support(row)], f"{support(row):6}")
        differs = "; ".join(differences(row))
        columns = f"{visible(row.key):{key}}  {row.forms:{letters}}  {row.names:{rule}}"
        line = f"{columns}  {native}  {differs}"
        yield line.rstrip()
    tally = Counter(map(support, listed))
    spoken = ", ".join(f"{word} {tally[word]:,}" for word in SUPPORT if tally[word])
    yield ""
    yield f"{counted(len(listed), 'operator')}. Native support of named tensors: {spoken}."


_ROLES: Final = {"yes": "good", "partly": "lint", "no": "finding"}
