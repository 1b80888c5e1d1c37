"""The recall campaign: its mutations, what a run says of a mutant, and its figures."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Final

import pytest

from tests.real_code.limits import Limits, run_limited
from tests.real_code.recall.__main__ import Outcome, table
from tests.real_code.recall.mutants import Mutant, mutants_of
from tests.real_code.recall.mutation import Source, all_mutations
from tests.versions.environments import ROOT

EXAMPLES: Final = {
    "cat on the wrong dim": ("torch.cat((a, b), dim=1)", "torch.cat((a, b), dim=0)"),
    "einops letters": (
        "rearrange(x, 'b n (h d) -> b (h n) d')",
        "rearrange(x, 'b n (d h) -> b (h n) d')",
    ),
    "einsum letters": (
        "torch.einsum('bid,bjd->bij', q, k)",
        "torch.einsum('bid,bjd->bji', q, k)",
    ),
    "factor order": ("x.view(b, t, 3, d)", "x.view(b, t, d, 3)"),
    "lost keepdim": ("x.mean(-1, keepdim=True)", "x.mean(-1, keepdim=False)"),
    "lost squeeze": ("x.squeeze(-1)", "x"),
    "lost unsqueeze": ("x.unsqueeze(-1) + y[:, None]", "x + y[:, None]"),
    "mask on the wrong side": ("mask[:, None, :]", "mask[:, :, None]"),
    "merged without transposing": (
        "x.transpose(1, 2).contiguous().view(b, t, -1)",
        "x.view(b, t, -1)",
    ),
    "missing transpose": ("q @ k.transpose(-2, -1)", "q @ k"),
    "permutation": ("x.permute(0, 2, 1)", "x.permute(0, 1, 2)"),
    "reduction over the wrong dim": ("x.mean(2)", "x.mean(1)"),
    "softmax over the wrong dim": ("F.softmax(x, -1)", "F.softmax(x, -2)"),
    "superfluous transpose": (
        "torch.matmul(q, k.mT) @ v",
        "torch.matmul(q, k.mT) @ (v).transpose(-2, -1)",
    ),
    "swapped arguments": ("attend(q, k, value=v)", "attend(k, q, value=v)"),
    "view for transpose": ("x.view(b, t, h, -1).transpose(1, 2)", "x.view(b, h, t, -1)"),
    "wrong size in a view": ("x.view(b, -1)", "x.view(t, -1)"),
    "unpacking order": ("", ""),
}
FUNCTION: Final = """def é(x, mask):
    b, t, d = x.shape
    return {}
"""


def mutants(text: str) -> list[Mutant]:
    return list(mutants_of(text, "package/file.py", 1, 100))


def mutant(wrongness: str = "role") -> Mutant:
    return Mutant("p/f.py", "f", 1, 0, 1, "x", "y", "einsum letters", wrongness, "training")


def test_every_mutation_has_an_example() -> None:
    names = [mutation.name for mutation in all_mutations()]
    assert sorted(names) == sorted(EXAMPLES)


@pytest.mark.parametrize(("name", "example"), EXAMPLES.items(), ids=list(EXAMPLES))
def test_a_mutation_changes_one_expression(name: str, example: tuple[str, str]) -> None:
    text = FUNCTION.format(example[0] or "b")
    changed = [item.changed(text) for item in mutants(text) if item.mutation == name]
    expected = FUNCTION.format(example[1] or "b")
    if name == "unpacking order":
        expected = expected.replace("b, t, d", "t, b, d")
    assert expected in changed
    assert text not in changed
    for other in changed:
        compile(other, name, "exec")


def test_a_function_has_as_many_mutants_as_asked_for_of_each_kind() -> None:
    text = FUNCTION.format("x.view(b, t, 3, d) + x.view(d, t, 3, b)")
    few = [item.mutation for item in mutants_of(text, "package/file.py", 1, 1)]
    assert len(few) == len(set(few)) == 3
    assert not list(mutants_of(text, "package/file.py", 2, 1))


def test_columns_count_bytes() -> None:
    text = "é = ('é', x.squeeze(0))\n"
    call = ast.parse(text).body[0]
    assert isinstance(call, ast.Assign)
    assert isinstance(call.value, ast.Tuple)
    source = Source(text)
    assert source.of(call.value.elts[1]) == "x.squeeze(0)"
    assert source.changed(source.span(call.value.elts[1]), "x") == "é = ('é', x)\n"


@pytest.mark.parametrize(
    ("error", "effect", "wrongness"),
    [
        ("ValueError: not enough values to unpack (expected 3, got 2)", "crash", "certain"),
        ("IndexError: Dimension out of range (expected to be in …)", "crash", "certain"),
        ("RuntimeError: The size of tensor a (5) must match …", "crash", "names"),
        ("RuntimeError: Expected size for first two dimensions of batch2", "crash", "names"),
        ("TypeError: unsupported operand", "other", "role"),
    ],
)
def test_the_error_tells_how_wrong_a_mutant_is(error: str, effect: str, wrongness: str) -> None:
    judged = mutant().judged("crash", error)
    assert (judged.effect, judged.wrongness) == (effect, wrongness)


def test_a_silent_mutant_is_as_wrong_as_its_mutation() -> None:
    judged = mutant("certain").judged("changed", "")
    assert (judged.effect, judged.wrongness, judged.is_wrong) == ("changed", "certain", True)
    assert not mutant().judged("same", "").is_wrong


def test_the_table_counts_what_was_found() -> None:
    results = [
        Outcome(mutant(), ("NC101 …",), 1.0, ended=True),
        Outcome(mutant(), (), 1.0, ended=False),
    ]
    lines = list(table(results))
    assert "| class: role | 2 | 1 | 50% |" in lines
    assert lines[-1] == "1 check was not finished"


def test_a_run_judges_the_mutants_of_what_it_calls(tmp_path: Path) -> None:
    (tmp_path / "broken_here.py").write_text(
        "def scores(q, k):\n"
        "    b, t, d = q.shape\n"
        "    return (q @ k.transpose(-2, -1)).softmax(-1)\n\n\n"
        "def never(x):\n"
        "    return x.squeeze(0)\n"
    )
    job, out = tmp_path / "job", tmp_path / "out"
    fields = {
        "imports": f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import broken_here",
        "model": "None",
        "call": "broken_here.scores(torch.rand(2, 3, 5), torch.rand(2, 3, 5))",
        "folder": str(tmp_path),
        "taken": [],
        "most": 1,
    }
    job.write_text(json.dumps(fields))
    limits = Limits(mebibytes=32768)
    words = [str(job), str(out)]
    ended = run_limited("tests.real_code.recall.runs", words, limits, tmp_path, ROOT)
    assert ended.code == 0, ended.errors
    made = {m.mutation: m for m in (Mutant(**json.loads(x)) for x in out.read_text().splitlines())}
    assert {name: (m.effect, m.wrongness) for name, m in made.items()} == {
        "missing transpose": ("crash", "names"),
        "softmax over the wrong dim": ("changed", "role"),
        "unpacking order": ("same", "names"),
    }
