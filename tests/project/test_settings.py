"""The settings: read, rejected, merged; patterns; the user's operators."""

from __future__ import annotations

from pathlib import Path

import pytest

from namecheck import operators
from namecheck.core.findings import register
from namecheck.core.semantics import Semantics
from namecheck.project import settings
from namecheck.project.settings import Settings, SettingsError


def read(text: str) -> Settings | None:
    return settings.read(f"[tool.namecheck]\n{text}".encode(), "dir/pyproject.toml")


def refusal(text: str) -> str:
    with pytest.raises(SettingsError) as caught:
        read(text)
    return str(caught.value)


def test_all_keys() -> None:
    assert read(
        'semantics = "torch-2.12"\nselect = ["NC1"]\nignore = ["name-mismatch"]\n'
        'per-file-ignores = { "tests/*" = ["NC103"] }\ninclude = ["*.py"]\nexclude = ["gen"]\n'
        'extend-operators = ["ops.toml"]\noutput-format = "concise"\ncolor = "never"\n'
        'syntax = "named"\nmax-file-size = 1000\n'
    ) == Settings(
        root="dir",
        semantics=Semantics.NATIVE,
        select=("NC1",),
        ignore=("name-mismatch",),
        per_file_ignores={"tests/*": ("NC103",)},
        include=("*.py",),
        exclude=("gen",),
        extend_operators=("dir/ops.toml",),
        output_format="concise",
        color="never",
        syntax="named",
        max_file_size=1000,
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('selct = ["NC1"]', ["unknown key 'selct'", "did you mean 'select'?"]),
        ("nonsense = 1", ["unknown key 'nonsense'", "semantics"]),
        ('select = "NC1"', ["select: ", "list of strings", "'NC1'"]),
        ('select = ["NC1001"]', ["select: ", "NC1001"]),
        ("ignore = [1]", ["ignore: ", "list of strings"]),
        ('semantics = "torch"', ["semantics: ", "namecheck, torch-2.12", "'torch'"]),
        ("color = true", ["color: ", "auto, always, never", "true"]),
        ('per-file-ignores = ["a"]', ["per-file-ignores: "]),
        ('per-file-ignores = { a = ["x"] }', ["per-file-ignores: ", "no code 'x'"]),
        ("max-file-size = true", ["max-file-size: ", "number of bytes", "true"]),
        ("cache-dir = 1", ["cache-dir: ", "a string", "1"]),
        ('cache-dir = "a\\u0000"', ["cache-dir: no path has a NUL character"]),
        ('baseline = "a\\u0000"', ["baseline: no path has a NUL character"]),
        ('extend-operators = ["a\\u0000"]', ["extend-operators: no path has a NUL character"]),
        ('color = "' + "a" * 300 + '"', ["color: ", f"'{'a' * 199}…"]),
    ],
)
def test_what_cannot_be_used_is_named(text: str, words: list[str]) -> None:
    message = refusal(text)
    assert message.startswith("dir/pyproject.toml:2: [tool.namecheck] ")
    for word in words:
        assert word in message


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"[tool.namecheck]\nselect = [\n", "p.toml: Invalid value (at end of document)"),
        (
            b'[a]\nb = 1\n[tool.namecheck]\nselect = [\n  "\xff"]\n',
            "p.toml:5: tool.namecheck.select: ",
        ),
        (b"# \xe9\n[tool.namecheck]\n", "p.toml:1: the byte 0xe9 is no UTF-8"),
        (b"[tool]\nnamecheck = 3\n", "p.toml:2: [tool.namecheck] is a table"),
        (b"tool.namecheck.ignore = 3\n", "p.toml:1: [tool.namecheck] ignore: "),
        (b"[tool.namecheck]\n[tool.namecheck.per-file-ignores]\na = 1\n", "p.toml:3: "),
        (
            b"[tool.namecheck.per-file-ignores]\na = []\n'b/*' = ['NC000']\n",
            "p.toml:3: [tool.namecheck] per-file-ignores: 'b/*': there is no code 'NC000'",
        ),
        (
            b"[tool.namecheck]\nper-file-ignores.'b.*' = 3\n",
            "p.toml:2: [tool.namecheck] per-file-ignores: 'b.*': a list of strings is wanted",
        ),
        (b"tool = { namecheck = { color = 1 } }\n", "p.toml:1: [tool.namecheck] color: "),
        (b"[tool.namecheck]\nselect = " + b"[" * 5000, "p.toml: "),
        (b"[tool.namecheck]\nselect = " + b"1" * 5000, "p.toml: Exceeds the limit"),
    ],
)
def test_an_error_has_its_line(data: bytes, message: str) -> None:
    with pytest.raises(SettingsError) as caught:
        settings.read(data, "p.toml")
    assert str(caught.value).startswith(message)


def test_a_byte_order_mark_is_accepted() -> None:
    data = b'\xef\xbb\xbf[tool.namecheck]\nselect = ["NC1"]\n'
    assert settings.read(data, "p.toml") == Settings(root=".", select=("NC1",))


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le"])
def test_utf_16_is_an_error(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "pyproject.toml").write_bytes("[tool.namecheck]\nselect = []\n".encode(encoding))
    with pytest.raises(SettingsError, match=r"pyproject\.toml"):
        settings.of_directory(str(tmp_path))


def test_a_version_of_many_digits_is_one() -> None:
    assert settings.requires(f"torch>={'9' * 5_000}", (2, 13))
    assert not settings.requires("torch>=2.12", (2, 13))


