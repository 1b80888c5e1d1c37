"""The facts of a finding for a fix: the operator, the source of its operands, the names."""

from __future__ import annotations

from namecheck.core.findings import OperandFacts, Span
from tests.interpreting import findings

MADE = "x = torch.zeros(2, 3, names=('N', 'C'))\ny = torch.zeros(3, names=('N',))\n"


def test_the_operands_of_an_operator_with_their_names() -> None:
    [finding] = findings(MADE + "x * (y + 1)\n")
    assert finding.facts is not None
    line = finding.span.line
    assert finding.facts.operator == "mul"
    assert finding.facts.words == ("C", "N")
    assert finding.facts.operands == (
        OperandFacts(Span(line, 1, line, 2), ("N", "C"), True, "float32", "cpu"),
        OperandFacts(Span(line, 6, line, 11), ("N",), True, "float32", "cpu"),
    )
