"""Python source to tree, spans and suppressions, and unreadable files."""

from __future__ import annotations

import ast
import codecs

import pytest

from namecheck.core import parsing, syntax
from namecheck.core.findings import Finding, Span
from namecheck.core.syntax import Refused, Source


def refusal(data: bytes) -> Finding:
    with pytest.raises(Refused) as caught:
        syntax.parse(data, "file.py")
    return caught.value.finding


def source(text: str) -> Source:
    return syntax.parse(text.encode(), "file.py")


@pytest.mark.parametrize(
    "data",
    [
        b"x = 1\n",
        b"x = 1\r\ny = 2\r\n",
        b"x = 1\ry = 2\r",
        b"",
        codecs.BOM_UTF8 + b"x = 1\n",
        "# -*- coding: latin-1 -*-\nx = 'é'\n".encode("latin-1"),
        "#!/usr/bin/python\n# vim: set fileencoding=cp1252 :\nx = '€'\n".encode("cp1252"),
        b"x = 1\n\x0cy = 2\n",
    ],
    ids=["lf", "crlf", "cr", "empty", "bom", "latin-1", "cp1252", "form feed"],
)
def test_what_python_reads_is_read(data: bytes) -> None:
    ast.parse(data)
    assert "\r" not in syntax.parse(data, "file.py").text


@pytest.mark.filterwarnings("error")
def test_what_python_warns_of_is_read_in_silence() -> None:
    assert source("x = '\\d' is 1\n").tree.body


@pytest.mark.parametrize(
    ("data", "line", "column"),
    [
        (b"x = 1\ny = '\xff'\n", 2, 6),
        (b"x = 1\ny = 2\0\n", 2, 6),
        ("x = 1\n".encode("utf-16"), 1, 1),
        (b"# coding: ascii\nx = '\xc3\xa9'\n", 2, 6),
        (b"# coding: no-such-encoding\nx = 1\n", 1, 1),
        (b"# coding: hex\nx = 1\n", 1, 1),
        (b"# coding: punycode\n" + b"b" * 3_000_000, 1, 1),
        (b"# coding: idna\nxn--" + b"b" * 3_000_000, 1, 1),
        (codecs.BOM_UTF8 + b"# coding: latin-1\nx = 1\n", 1, 1),
    ],
    ids=[
        "byte",
        "nul",
        "utf-16",
        "declared",
        "unknown encoding",
        "no text encoding",
        "punycode",
        "idna",
        "two words",
    ],
)
def test_what_is_no_text_is_nc003(data: bytes, line: int, column: int) -> None:
    finding = refusal(data)
    assert finding.code == "NC003"
    assert (finding.span.line, finding.span.column) == (line, column)


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("def f(:\n    pass\n", 1, 7),
        ("x = 1\n  y = 2\n", 2, 1),
        ("x = (1,\n", 1, 5),
        ("größe = 'abc\n", 1, 9),
        ("if x:\n", 1, 6),
        ("x = '''abc\n", 1, 5),
        ("x = 0777\n", 1, 5),
    ],
)
def test_a_syntax_error_has_its_place(text: str, line: int, column: int) -> None:
    finding = refusal(text.encode())
    assert finding.code == "NC001"
    assert finding.span.line == line
    assert finding.span.column in (column, column + 1, column + 2)
    assert (finding.span.end_line, finding.span.end_column) > (line, finding.span.column)
    assert not finding.message[0].islower()


DEEP = 10_000