def test_the_section_is_a_table() -> None:
    with pytest.raises(SettingsError, match="is a table"):
        settings.read(b"tool.namecheck = 1\n", "pyproject.toml")
    assert settings.read(b"tool = 1\nx = 'namecheck'\n", "pyproject.toml") is None


def test_the_nearest_section_counts(tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (tmp_path / "pyproject.toml").write_text('[tool.namecheck]\ncolor = "never"\n')
    (inner / "pyproject.toml").write_text("[project]\nname = 'b'\n")
    found = settings.above(str(inner))
    assert (found.color, found.root) == ("never", str(tmp_path))


def test_the_project_is_where_the_pyproject_is(tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (tmp_path / "pyproject.toml").write_text("")
    assert (inner / settings.project_root(str(inner))).resolve() == tmp_path


def test_selection() -> None:
    found = Settings(select=("NC1",), ignore=("NC103", "syntax-error"))
    assert {"NC101", "NC003", "NC090", "NC005"} <= found.selected
    assert not {"NC201", "NC103", "NC001", "NC010"} & found.selected
    assert Settings().selected == set(register())
    assert "NC005" in Settings(ignore=("ALL",)).selected


def test_per_file_ignores() -> None:
    found = Settings("root", per_file_ignores={"tests/*": ("NC101",), "old": ("NC1",)})
    assert "NC101" not in found.selected_in("root/tests/deep/test_x.py")
    assert "NC101" in found.selected_in("root/src/x.py")
    assert "NC103" not in found.selected_in("root/src/old/x.py")


def test_what_a_walk_takes() -> None:
    found = Settings("root", exclude=("generated", "src/old", "*_pb2.py"))
    for path in (
        "root/.git",
        "root/a/__pycache__",
        "root/generated",
        "root/src/old",
        "root/x_pb2.py",
    ):
        assert found.excludes(path), path
    for path in ("root/src", "root/old", "root/src/older"):
        assert not found.excludes(path), path
    assert found.takes("root/a.py")
    assert found.takes("root/a.pyi")
    assert not found.takes("root/a.py.txt")


def test_the_command_line_counts_more() -> None:
    found = Settings(select=("NC1",), ignore=("NC101",)).over(
        select=("NC2",), ignore=("NC201",), color=None
    )
    assert (found.select, found.ignore, found.color) == (("NC2",), ("NC101", "NC201"), "auto")


def rows(tmp_path: Path, text: str) -> Settings:
    (tmp_path / "ops.toml").write_text(text)
    return Settings(extend_operators=(str(tmp_path / "ops.toml"),))


def test_own_operators_lie_over_the_table(tmp_path: Path) -> None:
    found = rows(
        tmp_path,
        '[operators]\nmy_op = { forms = "f", names = "keeps_input_names" }\n'
        'sum = { forms = "fm", names = "unknown" }\n',
    ).rows()
    assert found is not None
    assert found["my_op"].names == "keeps_input_names"
    assert found["sum"].names == "unknown"
    assert found["mean"] == operators.table()["mean"]
    assert Settings().rows() is None


@pytest.mark.parametrize(
    ("text", "line", "word"),
    [
        ("[operators]\n\na = 1\n", 3, "a row is a table"),
        ('[operators]\na = { forms = "f" }\n', 2, "'names' is missing"),
        ('[operators]\na = { forms = 1, names = "unknown" }\n', 2, "'forms': a text is expected"),
        ('[operators]\na = { forms = "fz", names = "unknown" }\n', 2, "unknown form 'z'"),
        ('[operators]\na = { forms = "f", names = "unknow" }\n', 2, "no rule 'unknow'"),
        (
            '[operators]\n"a" = { forms = "f", names = "unknown", x = 1 }\n',
            2,
            "there is no column 'x'",
        ),
        ('[operators]\na = { forms = "f", names = "unknown", native = 1 }\n', 2, "'native'"),
        ('[operators]\na = { forms = "f", names = "unknown", returns = [] }\n', 2, "'returns'"),
        ('[operators]\na = { forms = "f", names = "unknown", params = [1] }\n', 2, "'params'"),
        ('[operators]\na = { forms = "f", names = "unknown", params = "1x" }\n', 2, "params"),
        ('[operators]\na = { forms = "f", names = "unknown", params = "x:y" }\n', 2, "kind 'y'"),
        ('[operators]\na = { forms = "f", names = "unknown", params = "x=(" }\n', 2, "params"),
        ('[operators]\na = { forms = "f", names = "unknown", documented = 1 }\n', 2, "documented"),
        ('\n[operators.a]\nforms = "f"\n', 2, "'names' is missing"),
        ('a = { forms = "f", names = "unknown" }\n', 1, "[operators]"),
        ("operators = 3\n", 1, "table of rows"),
        ("[operators]\na = {\n", 2, "Invalid"),
        ("[operators]\na = ", 2, "Invalid"),
    ],
)
def test_a_bad_row_is_told_with_file_and_line(
    tmp_path: Path, text: str, line: int, word: str
) -> None:
    with pytest.raises(SettingsError) as caught:
        rows(tmp_path, text).rows()
    assert str(caught.value).startswith(f"{tmp_path / 'ops.toml'}:{line}: ")
    assert word in str(caught.value)


def test_a_table_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"none\.toml: No such file"):
        Settings(extend_operators=(str(tmp_path / "none.toml"),)).rows()
