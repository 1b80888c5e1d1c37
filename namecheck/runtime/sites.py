"""One patched callable of torch: what a call of it needs, learnt once for each kind of call.

A `Plan` is what `infer` answered, made ready: the arguments with indices in the place of names,
and the names of what comes back. It holds for every call with the same names and plain
arguments; where the answer without sizes leaves a name open, for the same sizes as well. That the
answer without sizes may be taken for all sizes is the law of sound forgetting (tests/test_laws.py).
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, cast

import torch

from namecheck import operators, signatures
from namecheck.names import UNKNOWN, Contradiction
from namecheck.operators import Inference, Semantics
from namecheck.runtime import judging, tensor_names
from namecheck.runtime.errors import Contradicted
from namecheck.runtime.targets import Target
from namecheck.runtime.tensor_names import Names
from namecheck.values import Many, Tensor

# More kinds of calls than that are no kinds: their arguments are data. Then all are forgotten.
MOST_PLANS: Final = 4096

NAMING: Final = frozenset({"dim", "dims", "name", "names"})


@dataclass(frozen=True, slots=True)
class Plan:
    """How to make one kind of call: what replaces arguments, and what the tensors are called.

    `result` and `after` are answers of `infer`; `sized` where they hold for these sizes alone.
    """

    positional: tuple[tuple[int, Any], ...]
    keywords: tuple[tuple[str, Any], ...]
    dropped: tuple[str, ...]
    inference: Inference
    sized: bool


@dataclass(slots=True)
class Site:
    """One patched callable; `call` runs it with names, `plain` without.

    `said` is false where tensors without any names are of unknown names (a recording).
    """

    target: Target
    semantics: Semantics
    said: bool = True
    original: Callable[..., Any] = field(init=False)
    plans: dict[Hashable, Plan] = field(default_factory=dict)
    quick: dict[Hashable, Any] = field(default_factory=dict)
    kept: int = 0

    def __post_init__(self) -> None:
        self.original = self.target.original

    def call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Make a call in which names may matter."""
        return self.perform(self._found(args, kwargs), args, kwargs)

    def learn(self, key: tuple[Hashable, ...], args: tuple[Any, ...], told: tuple[int, ...]) -> Any:
        """Make a call, and remember under `key` what the next of its kind needs.

        That is the arguments at the places `told`, with indices for names, and the result's names.
        """
        plan = self._found(args, {})
        result = self.perform(plan, args, {})
        if plan is not None and isinstance(result, torch.Tensor) and _is_quick(plan):
            values = dict(plan.positional)
            names = getattr(result, tensor_names.ATTRIBUTE, None)
            known = tuple(values.get(place, args[place]) for place in told)
            with contextlib.suppress(TypeError):  # of a list among the arguments
                self._keep(key, (*known, names) if told else names)
        return result

    def _found(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Plan | None:
        """The plan of a call; what it raises shows neither our frames nor the memo's miss."""
        try:
            return self.plan(args, kwargs)
        except Contradicted as error:
            raise error.with_traceback(None) from None

    def _keep(self, key: tuple[Hashable, ...], entry: Any) -> None:
        if self.kept >= MOST_PLANS:
            self.quick.clear()
            self.kept = 0
        *path, last = key
        level = self.quick
        for part in path:
            level = level.setdefault(part, {})
        level[last] = entry
        self.kept += 1

    def refused(self, error: Exception, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call of unnamed tensors that torch refused: with a name among its arguments, ours."""
        if any(map(_speaks, (*args, *kwargs.values()))):
            return self.call(args, kwargs)
        raise error

    def plan(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Plan | None:
        """The plan for this kind of call; None where nothing is known of the call.

        What is asked of the tensors meanwhile is no call of the user's: ``__torch_function__`` does
        not hear of it.
        """
        with torch._C.DisableTorchFunction():
            return self._plan(args, kwargs)

    def _plan(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Plan | None:
        """The plan, remembered unless an argument cannot be hashed."""
        values = (*args, *kwargs.values())
        try:
            key = (_key(args), _key(kwargs))
            plan = self.plans.get(key)
            if plan is not None and plan.sized:
                plan = self.plans.get((key, _sizes(values)))
        except TypeError:
            return self._make(args, kwargs)
        if plan is None:
            plan = self._make(args, kwargs)
            if plan is not None and plan.inference.contradiction is None:
                with contextlib.suppress(TypeError):
                    self._remember(key, plan, values)
        return plan

    def _remember(self, key: Hashable, plan: Plan, values: tuple[Any, ...]) -> None:
        if len(self.plans) >= MOST_PLANS:
            self.plans.clear()
        if plan.sized:
            self.plans[key, _sizes(values)] = plan
        self.plans[key] = plan

    def _make(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Plan | None:
        inference, sized = self._inferred(args, kwargs)
        if inference.contradiction is not None:
            return self._contradicted(inference, args, kwargs)
        return self._translated(inference, args, kwargs, sized=sized) if inference.fits else None

    def _inferred(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[Inference, bool]:
        """The answer for a call, and whether it holds for these sizes alone."""
        given = self._public(kwargs)
        inference = self._infer(args, given, sized=False)
        if _is_settled(inference):
            return inference, False
        return self._infer(args, given, sized=True), True

    def _public(self, kwargs: Mapping[str, Any]) -> Mapping[str, Any]:
        """The keywords without those that torch's own functions hand to one another."""
        if any(p.mapping for signature in self.target.row.signatures for p in signature):
            return kwargs
        return {key: value for key, value in kwargs.items() if not key.startswith("_")}

    def _infer(self, args: tuple[Any, ...], kwargs: Mapping[str, Any], *, sized: bool) -> Inference:
        values = [tensor_names.abstract(arg, sized=sized, said=self.said) for arg in args]
        if self.target.reflected:
            values.reverse()
        named = {
            key: tensor_names.abstract(value, sized=sized, said=self.said)
            for key, value in kwargs.items()
        }
        return operators.infer(self.target.operator, *values, semantics=self.semantics, **named)

    def _contradicted(
        self, inference: Inference, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Plan:
        """Raise or tell, by the mode; what torch itself will refuse is left to it.

        What a call wrote before it failed keeps the names that it was given.
        """
        contradiction = inference.contradiction
        assert contradiction is not None
        values = (*args, *kwargs.values())
        if judging.is_ours(contradiction, self.semantics, speaks=any(map(_speaks, values))):
            self._name_written(inference, args, kwargs)
            judging.judge(contradiction, values)
        if self.target.moves:
            raise judging.error_for(contradiction, values)
        try:
            unknown = Inference(UNKNOWN, contradiction=contradiction)
            return self._translated(unknown, args, kwargs, sized=True)
        except Contradiction as untranslatable:
            raise judging.error_for(contradiction, values) from untranslatable

    def _translated(
        self,
        inference: Inference,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        *,
        sized: bool,
    ) -> Plan:
        """The plan for an answer: names become indices where torch takes only these."""
        positional: list[tuple[int, Any]] = []
        keywords: list[tuple[str, Any]] = []
        dropped: list[str] = []
        speaks = any(map(_speaks, (*args, *kwargs.values()))) or "names" in kwargs
        if speaks and not self.target.by_name:
            places, words = self._parameters(args, kwargs)
            for index, (arg, parameter) in enumerate(zip(args, places, strict=False)):
                if parameter is not None and parameter.kinds & NAMING and _speaks(arg):
                    positional.append((index, _index(arg, _receiver(args, kwargs))))
            for key, parameter in words.items():
                value = kwargs[key]
                if key == "names" and "names" in parameter.kinds:
                    dropped.append(key)
                elif parameter.kinds & NAMING and _speaks(value):
                    keywords.append((key, _index(value, _receiver(args, kwargs))))
        return Plan(tuple(positional), tuple(keywords), tuple(dropped), inference, sized)

    def _parameters(
        self, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> tuple[list[signatures.Parameter | None], dict[str, signatures.Parameter]]:
        values = [tensor_names.abstract(arg) for arg in args]
        named = {k: tensor_names.abstract(v) for k, v in self._public(kwargs).items()}
        return operators.parameters(self.target.operator, values, named)

    def perform(self, plan: Plan | None, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run the original by its plan, and name what comes back."""
        if plan is None:
            return self.original(*args, **kwargs)
        given, words = args, kwargs
        if plan.positional:
            changed = list(args)
            for index, value in plan.positional:
                changed[index] = value
            given = tuple(changed)
        if plan.keywords or plan.dropped:
            words = {k: v for k, v in kwargs.items() if k not in plan.dropped} | dict(plan.keywords)
        result = self.original(*given, **words)
        self.name(plan, result, args, kwargs)
        return result

    def name(
        self, plan: Plan, result: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> None:
        """Give the names that were inferred to the result, and to what the call wrote into."""
        with torch._C.DisableTorchFunction():
            self._name_written(plan.inference, args, kwargs)
            tensor_names.stamp(result, plan.inference.result, said=self.said)

    def _name_written(
        self, inference: Inference, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> None:
        for key, answer in inference.after.items():
            if isinstance(key, str):
                tensor_names.stamp(kwargs.get(key), answer, said=self.said)
            else:
                place = len(args) - 1 - key if self.target.reflected else key
                tensor_names.stamp(args[place], answer, said=self.said)


def _is_quick(plan: Plan) -> bool:
    """Whether a plan is for one tensor and any sizes, and touches nothing but its result."""
    after = plan.inference.after
    return not plan.sized and (not after or tuple(after) == (0,))


def _is_settled(inference: Inference) -> bool:
    """Whether an answer says all that there is to say, whatever the sizes."""
    if inference.contradiction is not None or not inference.fits:
        return True
    return _is_known(inference.result) and all(map(_is_known, inference.after.values()))


def _is_known(answer: Any) -> bool:
    if isinstance(answer, Tensor):
        return answer.dims.complete
    if isinstance(answer, (tuple, list)):
        return all(map(_is_known, answer))
    return answer is not UNKNOWN and not isinstance(answer, Many)


def _speaks(value: Any) -> bool:
    """Whether an argument is, or holds, a string."""
    if isinstance(value, str):
        return True
    return isinstance(value, (list, tuple)) and any(map(_speaks, value))


def _key(value: Any) -> Hashable:
    """What of an argument a plan depends on; raises TypeError where that cannot be told."""
    if isinstance(value, torch.Tensor):
        names = tensor_names.names_of(value)
        return value.dim() if names is None else names
    if isinstance(value, (list, tuple)):
        return (type(value), *map(_key, value))
    if isinstance(value, dict):
        return tuple((key, _key(part)) for key, part in value.items())
    if isinstance(value, slice):
        return slice
    if isinstance(value, (bool, int, str)) or value is None or value is ...:
        return type(value), value
    return cast(Hashable, type(value))


def _sizes(values: Sequence[Any]) -> Hashable:
    """The sizes and dtypes of all tensors among the arguments, and the values of slices."""
    found: list[Hashable] = []
    for value in values:
        if isinstance(value, torch.Tensor):
            found.append((tuple(value.shape), value.dtype))
        elif isinstance(value, (list, tuple)):
            found.append(_sizes(value))
        elif isinstance(value, slice):
            found.append(_sizes((value.start, value.stop, value.step)))
        else:
            hash(value)
            found.append(value)
    return tuple(found)


def _receiver(args: Sequence[Any], kwargs: Mapping[str, Any]) -> Names:
    """The names in which a call looks its dims up: those of its first tensor."""
    for value in (*args, *kwargs.values()):
        first = value[0] if isinstance(value, (list, tuple)) and value else value
        if isinstance(first, torch.Tensor):
            return tensor_names.shown(first)
    return ()


def _index(value: Any, names: Names) -> Any:
    """An argument with the index of each name in the name's place."""
    if isinstance(value, str):
        if value not in names:
            raise Contradiction("NC103", f"Name '{value}' not found in Tensor{list(names)}.")
        return names.index(value)
    if isinstance(value, (list, tuple)):
        return type(value)(_index(part, names) for part in value)
    return value
