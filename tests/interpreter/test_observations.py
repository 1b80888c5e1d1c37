"""The observations of the interpreter for each expression: place, values, number."""

from __future__ import annotations

import ast
import dis
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent
from types import CodeType

import pytest

from namecheck.core.names import UNKNOWN
from namecheck.core.syntax import Position
from namecheck.core.tensors import Many, Tensor
from namecheck.interpreter.workspace import analysis
from namecheck.interpreter.workspace.analysis import Observation
from tests.interpreting import parsed


def observed(source: str) -> dict[str, Observation]:
    """The observations of a program by the text of their expressions; the last one of a text."""
    program = parsed(source)
    lines = [line.encode() for line in program.lines]
    (found,) = analysis.observe(program).values()
    return {_text(lines, position): found[position] for position in sorted(found)}


def _text(lines: list[bytes], at: Position) -> str:
    if at.line == at.end_line:
        return lines[at.line - 1][at.column : at.end_column].decode()
    first, last = lines[at.line - 1][at.column :], lines[at.end_line - 1][: at.end_column]
    return b"\n".join([first, *lines[at.line : at.end_line - 1], last]).decode()


def brief(observation: Observation) -> str:
    """The value for a reader."""
    value = observation.value
    if isinstance(value, tuple):
        return ", ".join(brief(Observation((part,))) for part in value)
    if isinstance(value, Many):
        return f"{brief(Observation((value.each,)))}, …"
    return value.dims.brief() if isinstance(value, Tensor) else "?"


def test_every_expression_that_is_reached() -> None:
    found = observed("""
    x = torch.zeros(2, 3, names=('N', 'C'))
    y = (x.mean('N') + 1) @ -x.align_to('C', 'N')
    x += x
    parts = x.unbind('N')
    def unused(z):
        return x.mean('C')
    """)
    assert brief(found["x.mean('N')"]) == "C=3"
    assert brief(found["x.mean('N') + 1"]) == "C=3"
    assert brief(found["-x.align_to('C', 'N')"]) == "C=3 N=2"
    assert brief(found["x += x"]) == "N=2 C=3"
    assert brief(found["x.unbind('N')"]) == "C=3, C=3"
    assert "x.mean('C')" not in found


def test_operators_tell_what_they_knew_of_their_operands() -> None:
    found = observed("""
    x = torch.zeros(2, 3, names=('N', 'C'))
    def total(x, dim):
        return x.sum(dim)
    a = total(x, 'N')
    b = x + library.made()
    c = x.mean(library.dim())
    d = x.mean('T')
    """)
    known = {text: of.informed for text, of in found.items() if of.operator}
    assert known == {
        "torch.zeros(2, 3, names=('N', 'C'))": True,
        "x.sum(dim)": True,
        "x + library.made()": False,
        "x.mean(library.dim())": False,
        "x.mean('T')": True,
    }
    assert (found["x.mean('T')"].times, found["x.mean('T')"].gave) == (1, 0)


def test_operators_tell_whether_they_knew_the_sizes() -> None:
    found = observed("""
    x = torch.zeros(2, 3, names=('N', 'C'))
    y = x.exp()
    z = x.rename(None).nonzero().exp()
    """)
    assert (found["x.exp()"].informed, found["x.exp()"].sized) == (True, True)
    unsized = found["x.rename(None).nonzero().exp()"]
    assert (unsized.informed, unsized.sized) == (True, False)


def test_what_is_reached_again_is_joined() -> None:
    found = observed("""
    def double(x):
        return x + x
    a = double(torch.zeros(2, 3, names=('N', 'C')))
    b = double(torch.zeros(2, 4, names=('N', 'T')))
    """)
    twice = found["x + x"]
    assert twice == Observation(twice.values, (), 2, 2, True, True, True, passed=2)
    assert [value.dims.brief() for value in twice.values] == ["N=2 C=3", "N=2 T=4"]
    assert brief(twice) == "N=2 ?"
    assert brief(found["double(torch.zeros(2, 3, names=('N', 'C')))"]) == "N=2 C=3"


def test_one_time_unknown_is_unknown() -> None:
    found = observed("""
    def double(x):
        return x + x
    double(torch.zeros(2, names=('N',)))
    double(library.made())
    """)
    assert found["x + x"].value is UNKNOWN


def test_many_values_are_joined() -> None:
    found = observed("""
    x = torch.zeros(2, 3, names=('N', 'C'))
    for letter in 'ABCDEFGHIJKL':
        y = x.rename(N=letter)
    """)
    renamed = found["x.rename(N=letter)"]
    assert (brief(renamed), renamed.times) == ("?=2 C=3", 12)


def test_a_loop_of_unknown_length_is_covered() -> None:
    found = observed("""
    x = torch.zeros(3, names=('A',))
    for letter in library.letters():
        x = x.align_to(letter, ...)
    """)
    assert brief(found["x.align_to(letter, ...)"]) == "? ..."


def test_findings_stand_with_their_expression() -> None:
    found = observed("""
    x = torch.zeros(2, 3, names=('N', 'C'))
    def reduce(x, dim):
        return x.sum(dim)
    reduce(x, 'N')
    reduce(x, 'T')
    try:
        x.mean('T')
    except RuntimeError:
        pass
    """)
    both = found["x.sum(dim)"]
    assert [finding.code for finding in both.findings] == ["NC103"]
    assert brief(both) == "C=3"
    assert [finding.code for finding in found["x.mean('T')"].findings] == ["NC103"]


