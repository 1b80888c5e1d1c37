"""Lines that fail at run time, or request too much: the analysis continues."""

from __future__ import annotations

import sys
import time

import pytest

from namecheck.core import syntax
from namecheck.interpreter.workspace import analysis
from namecheck.project.file_check import Checker
from namecheck.project.settings import Settings
from tests import fuzz, hostile_random
from tests.interpreter.hostile_lines import LINES


@pytest.mark.parametrize("line", LINES)
def test_a_line_that_fails_when_it_runs_is_analysed(line: str) -> None:
    source = syntax.parse(f"import itertools, math, torch\n{line}\n".encode(), "hostile.py")
    began = time.process_time()
    analysis.check(source)
    assert time.process_time() - began < 1


@pytest.mark.parametrize("seed", range(30))
def test_a_random_program_makes_no_fault(seed: int) -> None:
    assert fuzz.fault(hostile_random.program(seed)) == ""


# As `tests.fuzz` has found it, cut down: it has not to make sense.
CAUGHT_UP = """
class Node(torch.nn.Module):
        return self.a[index], self.b[index]
def f0(a, b, c, d, e):
  while (twice(None)):
    while True:
     if e:
      match (str((A(e))).join([(sorted([b, None, b])), (sorted([b, None, b]))])):
       case [a, *c]:
         return (Node((Pair(e, e)), (Pair(d, A)._replace(a=A))))
     c = ({**2, 'm': (torch.nn.Sequential(c, d))})
"""


# Of a campaign, likewise: the base of a class may be a function.
NO_CLASS = """
class Node(lambda x: x.relu(), A):
    def __init__(self, v):
        self.v = v
def f(u):
    u(Node(A))
"""


# Of a file of torch: the last list of a list is read where a loop's cells are compared.
GROUPED = """
def grouped(keys, flag, more):
    rows = [[]]
    groups = []
    for (), row in zip(keys, rows):
        if flag:
            groups.append([])
        more.append(dict(results=row))
        groups[-1].append(row)
"""


@pytest.mark.parametrize("turn", range(4))
def test_a_read_may_write_to_cells_that_are_compared(turn: int) -> None:
    assert fuzz.fault(f"import torch\nA = torch.zeros(2, 3)\n{GROUPED}", turn) == ""


def test_the_base_of_a_class_may_be_a_function() -> None:
    assert fuzz.fault(f"import torch\nA = torch.zeros(2, 3)\n{NO_CLASS}") == ""


def test_a_picked_list_is_read_under_other_layers() -> None:
    assert fuzz.fault(CAUGHT_UP) == ""


def test_a_method_of_a_tensor_may_have_more_arguments_than_torch_takes() -> None:
    method = "def f(a: torch.Tensor, b):\n    n, m = b.shape\n    return a.mul(b, b.t())\n"
    settings = Settings(evidence="observed")
    data = f"import torch\n{method}".encode()
    assert not Checker().text(data, "hostile.py", settings, parses=True, leads=True).findings


@pytest.mark.parametrize("chain", ["a.b", "a()", "a[0]", "a+1"])
def test_a_chain_without_end_is_too_deep_for_python_or_for_the_analysis(chain: str) -> None:
    """Python 3.14 parses a chain of any length; then its statement alone is not judged."""
    text = f"A.sum('K')\n{chain[0]}{chain[1:] * 10_000}\nA.sum('L')\n"
    data = f"import torch\nA = torch.zeros(2, names=('N',))\n{text}".encode()
    outcome = Checker().text(data, "hostile.py", Settings(), parses=True, leads=True)
    expected = ["NC004"] if sys.version_info < (3, 14) else ["NC103", "NC091", "NC103"]
    assert [finding.code for finding in outcome.findings] == expected
