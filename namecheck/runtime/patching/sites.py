"""One patched callable of torch, with a plan for each kind of call.

A `Plan` holds the answer of `infer` for a kind of call: the arguments with names replaced by
indices, and the names of the results. It applies to every call with the same names, dtypes and
plain arguments, and only to the same sizes if the answer without sizes leaves a name open. The
law of sound forgetting (tests/laws/) says that an answer without sizes holds for all sizes.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final

import torch

from namecheck import operators
from namecheck.core.memory_order import CONTIGUOUS
from namecheck.core.names import UNKNOWN, Answer, Contradiction
from namecheck.core.semantics import Semantics
from namecheck.operators import Inference, native
from namecheck.rules import registry
from namecheck.runtime.core import call_sites, reporting, tensor_names
from namecheck.runtime.core.errors import Contradicted
from namecheck.runtime.patching import (
    argument_translation,
    call_plans,
    constructor_arguments,
    native_names,
    overriding_classes,
    plan_keys,
    targets,
)
from namecheck.runtime.patching.argument_translation import (
    NAMING,
    UNCHANGED,
    Changes,
    contains_text,
)
from namecheck.runtime.patching.call_plans import Plan
from namecheck.runtime.patching.targets import Target
from namecheck.runtime.patching.wrapper_source import LONGEST

__all__ = ["NAMING", "REFUSALS", "Site"]

# The errors with which torch refuses a call.
REFUSALS: Final = (TypeError, RuntimeError)

# A site with more kinds of calls has data among its arguments; its memos are then cleared.
MOST_PLANS: Final = 4096


def _memos() -> tuple[dict[Hashable, Any], ...]:
    """One memo for each number of arguments besides the tensor that an exact wrapper handles."""
    return tuple({} for _ in range(LONGEST + 1))


@dataclass(slots=True)
class Site:
    """One patched callable; `call` runs it with names.

    `assume_unnamed` is False in a recording: a tensor that was never named then has unknown names.
    `exact_memos` are the memos of an exact wrapper (`wrapper_source`), `general_memo` that of any
    other, `entries` is the number of entries in all of them.
    """

    target: Target
    semantics: Semantics
    assume_unnamed: bool = True
    original: Callable[..., Any] = field(init=False)
    wrapper: Callable[..., Any] = field(init=False)
    names_result: bool = field(init=False)
    plans: dict[Hashable, Plan] = field(default_factory=dict)
    exact_memos: tuple[dict[Hashable, Any], ...] = field(default_factory=_memos)
    general_memo: dict[Hashable, Any] = field(default_factory=dict)
    entries: int = 0

    def __post_init__(self) -> None:
        self.original = self.target.original
        self.names_result = targets.names_result(self.target.row)

    @property
    def binds(self) -> bool:
        """Whether the original binds a receiver: a builtin function does not."""
        return hasattr(self.target.original, "__get__")

    @property
    def remembered(self) -> Callable[..., Any]:
        """What runs a call that the general memo has, with the arguments of the entry."""
        settled = self.target.settle is not None
        return self.original if settled else self.target.move or self.original

    def call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run a call that may involve names."""
        if run := self._run_of_overriding((*args, *kwargs.values())):
            return run(args, kwargs)
        return self.perform(self._plan_or_raise(args, kwargs), args, kwargs)

    def _run_of_overriding(self, values: Sequence[Any]) -> Callable[..., Any] | None:
        """What runs a call of objects that override torch's functions; None if there are none."""
        foreign_kinds = overriding_classes.overriding_objects(values)
        overriding_classes.adapt(foreign_kinds)
        if overriding_classes.any_overriding(values):
            return self._overridden
        return self._handed_over if foreign_kinds else None

    def _handed_over(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run a call as torch does, and try again if that refuses it."""
        try:
            return self.original(*args, **kwargs)
        except REFUSALS as error:
            return self.handle_refusal(error, args, kwargs)

    def _overridden(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run a call with tensors of overriding classes; torch passes it to their handlers."""
        values = (*args, *kwargs.values())
        if overriding_classes.any_named(values) or any(map(contains_text, values)):
            return self.perform(self._plan_or_raise(args, kwargs), args, kwargs)
        return self.original(*args, **kwargs)

    def learn_exact(
        self, key_path: Sequence[Hashable], args: tuple[Any, ...], translated: Sequence[int]
    ) -> Any:
        """Run a call, and remember in the exact memo, under `key_path`, what the next one needs.

        The entry has the arguments at the indices `translated`, with names replaced by indices of
        dims, and the names of the result. Calls that torch.jit traces are not remembered, because
        it compares the lines of repeated traces; nor are calls of overriding classes.
        """
        if run := self._run_of_overriding(args):
            return run(args, {})
        memo = self.exact_memos[len(args) - 1]
        is_query = self.target.row.names in targets.QUERIES
        if any(map(plan_keys.is_list, key_path)):
            key_path = plan_keys.without_lists(key_path)
            entry = call_plans.entry(memo, key_path)
            if entry is not None and tensor_names.has_rank_of_names(args[0]):
                *values, result_names = entry
                passed = dict(zip(translated, values, strict=True))
                run = self.target.move or self.original
                result = run(*(passed.get(index, arg) for index, arg in enumerate(args)))
                if not is_query:
                    tensor_names.put_names(result, result_names)
                return result
        plan = self._plan_or_raise(args, {})
        result = self.perform(plan, args, {})
        if torch._C._get_tracing_state() is not None or overriding_classes.any_overriding(
            (result,)
        ):
            return result
        if not all(map(tensor_names.may_be_key, args)):
            return result
        if plan is not None and call_plans.may_rename(plan, args[0], result):
            return result
        if (
            plan is not None
            and (is_query or isinstance(result, torch.Tensor))
            and not plan.changes.dropped
            and call_plans.is_memoizable(plan, key_path, sized=is_query)
        ):
            values = dict(plan.changes.positional)
            names = getattr(result, tensor_names.ATTRIBUTE, None)
            arguments = (call_plans.copied(values.get(index, args[index])) for index in translated)
            entry = (*arguments, names) if translated else names
            with contextlib.suppress(TypeError):  # an unhashable argument, such as a list
                self._remember_call(memo, key_path, entry)
        return result

    def learn_general(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run a call of any signature, and remember it in the general memo.

        The entry has the arguments after the first (None if they do not change), and the names of
        the result.
        """
        if run := self._run_of_overriding((*args, *kwargs.values())):
            return run(args, kwargs)
        names = tensor_names.names_of(args[0])
        before = plan_keys.rank_of(args[0]) if names is None else names
        passed = tuple(map(plan_keys.typed, args[1:]))
        named = tuple((name, plan_keys.typed(value)) for name, value in kwargs.items())
        key = (before, *plan_keys.without_lists((passed, named)))
        entry = call_plans.entry(self.general_memo, (key,))
        if entry is not None and tensor_names.has_rank_of_names(args[0]):
            changed, result_names = entry
            positional, keywords = changed or (args[1:], kwargs)
            result = self.remembered(args[0], *positional, **keywords)
            tensor_names.put_names(result, result_names)
            return result
        plan = self._plan_or_raise(args, kwargs)
        result = self.perform(plan, args, kwargs)
        if plan is None or not isinstance(result, torch.Tensor):
            return result
        if not call_plans.is_memoizable(plan, key):
            return result
        if torch._C._get_tracing_state() is not None or overriding_classes.any_overriding(
            (result,)
        ):
            return result
        if plan.inference.after or any(result is value for value in (*args, *kwargs.values())):
            return result
        if plan.changes.dropped and native_names.IS_NATIVE:
            return result  # the wrapper of the naming API passes the arguments as they are
        changed = None
        if plan.changes:
            positional, keywords = plan.changes.apply(args, kwargs)
            changed = tuple(map(call_plans.copied, positional[1:])), keywords
        may_rename = call_plans.may_rename(plan, args[0], result)
        if self.target.settle is not None:
            positional, keywords = changed or (args[1:], kwargs)
            settled = self.target.settle(args[0], *positional, **keywords)
            changed = settled, {}
            # One dim is flattened by returning the argument, several are not.
            may_rename = may_rename and self.original(args[0], *settled) is args[0]
        if may_rename:
            return result
        with contextlib.suppress(TypeError):  # an unhashable argument, such as a list
            result_names = getattr(result, tensor_names.ATTRIBUTE, None)
            self._remember_call(self.general_memo, (key,), (changed, result_names))
        return result

    def _plan_or_raise(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Plan | None:
        """The plan of a call; an error from it has no traceback of ours and no context."""
        try:
            return self.plan(args, kwargs)
        except Contradicted as error:
            raise error.with_traceback(None) from None

    def _remember_call(
        self, level: dict[Hashable, Any], key_path: Sequence[Hashable], entry: Any
    ) -> None:
        """Put an entry into nested dicts, one level for each key."""
        if self.entries >= MOST_PLANS:
            for memo in (*self.exact_memos, self.general_memo):
                memo.clear()
            self.entries = 0
        *outer, last = key_path
        for key in outer:
            level = level.setdefault(key, {})
        level[last] = entry
        self.entries += 1

    def handle_refusal(
        self, error: Exception, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Handle the error of torch for a call of unnamed tensors: retry it if it uses names.

        torch passes no name of a dim to an object that overrides its functions: we do.
        """
        try:
            values = (*args, *kwargs.values())
            if overriding_classes.overriding_objects(args):
                dispatcher = overriding_classes.dispatcher(self.wrapper, args)
                if dispatcher is not None and any(map(contains_text, values)):
                    return dispatcher(*args, **kwargs)
                raise error
            if isinstance(error, TypeError) or any(map(contains_text, values)):
                plan = self.plan(args, kwargs)
                if plan is not None and plan.changes:
                    return self.perform(plan, args, kwargs)
            raise error
        finally:
            # Its traceback has this frame, whose arguments would live until a collection of cycles.
            del error

    def plan(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Plan | None:
        """The plan for this kind of call; None if the table has no signature for it.

        ``__torch_function__`` is disabled meanwhile: attributes are read from the tensors, which
        are no calls of the user.
        """
        with torch._C.DisableTorchFunction():
            return self._plan(args, kwargs)

    def _plan(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Plan | None:
        """The plan, remembered unless an argument is unhashable or the call is traced."""
        if torch._C._get_tracing_state() is not None:
            return self._make(args, kwargs)
        values = (*args, *kwargs.values())
        try:
            key = (
                plan_keys.of(args),
                plan_keys.of(kwargs),
                plan_keys.reuses_input(args, kwargs),
                self._conditions(values),
            )
            plan = self.plans.get(key)
            if plan is not None and plan.sized:
                plan = self.plans.get((key, plan_keys.sizes_of(values)))
        except TypeError:
            return self._make(args, kwargs)
        if plan is None:
            plan = self._make(args, kwargs)
            if plan is not None and plan.inference.contradiction is None and not plan.of_elements:
                with contextlib.suppress(TypeError):
                    self._remember(key, plan, values)
        return plan

    def _remember(self, key: Hashable, plan: Plan, values: Sequence[Any]) -> None:
        if len(self.plans) >= MOST_PLANS:
            self.plans.clear()
        if plan.sized:
            self.plans[key, plan_keys.sizes_of(values)] = plan
        self.plans[key] = plan

    def _make(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Plan | None:
        inference = self._infer(args, kwargs, sized=False)
        sized = not call_plans.is_settled(inference) or self._resizes(kwargs) or self._reads_tensors
        sized |= bool(self._conditions((*args, *kwargs.values())))
        if sized or inference.contradiction is not None:
            inference = self._infer(args, kwargs, sized=True)
        refuses_type = _is_of_type(inference) or not inference.fits
        if refuses_type and any(map(tensor_names.holds_index, (*args[1:], *kwargs.values()))):
            plan = self._make_of_elements(args, kwargs)
            if plan is not None:
                return plan
        if inference.contradiction is not None and not self._is_left_to_other(inference, args):
            return self._contradicted(inference, args, kwargs)
        if inference.contradiction is not None or not inference.fits:
            return None
        changes = self._changes(inference, args, kwargs)
        return Plan(changes, inference, sized, names=call_plans.settled_names(inference))

    def _make_of_elements(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Plan | None:
        """The plan of a call in which 0-d tensors are indices of dims; None if they are not."""
        args = (*args[:1], *map(tensor_names.with_ints, args[1:]))
        kwargs = {key: tensor_names.with_ints(value) for key, value in kwargs.items()}
        inference = self._infer(args, kwargs, sized=True)
        plan = None if _is_of_type(inference) else self._make(args, kwargs)
        return None if plan is None else replace(plan, of_elements=True)

    def _is_left_to_other(self, inference: Inference, args: tuple[Any, ...]) -> bool:
        """Whether other code decides what types an argument may have.

        A special method returns NotImplemented, for the other operand to handle. A layer of torch
        may take what is no tensor, such as a packed sequence.
        """
        if self.target.form == "c":
            # torch 2.12 refuses names in the functions inside a layer, and not in evaluation.
            is_native = self.semantics is Semantics.NATIVE and self.target.row.layer != "whole"
            return _is_of_type(inference) or (is_native and _code(inference) == "NC120")
        known = (torch.Tensor, int, float, complex) if self.target.takes_numbers else torch.Tensor
        return self.target.special and not all(isinstance(arg, known) for arg in args)

    @property
    def _reads_tensors(self) -> bool:
        """Whether torch 2.12 refuses the call for tensors of some sizes or dtypes alone."""
        return self.semantics is Semantics.NATIVE and native.reads_tensors(self.target.row.native)

    @property
    def reads_layouts(self) -> bool:
        """Whether torch 2.12 refuses the call for tensors of some layouts alone."""
        return self.semantics is Semantics.NATIVE and native.reads_layouts(self.target.row.native)

    @property
    def _reads_memory(self) -> bool:
        """Whether the names that torch 2.12 gives depend on the order of a tensor in memory."""
        is_native = self.semantics is Semantics.NATIVE
        return is_native and registry.traits_of(self.target.row.native_rule).strided

    def _conditions(self, values: Sequence[Any]) -> tuple[float, ...]:
        """The numbers for which alone torch 2.12 may refuse the call; no memo has them.

        They include whether a tensor is contiguous, where that counts.
        """
        if self._reads_memory:
            tensors = (value for value in values if isinstance(value, torch.Tensor))
            return tuple(tensor_names.memory_of(each) == CONTIGUOUS for each in tensors)
        native_text = self.target.row.native if self.semantics is Semantics.NATIVE else ""
        reads = native.is_conditional(native_text)
        return tuple(value for value in values if reads and isinstance(value, (int, float)))

    def _resizes(self, kwargs: Mapping[str, Any]) -> bool:
        """Whether the call may resize a tensor, which is an error for a named one."""
        in_place = self.target.form in "ij" and self.target.row.inplace == "becomes"
        return in_place or "out" in kwargs

    def _infer(self, args: tuple[Any, ...], kwargs: Mapping[str, Any], *, sized: bool) -> Inference:
        values, named = self._abstract(args, kwargs, sized=sized)
        return operators.infer(
            self.target.operator,
            *values,
            semantics=self.semantics,
            defaults=None,
            out_is_input=Answer.YES if plan_keys.reuses_input(args, kwargs) else Answer.NO,
            **named,
        )

    def _abstract(
        self, args: tuple[Any, ...], kwargs: Mapping[str, Any], *, sized: bool
    ) -> tuple[list[Any], dict[str, Any]]:
        """The arguments as `infer` takes them, with the constructor arguments of a module."""
        if self.target.form == "c":
            constructed = constructor_arguments.constructor_arguments(self.target.row, args[0])
            args, kwargs = args[1:], {**constructed, **kwargs}
        abstract = partial(
            tensor_names.abstract,
            sized=sized,
            assume_unnamed=self.assume_unnamed,
            laid_out=self.reads_layouts or self._reads_memory,
        )
        if self.target.row.key in ("__getitem__", "__setitem__"):
            args = (*args[:1], *map(tensor_names.listed, args[1:2]), *args[2:])
        abstract_names = partial(tensor_names.abstract_names, abstract)
        read = abstract if self.target.move is None else abstract_names
        values = [read(arg) for arg in args]
        if self.target.reflected:
            values.reverse()
        named = {
            key: abstract_names(value) if key == "names" else read(value)
            for key, value in self._public(kwargs).items()
        }
        return values, named

    def _public(self, kwargs: Mapping[str, Any]) -> Mapping[str, Any]:
        """The keywords without the private ones that torch's functions pass to each other.

        A row that takes such a keyword declares it.
        """
        parameters = [each for signature in self.target.row.signatures for each in signature]
        if any(each.mapping for each in parameters):
            return kwargs
        declared = {each.name for each in parameters}
        return {k: value for k, value in kwargs.items() if not k.startswith("_") or k in declared}

    def _changes(
        self, inference: Inference, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> Changes:
        """The changes that replace names by indices; in every mode `Contradicted` if impossible."""
        values = (*args, *kwargs.values())
        if self.target.by_name or not (self.names_result or any(map(contains_text, values))):
            return UNCHANGED
        positional, keywords = operators.parameters(
            self.target.operator, *self._abstract(args, kwargs, sized=True)
        )
        try:
            return argument_translation.translated(
                args, kwargs, positional, keywords, are_aligned=self._is_of_aligned_dims
            )
        except Contradiction as untranslatable:
            contradiction = inference.contradiction or untranslatable
            raise reporting.error_for(contradiction, values) from untranslatable

    @property
    def _is_of_aligned_dims(self) -> bool:
        """Whether the tensors are aligned before a dim of them is looked for."""
        return registry.traits_of(self.target.row.names).aligns == "matched"

    def _contradicted(
        self, inference: Inference, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Plan:
        """Report the contradiction, unless torch itself will; the plan if the call goes on.

        Arguments that the call writes to before it fails get their names all the same.
        """
        contradiction = inference.contradiction
        assert contradiction is not None
        values = (*args, *kwargs.values())
        inferred = Inference(UNKNOWN, contradiction=contradiction)
        if not self._is_reported(contradiction, args, kwargs):
            return Plan(self._changes(inference, args, kwargs), inferred, unconfirmed=contradiction)
        self._name_written_arguments(inference, args, kwargs)
        reporting.report(contradiction, values)
        if self.target.moves and not reporting.is_ignored():
            raise reporting.error_for(contradiction, values)
        return Plan(self._changes(inference, args, kwargs), inferred)

    def _is_reported(
        self, contradiction: Contradiction, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> bool:
        if self.semantics is Semantics.NATIVE and self.target.form == "i":
            return True  # this torch may write to its argument before the sizes are refused
        names_dims = self.target.move is not None or self._uses_names(args, kwargs)
        return reporting.is_reported(contradiction, self.semantics, names_dims=names_dims)

    def _uses_names(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
        """Whether a call has a text, or ``names=``, which torch itself does not know."""
        for_result = self.names_result and "names" in kwargs
        return for_result or any(map(contains_text, (*args, *kwargs.values())))

    def perform(
        self,
        plan: Plan | None,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:
        """Run the original as planned, and name the results."""
        if plan is None:  # torch itself refuses what is no call of its own
            return self.original(*args, **kwargs)
        run = self.target.move or self.original
        positional, keywords = plan.changes.apply(args, kwargs) if plan.changes else (args, kwargs)
        try:
            result = run(*positional, **keywords)
        except (Contradicted, Warning):
            raise
        except (RuntimeError, LookupError, TypeError, ValueError, Contradiction) as error:
            self._raise_with_names(error, args, kwargs)
            raise
        if plan.unconfirmed is not None and reporting.holds_after_success(
            plan.unconfirmed, self.semantics
        ):
            reporting.report(plan.unconfirmed, (*args, *kwargs.values()))
        if self.target.form == "c" and self.target.row.layer != "whole":
            return result  # the functions inside the layer have named it, by its weights too
        return self.name(plan, result, args, kwargs)

    def _raise_with_names(
        self, error: Exception, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> None:
        """Raise an error of torch with the message of the rules, which has the names."""
        values = (*args, *kwargs.values())
        with torch._C.DisableTorchFunction():
            contradiction = self._infer(args, kwargs, sized=True).contradiction
        if isinstance(error, Contradiction):
            raise reporting.error_for(contradiction or error, values) from error
        if contradiction is None or (
            contradiction.code == "NC114" and not self._uses_names(args, kwargs)
        ):
            return
        try:
            reporting.report(contradiction, values)
        except Contradicted as contradicted:
            raise contradicted from error

    def name(
        self, plan: Plan, result: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> Any:
        """Set the inferred names on the result, and on the arguments that the call wrote to.

        Returns the result, or the inferred value of a call that returns a bool.
        """
        answer = plan.inference.result
        is_ignored = plan.inference.contradiction is not None and call_sites.inside_torch()
        if is_ignored and any(result is value for value in args):
            return result  # an optimizer writes to a parameter, which keeps its names
        with torch._C.DisableTorchFunction():
            if (
                plan.names
                and self.assume_unnamed
                and type(result) is torch.Tensor
                and result.dim() == len(plan.names)
                and not self._is_argument(result, plan, args, kwargs)
            ):
                tensor_names.set_names(result, plan.names)
                return result
            self._name_written_arguments(plan.inference, args, kwargs)
            if isinstance(answer, bool):
                return answer
            if self._is_argument(result, plan, args, kwargs):
                result = tensor_names.alias_if_renamed(result, answer)
            tensor_names.set_inferred_names(result, answer, assume_unnamed=self.assume_unnamed)
        return result

    def _is_argument(
        self, result: Any, plan: Plan, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> bool:
        """Whether a call that writes to no argument returns one of its arguments."""
        if plan.inference.after or self.target.form in "ij" or "out" in kwargs:
            return False
        if not isinstance(result, torch.Tensor):
            return False
        return any(result is value for value in (*args, *kwargs.values()))

    def _name_written_arguments(
        self, inference: Inference, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> None:
        for key, answer in inference.after.items():
            if isinstance(key, str):
                tensor_names.set_inferred_names(
                    kwargs.get(key), answer, assume_unnamed=self.assume_unnamed
                )
            else:
                index = len(args) - 1 - key if self.target.reflected else key
                tensor_names.set_inferred_names(
                    args[index], answer, assume_unnamed=self.assume_unnamed
                )


def _code(inference: Inference) -> str:
    return inference.contradiction.code if inference.contradiction is not None else ""


def _is_of_type(inference: Inference) -> bool:
    """Whether an argument has a type that the operator does not take."""
    return _code(inference) == "NC114"