@pytest.mark.parametrize(
    "text",
    [
        "(" * DEEP + "1" + ")" * DEEP,
        "[" * DEEP + "]" * DEEP,
        "{1:" * DEEP + "1" + "}" * DEEP,
        "-" * DEEP + "1",
        "not " * DEEP + "1",
        "1" + "**1" * DEEP,
        "lambda:" * DEEP + "1",
        "1 if 1 else " * DEEP + "1",
        "if 1: pass\n" + "elif 1: pass\n" * DEEP,
        "".join(" " * depth + "if 1:\n" for depth in range(DEEP // 10)) + " " * DEEP + "pass\n",
        "".join(" " * depth + "def f():\n" for depth in range(DEEP // 10)) + " " * DEEP + "pass\n",
    ],
    ids=lambda text: text[:6].replace(" ", "_"),
)
def test_code_nested_without_end_is_nc004(text: str) -> None:
    assert refusal(text.encode()).code == "NC004"


@pytest.mark.parametrize(
    "text",
    [
        "f'{a}" + "{a}" * DEEP + "'",
        "'a' " * DEEP,
        "a;" * DEEP,
        "a = " * DEEP + "1",
        "f(" + "1," * DEEP + ")",
    ],
    ids=["f-string", "strings", "statements", "targets", "arguments"],
)
def test_what_is_only_long_is_read(text: str) -> None:
    assert source(text).tree.body


@pytest.mark.parametrize(
    "text", ["a\n" * 250_000, "a;" * 250_000, "x = [" + "1, " * 250_000 + "]", "''\n" * 250_000]
)
def test_what_makes_too_large_a_tree_is_nc002(text: str) -> None:
    finding = refusal(text.encode())
    assert finding.code == "NC002"
    assert "400,000 words, numbers, operators and lines, with those in comments" in finding.message


def test_the_number_of_tokens_grows_with_the_size_that_is_allowed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = "# " + "a " * 450_000  # costs nothing, for it makes no tree
    assert refusal(text.encode()).code == "NC002"
    monkeypatch.setattr(parsing, "largest", lambda: 20_000_000)
    assert not source(text).tree.body


def test_a_long_text_of_few_tokens_is_read() -> None:
    assert source(f'x = "{"y" * 5_000_000}"').tree.body
    assert source(f"x = {[f'k{n}' for n in range(100_000)]}").tree.body


def test_spans_count_characters() -> None:
    parsed = source("größe = 漢字 + x\n")
    value = parsed.tree.body[0]
    assert isinstance(value, ast.Assign)
    assert parsed.span(value.value) == Span(1, 9, 1, 15)
    assert parsed.segment(parsed.span(value.value)) == "漢字 + x"


def test_a_segment_may_have_several_lines() -> None:
    parsed = source("x = f(\n    1,\n)\n")
    statement = parsed.tree.body[0]
    assert isinstance(statement, ast.Assign)
    assert parsed.segment(parsed.span(statement.value)) == "f(\n    1,\n)"


def test_letters_that_only_str_splitlines_takes_for_line_ends() -> None:
    parsed = source("x = 'a\x0cb\x85c\u2028d'\ny = 1\n")
    assert parsed.span(parsed.tree.body[1]).line == 2
    assert parsed.lines[1] == "y = 1"


def test_suppressions() -> None:
    parsed = source(
        "# namecheck: ignore-file[NC103]\n"
        "x = 1  # namecheck: ignore\n"
        "# namecheck: ignore[NC101, name-not-found]\n"
        "# a word between\n"
        "y = 1  # noqa  # namecheck:ignore[NC104]\n"
        "z = '# namecheck: ignore'\n"
        "# namecheck: ignored\n"
    )
    assert [(found.line, found.words) for found in parsed.suppressions] == [
        (0, ("NC103",)),
        (2, None),
        (5, ("NC101", "name-not-found")),
        (5, ("NC104",)),
    ]
    assert parsed.segment(parsed.suppressions[3].span) == "# namecheck:ignore[NC104]"


def test_the_lines_of_a_statement() -> None:
    parsed = source(
        "for x in f(\n    1,\n):\n    g(\n        x,\n    )\nmatch x:\n    case 1:\n        pass\n"
    )
    lines = {line: parsed.statement_lines(line) for line in (1, 2, 3, 4, 5, 6, 7, 9, 20)}
    assert lines[1] == lines[2] == lines[3] == (1, 3)
    assert lines[4] == lines[5] == lines[6] == (4, 6)
    assert lines[7] == (7, 7)
    assert lines[9] == (9, 9)
    assert lines[20] == (20, 20)


@pytest.mark.parametrize(
    "text",
    [
        "import torch; torch.zeros(2, names=('N',))",
        "import torch; torch.zeros(2,\n    # sizes\n    names=('N',))",
        "import torch; torch.zeros(2, names = ('N',))",
        "import torch; torch.zeros(2, **{'names': ('N',)})",
        "import torch; x.names = ('N',)",
        "x.refine_names('N')",
        "import torch; x.rename('N')",
        "from torch import zeros; x.rename_(None)",
        "import torch; change = x.rename",
        "x.align_to('N')",
        "x.align_as(y)",
        "x.unflatten('F', (('C', 3),))",
        "x.unflatten(dim=FEATURES, sizes=sizes)",
        "from namecheck import reveal_names",
        "from jaxtyping import Float",
        "from torchtyping import TensorType as T; x: T['n']",
        "from .words import TensorType; x: TensorType['n']",
        "x: Annotated[Tensor, 'N C']",
        "import torch; from .words import F32; x: F32[Tensor, 'n c']",
    ],
)
def test_files_that_name_something(text: str) -> None:
    assert syntax.names_something(text.encode())


@pytest.mark.parametrize(
    "text",
    [
        "",
        "import torch; x = torch.zeros(2)",
        "import pandas; pandas.read_csv(f, names=columns)",
        "import torch\nmodel_input_names = ['input_ids']",
        "import torch\nnames = [n for n in model]\nuse(names)",
        "import torch\nprint(features.names)",
        "x.unflatten(0, (2, 3)); x.unflatten(-1, sizes)",
        "import torch; x.renamed(); x.rename_key(1); os.rename(old, new)",
        "from pathlib import Path; Path(old).rename(new)",
        "import torch; mask: Union[torch.Tensor, 'BlockMask']",
        "from transformers.utils import TensorType; import torch; kind: Union[str, TensorType]",
        "import torch; state: typing.Tuple[torch.Tensor, 'Cache']",
    ],
)
def test_files_that_name_nothing(text: str) -> None:
    assert not syntax.names_something(text.encode())


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"import os, torch\n", True),
        (b"import numpy as np, torch.nn as nn\n", True),
        (b'"""A module."""\r\rfrom torch import nn\r', True),
        (b"import torch, einops\n", True),
        (b"import torchvision\n", False),
        (b"import mine as torch\n", False),
    ],
)
def test_an_import_of_torch_is_found(data: bytes, expected: bool) -> None:
    assert syntax.imports_torch(data) is expected


def test_sizes_are_read_whatever_ends_the_lines() -> None:
    text = b"import torch\n\ndef f(x):\n    B, T = x.shape\n"
    for end in (b"\n", b"\r\n", b"\r"):
        assert syntax.unpacks_sizes(text.replace(b"\n", end))