PACKAGE = {
    "layouts.py": """
        import torch
        DIMS = ('N', 'C')
        def made():
            return torch.zeros(2, 3, names=DIMS)
        """,
    "models/__init__.py": """
        from .blocks import *
        from . import blocks as inner
        """,
    "models/blocks.py": """
        from layouts import made
        _hidden = 1
        def pooled(x, dim):
            return x.mean(dim)
        whole = pooled(made(), 'N')
        """,
}


def tree(folder: Path, main: str) -> analysis.Observations:
    """The observations of a program of several files, by paths relative to its folder."""
    for name, text in PACKAGE.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(dedent(text))
    finder = analysis.below(str(folder))
    found = analysis.observe(parsed(main), finder=finder)
    return {
        os.path.relpath(name, folder) if name[0] == "/" else name: of for name, of in found.items()
    }


def test_imported_files_are_run(tmp_path: Path) -> None:
    found = tree(
        tmp_path,
        """
        import layouts, models.blocks
        import unknown
        from models import pooled, inner
        x = layouts.made()
        a = models.whole
        b = pooled(x, 'C')
        c = inner.pooled(layouts.made(), 'T')
        layouts.DIMS = ('A', 'B')
        d = layouts.made()
        e = (models.whole2, models.blocks.whole)
        """,
    )
    right = {at.line: brief(of) for at, of in sorted(found["program.py"].items()) if at.column == 4}
    expected = {5: "N=2 C=3", 6: "C=3", 7: "N=2", 8: "?", 10: "A=2 B=3", 11: "?, C=3"}
    assert {line: right[line] for line in expected} == expected
    assert set(found) == {"program.py", *PACKAGE}
    (reduced,) = [of for of in found["models/blocks.py"].values() if of.findings]
    assert (reduced.times, brief(reduced)) == (3, "?")
    (finding,) = reduced.findings
    places = [(os.path.relpath(p.filename, tmp_path), p.span.line) for p in finding.related]
    assert os.path.relpath(finding.filename, tmp_path) == "models/blocks.py"
    assert places[-1][1] == 8


@pytest.mark.parametrize(
    "main",
    [
        "try:\n    import models\nexcept ImportError:\n    models = None",
        "if library.flag():\n    import models\nelse:\n    from models import whole",
        "for _ in range(3):\n    import models",
        "def f():\n    import models\n    return models\nf(); f()",
    ],
)
def test_files_are_run_once_on_a_path(tmp_path: Path, main: str) -> None:
    found = tree(tmp_path, main)
    created = [of for of in found["layouts.py"].values() if brief(of) == "N=2 C=3"]
    assert {of.times for of in created} <= {1, 2}


def instructions(code: CodeType) -> Iterator[tuple[str, Position]]:
    """The instructions of a program with their positions."""
    for instruction in dis.get_instructions(code):
        at = instruction.positions
        assert at is not None
        where = (at.lineno, at.col_offset, at.end_lineno, at.end_col_offset)
        yield instruction.opname, Position(*(-1 if part is None else part for part in where))
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from instructions(constant)


@pytest.mark.parametrize(
    ("statement", "opname"),
    [
        ("y = x.mean('N')", "CALL"),
        ("y = torch.mean(x, 'ü'); z = torch.mean(x, 'N')", "CALL"),
        ("y = x + x", "BINARY_OP"),
        ("y = (x @ (x.T))", "BINARY_OP"),
        ("x *= 2", "BINARY_OP"),
        ("x.q[0] *= x", "BINARY_OP"),
        ("y = -(x)", "UNARY_NEGATIVE"),
        ("y = ~x", "UNARY_INVERT"),
        ("y = 'é', x[0, :]", "BINARY_SUBSCR" if sys.version_info < (3, 14) else "BINARY_OP"),
        ("y = x.T", "LOAD_ATTR"),
        ("y = x < x", "COMPARE_OP"),
        ("def f(x): return x * 'ö'.size\nf(x)", "BINARY_OP"),
    ],
)
def test_positions_are_those_of_the_code(statement: str, opname: str) -> None:
    source = parsed(f"x = torch.zeros(2, 3, names=('N', 'C'))\n{statement}")
    (found,) = analysis.observe(source).values()
    wanted = [
        at
        for name, at in instructions(compile(ast.parse(source.text), "", "exec"))
        if name == opname
    ]
    assert wanted
    assert set(wanted) <= set(found)


def test_a_contradiction_that_may_be_none_is_not_informed() -> None:
    found = observed("""
    parts = []
    while len(parts) > 2:
        parts.pop()
    torch.cat(parts, dim='N')
    """)
    assert not found["torch.cat(parts, dim='N')"].informed


def test_a_call_of_something_unknown_is_not_informed() -> None:
    found = observed("""
    import os
    x = torch.zeros(len(os.environ), 2, names=("H", "C"))
    x, _ = x if os.environ.get("FLAG") else (x, x)
    x.flatten(("H", "C"), "P")
    """)
    flattened = found['x.flatten(("H", "C"), "P")']
    assert flattened.operator
    assert not flattened.informed


def test_a_call_without_a_value_passes_on_some_path() -> None:
    found = observed("""
    import os
    x = torch.zeros(())
    if os.environ.get("FLAG"):
        x = torch.zeros(2)
    x.names = ()
    """)
    naming = found["x.names"]
    assert naming.findings
    assert (naming.gave, naming.passed) == (0, 1)
