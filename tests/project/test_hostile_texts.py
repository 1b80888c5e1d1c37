"""Texts on which a pattern or a parser could take time that grows faster than their length."""

from __future__ import annotations

import ast
import re
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Final

import pytest

from namecheck.core import syntax, toml
from namecheck.core.findings import Finding, Span
from namecheck.core.fingerprints import Outline
from namecheck.editing.sites import Site
from namecheck.effects import words
from namecheck.interpreter.models.torch import defaults
from namecheck.lints.shared import shape_comments
from namecheck.project import first_look, settings
from namecheck.project.files import ProjectFiles
from namecheck.project.settings import SettingsError

# A cost that grows with the square of this length is over the limit many times. In a process that
# ran many tests, Python's collector alone may take seconds.
LENGTH: Final = 100_000
LIMIT: Final = 6


@contextmanager
def limited() -> Iterator[None]:
    """Ends what takes more than some seconds of processor time."""

    def ring(number: int, frame: FrameType | None) -> None:
        raise TimeoutError("it takes too long")

    before = signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, LIMIT)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


STARTS: Final = (
    "",
    "from",
    "from a",
    "from a import",
    "from a import (",
    "import",
    "import a",
    ";",
)
REPEATED: Final = (
    *(" ", "\t", "\\\n", ".", "a", ", a", " as b", "from ", "import ", "import a;", "(", "#", ":"),
    *("from a import (\n", "from a import (# x\n", "from . ", "# namecheck: ignore[", "names", "["),
    *("names =", "Annotated[", "Float[", "x.rename", ".unflatten(", "# coding", '"'),
)

READERS: Final[dict[str, Callable[[bytes], object]]] = {
    "imports": lambda data: ProjectFiles().imported("/nowhere/m.py", data),
    "words": syntax.names_something,
    "torch": syntax.imports_torch,
    "comments": lambda data: [*syntax._suppressions(_commented(data))],
}


