"""The fingerprint of a finding stays with it over edits, and no two findings share one."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterable
from typing import Final

import pytest

from namecheck.core.findings import Finding, Span
from namecheck.core.fingerprints import Identity, Outline, identities

BEFORE: Final = """\
import torch

CASES = [x for x in 'ab']


class Net(Base):
    @staticmethod
    def forward(x, y: "N C" = None):
        z = x + y.sum(1, keepdim=True)
        if z.mean() > 0 and (y is not None):
            return x * z, f"{z!r:>{x}}", lambda: z
        # a comment of its own
        for a, b in zip(x, y): a = a + b; b = a + b
        match x:
            case [1, *rest]: return {**y, 'k': x[1:2, None]}
        return x * z


def other(x): return x - x
"""

# What formatters do to it, a hundred lines above, comments, another layout of the same code.
AFTER: Final = (
    "# licence\n" * 100
    + '''\
import torch

CASES = [
    x for x in "ab"
]


class Net(
    Base,
):
    """Documented now."""

    @staticmethod
    def forward(
        x,
        y: "N C" = None,  # comment
    ):
        z = x + y.sum(
            1,
            keepdim=True,
        )
        if (
            z.mean() > 0
            and y is not None
        ):
            return (x * z, f"{z!r:>{x}}", lambda: z)
        # a comment  of its own
        for a, b in zip(
            x, y
        ):
            a = a + b
            b = a + b
        match x:
            case [1, *rest]:
                return {
                    **y,
                    "k": x[1:2, None],
                }
        return (
            x
            * z
        )


def other(x):
    return x - x
'''
)

# The pieces of source that findings are at, in order, in the one layout and in the other.
PIECES: Final = (
    ("staticmethod", "staticmethod"),
    ('"N C"', '"N C"'),
    (
        "x + y.sum(1, keepdim=True)",
        "x + y.sum(\n            1,\n            keepdim=True,\n        )",
    ),
    ("z.mean()", "z.mean()"),
    ("x * z", "x * z"),
    ("# a comment of its own", "# a comment  of its own"),
    ("zip(x, y)", "zip(\n            x, y\n        )"),
    ("a + b", "a + b"),
    ("a + b", "a + b"),
    ("match", "match"),
    ("x[1:2, None]", "x[1:2, None]"),
    ("x * z", "x\n            * z"),
    ("x - x", "x - x"),
)


def found(text: str, pieces: Iterable[str], filename: str = "net.py") -> list[Finding]:
    """A finding at each piece, from the one before on."""
    findings, end = [], 0
    for piece in pieces:
        start = text.index(piece, end)
        end = start + len(piece)
        span = Span(*(number for at in (start, end) for number in position(text, at)))
        findings.append(Finding("NC101", "m", filename, span))
    return findings


def position(text: str, at: int) -> tuple[int, int]:
    """The line and the column of a character."""
    return text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)


def of(text: str, findings: list[Finding], path: str | None = None) -> list[Identity]:
    by_finding = identities(findings, lambda name: text.split("\n"), lambda name: path or name)
    return [by_finding[finding] for finding in findings]


def test_layout_does_not_matter() -> None:
    before = of(BEFORE, found(BEFORE, (piece for piece, _ in PIECES)))
    after = of(AFTER, found(AFTER, (piece for _, piece in PIECES)))
    assert before == after
    assert len({each.fingerprint for each in before}) == len(PIECES)
    assert [each.fingerprint for each in before] == [each.fingerprint for each in after]


def test_functions_are_qualified() -> None:
    functions = [
        each.function for each in of(BEFORE, found(BEFORE, (piece for piece, _ in PIECES)))
    ]
    assert functions == ["Net.forward"] * (len(PIECES) - 1) + ["other"]


def test_alike_expressions_of_a_function_are_counted() -> None:
    text = "x = a + b, a+b\nfor _ in a + b: a - b\n"
    identified = of(text, found(text, ("a + b", "a+b", "a + b", "a - b")))
    assert [each.occurrence for each in identified] == [0, 1, 2, 0]
    assert len({each.syntax for each in identified}) == 2


def test_the_rest_of_a_statement_does_not_matter() -> None:
    first, second = "x = f(a + b, a - b)\n", "y = a - b\n"
    assert of(first, found(first, ("a - b",))) == of(second, found(second, ("a - b",)))


def test_what_makes_a_finding_another_one() -> None:
    def first(text: str, piece: str = "a + b", path: str = "net.py") -> str:
        return of(text, found(text, (piece,)), path)[0].fingerprint

    base = first("def f(a, b):\n    return a + b\n")
    others = [
        first("def g(a, b):\n    return a + b\n"),
        first("def f(a, b):\n    return a - b\n", "a - b"),
        first("def f(a, b):\n    return a + b.t()\n", "a + b.t()"),
        first("def f(a, b):\n    return a + b\n", path="other.py"),
        first("return a + b\n"),
    ]
    assert len({base, *others}) == 6


@pytest.mark.parametrize(
    "statement",
    [
        "x = (a)",
        "x = 'a' 'b'",
        'x = u"ab"',
        "x = 0x10, 1_000, 1e3, ...",
        "x = a if b else (lambda c: d)",
        "x = f'{a!r}{b:>{c}}'",
        "print(a, *b, c=d, **e)",
        "global a, b",
    ],
)
def test_a_statement_has_the_form_of_its_syntax(statement: str) -> None:
    """Formatted by `ast` it has the same form, and each part of it counts."""
    formatted = ast.unparse(ast.parse(statement))
    one, another = (of(text, found(text, (text,)))[0] for text in (statement, formatted))
    assert one == another
    changed = statement.replace("b", "q", 1).replace("(a)", "(z)").replace("10", "11")
    assert of(changed, found(changed, (changed,)))[0] != one


def test_a_file_that_cannot_be_parsed_has_lines() -> None:
    text, moved = "x = (\ny = a + b\n", "# more\nx = (\ny  =  a+b\n"
    one, another = of(text, found(text, ("y ",))), of(moved, found(moved, ("y ",)))
    assert one == another
    assert one[0].function == ""


def test_a_place_behind_the_end_of_a_file_has_an_identity() -> None:
    finding = Finding("NC002", "m", "gone.py", Span(7, 3, 7, 4))
    assert identities([finding], lambda name: (), str)[finding].function == ""


def test_deep_code_has_an_identity() -> None:
    text = "x = " + "+".join(["a"] * 3000) + "\n"
    assert of(text, found(text, (text[4:-1],)))[0].syntax
    assert of(text, found(text, ("x",)))[0] != of(text, found(text, (text[4:-1],)))[0]


def test_columns_count_characters() -> None:
    text, plain = "é = '𝕏𝕏𝕏𝕏'; y = a + b\n", "y = a + b\n"
    assert of(text, found(text, ("a + b",))) == of(plain, found(plain, ("a + b",)))


def test_an_outline_has_all_functions() -> None:
    program = """
        class A:
            def f(self):
                def g(): pass
        async def h(): pass
    """
    outline = Outline(textwrap.dedent(program).split("\n"))
    assert outline.functions == {"", "A", "A.f", "A.f.g", "h"}
