"""Random programs: their runs contradict nothing inferred."""

from __future__ import annotations

import ast
import os
import random
from collections import Counter

import pytest

from namecheck.compare.join import Fault, Verdict
from namecheck.core.semantics import Semantics
from namecheck.interpreter.workspace.analysis import Inferences
from namecheck.runtime import runtime
from namecheck.runtime.programs.recording import recording
from tests import compare_random
from tests.compare_random import (
    Compared,
    Grown,
    compared,
    compared_program,
    of_taken_branches,
)
from tests.programs_generator import mutated

SEED = os.environ.get("NAMECHECK_SEED", "0")
COUNT = 60


def test_random_programs_agree() -> None:
    print(f"seed {SEED}: python -m tests.compare_random --seed {SEED} --count {COUNT}")
    programs = list(compared(SEED, 0, COUNT))
    wrong = [one.show() for one in programs if one.is_wrong]
    assert not wrong, "\n\n".join(wrong)
    verdicts = Counter(each.verdict for one in programs for each in one.joined)
    known = verdicts[Verdict.AGREE] / (verdicts.total() - verdicts[Verdict.UNREACHED])
    assert verdicts[Verdict.AGREE] > 8 * COUNT
    assert known > 0.95


def test_a_branch_on_a_size_that_no_run_takes_ends_the_program() -> None:
    """How many elements are distinct depends on the data; the dims of `x` do not."""
    program = (
        "import torch\n"
        "x = torch.rand((2,), names=('N',))\n"
        "y = torch.unique(x)\n"
        "if {}:\n"
        "    z = x\n"
        "else:\n"
        "    z = torch.rand((2,), names=('C',))\n"
        "z.sum('N')\n"
    )
    names = "'N' in x.names"
    sizes = program.format("y.shape[0] == 2")
    with runtime("error"):
        assert "raise SystemExit\nz.sum" in of_taken_branches(sizes, [()])
        assert "SystemExit" not in of_taken_branches(program.format(names), [()])


def test_a_handler_that_no_run_enters_ends_the_program() -> None:
    """The names of `x` may be unknown to the analysis, the error of `sum` too (rw5100:13708)."""
    program = (
        "import torch\n"
        "x = torch.rand((2, 3), names=('N', 'C'))\n"
        "try:\n"
        "    y = x.sum('{}')\n"
        "except RuntimeError:\n"
        "    y = x\n"
        "torch.matmul(y, x)\n"
    )
    with runtime("error"):
        assert "RuntimeError:\n    raise SystemExit" in of_taken_branches(program.format("N"), [()])
        assert "SystemExit" not in of_taken_branches(program.format("H"), [()])


@pytest.mark.parametrize("call", ["softmax(y, dim=-1)", "linalg.cond(y)"])
def test_a_run_whose_tensor_has_no_elements_is_left_out(call: str) -> None:
    """The analysis ends on the path of `y`, as if it had elements (rw5100:4602, rw7100:3561)."""
    program = (
        "import os\n"
        "import torch\n"
        "FLAG_0 = os.environ.get('FLAG_0') == '1'\n"
        "x = torch.zeros(()) if FLAG_0 else torch.zeros(1)\n"
        "y = x.nonzero()\n"
        f"print(torch.{call})\n"
    )
    with recording(Semantics.NAMECHECK) as recorded:
        one = compared_program("empty", Grown(program, 1, False), recorded, Inferences())
    assert not one.is_wrong, one.show()
    assert {finding.code for finding in one.undecided} == {"NC304"}


INTEGRAL = """
import os
import torch
FLAG_0 = os.environ.get('FLAG_0') == '1'
x = torch.ones(3, dtype=torch.int64)
y = x[x > (2 if FLAG_0 else 0)]
z = {}
w = z.abs()
print(w.bitwise_not())
"""


def integrated(call: str) -> Compared:
    with recording(Semantics.NAMECHECK) as recorded:
        grown = Grown(INTEGRAL.format(call), 1, False)
        return compared_program("integral", grown, recorded, Inferences())


def test_what_is_computed_from_an_integral_of_no_elements_is_left_out() -> None:
    """It has the dtype of the tensor, and the analysis counts on elements (rw7100:12300)."""
    one = integrated("torch.trapezoid(y)")
    assert not one.is_wrong, one.show()
    assert [each.static for each in one.joined if each.verdict is Verdict.AGREE]


def test_a_dtype_that_elements_do_not_decide_is_compared_without_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Only calls that the table says to be irregular are left out."""
    monkeypatch.setattr(compare_random, "_irregular_without_elements", frozenset)
    assert {each.fault for each in integrated("torch.trapezoid(y)").incorrect} == {Fault.DTYPE}


def test_a_mistake_leaves_a_program_that_can_be_parsed() -> None:
    text = "x = torch.ones(2)\ny = [z for _ in (x, x) if (z := x.sum()).item() >= 0]\n"
    sums = "x = (torch.ones(2) + 3).relu().abs()\n"
    for seed in range(50):
        ast.parse(mutated(random.Random(seed), text))
        ast.parse(mutated(random.Random(seed), sums))