def _commented(data: bytes) -> syntax.Source:
    return syntax.parse(b"x = 1 # namecheck: " + data.replace(b"\n", b" "), "m.py")


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("start", STARTS)
def test_a_text_costs_no_more_than_its_length(reader: str, start: str) -> None:
    for repeated in REPEATED:
        text = start + repeated * (LENGTH // len(repeated))
        for end in ("", "\x00", "x\n"):
            with limited():
                READERS[reader](f"{text}{end}".replace("\x00", "").encode())


def _claim(data: bytes) -> object:
    return shape_comments.claim(data.decode(), None, ())


_SIZES: Final = "import torch  # ein .shape\n"
_REQUIRES: Final = '[project]\ndependencies = ["'


@pytest.mark.parametrize("length", [10_000, 500_000])
@pytest.mark.parametrize(
    ("reader", "start", "repeated", "end"),
    [
        (syntax.unpacks_sizes, f"{_SIZES}a", " ", "\n"),
        (syntax.unpacks_sizes, f"{_SIZES}a", "\n", "b"),
        (syntax.unpacks_sizes, f"{_SIZES}f(\n", "a,\n", ")"),
        (syntax.unpacks_sizes, f"{_SIZES}(", "a,\n", "1"),
        (syntax.unpacks_sizes, f"{_SIZES}(", "*a,*", "1"),
        (syntax.unpacks_sizes, f"{_SIZES}", ".shape", "\n"),
        (syntax.unpacks_sizes, f'{_SIZES}"', "->", "\n"),
        (syntax.unpacks_sizes, _SIZES, '"->', "\n"),
        (lambda data: re.search(defaults._OF_DEVICES, data.decode()), "", "enter_context(", ""),
        (_claim, "", "=", ""),
        (_claim, "", "-", "(N C)"),
        (_claim, "x", ".", "shape (N, C)"),
        (_claim, "shape", " ", "(N, C)"),
        (_claim, "(N, C)", " ", ""),
        (_claim, "(N, C)", " over", "!"),
        (_claim, "", "(N, ", ""),
        (lambda data: re.fullmatch(first_look._REQUIRED, data.decode()), "torch", " ", "x"),
        (lambda data: re.fullmatch(first_look._REQUIRED, data.decode()), "torch>", " ", "\n"),
        (lambda data: settings.requires(data.decode(), (2, 13)), "torch", " ", ")"),
        (lambda data: [*words._Reader(data.decode()).items()], "a", " ", ""),
        (lambda data: [*words._Reader(data.decode())._cut()], "", "1", "a"),
        (lambda data: [*words._Reader(data.decode())._cut()], "", "a ", ""),
    ],
)
def test_a_search_costs_no_more_than_the_length_of_its_text(
    reader: Callable[[bytes], object], start: str, repeated: str, end: str, length: int
) -> None:
    with limited():
        reader(f"{start}{repeated * (length // len(repeated))}{end}".encode())


def test_sizes_are_found_where_they_are_read() -> None:
    for line in (
        "b, c = x.shape",
        "(b, c) = x.size()",
        "  (b,\n c,\n) = x.shape",
        "b, = y[0].shape",
        "b, *_, d = x.shape",
        "b, n, _, h = *x.shape, self.heads",
        "if x.shape[-3] != 3:",
        "assert x.shape == y.shape",
        "if len(x.shape) != 4 or x.size(0) == 1:",
    ):
        assert syntax.unpacks_sizes(f"import torch\n{line}\n".encode()), line
    assert syntax.unpacks_sizes(b"import torch, einops\ny = rearrange(x, 'a b -> b a')\n")
    assert not syntax.unpacks_sizes(b"import torch\nf(x.shape)\n")


def test_comments_before_one_line_are_read_in_time() -> None:
    """Each of them is about the line below them all."""
    count = 20_000
    with limited():
        source = syntax.parse(b"# namecheck: ignore\n" * count + b"x = 1\n", "m.py")
        assert {comment.line for comment in source.suppressions} == {count + 1}


def test_the_columns_of_a_long_line_are_counted_in_time() -> None:
    count = 20_000
    with limited():
        source = syntax.parse(f"é = 1; {'xé; ' * count}\n".encode(), "m.py")
        spans = [source.span(statement) for statement in source.tree.body]
        assert spans[-1].column == 8 + 4 * (count - 1)
        assert source.position(spans[-1]) == syntax.position(source.tree.body[-1].value)  # type: ignore[attr-defined]


def test_the_identities_of_many_findings_are_found_in_time() -> None:
    count = 6_000
    lines = [line for number in range(count) for line in (f"def f{number}():", "    g(1)")]
    with limited():
        outline = Outline(lines)
        for number in range(count):
            span = Span(2 * number + 2, 5, 2 * number + 2, 9)
            assert outline.around(Finding("NC103", "", "m.py", span))[0] == f"f{number}"


def test_the_expressions_of_many_findings_are_found_in_time() -> None:
    count = 10_000
    source = syntax.parse(b"f(x); " * count, "m.py")
    site = Site(source, settings.Settings(), ProjectFiles, frozenset)
    with limited():
        for number in range(count):
            expression = site.expression(Span(1, 6 * number + 1, 1, 6 * number + 5))
            assert isinstance(expression, ast.Call)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("from . import b", ["b"]),
        ("from .import b", ["b"]),
        ("from .a import b, c as d", ["a", "b", "c", "as", "d"]),
        ("from a import (\n    b,  # (all of it)\n    c,\n)", ["a", "b", "all", "of", "it", "c"]),
        ("from a import \\\n    b", ["a", "b"]),
        ("import a.b as c , d", ["a.b", "as", "c", "d"]),
        ("from importlib import util", ["importlib", "util"]),
        ("from import_a.import_b import import_c", ["import_a.import_b", "import_c"]),
        ("x = 1; import a", ["a"]),
    ],
)
def test_imports_are_read_as_python_reads_them(text: str, names: list[str]) -> None:
    from namecheck.project import files

    [groups] = re.findall(files._INNER_IMPORT, text.encode(), re.MULTILINE)
    assert re.findall(r"[\w.]*\w", b" ".join(groups).decode()) == names


@pytest.mark.parametrize(
    "text",
    [
        "a." * 200_000 + "a = 1",
        "[" + "a." * 200_000 + "a]",
        "x = " + "[" * 200_000,
        "x = " + "{a=" * 100_000,
        "x = 1" + "_1" * 200_000,
        "x = [" + "[],\n" * 100_000 + "]",
        "".join(f"[t{number}]\na.b.c = 1\n" for number in range(20_000)),
        "x = '''" + "\\" * 300_000,
    ],
)
def test_settings_are_read_in_time(text: str) -> None:
    with suppress(SettingsError), limited():
        settings.read(f"[tool.namecheck]\n[x]\n{text}\n".encode(), "p.toml")


def test_a_key_of_many_parts_is_an_error_with_its_line() -> None:
    with pytest.raises(ValueError, match=r"too many parts \(at line 2, column 1\)"):
        toml.loads("x = 1\n" + "a." * 101 + "a = 1")
    assert toml.loads("# " + "." * 200 + "\nx = '" + "." * 200 + "'") == {"x": "." * 200}


def test_settings_are_small(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(str(tmp_path))
    with open("pyproject.toml", "w") as file:
        file.write("#" * 1_000_001)
    with pytest.raises(SettingsError, match="no file over 1,000,000 bytes is read"):
        settings.of_directory(".")
