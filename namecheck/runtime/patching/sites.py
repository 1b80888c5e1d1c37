"""One patched callable of torch: what a call of it needs, learnt once for each kind of call.

A `Plan` is what `infer` answered, made ready: the arguments with indices in the place of names,
and the names of what comes back. It holds for every call with the same names, dtypes and plain
arguments; where the answer without sizes leaves a name open, for the same sizes as well. That the
answer without sizes may be taken for all sizes is the law of sound forgetting (tests/laws/).
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any, Final, cast

import torch

from namecheck import operators
from namecheck.core.names import UNKNOWN, Contradiction
from namecheck.core.semantics import Semantics
from namecheck.core.tensors import Tensor
from namecheck.operators import Inference
from namecheck.runtime.core import call_sites, reporting, tensor_names
from namecheck.runtime.core.errors import Contradicted
from namecheck.runtime.core.tensor_names import Names
from namecheck.runtime.patching import (
    argument_translation,
    constructor_arguments,
    overriding_classes,
    targets,
)
from namecheck.runtime.patching.argument_translation import NAMING, UNCHANGED, Changes, speaks
from namecheck.runtime.patching.targets import Target
from namecheck.runtime.patching.wrapper_source import LONGEST

__all__ = ["NAMING", "Plan", "Site"]

# More kinds of calls than that are no kinds: their arguments are data. Then all are forgotten.
MOST_PLANS: Final = 4096
# Lists that are longer hold data.
_LONGEST: Final = 32


@dataclass(frozen=True, slots=True)
class Plan:
    """How to make one kind of call: what of it changes, and what the tensors are called.

    `sized` where that holds for these sizes alone; `doubt` is a contradiction that torch itself
    is to refuse, `names` those of the one result, where the answer tells all of them.
    """

    changes: Changes
    inference: Inference
    sized: bool = False
    doubt: Contradiction | None = None
    names: Names | None = None


def _memos() -> tuple[dict[Hashable, Any], ...]:
    """A memo for each number of arguments of which a wrapper knows, besides the tensor."""
    return tuple({} for _ in range(LONGEST + 1))


@dataclass(slots=True)
class Site:
    """One patched callable; `call` runs it with names.

    `said` is false where tensors without any names are of unknown names (a recording); `quick` is
    what an exact wrapper looks up, `whole` what any other does, `kept` the number of entries.
    """

    target: Target
    semantics: Semantics
    said: bool = True
    original: Callable[..., Any] = field(init=False)
    wrapper: Callable[..., Any] = field(init=False)
    names_result: bool = field(init=False)
    plans: dict[Hashable, Plan] = field(default_factory=dict)
    quick: tuple[dict[Hashable, Any], ...] = field(default_factory=_memos)
    whole: dict[Hashable, Any] = field(default_factory=dict)
    kept: int = 0

    def __post_init__(self) -> None:
        self.original = self.target.original
        self.names_result = targets.names_result(self.target.row)

    def call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Make a call in which names may matter."""
        if overriding_classes.among((*args, *kwargs.values())):
            return self._overridden(args, kwargs)
        return self.perform(self._found(args, kwargs), args, kwargs)

    def _overridden(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Make a call with tensors that override torch's functions.

        torch itself tells them of a method, of functions we do.
        """
        values = (*args, *kwargs.values())
        is_function = self.target.form not in "mia"
        teller = overriding_classes.teller(self.wrapper, values) if is_function else None
        run = teller or self.original
        if overriding_classes.named(values) or any(map(speaks, values)):
            return self.perform(self._found(args, kwargs), args, kwargs, run)
        return run(*args, **kwargs)

    def learn(self, key: tuple[Hashable, ...], args: tuple[Any, ...], told: tuple[int, ...]) -> Any:
        """Make a call, and remember under `key` what the next of its kind needs.

        That is the arguments at the places `told`, with indices for names, and the result's names.
        A traced call (torch.jit) is made in the same way each time: its lines are compared. One of
        tensors that override torch's functions is, too.
        """
        if overriding_classes.among(args):
            return self._overridden(args, {})
        plan = self._found(args, {})
        result = self.perform(plan, args, {})
        if torch._C._get_tracing_state() is not None or overriding_classes.among((result,)):
            return result
        if plan is not None and isinstance(result, torch.Tensor) and _is_quick(plan, key):
            values = dict(plan.changes.positional)
            names = getattr(result, tensor_names.ATTRIBUTE, None)
            known = tuple(values.get(place, args[place]) for place in told)
            with contextlib.suppress(TypeError):  # of a list among the arguments
                self._keep(self.quick[len(args) - 1], key, (*known, names) if told else names)
        return result

    def study(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Make a call of any signature, and remember under all of its values how.

        That is the arguments after the first, None where they are passed on as they are, and the
        result's names.
        """
        if overriding_classes.among((*args, *kwargs.values())):
            return self._overridden(args, kwargs)
        plan = self._found(args, kwargs)
        before: Hashable = tensor_names.names_of(args[0])
        if before is None:
            before = args[0].dim()
        result = self.perform(plan, args, kwargs)
        key = (before, args[1:], tuple(kwargs.items()))
        if plan is None or not _is_quick(plan, key) or not isinstance(result, torch.Tensor):
            return result
        if torch._C._get_tracing_state() is not None or overriding_classes.among((result,)):
            return result
        if plan.inference.after or any(result is value for value in (*args, *kwargs.values())):
            return result
        changed = None
        if plan.changes:
            given, words = plan.changes.apply(args, kwargs)
            changed = tuple(given[1:]), words
        with contextlib.suppress(TypeError):  # of a list among the arguments
            names = getattr(result, tensor_names.ATTRIBUTE, None)
            self._keep(self.whole, (key,), (changed, names))
        return result

    def _found(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Plan | None:
        """The plan of a call; what it raises shows neither our frames nor the memo's miss."""
        try:
            return self.plan(args, kwargs)
        except Contradicted as error:
            raise error.with_traceback(None) from None

    def _keep(self, level: dict[Hashable, Any], key: tuple[Hashable, ...], entry: Any) -> None:
        if self.kept >= MOST_PLANS:
            for memo in (*self.quick, self.whole):
                memo.clear()
            self.kept = 0
        *path, last = key
        for part in path:
            level = level.setdefault(part, {})
        level[last] = entry
        self.kept += 1

    def refused(self, error: Exception, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call of unnamed tensors that torch refused: ours, if it speaks of names.

        What is no tensor and overrides torch's functions may know the other of the two functions:
        a builtin of torch tells of itself, a function in Python of what stands in its place.
        """
        if isinstance(error, TypeError) and overriding_classes.foreign(args):
            python = isinstance(self.original, FunctionType)
            teller = overriding_classes.teller(self.original if python else self.wrapper, args)
            if teller is not None:
                return teller(*args, **kwargs)
        if isinstance(error, TypeError) or any(map(speaks, (*args, *kwargs.values()))):
            plan = self.plan(args, kwargs)
            if plan is not None and plan.changes:
                return self.perform(plan, args, kwargs)
        raise error

    def plan(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Plan | None:
        """The plan for this kind of call; None where nothing is known of the call.

        What is asked of the tensors meanwhile is no call of the user's: ``__torch_function__`` does
        not hear of it.
        """
        with torch._C.DisableTorchFunction():
            return self._plan(args, kwargs)

    def _plan(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Plan | None:
        """The plan, remembered unless an argument cannot be hashed, or the call is traced."""
        if torch._C._get_tracing_state() is not None:
            return self._make(args, kwargs)
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
        inference = self._infer(args, kwargs, sized=False)
        sized = not _is_settled(inference) or self._resizes(kwargs)
        if sized or inference.contradiction is not None:
            inference = self._infer(args, kwargs, sized=True)
        if inference.contradiction is not None:
            return self._contradicted(inference, args, kwargs)
        if not inference.fits:
            return None
        changes = self._changes(inference, args, kwargs)
        return Plan(changes, inference, sized, names=_settled_names(inference))

    def _resizes(self, kwargs: Mapping[str, Any]) -> bool:
        """Whether a tensor is given another shape, which a named one must not be."""
        in_place = self.target.form in "ij" and self.target.row.inplace == "becomes"
        return in_place or "out" in kwargs

    def _infer(self, args: tuple[Any, ...], kwargs: Mapping[str, Any], *, sized: bool) -> Inference:
        values, named = self._abstract(args, kwargs, sized=sized)
        return operators.infer(
            self.target.operator, *values, semantics=self.semantics, around=None, **named
        )

    def _abstract(
        self, args: tuple[Any, ...], kwargs: Mapping[str, Any], *, sized: bool
    ) -> tuple[list[Any], dict[str, Any]]:
        """The arguments as `infer` takes them, those that a module was made with among them."""
        if self.target.form == "c":
            constructed = constructor_arguments.made_with(self.target.row, args[0])
            args, kwargs = args[1:], {**constructed, **kwargs}
        values = [tensor_names.abstract(arg, sized=sized, said=self.said) for arg in args]
        if self.target.reflected:
            values.reverse()
        given = self._public(kwargs)
        return values, {
            key: tensor_names.abstract(value, sized=sized, said=self.said)
            for key, value in given.items()
        }

    def _public(self, kwargs: Mapping[str, Any]) -> Mapping[str, Any]:
        """The keywords without those that torch's own functions hand to one another."""
        if any(p.mapping for signature in self.target.row.signatures for p in signature):
            return kwargs
        return {key: value for key, value in kwargs.items() if not key.startswith("_")}

    def _changes(
        self, inference: Inference, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> Changes:
        """Names become indices; raises a `Contradicted` where they cannot, in whatever mode."""
        values = (*args, *kwargs.values())
        if self.target.by_name or not (self.names_result or any(map(speaks, values))):
            return UNCHANGED
        positional, keywords = operators.parameters(
            self.target.operator, *self._abstract(args, kwargs, sized=True)
        )
        try:
            return argument_translation.translated(args, kwargs, positional, keywords)
        except Contradiction as untranslatable:
            told = inference.contradiction or untranslatable
            raise reporting.error_for(told, values) from untranslatable

    def _contradicted(
        self, inference: Inference, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Plan:
        """Raise or tell, by the mode; what torch itself will refuse is left to it.

        What a call wrote before it failed keeps the names that it was given.
        """
        contradiction = inference.contradiction
        assert contradiction is not None
        values = (*args, *kwargs.values())
        unknown = Inference(UNKNOWN, contradiction=contradiction)
        if not self._is_ours(contradiction, values):
            return Plan(self._changes(inference, args, kwargs), unknown, doubt=contradiction)
        self._name_written(inference, args, kwargs)
        reporting.judge(contradiction, values)
        if self.target.moves and not call_sites.inside_torch():
            raise reporting.error_for(contradiction, values)
        return Plan(self._changes(inference, args, kwargs), unknown)

    def _is_ours(self, contradiction: Contradiction, values: Sequence[Any]) -> bool:
        # A special method that does not know a string leaves it to the other operand.
        speaking = not self.target.special and any(map(speaks, values))
        names_dims = self.target.move is not None or speaking
        return reporting.is_ours(contradiction, self.semantics, names_dims=names_dims)

    def perform(
        self,
        plan: Plan | None,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        teller: Callable[..., Any] | None = None,
    ) -> Any:
        """Run the original, or what tells of it, by its plan, and name what comes back."""
        run = self.target.move or teller or self.original
        if plan is None:
            return run(*args, **kwargs)
        given, words = plan.changes.apply(args, kwargs) if plan.changes else (args, kwargs)
        try:
            result = run(*given, **words)
        except (Contradicted, Warning):
            raise
        except (RuntimeError, LookupError, TypeError, ValueError, Contradiction) as error:
            self._retell(error, args, kwargs)
            raise
        if plan.doubt is not None and reporting.stands(plan.doubt, self.semantics):
            reporting.judge(plan.doubt, (*args, *kwargs.values()))
        return self.name(plan, result, args, kwargs)

    def _retell(self, error: Exception, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        """Raise in the words of the rules, which tell names, what torch refused."""
        values = (*args, *kwargs.values())
        with torch._C.DisableTorchFunction():
            contradiction = self._infer(args, kwargs, sized=True).contradiction
        if isinstance(error, Contradiction):
            raise reporting.error_for(contradiction or error, values) from error
        if contradiction is None or (
            contradiction.code == "NC114" and not any(map(speaks, values))
        ):
            return
        try:
            reporting.judge(contradiction, values)
        except Contradicted as told:
            raise told from error

    def name(
        self, plan: Plan, result: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> Any:
        """Give the names that were inferred to the result, and to what the call wrote into.

        The result comes back, or what is inferred in the place of a value.
        """
        answer = plan.inference.result
        with torch._C.DisableTorchFunction():
            if (
                plan.names
                and self.said
                and type(result) is torch.Tensor
                and result.dim() == len(plan.names)
                and not self._is_argument(result, plan, args, kwargs)
            ):
                tensor_names.give(result, plan.names)
                return result
            self._name_written(plan.inference, args, kwargs)
            if isinstance(answer, bool):
                return answer
            if self._is_argument(result, plan, args, kwargs):
                result = tensor_names.apart(result, answer)
            tensor_names.stamp(result, answer, said=self.said)
        return result

    def _is_argument(
        self, result: Any, plan: Plan, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> bool:
        """Whether the result of a call that writes into no argument is an argument itself."""
        if plan.inference.after or self.target.form in "ij" or "out" in kwargs:
            return False
        if not isinstance(result, torch.Tensor):
            return False
        return any(result is value for value in (*args, *kwargs.values()))

    def _name_written(
        self, inference: Inference, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> None:
        for key, answer in inference.after.items():
            if isinstance(key, str):
                tensor_names.stamp(kwargs.get(key), answer, said=self.said)
            else:
                place = len(args) - 1 - key if self.target.reflected else key
                tensor_names.stamp(args[place], answer, said=self.said)


def _settled_names(inference: Inference) -> Names | None:
    answer = inference.result
    if isinstance(answer, Tensor) and answer.dims.complete and not inference.after:
        return tensor_names.lower(answer.dims.names)
    return None


def _is_quick(plan: Plan, key: Hashable) -> bool:
    """Whether a plan is for one tensor and any sizes, and touches nothing but its result.

    A contradiction is no plan: it is to be met each time.
    """
    if plan.inference.contradiction is not None or plan.doubt is not None:
        return False
    after = plan.inference.after
    touches = bool(after) and tuple(after) != (0,)
    return not (plan.sized or touches or plan.changes.dropped or _holds_tensor(key))


def _holds_tensor(value: Any) -> bool:
    """Whether a key is, or holds, a tensor: to remember it would keep its memory."""
    if isinstance(value, (tuple, list)):
        return any(map(_holds_tensor, value))
    return isinstance(value, torch.Tensor)


def _is_settled(inference: Inference) -> bool:
    """Whether an answer says all that there is to say, whatever the sizes."""
    if inference.contradiction is not None or not inference.fits:
        return True
    return _is_known(inference.result) and all(map(_is_known, inference.after.values()))


def _is_known(answer: Any) -> bool:
    """Whether all names are known; an answer that is no tensor tells nothing of the call."""
    if isinstance(answer, Tensor):
        return answer.dims.complete
    return isinstance(answer, (tuple, list)) and all(map(_is_known, answer))


def _key(value: Any) -> Hashable:
    """What of an argument a plan depends on; raises TypeError where that cannot be told."""
    if isinstance(value, torch.Tensor):
        names = tensor_names.names_of(value)
        return value.dim() if names is None else names, value.dtype
    if isinstance(value, (list, tuple)):
        if len(value) > _LONGEST:
            raise TypeError("data")
        return (type(value), *map(_key, value))
    if isinstance(value, dict):
        return type(value), tuple((key, _key(part)) for key, part in value.items())
    if isinstance(value, slice):
        return slice
    if isinstance(value, (bool, int, str)) or value is None or value is ...:
        return type(value), value
    return cast(Hashable, type(value))


def _sizes(values: Sequence[Any]) -> Hashable:
    """The sizes of all tensors among the arguments, and the values of slices."""
    found: list[Hashable] = []
    for value in values:
        if isinstance(value, torch.Tensor):
            found.append(tuple(value.shape))
        elif isinstance(value, (list, tuple)):
            found.append(_sizes(value))
        elif isinstance(value, slice):
            found.append(_sizes((value.start, value.stop, value.step)))
        else:
            hash(value)
            found.append(value)
    return tuple(found)
