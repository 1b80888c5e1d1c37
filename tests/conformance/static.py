"""The static side: the interpreter on the source of recorded calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from namecheck.core import syntax
from namecheck.core.findings import Finding
from namecheck.core.names import UNKNOWN
from namecheck.core.semantics import Semantics
from namecheck.core.tensors import Many, Tensor
from namecheck.interpreter.domain import joins
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.values import (
    Const,
    ListValue,
    Repeated,
    TensorValue,
    TupleValue,
    Value,
)
from namecheck.interpreter.workspace import analysis
from namecheck.interpreter.workspace.program import Program
from tests.conformance import program
from tests.conformance.cases import Case, Raised
from tests.conformance.program import Placed
from tests.conformance.verdicts import Seen


def see(cases: Sequence[Case], semantics: Semantics) -> list[Seen]:
    """The inferred outcome of each of these calls, in one file, one after the other.

    An internal error is attributed to the call that causes it.
    """
    written = program.write(cases)
    try:
        source = syntax.parse(written.text.encode(), "<recorded calls>")
        ran = analysis.run(source, semantics=semantics)
    except Exception as fault:
        if len(cases) > 1:
            half = len(cases) // 2
            return see(cases[:half], semantics) + see(cases[half:], semantics)
        return [Seen(fault=f"{type(fault).__name__}: {fault}")]
    findings = sorted(ran.interpreter.findings.entries.values(), key=lambda finding: finding.span)
    return [_seen(call, ran, findings) for call in written.calls]


def _seen(call: Placed, ran: Program, findings: Sequence[Finding]) -> Seen:
    here = [f for f in findings if call.first_line <= f.span.line < call.end_line]
    early = [f for f in here if f.span.line < call.call_line]
    late = [f for f in here if f.span.line >= call.call_line]
    return Seen(
        result=None if call.result is None else _held(call.result, ran),
        inputs=tuple(_held(name, ran) for name in call.inputs),
        raised=_raised(late),
        early=_raised(early),
    )


def _raised(findings: Sequence[Finding]) -> Raised | None:
    if not findings:
        return None
    return Raised(findings[0].error or findings[0].code, findings[0].message)


def _held(name: str, ran: Program) -> Any:
    value = ran.variable(name)
    return UNKNOWN if value is None else _known(value, ran.store)


def _known(value: Value, store: Store) -> Any:
    """A value in its recorded form, as far as it is known."""
    if isinstance(value, TensorValue):
        return joins.held(value, store).tensor
    if isinstance(value, Const):
        return value.value
    if isinstance(value, TupleValue):
        return tuple(_known(item, store) for item in value.items)
    if isinstance(value, ListValue):
        content = joins.items(value, store)
        if not isinstance(content, Repeated):
            return [_known(item, store) for item in content]
        value = content
    if isinstance(value, Repeated):
        each = _known(value.each, store)
        return Many(each) if isinstance(each, Tensor) else UNKNOWN
    return UNKNOWN
