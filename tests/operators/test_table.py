"""The table compared with the documented one, and with the functions that torch declares."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path
from typing import Final

import pytest

from namecheck import operators
from namecheck.operators import Operator, shipped, table
from tests.coverage_table import SPEC, Documented, audit, coverage, parse

ORACLE: Final = SPEC.parent / "oracle"


def row_of(documented: Documented) -> tuple[Operator, str]:
    """The row of a documented API, and the letter of its form."""
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
    """The documented label of a row for one of its forms."""
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


def test_where_two_words_differ_a_reason_is_listed() -> None:
    pairs = {(row.rule, row_of(row)[0].names) for row in coverage()}
    listed = [(entry.documented, entry.applies) for entry in audit()]
    assert set(listed) == {pair for pair in pairs if len(set(pair)) == 2}
    assert len(listed) == len(set(listed))
    assert all(entry.reason for entry in audit())


# Named tensors are no part of torch 2.13; the two casts exist, but are declared nowhere, and
# `logsigmoid` is declared under another name.
UNDECLARED: Final = {
    *("align_as (m)", "align_to (m)", "has_names (m)", "names (a)", "names (s)", "names= (s)"),
    *("refine_names (m)", "rename (m)", "rename_ (i)", "align_tensors (f)"),
    *("cdouble (m)", "cfloat (m)", "nn.functional.logsigmoid (o)"),
}


class Declared:
    """The declarations of the installed torch; torch itself is not imported."""

    def __init__(self, site: Path) -> None:
        self.site = site
        yaml = self.read("torchgen/packaged/ATen/native/native_functions.yaml")
        self.native = native_functions(yaml)
        methods = self.defined("torch/_C/__init__.pyi", "torch/_tensor.py", indent="    ")
        functions = self.defined("torch/functional.py", "torch/__init__.py", "torch/random.py")
        stubs = self.defined("torch/_C/__init__.pyi", "torch/_C/_VariableFunctions.pyi")
        layers = self.defined(*self.sources("torch/nn/modules"))
        self.python = {
            "m": methods,
            "a": methods,
            "s": methods,
            "f": functions | stubs,
            "n": self.defined("torch/nn/functional.py"),
            "c": layers,
        }

    def read(self, path: str) -> str:
        return (self.site / path).read_text("utf-8")

    def sources(self, folder: str) -> list[str]:
        return [str(path.relative_to(self.site)) for path in (self.site / folder).glob("*.py")]

    def defined(self, *paths: str, indent: str = "") -> set[str]:
        """The functions, classes and variables of Python files, or of the classes in them."""
        line = rf"(?m)^{indent}(?:def |class )?(\w+)(?: *[=:(])"
        return {name for path in paths for name in re.findall(line, self.read(path))}

    def has(self, key: str, form: str) -> bool:
        """Whether a form of an operator is declared."""
        module, _, name = key.rpartition(".")
        if form in "ij" and not name.endswith("_"):
            name += "_"
        form = {"i": "m", "j": "f"}.get(form, form)
        if module == "nn.functional" or not module:
            native = name
        else:
            native = f"{module.replace('.', '_')}_{name}"
        if form in self.native.get(native, self.native.get(f"_{native}", ())):
            return True
        return not (module and form == "f") and name.rstrip("=") in self.python.get(form, ())


def native_functions(yaml: str) -> dict[str, set[str]]:
    """The forms of every native function: f and m from variants and module, n, o if it has one."""
    forms: dict[str, set[str]] = {}
    for entry in re.split(r"(?m)^- func: ", yaml)[1:]:
        match = re.match(r"(\w+)(?:\.(\w+))?\((.*)\) *->", entry)
        assert match is not None, entry.splitlines()[0]
        variants = re.search(r"(?m)^  variants: (.*)$", entry)
        module = re.search(r"(?m)^  python_module: (\w+)", entry)
        letters = forms.setdefault(match[1], set())
        for variant in (variants[1] if variants else "function").split(","):
            function = "n" if module and module[1] == "nn" else "f"
            letters.add("m" if variant.strip() == "method" else function)
        made = re.search(rf"(?m)^  autogen: .*\b{match[1]}\.\w*out\b", entry)
        if made or re.search(r"\*, .*Tensor\(\w!\)", match[3]):
            letters.add("o")
    return forms


@pytest.fixture(scope="module")
def declared() -> Declared:
    generator = importlib.util.find_spec("torchgen")
    if generator is None or generator.origin is None:
        pytest.skip("torch is not installed: there is no native_functions.yaml to compare with")
    return Declared(Path(generator.origin).parents[1])


def test_every_operator_and_form_is_declared_by_torch(declared: Declared) -> None:
    missing = {
        f"{key} ({form})"
        for key, row in table().items()
        for form in row.forms
        if form not in "pl" and not declared.has(key, form)
    }
    assert missing - UNDECLARED == set()


def test_the_forms_of_native_functions_are_read() -> None:
    yaml = (
        "# a comment\n"
        "- func: abs(Tensor self) -> Tensor\n  variants: function, method\n"
        "- func: abs.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)\n"
        "- func: gelu(Tensor self) -> Tensor\n  python_module: nn\n"
        "- func: abs_(Tensor(a!) self) -> Tensor(a!)\n  variants: method\n"
    )
    assert native_functions(yaml) == {"abs": {"f", "m", "o"}, "gelu": {"n"}, "abs_": {"m"}}


def test_two_rows_of_one_key_are_refused(tmp_path: Path) -> None:
    first, second = tmp_path / "a.toml", tmp_path / "b.toml"
    first.write_text('[operators]\nadd = { forms = "f", names = "unknown" }\n')
    assert list(shipped.lines([str(first)])) == ["add"]
    second.write_text('# Others\n[operators]\n"add" = { forms = "m", names = "unknown" }\n')
    message = f"{second}:3: operator 'add' has a row already, at {first}:2"
    with pytest.raises(operators.TableError, match=re.escape(message)):
        shipped.lines([str(first), str(second)])
    with pytest.raises(operators.TableError, match=r"b\.toml:3: operator 'add' has a row already"):
        shipped.lines([str(second), str(second)])
