"""Which applications of an operator were contradicted, and which were not."""

from __future__ import annotations

import ast
from typing import Final

from namecheck.core.findings import Finding, Span
from namecheck.core.tensors import Tensor
from namecheck.interpreter.evaluation.findings import Findings
from namecheck.operators import Inference

SPAN: Final = Span(1, 0, 1, 5)
KEY: Final = ("a.py", SPAN, "NC201")
SITE: Final = (1, ast.Constant(0))
MIXED: Final = (Tensor(), 3)


def mixture() -> Findings:
    """A finding about two operands that each go together with another one."""
    findings = Findings()
    findings.add(Finding("NC201", "Names do not match.", "a.py", SPAN), frozenset("ab"))
    findings.judged.refuse(KEY, SITE, MIXED)
    for operands in ((Tensor(), 4), (0, 3)):
        findings.judged.accept(SITE, Inference(None), operands)
    return findings


def test_operands_that_go_together_with_others_are_a_mixture() -> None:
    assert mixture().judged.is_mixture(KEY)


def test_a_dropped_finding_leaves_nothing_of_its_operands() -> None:
    findings = mixture()
    findings.drop(0, "a.py", SPAN)
    assert not findings.entries
    assert not findings.judged.failed
    assert not findings.judged.refused
    assert not findings.judged.is_mixture(KEY)
