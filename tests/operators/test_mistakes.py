"""A mistake in a row is reported with file, line, row and column, and the allowed values."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Final

import pytest

from namecheck import operators
from namecheck.operators import TableError, checks, row, shipped, table
from namecheck.project.settings import Settings, SettingsError

ROW: Final = 'forms = "fmo", names = "removes_dimensions", params = "input:tensor, dim:dim|none"'
TYPO: Final = ROW.replace("removes_", "remove_")


def mistake(cells: str) -> str:
    """The error for a row with these cells, after file, line and key."""
    with pytest.raises(TableError) as caught:
        operators.read(f"# A table\n[operators]\n\nmy_sum = {{ {cells} }}\n", "ops.toml")
    start = "ops.toml:4: operator 'my_sum'"
    assert str(caught.value).startswith(start)
    return str(caught.value).removeprefix(start).lstrip(", ")


def test_the_row_itself_is_right() -> None:
    text = f"[operators]\nmy_sum = {{ {ROW} }}\n"
    assert operators.read(text, "ops.toml")["my_sum"].names == "removes_dimensions"


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (
            f'{ROW}, dtypes = "first"',
            "column 'dtypes': there is no column 'dtypes'; did you mean 'dtype'?; "
            f"the columns are {', '.join(checks.COLUMNS)}",
        ),
        ('names = "unknown"', "column 'forms': the column 'forms' is missing"),
        ('forms = "", names = "unknown"', "column 'forms': the column 'forms' is missing"),
        (
            'forms = "fz", names = "unknown"',
            "column 'forms': unknown form 'z'; the forms are f, m, i, j, o, n, a, s, c, p, l",
        ),
        (
            TYPO,
            "column 'names': there is no rule 'remove_dimensions'; "
            "did you mean 'removes_dimensions'?",
        ),
        (
            f'{ROW}, native = "refuse"',
            "column 'native': there is no rule 'refuse'; did you mean 'refuses'?",
        ),
        (
            f'{ROW}, native = "refuses(view(inptu))"',
            "column 'native': unknown parameter 'inptu'; did you mean 'input'?; "
            "the parameters are dim, input",
        ),
        (
            f'{ROW}, native = "refuses(view)"',
            "column 'native': 'view' is not kernel(argument, …)",
        ),
        (
            f'{ROW}, inplace = "unify"',
            "column 'inplace': unknown word 'unify'; did you mean 'unifies'?; "
            "the words are unifies, contracts, keeps, becomes",
        ),
        (
            f'{ROW}, out = "resize"',
            "column 'out': unknown word 'resize'; did you mean 'resized'?; the words are "
            "takes, keeps, resized, contracts, reshapes, unifies, abandoned, takes late",
        ),
        (
            f'{ROW}, may_be = "inputs"',
            "column 'may_be': unknown word 'inputs'; did you mean 'input'?; the words are input, "
            "input unless changed",
        ),
        (
            f'{ROW}, flow = "reduce"',
            "column 'flow': unknown word 'reduce'; did you mean 'reduces'?; "
            f"the words are {', '.join(row.WORDS['flow'])}",
        ),
        (
            f'{ROW}, relevance = "attributes"',
            "column 'relevance': this column applies only to the table of namecheck",
        ),
        (
            f'{ROW}, inplace = "becomes"',
            "column 'inplace': this column applies only to the forms i j",
        ),
        (
            'forms = "f", names = "unknown", out = "keeps"',
            "column 'out': this column applies only to the forms o",
        ),
        (
            f'{ROW}, documented = {{ i = "None" }}',
            "column 'documented': 'i' is no form of the row; the forms are f, m, o",
        ),
        (
            'forms = "f", names = "unknown", params = "[m]input:tensor"',
            "column 'params': 'm' is no form of the row; the forms are f",
        ),
        (
            f'{ROW}, dtype = "promots"',
            "column 'dtype': unknown word 'promots'; did you mean 'promotes'?",
        ),
        (
            f'{ROW}, dtype = "promotes(inptu)"',
            "column 'dtype': unknown parameter 'inptu'; did you mean 'input'?; "
            "the parameters are dim, input",
        ),
        (
            f'{ROW}, needs = {{ inptu = "floating; no" }}',
            "column 'needs': unknown parameter 'inptu'; did you mean 'input'?; "
            "the parameters are dim, input",
        ),
        (
            'forms = "f", names = "keeps_input_names", params = "a>source:tensor"',
            "column 'params': 'source' is no parameter of the rule 'keeps_input_names'; "
            "the parameters are input",
        ),
        (f'{ROW}, device = "cpus"', "column 'device': unknown word 'cpus'; did you mean 'cpu'?"),
        (f'{ROW}, memory = "frseh"', "column 'memory': unknown word 'frseh'; did you mean 'fresh'"),
        (
            f'{ROW}, layout = "frist"',
            "column 'layout': unknown word 'frist'; did you mean 'first'?",
        ),
        (f'{ROW}, lacks = ["a: bool", "b: bool"]', "column 'lacks': there are 2 texts for 1 overl"),
        (f'{ROW}, aten = ["a", "b"]', "column 'aten': there are 2 texts for 1 overloads"),
        (
            f"{ROW}, constants = {{ keepdims = 1 }}",
            "column 'constants': 'keepdims' is no parameter of the rule 'removes_dimensions'; "
            "did you mean 'keepdim'?; the parameters are input, dim, keepdim",
        ),
        (f'{ROW}, constants = {{ keepdim = "1" }}', "column 'constants': a whole number is expect"),
        (f"{ROW}, constants = 1", "column 'constants': a table of parameters and numbers is expec"),
        (
            ROW.replace("input:", "inptu:"),
            "column 'params': 'inptu' is no parameter of the rule 'removes_dimensions'; "
            "did you mean 'input'?; the parameters are input, dim, keepdim",
        ),
        (
            ROW.replace("input:", "values:"),
            "column 'params': the rule 'removes_dimensions' needs 'input', which "
            "'values:tensor, dim:dim|none' does not give",
        ),
        (
            ROW.replace("dim|none", "dim|nono"),
            "column 'params': unknown kind 'nono'; did you mean 'none'?; the kinds are any, bool",
        ),
        (
            ROW.replace("dim:", "input:"),
            "column 'params': the parameter 'input' is there twice in 'input:tensor, input:dim|no",
        ),
        (ROW.replace("dim:", "1:"), "column 'params': '1' is not a parameter"),
        (ROW.replace("|none", "|none=x"), "column 'params': 'x' is not a literal"),
        (
            ROW.replace("|none", "|none="),
            "column 'params': 'input:tensor, dim:dim|none=' breaks off",
        ),
        (
            ROW.replace(", dim", " dim"),
            "column 'params': 'dim' is misplaced in 'input:tensor dim:dim|none'",
        ),
        (
            'forms = "c", names = "keeps_input_names", params = "input:tensor", '
            'ctor = "features:int", holds = { weight = "featurs" }',
            "column 'holds': 'featurs', the size of 'weight', is no parameter of ctor; "
            "did you mean 'features'?; the parameters are features",
        ),
    ],
)
def test_a_mistake_in_a_row(cells: str, message: str) -> None:
    assert mistake(cells).startswith(message)


def test_long_lists_are_not_told() -> None:
    """The message has the nearest of more than 400 rules, not all of them."""
    assert mistake(TYPO).endswith("did you mean 'removes_dimensions'?")


def test_the_line_is_that_of_the_column_if_it_has_one() -> None:
    text = '[operators]\n[operators.a]\nforms = "f"\nnames = "unknown"\n\nout = "keeps"\n'
    with pytest.raises(TableError, match=r"^ops\.toml:6: operator 'a', column 'out': this column"):
        operators.read(text, "ops.toml")
    text = text.replace("[operators.a]", '[operators."a.b"]').replace("out", "memory")
    with pytest.raises(TableError, match=r"^ops\.toml:6: operator 'a\.b', column 'memory'"):
        operators.read(text, "ops.toml")


def test_a_table_of_a_user_gets_the_same(tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    file.write_text(f'[operators]\nfirst = {{ {ROW} }}\nsecond = {{ {ROW}, dtype = "promots" }}\n')
    with pytest.raises(SettingsError) as caught:
        Settings(extend_operators=(str(file),)).rows()
    assert str(caught.value).startswith(
        f"{file}:3: operator 'second', column 'dtype': unknown word 'promots'; did you mean"
    )


def test_the_operators_of_python_are_those_of_namecheck() -> None:
    with pytest.raises(TableError, match=r"^own\.toml:1: unknown key 'python'; the rows of"):
        operators.read('[python]\nAdd = "add"\n', "own.toml")


@pytest.mark.parametrize("file", [*map(Path, shipped.sections())], ids=lambda file: file.stem)
def test_the_shipped_rows_have_no_mistake(file: Path) -> None:
    text = file.read_text("utf-8")
    for key, read in operators.read(text, file.name, shipped=True).items():
        assert table()[key] == read
    [header] = [line for line in text.splitlines() if line.startswith("[")]
    assert header == "[operators]"


def test_the_operators_of_python_have_rows() -> None:
    bases = (ast.operator, ast.unaryop, ast.cmpop)
    for name, key in operators.python_operators().items():
        assert key in table()
        assert name == "Div" or issubclass(getattr(ast, name), bases)


def test_the_columns_are_described_in_their_order() -> None:
    described = row.described()
    assert tuple(described) == checks.COLUMNS
    assert all(text.endswith((".", ")")) and "`" not in text[:1] for text in described.values())
    for column, words in row.WORDS.items():
        for word in words:
            assert f'"{word}"' in described[column], (column, word)


def test_own_rows_count_before_the_shipped_ones() -> None:
    own = operators.read('[operators]\nadd = { forms = "fm", names = "unknown" }\n', "own.toml")
    rows = operators.extended(own)
    assert rows["add"].names == "unknown"
    assert rows["mul"] == table()["mul"]
    assert len(rows) == len(table())
    assert table()["add"].names != "unknown"


def test_an_own_operator_takes_part_in_lints() -> None:
    own = operators.read(
        '[operators]\nscores = { forms = "f", names = "matmul", flow = "contracts", '
        'params = "input:tensor, other:tensor" }\n',
        "own.toml",
    )
    found = operators.row_of("torch.scores", operators.extended(own))
    assert found is not None
    assert found.flow == "contracts"
