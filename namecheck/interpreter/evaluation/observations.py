"""The values of each expression over all its evaluations: for `reveal`, and for `compare`."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import reduce
from typing import Any, Final, TypeAlias

from namecheck.core import tensors as values
from namecheck.core.dataclasses import dataclass, field, replace
from namecheck.core.dims import Dims
from namecheck.core.findings import Finding, Span
from namecheck.core.names import UNKNOWN, Contradiction, Label
from namecheck.core.syntax import Located as Node
from namecheck.core.syntax import Position, Source, position
from namecheck.core.tensors import Many, Tensor
from namecheck.interpreter.domain import joins
from namecheck.interpreter.domain.provenance import Failed
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.values import (
    Key,
    Opaque,
    Repeated,
    TensorValue,
    TupleValue,
    Union,
    Value,
)

# How many different values of one expression are kept separate.
_KINDS: Final = 8


@dataclass(frozen=True, slots=True)
class Observation:
    """The facts about one expression over all its evaluations.

    `values` cover each value: a `Tensor`, a `Many`, a tuple of such; UNKNOWN covers any other value
    too, and any value that follows from a contradiction elsewhere. `findings` are its
    contradictions, including those that the program expects and catches; an evaluation that ends in
    one has no value. The expression was evaluated `times` times, and `gave` a value so many times;
    an operator was applied without a contradiction `passed` times, which may give no value
    (``x.names = …``). `operator` is whether an operator of the table was applied; `informed`
    whether the names of all its operands were always known, `sized` whether the sizes were. A call
    is `followed` unless it was once one of unknown code.
    """

    values: tuple[Any, ...] = ()
    findings: tuple[Finding, ...] = ()
    times: int = 0
    gave: int = 0
    operator: bool = False
    informed: bool = False
    sized: bool = False
    passed: int = 0
    followed: bool = True

    @property
    def value(self) -> Any:
        """The least upper bound of all values."""
        return reduce(join, self.values) if self.values else UNKNOWN


Observations: TypeAlias = Mapping[str, Mapping[Position, Observation]]


@dataclass(frozen=True, slots=True)
class Begun:
    """The call that made a layer or a partial function, and the arguments passed there."""

    node: ast.AST
    args: int
    words: frozenset[str]


@dataclass(frozen=True, slots=True)
class Application:
    """One application of an operator of the table: its arguments and its result.

    `begun` says which arguments were passed beforehand: the application is then recorded a second
    time where they were passed, as `early`.
    """

    operator: str
    positional: tuple[Any, ...]
    keywords: tuple[tuple[str, Any], ...]
    result: Any
    contradiction: Contradiction | None
    begun: Begun | None = None
    early: bool = False


@dataclass(slots=True)
class Applications:
    """The different applications of operators at one expression.

    `otherwise` says that it was also evaluated without one: its operands may be no tensors;
    `unknown` that its receiver may be anything; `open` that it had an unknown number of arguments.
    """

    each: list[Application] = field(default_factory=list)
    otherwise: bool = False
    unknown: bool = False
    open: bool = False
    _hashed: set[Application] = field(default_factory=set, repr=False, compare=False)

    def add(self, application: Application) -> None:
        """Add an application, unless it is there."""
        if not self.has(application):
            self.each.append(application)
            with suppress(TypeError):
                self._hashed.add(application)

    def include(self, applications: Applications) -> None:
        """Add what else was applied at the expression."""
        for application in applications.each:
            self.add(application)
        self.otherwise |= applications.otherwise
        self.unknown |= applications.unknown
        self.open |= applications.open

    def has(self, application: Application) -> bool:
        """Whether an application is there; those with a list in them are compared with all."""
        try:
            return application in self._hashed
        except TypeError:
            return application in self.each


@dataclass(frozen=True, slots=True)
class Reveal:
    """The dims of one tensor-valued expression, as `Dims.brief` prints them.

    `labels` is its ``names`` at run time; None where that is unknown.
    """

    span: Span
    source: str
    dims: str
    labels: tuple[Label | None, ...] | None = None


@dataclass(slots=True)
class Record:
    """One expression: its different values, its findings, and the number of its evaluations.

    `unknown` says that it may have had any value at all, `follows` that it had one that follows
    from a contradiction at another expression, of which nothing is known; `followed` that no call
    of unknown code was evaluated there.
    """

    seen: list[Any] = field(default_factory=list)
    findings: dict[tuple[Span, str], Finding] = field(default_factory=dict)
    times: int = 0
    gave: int = 0
    passed: int = 0
    operator: bool = False
    informed: bool = True
    sized: bool = True
    unknown: bool = False
    follows: bool = False
    followed: bool = True

    @property
    def values(self) -> tuple[Any, ...]:
        """What covers each value."""
        return (*self.seen, UNKNOWN) if self.follows else tuple(self.seen)

    def include(self, other_record: Record) -> None:
        """Add what another record has of the expression."""
        for value in other_record.seen:
            self.add(value)
        for key, finding in other_record.findings.items():
            self.findings.setdefault(key, finding)
        self.times += other_record.times
        self.gave += other_record.gave
        self.passed += other_record.passed
        self.operator |= other_record.operator
        self.informed &= other_record.informed
        self.sized &= other_record.sized
        self.unknown |= other_record.unknown
        self.follows |= other_record.follows
        self.followed &= other_record.followed

    def add(self, value: Any) -> None:
        """Add a value; too many different ones are replaced by their least upper bound."""
        if value not in self.seen:
            self.seen.append(value)
            if len(self.seen) > _KINDS:
                self.seen[:] = [reduce(join, self.seen)]


@dataclass(frozen=True, slots=True)
class Trial:
    """What was recorded of a run that may be run again with more knowledge.

    It has `contradicted` expressions, whether that was reported or not.
    """

    records: dict[ast.AST, Record]
    applications: dict[ast.AST, Applications]
    contradicted: set[ast.AST]

    @property
    def has_findings(self) -> bool:
        """Whether an expression has a contradiction."""
        return any(record.findings for record in self.records.values())


class Recorder:
    """Records expressions while the program is interpreted; operands of operators on request."""

    def __init__(self, *, applications: bool = False) -> None:
        self._records: dict[ast.AST, Record] = {}
        self._keeps = applications
        self._applications: dict[ast.AST, Applications] = {}
        self._applied: set[ast.AST] = set()
        self._refused: set[tuple[Node, Key]] = set()
        self.limits: dict[tuple[str, Source, ast.stmt | None], int] = {}
        self._contradicted: set[ast.AST] = set()
        self._deferred: list[Trial] = []

    @contextmanager
    def trial(self) -> Iterator[Trial]:
        """Record what the block evaluates apart from all else, until it is kept."""
        outer, self._records = self._records, {}
        applications, self._applications = self._applications, {}
        contradicted, self._contradicted = self._contradicted, set()
        trial = Trial(self._records, self._applications, self._contradicted)
        try:
            yield trial
        finally:
            self._records, self._applications = outer, applications
            self._contradicted = contradicted

    def keep(self, trial: Trial, *, beside: Trial | None = None) -> None:
        """Add the records of a trial; with another one `beside` it, of what that did not reach."""
        for node, record in trial.records.items():
            if beside is not None and node in beside.records:
                continue
            known = self._records.setdefault(node, record)
            if known is not record:
                known.include(record)
        for place, tried in trial.applications.items():
            if beside is not None and place in beside.applications:
                continue
            applied = self._applications.setdefault(place, tried)
            if applied is not tried:
                applied.include(tried)

    def defer(self, trial: Trial) -> None:
        """Add the records of a trial in the end, of what nothing else has reached."""
        self._deferred.append(trial)

    def _settle(self) -> None:
        """Add what was deferred."""
        reached = Trial({**self._records}, {**self._applications}, self._contradicted)
        while self._deferred:
            self.keep(self._deferred.pop(0), beside=reached)

    def _record(self, node: Node) -> Record:
        record = self._records.get(node)
        if record is None:
            record = self._records[node] = Record()
        return record

    def value(self, node: Node, value: Value, store: Store) -> None:
        """Record an evaluation and its value."""
        record = self._record(node)
        record.times += 1
        if self._keeps:
            self._reached(node)
        gave = False
        for one in _alternatives(value, store):
            if isinstance(one, Opaque) and isinstance(one.key.provenance, Failed):
                record.follows |= (node, one.key) not in self._refused
                continue
            gave = True
            record.unknown |= isinstance(one, Opaque) and one.kind is None
            record.add(observed(one, store))
        record.gave += gave

    def applied(self, node: Node, informed: bool, sized: bool, *, passed: bool = False) -> None:
        """Record an application of an operator; whether names, and sizes, were all known.

        `passed` is whether it is known to be without a contradiction.
        """
        record = self._record(node)
        record.operator = True
        record.passed += passed
        record.informed = record.informed and informed
        record.sized = record.sized and sized
        if self._keeps:
            self._applied.add(node)

    def refused(self, node: Node, missing: Opaque) -> None:
        """Record that a missing result is that of a contradiction at this very expression."""
        self._refused.add((node, missing.key))

    def called_unknown(self, node: Node) -> None:
        """Record a call of unknown code, which may be an operator on unknown names."""
        record = self._record(node)
        record.informed = record.sized = record.followed = False

    def application(self, node: Node, application: Application) -> None:
        """Record the operands and the result of an operator."""
        if self._keeps:
            self._keep(node, application)
            if application.begun is not None:
                self._keep(application.begun.node, replace(application, early=True))

    def _keep(self, node: ast.AST, application: Application) -> None:
        self._applications.setdefault(node, Applications()).add(application)

    def open(self, node: Node) -> None:
        """Record that a star passed unknown arguments to an operator."""
        self.called_unknown(node)
        if self._keeps:
            self._applications.setdefault(node, Applications()).open = True

    def _reached(self, node: Node) -> None:
        if node in self._applied:
            self._applied.remove(node)
        elif isinstance(node, (ast.Call, ast.Attribute)):
            self._applications.setdefault(node, Applications()).otherwise = True

    def applications(self, source: Source) -> dict[Position, Applications]:
        """The applications at the calls and attributes of a file that were evaluated."""
        self._settle()
        by_position: dict[Position, Applications] = {}
        for node in ast.walk(source.tree):
            applied = self._applications.get(node)
            if isinstance(node, (ast.Call, ast.Attribute)) and applied is not None:
                receiver = self._records.get(_receiver(node))
                applied.unknown |= receiver is not None and receiver.unknown
                by_position[position(node)] = applied
        return by_position

    def contradictions(self, source: Source) -> tuple[Finding, ...]:
        """The contradictions of a file, including those that the program expects and catches."""
        return tuple(
            finding for _, record in self.records(source) for finding in record.findings.values()
        )

    def contradicted(self, node: Node) -> None:
        """Record that an expression has a contradiction that the program does not expect."""
        self._contradicted.add(node)

    def finding(self, node: Node, finding: Finding) -> None:
        """Record a contradiction at an expression."""
        self._record(node).findings.setdefault((finding.span, finding.code), finding)

    def limit(self, what: str, source: Source, statement: ast.stmt | None) -> None:
        """Record that a statement reaches a limit of the analysis."""
        key = what, source, statement
        self.limits[key] = self.limits.get(key, 0) + 1

    def records(self, source: Source) -> Iterator[tuple[Node, Record]]:
        """The expressions of a file that were evaluated, with their records."""
        self._settle()
        for node in ast.walk(source.tree):
            record = self._records.get(node)
            if record is not None and not isinstance(node, (ast.Constant, ast.Slice)):
                assert isinstance(node, (ast.expr, ast.stmt))
                yield node, record

    def observations(self, source: Source) -> dict[Position, Observation]:
        """Every expression of a file that was evaluated, by its position."""
        return {
            position(node): Observation(
                record.values,
                tuple(record.findings.values()),
                record.times,
                record.gave,
                record.operator,
                record.operator and record.informed,
                record.operator and record.informed and record.sized,
                record.passed,
                record.followed,
            )
            for node, record in self.records(source)
        }

    def reveals(self, source: Source) -> Iterator[Reveal]:
        """The dims of the tensor-valued expressions of a file."""
        for node, record in self.records(source):
            tensors = [value for value in record.seen if isinstance(value, Tensor)]
            if tensors:
                span = source.span(node)
                text = " | ".join(dict.fromkeys(each.brief() for each in tensors))
                labels = {_labels(each.dims) for each in tensors}
                certain = labels.pop() if len(labels) == 1 and not record.unknown else None
                yield Reveal(span, source.segment(span), text, certain)


def _receiver(accessed: ast.Call | ast.Attribute) -> ast.expr:
    function = accessed.func if isinstance(accessed, ast.Call) else accessed
    return function.value if isinstance(function, ast.Attribute) else function


def _labels(dims: Dims) -> tuple[Label | None, ...] | None:
    labels: list[Label | None] = []
    for dim in () if dims.open else dims.prefix:
        if not isinstance(dim.name, Label | None):
            return None
        labels.append(dim.name)
    return None if dims.open else tuple(labels)


def observed(value: Value, store: Store) -> Any:
    """The observable part of a value: its tensors; UNKNOWN where it has none."""
    if isinstance(value, TensorValue):
        return joins.held(value, store).tensor
    if isinstance(value, TupleValue):
        store.ledger.meter.spent += len(value.items)
        return tuple(observed(item, store) for item in value.items)
    if isinstance(value, Repeated):
        each = observed(value.each, store)
        return Many(each) if isinstance(each, Tensor) else UNKNOWN
    if isinstance(value, Union):
        every = [observed(one, store) for one in _alternatives(value, store)]
        return reduce(join, every) if every else UNKNOWN
    return UNKNOWN


def _alternatives(value: Value, store: Store) -> list[Value]:
    if not isinstance(value, Union):
        return [value]
    return [c.value for c in value.alternatives if store.allows(c.facts)]


def join(left_value: Any, right_value: Any) -> Any:
    """The least upper bound of two observed values."""
    if left_value == right_value:
        return left_value
    if isinstance(left_value, Tensor) and isinstance(right_value, Tensor):
        return values.join(left_value, right_value)
    if (
        isinstance(left_value, tuple)
        and isinstance(right_value, tuple)
        and len(left_value) == len(right_value)
    ):
        return tuple(map(join, left_value, right_value))
    return UNKNOWN
