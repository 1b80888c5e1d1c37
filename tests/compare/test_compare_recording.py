"""The recording of a run, expression by expression, and both sides of small programs."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import dedent
from typing import Any, Final

import pytest

from namecheck.compare import join
from namecheck.compare.join import Joined, Verdict, show
from namecheck.core import syntax
from namecheck.core.semantics import Semantics
from namecheck.core.syntax import Position
from namecheck.interpreter.workspace import analysis
from namecheck.runtime.programs.recording import Recording, recording
from tests.fixture_reader import FIXTURES

PLACE: Final = "<program>"
SCRIPTS: Final = FIXTURES / "compare"


@pytest.fixture(scope="module")
def recorded() -> Iterator[Recording]:
    with recording(Semantics.NAMECHECK) as noted:
        yield noted


def sources(program: str) -> dict[str, syntax.Source]:
    text = "import torch\nfrom torch import nn\n" + dedent(program).lstrip("\n")
    return {PLACE: syntax.parse(text.encode(), PLACE)}


def run(recorded: Recording, program: str) -> dict[str, Any]:
    """Run a watched program; its variables."""
    watched = sources(program)
    recorded.watch(watched)
    space: dict[str, Any] = {"__name__": "program"}
    try:
        exec(compile(watched[PLACE].text, PLACE, "exec"), space)
    except Exception as error:
        recorded.ended(error)
        space["error"] = error
    return space


def noted(recorded: Recording, program: str) -> dict[str, list[str]]:
    """The recording of each expression: its values, the codes of its contradictions, errors."""
    run(recorded, program)
    source = sources(program)[PLACE]
    return {
        source.segment(source.at(at)): [
            *map(show, seen.values),
            *(finding.code for finding in seen.findings),
            *(error.split(":")[0] for error in seen.errors),
        ]
        for at, seen in sorted(recorded.seen[PLACE].items())
    }


def joined(recorded: Recording, program: str) -> dict[str, Joined]:
    """Both sides of a program, by the text of the expressions; the last one with each text."""
    watched = sources(program)
    static = analysis.observe(watched[PLACE])
    run(recorded, program)
    source = watched[PLACE]
    found = join.sides(static, recorded.seen, recorded.activations.ended())
    return {source.segment(source.at(one.position)): one for one in found}


NAMED: Final = "x = torch.zeros(2, 3, names=('N', 'C'))\n"


# Recording


@pytest.mark.parametrize(
    ("program", "expression", "told"),
    [
        ("y = x.mean('N')", "x.mean('N')", ["C=3"]),
        ("y = torch.mean(x, 'N')", "torch.mean(x, 'N')", ["C=3"]),
        ("y = (x\n  .mean(\n  'N'\n )\n .exp())", "x\n  .mean(\n  'N'\n )\n .exp()", ["C=3"]),
        ("y = (x\n  .mean(\n  'N'\n )\n .exp())", "x\n  .mean(\n  'N'\n )", ["C=3"]),
        ("y = x + x", "x + x", ["N=2 C=3"]),
        ("y = 1 - x", "1 - x", ["N=2 C=3"]),
        ("y = 2 ** (x)", "2 ** (x)", ["N=2 C=3"]),
        ("y = x @ x.T", "x.T", ["C=3 N=2"]),
        ("y = (x\n    .T)", "x\n    .T", ["C=3 N=2"]),
        ("x += 1", "x += 1", ["N=2 C=3"]),
        ("x **= 2", "x **= 2", ["N=2 C=3"]),
        ("y = -x", "-x", ["N=2 C=3"]),
        ("y = ~(x > 0)", "~(x > 0)", ["N=2 C=3"]),
        ("y = x > 0", "x > 0", ["N=2 C=3"]),
        ("y = 0 < x", "0 < x", ["N=2 C=3"]),
        ("y = x[0]", "x[0]", ["C=3"]),
        ("y = x[:, 1:]", "x[:, 1:]", ["N=2 C=2"]),
        ("y = x.max('C')", "x.max('C')", ["(N=2, N=2)"]),
        ("y = x.unbind('N')", "x.unbind('N')", ["(C=3, C=3)"]),
        ("y = x.sum()", "x.sum()", ["(no dimension)"]),
        ("y = 'é', x.exp(), 'ü', x.abs()", "x.abs()", ["N=2 C=3"]),
        ("y = [r.exp() for r in x.unbind('N')]", "r.exp()", ["C=3"]),
        ("y = (lambda v: v.exp())(x)", "v.exp()", ["N=2 C=3"]),
        ("y = f'{x.sum(0).exp().names}'", "x.sum(0).exp()", ["C=3"]),
        ("f = torch.exp\ny = f(x)", "f(x)", ["N=2 C=3"]),
        ("f = x.exp\ny = f()", "f()", ["N=2 C=3"]),
        ("y = abs(x)", "abs(x)", ["N=2 C=3"]),
        ("y = nn.ReLU()(x)", "nn.ReLU()(x)", ["N=2 C=3"]),
        ("m = nn.Sequential(nn.ReLU())\ny = m[0](x)", "m[0](x)", ["N=2 C=3"]),
        ("m = nn.Sequential(nn.ReLU())\ny = m(x)", "m(x)", ["N=2 C=3"]),
        ("class M(nn.Module):\n def forward(self, v): return v[0]\ny = M()(x)", "M()(x)", ["C=3"]),
        ("import functools as f\ng = f.partial(torch.sum, dim='N')\ny = g(x)", "g(x)", ["C=3"]),
        ("for n in 'NC':\n    y = x.sum(n)", "x.sum(n)", ["C=3", "N=2"]),
    ],
)  # fmt: skip
def test_values_are_noted_at_their_expression(
    recorded: Recording, program: str, expression: str, told: list[str]
) -> None:
    assert noted(recorded, NAMED + program)[expression] == told


@pytest.mark.parametrize(
    ("program", "expression"),
    [
        ("y = sum([x, x])", "sum([x, x])"),
        ("y = list(map(torch.exp, [x]))", "list(map(torch.exp, [x]))"),
        ("m = nn.ReLU()\ny = list(map(m, [x]))", "list(map(m, [x]))"),
        ("y = sorted([x.sum(), x.mean()])", "sorted([x.sum(), x.mean()])"),
        ("y = max([x.sum(), x.mean()])", "max([x.sum(), x.mean()])"),
        ("y = 0 < x.sum() < 1", "0 < x.sum() < 1"),
    ],
)
def test_what_runs_within_a_builtin_is_no_value_of_its_call(
    recorded: Recording, program: str, expression: str
) -> None:
    assert noted(recorded, NAMED + program)[expression] == []


def test_what_is_not_known_is_not_noted(recorded: Recording) -> None:
    found = noted(
        recorded,
        """
        import numpy
        x = torch.from_numpy(numpy.zeros((2, 3)))
        y = x + 1
        z = y.refine_names('N', 'C').mean('N')
        """,
    )
    assert found["x + 1"] == []
    assert found["y.refine_names('N', 'C').mean('N')"] == ["C=3"]


def test_a_contradiction_is_noted_and_what_comes_of_it_is_unknown(recorded: Recording) -> None:
    found = noted(recorded, NAMED + "y = x + x.T[:2]\nz = y.exp() * 2\nw = x.exp()")
    assert found["x + x.T[:2]"] == ["NC101", "RuntimeError"]
    found = noted(recorded, NAMED + "y = x.rename(N='A') + x\nz = y.exp() * 2\nw = x.exp()")
    assert found["x.rename(N='A') + x"] == ["NC101"]
    assert (found["y.exp() * 2"], found[["w", "x.exp()"][1]]) == ([], ["N=2 C=3"])


def test_the_result_of_a_contradiction_without_dims_is_unknown_too(recorded: Recording) -> None:
    program = "x = torch.tensor(1.0)\ny = x.refine_names(None)\n"
    assert noted(recorded, program)["x.refine_names(None)"] == ["NC106"]
    program = "x = torch.ones((), names=('N',))\ny = torch.mul(x, x)\nz = y.abs()\n"
    assert noted(recorded, program)["torch.mul(x, x)"] == []
    assert noted(recorded, program)["y.abs()"] == []


def test_an_error_belongs_to_the_innermost_expression(recorded: Recording) -> None:
    found = noted(
        recorded,
        NAMED
        + dedent("""
        class M(nn.Module):
            def forward(self, v):
                return v.sum('T')
        y = M()(x)
        """),
    )
    assert (found["v.sum('T')"], found["M()(x)"]) == (["NC103"], [])


@pytest.mark.parametrize(
    "program",
    [
        "try:\n    x.rename(N='A') + x\nexcept RuntimeError:\n    y = x.exp()",
        "try:\n    x.rename(N='A') + x\nexcept (ValueError, RuntimeError):\n    y = x.exp()",
        "try:\n    x.rename(N='A') + x\nexcept:\n    y = x.exp()",
        "def f():\n  return x.rename(N='A') + x\ntry:\n    f()\nexcept Exception:\n    y = x.exp()",
        "try:\n    [v + x for v in [x.rename(N='A')]]\nexcept Exception:\n    y = x.exp()",
        "import pytest\nwith pytest.raises(RuntimeError):\n    x.rename(N='A') + x\ny = x.exp()",
        "import contextlib\nwith contextlib.suppress(RuntimeError):\n    x.rename(N='A') + x\n"
        "y = x.exp()",
        "import unittest\nwith unittest.TestCase().assertRaises(RuntimeError):\n"
        "    x.rename(N='A') + x\ny = x.exp()",
    ],
)
def test_what_the_program_catches_is_raised(recorded: Recording, program: str) -> None:
    found = noted(recorded, NAMED + program)
    assert found["x.exp()"] == ["N=2 C=3"]
    assert any(told == ["NC101"] for told in found.values())


@pytest.mark.parametrize(
    "program",
    [
        "try:\n    y = x.rename(N='A') + x\nexcept ValueError:\n    pass",
        "try:\n    y = x.rename(N='A') + x\nfinally:\n    pass",
        "try:\n    def f():\n      return x.rename(N='A') + x\nexcept RuntimeError:\n    pass\nf()",
        "try:\n    pass\nexcept RuntimeError:\n    pass\nelse:\n    y = x.rename(N='A') + x",
    ],
)
def test_what_it_does_not_catch_is_not(recorded: Recording, program: str) -> None:
    assert "error" not in run(recorded, NAMED + program + "\nz = x.exp()")


def test_nothing_is_noted_after_unknown_names_are_read(recorded: Recording) -> None:
    found = noted(recorded, NAMED + "y = x.rename(N='A') + x\nz = x.exp()\ny.names\nw = x.abs()")
    assert ("x.exp()" in found, "x.abs()" in found) == (True, False)
    assert recorded.lost == (PLACE, Position(6, 0, 6, 7))


def test_a_program_on_both_sides(recorded: Recording) -> None:
    found = joined(
        recorded,
        NAMED
        + dedent("""
        y = x.sum('N') * 2
        z = x + x.rename(N='T')
        w = z.exp()
        if torch.get_num_threads() < 0:
            v = x.mean('N')
        """),
    )
    verdicts = {text: one.verdict for text, one in found.items()}
    assert verdicts == {
        "torch.zeros(2, 3, names=('N', 'C'))": Verdict.AGREE,
        "x.sum('N')": Verdict.AGREE,
        "x.sum('N') * 2": Verdict.AGREE,
        "x.rename(N='T')": Verdict.AGREE,
        "x + x.rename(N='T')": Verdict.AGREE,
        "x.mean('N')": Verdict.UNREACHED,
    }


def test_a_call_that_cannot_be_made_of_unknown_names_takes_no_part(recorded: Recording) -> None:
    program = """
    def total(x):
        return x.sum('C')
    y = total(x)
    z = total(x + x.rename(N='T'))
    """
    one = joined(recorded, NAMED + dedent(program))["x.sum('C')"]
    assert (one.verdict, one.observed[0]) == (Verdict.AGREE, "N=2")


def test_a_path_that_the_run_does_not_take_is_unsettled(recorded: Recording) -> None:
    found = joined(
        recorded,
        NAMED
        + dedent("""
        if torch.get_num_threads() < 0:
            x = x.rename(N='T')
        y = x.sum('N')
        """),
    )
    assert found["x.sum('N')"].verdict is Verdict.UNSETTLED


@pytest.mark.parametrize("mode", ["record", "warn", "error"])
def test_a_contradiction_that_the_program_takes_itself(recorded: Recording, mode: str) -> None:
    program = f"""
    import contextlib
    import namecheck
    x = torch.zeros(3, 3, names=('N', 'C'))
    with contextlib.suppress(ValueError), namecheck.runtime({mode!r}) as taken:
        y = x + x.t()
        z = x * x.t()
    """
    found = joined(recorded, program)["x + x.t()"]
    assert (found.verdict, found.fault) == (Verdict.AGREE, None)
    space = run(recorded, program)
    assert len(space["taken"].findings) == (0 if mode == "error" else 2)
    assert ("error" in space) is (mode == "error")


def test_a_tensor_in_which_a_call_was_refused_takes_other_names(recorded: Recording) -> None:
    program = """
    x = torch.ones(2, 6, names=('N', 'T'))
    y = torch.ones(2, 6, names=('C', 'T'))
    x.mul_(y)
    x *= y.cos()
    z = +x
    """
    found = joined(recorded, program)
    assert found["x.mul_(y)"].verdict is Verdict.AGREE
    assert (found["+x"].verdict, found["+x"].static) == (Verdict.AGREE, "C=2 T=6")


@pytest.mark.parametrize(
    "program",
    [
        "f(x)\nz = f(f(y))",
        "f(x)\nz = f(y)\nfor _ in range(2):\n    z = f(z)",
        "m = Layer()\nm(x)\nz = m(m(y))",
        "for z in (x, y * w):\n    z *= w",
        "z = [f(t) for t in (x, y, f(y))]",
    ],
)
def test_what_follows_from_a_contradiction_may_have_any_names(
    recorded: Recording, program: str
) -> None:
    start = """
    w = torch.ones(2, names=('N',))
    def f(t):
        return t * w
    class Layer(nn.Module):
        def forward(self, t):
            return t * w
    x = torch.ones(3, 2, names=('A', 'N'))
    y = torch.ones(2, names=('C',))
    """
    found = joined(recorded, dedent(start) + program)
    assert [one for one in found.values() if one.verdict is Verdict.INCORRECT] == []
    assert "NC101" in str([one.static for one in found.values()])


def test_names_that_a_refused_call_is_refined_to_are_unknown(recorded: Recording) -> None:
    program = NAMED + dedent("""
    y = torch.zeros(()).rename('N', 'C')
    z = y.refine_names('N', 'C')
    w = z.t()
    """)
    found = joined(recorded, program)
    assert [one for one in found.values() if one.verdict is Verdict.INCORRECT] == []
    assert "NC106" in found["torch.zeros(()).rename('N', 'C')"].static


def test_names_that_a_star_passes_on_one_path_may_not_fit(recorded: Recording) -> None:
    program = NAMED + dedent("""
    def rows(t):
        if torch.get_num_threads() > 0:
            return t
        return t, t
    one, other = rows(x)
    y = x.refine_names(*one.names)
    """)
    assert joined(recorded, program)["x.refine_names(*one.names)"].verdict is Verdict.WEAKER


def test_an_unfounded_value_beside_a_contradiction_is_incorrect(recorded: Recording) -> None:
    program = NAMED + dedent("""
    def f(t, u):
        return t + u
    f(x, x)
    y = f(x, x.rename(N='T'))
    """)
    watched = sources(program)
    static = analysis.observe(watched[PLACE])
    run(recorded, program.replace("f(x, x)", "f(x.rename(N='A'), x.rename(N='A'))"))
    found = join.sides(static, recorded.seen, recorded.activations.ended())
    wrong = [one for one in found if one.verdict is Verdict.INCORRECT]
    assert any(watched[PLACE].segment(watched[PLACE].at(one.position)) == "t + u" for one in wrong)
