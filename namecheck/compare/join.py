"""Joins the inferred and the observed values of a program by source position."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from typing import TYPE_CHECKING, Any, Final

from namecheck.compare import sizes
from namecheck.compare.attributes import ATTRIBUTES, Attribute, is_covered, is_known, named
from namecheck.compare.attributes import shown as attribute_text
from namecheck.core.dataclasses import dataclass, field
from namecheck.core.dims import Dims, covers_dims
from namecheck.core.findings import Finding, is_of_sizes
from namecheck.core.names import UNKNOWN, Axis
from namecheck.core.syntax import Position
from namecheck.core.tensors import Many, Tensor
from namecheck.interpreter.workspace.analysis import Observation, Observations

if TYPE_CHECKING:
    from namecheck.runtime.programs.activations import Activation, Shapes
    from namecheck.runtime.programs.recording import Seen


class Verdict(enum.Enum):
    """The verdict on one expression.

    AGREE: all names were known statically, and are those of the run; or both sides found a
    contradiction. WEAKER: not all names were known, and no known name is wrong. UNREACHED: the run
    did not reach it. UNSETTLED: a contradiction on some path that the run did not take. INCORRECT:
    one side contradicts the other.
    """

    AGREE = "agree"
    WEAKER = "weaker"
    UNREACHED = "unreached"
    UNSETTLED = "unsettled"
    INCORRECT = "incorrect"


class Fault(enum.Enum):
    """What is incorrect about an expression.

    NAMES: the run has other names; SIZES: its sizes differ; DTYPE, DEVICE, LAYOUT, MEMORY:
    that attribute differs. UNFOUNDED: a contradiction was inferred, and the run has none. MISSED:
    the run has one that was not inferred, though the operands were known.
    """

    NAMES = "names"
    SIZES = "sizes"
    DTYPE = "dtype"
    DEVICE = "device"
    LAYOUT = "layout"
    MEMORY = "memory"
    UNFOUNDED = "unfounded"
    MISSED = "missed"


@dataclass(frozen=True, slots=True)
class Joined:
    """One expression: the verdict, and the texts of both sides for a reader.

    `attributes` has the verdict on each attribute besides names, if the inferred values cover an
    observed tensor.
    """

    filename: str
    position: Position
    verdict: Verdict
    static: str
    observed: tuple[str, ...] = ()
    fault: Fault | None = None
    attributes: Mapping[str, Verdict] = field(default_factory=dict, hash=False)


_NOTHING: Final = Observation()
_NO_CONTRADICTION: Final = "no contradiction"


def sides(
    static: Observations,
    seen: Mapping[str, Mapping[Position, Seen]],
    activations: Sequence[Activation] = (),
    is_of_packages: Callable[[str], bool] = lambda filename: False,
) -> tuple[Joined, ...]:
    """Every compared expression, in the order of the files and of their text.

    Sizes are compared in each of the `activations`. An expression of a package is compared only
    where the analysis has followed all calls in which it ran.
    """
    followed = sizes.followed(activations, static)
    strange = (one for one in activations if one not in followed and is_of_packages(one.filename))
    return tuple(_joined(static, seen, sizes.by_file(followed), sizes.places(strange)))


def _joined(
    static: Observations,
    seen: Mapping[str, Mapping[Position, Seen]],
    followed: Mapping[str, Sequence[Shapes]],
    strange: Set[tuple[str, Position]],
) -> Iterator[Joined]:
    for filename in {**static, **seen}:
        observations = static.get(filename, {})
        here = seen.get(filename, {})
        wrong_sizes = sizes.wrong_sizes(followed.get(filename, ()), observations)
        for position in sorted({*observations, *here}):
            observation = observations.get(position, _NOTHING)
            one = here.get(position)
            if one is None:
                if _is_of_tensors(observation):
                    yield Joined(filename, position, Verdict.UNREACHED, _inferred_text(observation))
                continue
            if (filename, position) in strange:
                yield Joined(filename, position, Verdict.WEAKER, "?", _observed_text(one))
                continue
            fault = _fault(observation, one)
            verdict = _verdict(observation, one) if fault is None else Verdict.INCORRECT
            if fault is Fault.UNFOUNDED and (observation.gave or observation.passed):
                fault, verdict = None, Verdict.UNSETTLED
            verdicts = _attributes(observation, one) if fault is None else {}
            wrong = next((word for word in verdicts if verdicts[word] is Verdict.INCORRECT), None)
            if wrong is not None:
                fault, verdict = Fault(wrong), Verdict.INCORRECT
            if fault is None and position in wrong_sizes:
                fault, verdict = Fault.SIZES, Verdict.INCORRECT
            if verdict is not None:
                inferred, observed = _inferred_text(observation, wrong), _observed_text(one, wrong)
                if fault is Fault.SIZES and wrong is None:
                    observed = (wrong_sizes[position].text,)
                yield Joined(filename, position, verdict, inferred, observed, fault, verdicts)


def _attributes(static: Observation, seen: Seen) -> dict[str, Verdict]:
    """The verdict on each attribute besides names, over all observed values."""
    if not seen.values or not static.gave:
        return {}
    fitting = [
        (value, [one for one in static.values if _covers(one, value)]) for value in seen.values
    ]
    return {each.word: _on_attribute(each, fitting) for each in ATTRIBUTES}


def _on_attribute(attribute: Attribute, fitting: Sequence[tuple[Any, list[Any]]]) -> Verdict:
    verdict = Verdict.AGREE
    for value, every in fitting:
        covering = [one for one in every if is_covered(attribute, one, value)]
        if not covering:
            return Verdict.INCORRECT
        if not any(is_known(attribute, one, value) for one in covering):
            verdict = Verdict.WEAKER
    return verdict


def _is_of_tensors(observation: Observation) -> bool:
    """Whether an operator was applied whose result is tensors or a contradiction."""
    gives = bool(observation.findings) or any(map(_has_tensor, observation.values))
    return observation.operator and gives


def _fault(static: Observation, seen: Seen) -> Fault | None:
    """The fault in which the names of both sides, or their contradictions, differ, if they do."""
    if static.gave and not _covers_all(static, seen):
        return Fault.NAMES
    if seen.findings or seen.errors:
        is_known = any(_could_find(static, finding) for finding in seen.findings)
        return Fault.MISSED if is_known and not _found(static) else None
    raised = any(not finding.by_axes for finding in static.findings)
    return Fault.UNFOUNDED if raised and seen.clean else None


def _could_find(static: Observation, finding: Finding) -> bool:
    """Whether everything was known that a contradiction depends on: names, or sizes as well."""
    return static.sized if is_of_sizes(finding.code) else static.informed


def _verdict(static: Observation, seen: Seen) -> Verdict | None:
    """The verdict on an expression without a fault; None where there is nothing to compare."""
    if (seen.findings or seen.errors) and _found(static):
        return Verdict.AGREE
    if seen.findings:
        return Verdict.WEAKER
    if not seen.values:
        return None
    is_known = all(any(_is_known(one, value) for one in static.values) for value in seen.values)
    return Verdict.AGREE if is_known else Verdict.WEAKER


def _found(static: Observation) -> bool:
    """Whether a contradiction was found, even where none is reported (after a ``yield``)."""
    return bool(static.findings) or static.gave < static.times


def _covers_all(static: Observation, seen: Seen) -> bool:
    """Whether the names of the inferred values cover those of every observed value."""
    return all(any(_covers(one, value) for one in static.values) for value in seen.values)


def _covers(general: Any, value: Any) -> bool:
    """Whether the names of an inferred value cover those of an observed one."""
    if general is UNKNOWN or value is UNKNOWN:
        return True
    if isinstance(general, Many):
        parts = value if isinstance(value, tuple) else ()
        return bool(parts) and all(_covers(general.each, part) for part in parts)
    if isinstance(general, tuple):
        same = isinstance(value, tuple) and len(general) == len(value)
        pairs = zip(general, value, strict=True) if same else ()
        return same and all(_covers(one, other) for one, other in pairs)
    if isinstance(general, Tensor) and isinstance(value, Tensor):
        return covers_dims(_bare(general.dims).sizeless(), value.dims)
    return False


def _bare(dims: Dims) -> Dims:
    """Dims without axes: an annotation names them, and the tensor may have other names."""
    return dims.rename(UNKNOWN if isinstance(name, Axis) else name for name in dims.names)


def _is_known(general: Any, value: Any) -> bool:
    """Whether the inferred values cover an observed value, with all of its names known."""
    return _covers(general, value) and _is_full(general, value)


def _is_full(general: Any, value: Any) -> bool:
    if value is UNKNOWN:
        return True
    if isinstance(general, Many):
        return general.each.dims.complete
    if isinstance(general, tuple) and isinstance(value, tuple):
        return all(map(_is_full, general, value))
    return isinstance(general, Tensor) and general.dims.complete


def _has_tensor(value: Any) -> bool:
    if isinstance(value, tuple):
        return any(map(_has_tensor, value))
    return isinstance(value, (Tensor, Many))


def _inferred_text(static: Observation, attribute: str | None = None) -> str:
    """The text of the inferred side: a value, or an attribute of it; its contradictions."""
    values = (_shown(value, attribute) for value in static.values)
    contradictions = (_finding(finding.code, finding.message) for finding in static.findings)
    return " | ".join([*values, *contradictions]) or "?"


def _shown(value: Any, attribute: str | None) -> str:
    return show(value) if attribute is None else attribute_text(named(attribute), value)


def _observed_text(seen: Seen, attribute: str | None = None) -> tuple[str, ...]:
    texts = [_shown(value, attribute) for value in seen.values]
    texts += [_finding(finding.code, finding.message) for finding in seen.findings]
    texts += seen.errors
    return tuple(dict.fromkeys(texts)) or (_NO_CONTRADICTION,)


def _finding(code: str, message: str) -> str:
    return f"{code}: {' '.join(message.split())}"


def show(value: Any) -> str:
    """A value for a reader: ``N=2 C=3``, ``(N=2, C=3)``, ``?`` where it is unknown."""
    if isinstance(value, Tensor):
        return value.dims.brief() or "(no dimension)"
    if isinstance(value, Many):
        return f"({show(value.each)}, …)"
    if isinstance(value, tuple):
        return f"({', '.join(map(show, value))})"
    return "?"


def counts_of(joined: Sequence[Joined], attribute: str) -> dict[Verdict, int]:
    """How many expressions have each verdict on one attribute besides names."""
    every = [one.attributes[attribute] for one in joined if attribute in one.attributes]
    return {verdict: every.count(verdict) for verdict in _ON_ATTRIBUTES}


_ON_ATTRIBUTES: Final = (Verdict.AGREE, Verdict.WEAKER, Verdict.INCORRECT)


def counts(joined: Sequence[Joined]) -> dict[Verdict, int]:
    """How many expressions have each verdict."""
    counted = dict.fromkeys(Verdict, 0)
    for one in joined:
        counted[one.verdict] += 1
    return counted
