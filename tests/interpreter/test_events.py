"""The events of an analysis that listeners receive, and what happens to tags on values."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import ClassVar

import pytest

from namecheck import operators
from namecheck.core import syntax
from namecheck.core.findings import Finding
from namecheck.core.semantics import Semantics
from namecheck.core.syntax import Located as Node
from namecheck.core.syntax import Source
from namecheck.interpreter.domain.tags import NO_TAGS, common_tags, tag_of, with_tag
from namecheck.interpreter.domain.values import TensorValue, Value
from namecheck.interpreter.evaluation.events import Applied, Listener
from namecheck.interpreter.workspace import analysis
from namecheck.interpreter.workspace.workspace import Alone, Workspace


class Told(Listener):
    """Records the events that it receives."""

    events: ClassVar[list[str]] = []

    def on_call(self, operator: str, keywords: Iterable[str], node: Node) -> None:
        self.events.append(" ".join(["call", operator, *keywords]))

    def on_apply(self, applied: Applied, result: Value) -> Value:
        shown = " ".join(
            f"{operand.position}:{operand.dims.brief()}" for operand in applied.operands
        )
        self.events.append(f"apply {applied.operator} {applied.flow} {shown}")
        return result

    def on_name(self, value: Value, word: str, node: Node, source: Source) -> Value:
        self.events.append(f"name {word}")
        return value


class Counted(Listener):
    """Tags each tensor with how often this reference to it was read."""

    def on_name(self, value: Value, word: str, node: Node, source: Source) -> Value:
        assert isinstance(value, TensorValue)
        count = tag_of(value.tags, "count")
        assert count is None or isinstance(count, int)
        return replace(value, tags=with_tag(value.tags, "count", (count or 0) + 1))

    def on_apply(self, applied: Applied, result: Value) -> Value:
        counts = [tag_of(operand.value.tags, "count") for operand in applied.operands]
        Told.events.append(f"{applied.operator} {counts}")
        return result


class Odd(Listener):
    """Reports every call."""

    def __init__(self) -> None:
        self.odd: list[Finding] = []

    def on_call(self, operator: str, keywords: Iterable[str], node: Node) -> None:
        self.odd.append(Finding("NC602", "called", SOURCE.filename, SOURCE.span(node)))

    def findings(self, source: Source) -> Iterable[Finding]:
        return self.odd


class Independent(Odd):
    """Reports the calls that also contradict."""

    independent = True


SOURCE = syntax.parse(
    b"import torch\n"
    b'x = torch.rand(2, 3, names=("N", "C"))\n'
    b'y = torch.rand(2, 3, names=("N", "D"))\n'
    b"x + y\n",
    "m.py",
)


def analyse(source: Source, *listeners: type[Listener]) -> tuple[Finding, ...]:
    table = operators.table()
    workspace = Workspace(Alone(source), Semantics.NAMECHECK, table, None, None, listeners)
    Told.events.clear()
    return analysis.analysed(workspace, source.filename)[0]


def test_a_contradiction_is_called_and_not_applied() -> None:
    analyse(SOURCE, Told)
    assert Told.events == [
        "call rand names",
        "apply rand None ",
        "call rand names",
        "apply rand None ",
        "name x",
        "name y",
        "call add",
    ]


def test_an_operator_is_told_with_its_flow_and_its_tensors() -> None:
    program = (
        b"import torch\n"
        b'x = torch.rand(2, 3, names=("N", "C"))\n'
        b'y = x.sum("C")\n'
        b"x.mul_(2)\n"
        b"n, z = 1, (x, y)[n]\n"
    )
    analyse(syntax.parse(program, "m.py"), Told)
    assert Told.events[2:] == [
        "name x",
        "call sum",
        "apply sum reduces 0:N=2 C=3",
        "name x",
        "call mul_",
        "apply mul_ scales 0:N=2 C=3",
        "name x",
        "name y",
    ]


def test_a_tag_is_of_one_reference() -> None:
    program = b'import torch\nx = torch.rand(2, 3, names=("N", "C"))\ny = x\nx + y + y\n'
    analyse(syntax.parse(program, "m.py"), Counted)
    assert Told.events == ["rand []", "add [1, 2]", "add [None, 2]"]


@pytest.mark.parametrize(
    ("listener", "codes"), [(Odd, ["NC101"]), (Independent, ["NC101", "NC602"])]
)
def test_a_lint_gives_way_to_a_contradiction(listener: type[Listener], codes: list[str]) -> None:
    found = analyse(SOURCE, listener)
    assert [finding.code for finding in found if finding.span.line == 4] == codes


def test_tags_stand_under_keys() -> None:
    tags = with_tag(with_tag(NO_TAGS, "one", 1), "other", 2)
    assert (tag_of(tags, "one"), tag_of(tags, "other"), tag_of(tags, "third")) == (1, 2, None)
    assert with_tag(tags, "one", 3) == (("other", 2), ("one", 3))
    assert with_tag(tags, "one", None) == (("other", 2),)
    assert common_tags(tags, with_tag(tags, "one", 3)) == (("other", 2),)
    assert common_tags(tags, NO_TAGS) == NO_TAGS
