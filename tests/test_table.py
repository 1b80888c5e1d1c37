"""The table against the documented one, and against the functions that torch declares."""

from __future__ import annotations

import importlib.util
import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

import pytest

from namecheck.operators import Operator, table
from tests.coverage_table import SPEC, Documented, coverage, parse

ORACLE: Final = SPEC.parent / "oracle"


def row_of(documented: Documented) -> tuple[Operator, str]:
    """The row that a documented API is in, and the letter of its form."""
    rows = table()
    name = documented.operator
    in_place = name.endswith("_")
    row = rows.get(name) or rows[name.removesuffix("_")]
    if documented.kind == "attribute":
        return row, "a"
    if documented.kind == "function":
        return row, "j" if in_place else "f"
    return row, "i" if in_place else "m"


def label_of(row: Operator, form: str) -> str | None:
    """The documented label that a row tells for one of its forms."""
    return next((label for forms, label in row.documented.items() if form in forms), None)


def ids(documented: Documented) -> str:
    return documented.api


def test_the_csv_holds_the_parsed_table() -> None:
    rows = json.loads((ORACLE / "table.json").read_text("utf-8"))
    parsed = {(api["name"], row["rule"]) for row in rows for api in row["apis"]}
    assert {(row.api, row.rule) for row in coverage()} == parsed
    assert len({row.api for row in coverage()}) == 308


def test_a_document_is_parsed_to_rows() -> None:
    document = (
        '":meth:`Tensor.add`, :func:`torch.add`",:ref:`unifies_names_from_inputs-doc`\n'
        ":attr:`Tensor.grad`,None\n"
        ":attr:`Tensor.grad`,None\n"
        "Use :meth:`Tensor.rename`, which renames.\n"
    )
    assert list(parse(document)) == [
        Documented("Tensor.add", "method", "unifies_names_from_inputs"),
        Documented("torch.add", "function", "unifies_names_from_inputs"),
        Documented("Tensor.grad", "attribute", "None"),
    ]


@pytest.mark.parametrize("documented", coverage(), ids=ids)
def test_every_documented_row_is_in_the_table(documented: Documented) -> None:
    row, form = row_of(documented)
    assert form in row.forms
    assert label_of(row, form) == documented.rule


def test_the_table_claims_no_label_that_is_not_documented() -> None:
    held = {(row.key, form) for row, form in map(row_of, coverage())}
    claimed = {
        (row.key, form) for row in table().values() for forms in row.documented for form in forms
    }
    assert claimed == held


Functions = Mapping[str, frozenset[str]]


@cache
def native_functions() -> Functions:
    """The forms that the installed torch declares for each of its native functions.

    Read from the yaml that its code generator ships; torch itself is not imported.
    """
    generator = importlib.util.find_spec("torchgen")
    if generator is None or generator.origin is None:
        pytest.skip("torch is not installed: there is no native_functions.yaml to compare with")
    declared = Path(generator.origin).parent / "packaged/ATen/native/native_functions.yaml"
    return forms_declared(declared.read_text("utf-8"))


def forms_declared(text: str) -> Functions:
    """The forms of every entry: f, m, n by its variants and module, o where it has an ``out``."""
    forms: dict[str, set[str]] = {}
    for entry in re.split(r"(?m)^- func: ", text)[1:]:
        match = re.match(r"(\w+)(?:\.(\w+))?\((.*)\) *->", entry)
        assert match is not None, entry.splitlines()[0]
        variants = re.search(r"(?m)^  variants: (.*)$", entry)
        module = re.search(r"(?m)^  python_module: (\w+)", entry)
        letters = forms.setdefault(match[1], set())
        for variant in (variants[1] if variants else "function").split(","):
            if variant.strip() == "method":
                letters.add("m")
            else:
                letters.add("n" if module and module[1] == "nn" else "f")
        if re.search(r"\(\w!\) out\b", match[3]):
            letters.add("o")
    return {name: frozenset(letters) for name, letters in forms.items()}
