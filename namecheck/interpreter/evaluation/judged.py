"""The operands that operators were contradicted with, and those they were not, in each run."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import TYPE_CHECKING, TypeAlias

from namecheck.core import names as naming
from namecheck.core.dataclasses import dataclass, field
from namecheck.core.dims import Size, observed
from namecheck.core.findings import Span
from namecheck.core.names import Axis
from namecheck.core.tensors import Tensor
from namecheck.interpreter.domain.values import TensorValue, Value

if TYPE_CHECKING:
    from namecheck.interpreter.evaluation.frames import Frame
    from namecheck.operators import Inference

# The key of a finding is its place and its code; that of a note its code and its text.
Key: TypeAlias = tuple[str, Span, str]
# Which stage of what happens at a node: one calls all layers of a sequence, which may hold others.
Stages: TypeAlias = tuple[Hashable, ...]
# An observed axis: its word, and the scope of the reading that gave it.
Reading: TypeAlias = tuple[str, tuple[int, ...]]
# A place in one run of a scope: the number of its environment, the node, and the stage.
Site: TypeAlias = tuple[int, ast.AST, Stages]


@dataclass(frozen=True, slots=True)
class Attempt:
    """One application of an operator: the arguments as `infer` takes them, and the values."""

    inputs: tuple[object, ...]
    values: Sequence[Value] = ()
    operator: str = ""

    def is_mixed_of(self, accepted_attempts: Sequence[Attempt]) -> bool:
        """Whether each operand has been accepted, together with others.

        Of tensors that are passed as a list each is one.
        """
        own = self._flat()
        every = [others._flat() for others in accepted_attempts]
        alike = [others for others in every if len(others) == len(own)]
        return all(
            any(operand == others[index] for others in alike) for index, operand in enumerate(own)
        )

    def _flat(self) -> list[object]:
        flat: list[object] = []
        for operand in self.inputs:
            flat += operand if isinstance(operand, (tuple, list)) else [operand]
        return flat

    def has_nothing(self, accepted_attempts: Sequence[Attempt]) -> bool:
        """Whether a tensor without elements stands where other paths have another value.

        It is returned, or bound, where there is nothing to compute.
        """
        accepted_operands = [operand for others in accepted_attempts for operand in others._flat()]
        return any(
            isinstance(operand, Tensor) and 0 in operand.dims.sizes
            for operand in self._flat()
            if operand not in accepted_operands
        )

    @property
    def is_of_nothing(self) -> bool:
        """Whether one of its tensors has no elements."""
        return any(
            isinstance(operand, Tensor) and 0 in operand.dims.sizes for operand in self._flat()
        )

    def readings(self) -> frozenset[Reading]:
        """The axes of which the sizes of its tensors are made."""
        sizes = (
            size
            for operand in self._flat()
            if isinstance(operand, Tensor)
            for size in operand.dims.sizes
        )
        return frozenset().union(*map(_readings, sizes))

    def has_other_words(self, accepted_attempts: Sequence[Attempt]) -> bool:
        """Whether operands that were accepted differ from these in the words of axes alone."""
        return any(map(self._differs_in_words, accepted_attempts))

    def is_turned(self, accepted_attempts: Iterable[Attempt]) -> bool:
        """Whether the same operator accepts the same operands, but for one that is transposed."""
        return any(map(self._differs_in_order, accepted_attempts))

    def _differs_in_order(self, successful: Attempt) -> bool:
        if (self.operator, len(self.inputs)) != (successful.operator, len(successful.inputs)):
            return False
        pairs = zip(self.inputs, successful.inputs, strict=True)
        differing = [(mine, other) for mine, other in pairs if mine != other]
        return 1 == len(differing) < len(self.inputs) and _are_transposed(*differing[0])

    def _differs_in_words(self, successful: Attempt) -> bool:
        """Whether tensors have axes of other words than successful ones, beside an equal tensor.

        One and the same tensor has the same words on every path, but for sizes that are compared.
        """
        pairs = zip(self.inputs, successful.inputs, strict=True)
        differing = [index for index, (one, other) in enumerate(pairs) if one != other]
        tensors = sum(isinstance(operand, Tensor) for operand in self.inputs)
        return 0 < len(differing) < tensors and all(
            _have_other_words(self.inputs[index], successful.inputs[index])
            and not _are_one(self.values[index], successful.values[index])
            for index in differing
        )


def _readings(size: Size) -> frozenset[Reading]:
    """The axes in a size, each with the scope of its reading alone."""
    return frozenset((naming.bare(word), naming.scopes(word)[:1]) for word in observed(size))


def _have_other_words(part: object, other: object) -> bool:
    """Whether the dims of two tensors differ in axes, of which neither has those of the other."""
    if not isinstance(part, Tensor) or not isinstance(other, Tensor):
        return False
    names, other_names = part.dims.names, other.dims.names
    if part.dims.open or other.dims.open or len(names) != len(other_names):
        return False
    pairs = [pair for pair in zip(names, other_names, strict=True) if pair[0] != pair[1]]
    return bool(pairs) and all(
        isinstance(name, Axis)
        and isinstance(other_name, Axis)
        and name not in other_names
        and other_name not in names
        for name, other_name in pairs
    )


def _are_transposed(part: object, other: object) -> bool:
    """Whether two tensors have the same dims, but for the order of the last two read."""
    if not isinstance(part, Tensor) or not isinstance(other, Tensor):
        return False
    dims, other_dims = part.dims.prefix, other.dims.prefix
    if part.dims.open or other.dims.open or len(dims) < 2:
        return False
    is_read = all(_readings(dim.size) for dim in dims[-2:])
    return is_read and dims == (*other_dims[:-2], *other_dims[:-3:-1])


def _are_one(value: Value, accepted_value: Value) -> bool:
    tensors = isinstance(value, TensorValue) and isinstance(accepted_value, TensorValue)
    return tensors and value == accepted_value


@dataclass(slots=True)
class Judged:
    """Which operators were contradicted, and which were not, in the same run of a scope.

    Where one path contradicts, and another through the same run does not, the first may be a
    combination of branches that never occurs. What that depends on is said by each question.

    `passed` has the sites of applications that nothing contradicts, `accepted` the operands of
    these for each node, by the identity of their inference (kept with them, so that no other gets
    it). `failed` has the sites where a finding was made each time, its own and those of calls
    around it, none where it does not depend on the run; `refused` has the operands contradicted
    there, with the same sites.
    What has passed at a node without stages has passed in each: an alternative of a sequence
    of layers. `stages` are those that are being judged. `equal` has pairs of axes, each with the
    scope of its reading, whose sizes some call shows to be equal.
    """

    passed: set[Site] = field(default_factory=set)
    failed: dict[Key, set[tuple[Site, ...]]] = field(default_factory=dict)
    accepted: dict[tuple[ast.AST, Stages], dict[int, tuple[Inference, Attempt]]] = field(
        default_factory=dict
    )
    refused: dict[Key, list[tuple[Site, tuple[Site, ...], Attempt]]] = field(default_factory=dict)
    equal: set[frozenset[Reading]] = field(default_factory=set)
    stages: Stages = ()

    @contextmanager
    def stage(self, which: Hashable) -> Iterator[None]:
        """Judge one stage of what happens at a node: other stages do not speak for it."""
        outer = self.stages
        self.stages = (*outer, which)
        try:
            yield
        finally:
            self.stages = outer

    def site(self, environment: int, node: ast.AST) -> Site:
        """The site of an application that is being judged."""
        return environment, node, self.stages

    def accept(
        self, environment: int, node: ast.AST, inference: Inference, attempt: Attempt
    ) -> None:
        """Note an application that nothing contradicts; equal operands have one inference."""
        site = self.site(environment, node)
        self.passed.add(site)
        of_node = self.accepted.get(site[1:])
        if of_node is None:
            of_node = self.accepted[site[1:]] = {}
        of_node[id(inference)] = inference, attempt

    def hear(self, environment: int, node: ast.AST) -> None:
        """Note a use of an unknown value, which may be right where that of a tensor is refused."""
        self.passed.add(self.site(environment, node))

    def hear_argument(self, environment: int, node: ast.AST, which: str) -> None:
        """Note that an argument of a call may be right, whatever other stages are around it."""
        self.passed.add((environment, node, (which,)))

    def refuse(self, key: Key, site: Site, calls: Iterable[Site], attempt: Attempt) -> None:
        """Note the operands of an application that a finding is about, and the calls around it."""
        self.refused.setdefault(key, []).append((site, tuple(calls), attempt))

    def calls_around(self, frame: Frame) -> Iterator[tuple[Frame, Site]]:
        """The calls that led to a frame, the last one first: the frame of each, and its site."""
        for inner in frame.stack():
            if inner.caller is not None and inner.site is not None:
                yield inner.caller, self.site(inner.caller.environment.number, inner.site)

    def forget(self, key: Key) -> None:
        """Forget where a finding was made, and about which operands."""
        self.failed.pop(key, None)
        self.refused.pop(key, None)

    def equate(self, own_size: Size, other_size: Size) -> None:
        """Note two axes of one tensor that have one size, as a later call shows."""
        pair = _readings(own_size) | _readings(other_size)
        if len(pair) == 2:
            self.equal.add(pair)

    def is_uncertain(self, key: Key, about: Collection[str]) -> bool:
        """Whether a finding about names depends on branches that may never be taken together.

        Or whether it depends on two sizes that are equal, as the code shows elsewhere, or on a
        tensor that has no elements where there is nothing to compute.
        """
        return (
            self.is_doubtful(key)
            or self.is_mixture(key)
            or self.is_of_other_words(key)
            or self.is_about_equal(key, about)
            or self.is_of_both_sides(key)
            or self._each_refused(key, Attempt.has_nothing)
            or self.is_of_another_call(key)
        )

    def is_about_equal(self, key: Key, about: Collection[str]) -> bool:
        """Whether a finding is about the words of two axes that have one size."""
        attempts = self._attempts(key)
        pairs = [pair for pair in self.equal if {word for word, _ in pair} == set(about)]
        return bool(attempts) and all(
            any(pair <= attempt.readings() for pair in pairs) for attempt in attempts
        )

    def is_of_both_sides(self, key: Key) -> bool:
        """Whether an operator takes a matrix with the same operands, and its transpose with them.

        The matrix is a square: ``cross_entropy(logits, own) + cross_entropy(logits.T, own)``.
        """
        attempts = self._attempts(key)
        if not attempts:
            return False
        every = [each for of_node in self.accepted.values() for _, each in of_node.values()]
        return all(attempt.is_turned(every) for attempt in attempts)

    def is_of_another_call(self, key: Key) -> bool:
        """Whether tensors without elements are refused in calls that pass on another path."""
        refusals = self.refused.get(key, [])
        return bool(refusals) and all(
            attempt.is_of_nothing and any(map(self._has_passed, calls))
            for _, calls, attempt in refusals
        )

    def _attempts(self, key: Key) -> list[Attempt]:
        """The applications that a finding is about."""
        return [attempt for _, _, attempt in self.refused.get(key, [])]

    def is_doubtful(self, key: Key) -> bool:
        """Whether every run in which a finding was made has a path without it.

        Only what the code itself names is judged so, and ranks in an undecided branch.
        """
        failures = self.failed.get(key, set())
        return bool(failures) and all(any(map(self._has_passed, sites)) for sites in failures)

    def is_mixture(self, key: Key) -> bool:
        """Whether a finding is about operands that go together with others, each with its own.

        A flag may choose a rank in one class and an equation in another: in the same run of a
        scope one combination fails and another does not, and no operand fails with all others.
        """
        return self._each_refused(key, Attempt.is_mixed_of)

    def is_of_other_words(self, key: Key) -> bool:
        """Whether, on another path of each run, the operands have other words there, which fit.

        A branch that chooses between tensors of two words may mean that these are one dimension.
        """
        return self._each_refused(key, Attempt.has_other_words)

    def _each_refused(self, key: Key, holds: Callable[[Attempt, Sequence[Attempt]], bool]) -> bool:
        """Whether this holds for all operands of a finding, with those accepted in the same run."""
        refusals = self.refused.get(key, [])
        return bool(refusals) and all(
            self._has_passed(site) and holds(attempt, self._accepted(site, attempt))
            for site, _, attempt in refusals
        )

    def _has_passed(self, site: Site) -> bool:
        environment, node, stages = site
        return any((environment, node, outer) in self.passed for outer in _around(stages))

    def _accepted(self, site: Site, attempt: Attempt) -> list[Attempt]:
        """The operands of the applications at a node that nothing contradicts, if as many."""
        _, node, stages = site
        return [
            others
            for outer in _around(stages)
            for _, others in self.accepted.get((node, outer), {}).values()
            if len(others.inputs) == len(attempt.inputs)
        ]


def _around(stages: Stages) -> Iterator[Stages]:
    """The stages that stand around the last one, one more each time, and the last one alone."""
    return chain((stages[:depth] for depth in range(len(stages) + 1)), [stages[-1:]])
