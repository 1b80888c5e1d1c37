"""Calls of `infer`: converts values to arguments and results to values, and tracks origins."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from namecheck import operators
from namecheck.core import devices, dtypes
from namecheck.core.dataclasses import replace
from namecheck.core.dims import OPEN, Dims
from namecheck.core.dtypes import Defaults
from namecheck.core.findings import (
    Facts,
    OperandFacts,
    Place,
    is_of_devices,
    is_of_dtypes,
    is_of_names,
)
from namecheck.core.names import UNKNOWN, Contradiction
from namecheck.core.syntax import Located as Node
from namecheck.core.tensors import Tensor
from namecheck.interpreter.domain import equalities, identities, meter
from namecheck.interpreter.domain.addresses import AttributeTensor
from namecheck.interpreter.domain.cells import TORCH_MODE
from namecheck.interpreter.domain.provenance import OperatorResult
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.values import (
    NONE,
    Opaque,
    Operand,
    TensorValue,
    TupleValue,
    Value,
)
from namecheck.interpreter.evaluation.events import Applied, tensor_operands
from namecheck.interpreter.evaluation.frames import Frame, is_within
from namecheck.interpreter.evaluation.interpreter import Interpreter
from namecheck.interpreter.evaluation.judged import Attempt
from namecheck.interpreter.evaluation.observations import Begun
from namecheck.interpreter.models.torch import conversion, origins, writes
from namecheck.interpreter.models.torch.operands import (
    Inputs,
    OperatorCall,
    facts_of,
    has_axes,
    has_failed,
    is_known,
    record,
    sizes_fit,
    tells_more,
)
from namecheck.interpreter.models.torch.rule_applications import RuleApplications
from namecheck.operators.signatures import in_usual_spelling
from namecheck.rules.registry import traits_of

if TYPE_CHECKING:
    from namecheck.interpreter.evaluation.patches import Patches
    from namecheck.interpreter.models.observed_ranks import ObservedRanks

_TENSOR_ONLY: Final = frozenset({"refine_names", "align_to", "align_as", "has_names"})
# Contradictions that no run shows: like lints, they are reported of likely dims, too.
_PATTERNS: Final = frozenset({"NC115"})
# The attributes that modules have, too.
_OF_MODULES: Final = frozenset({"requires_grad_"})


class TorchOperators:
    """Runs operators of the table on abstract values."""

    def __init__(self, interpreter: Interpreter) -> None:
        self.interpreter = interpreter
        self.lower = conversion.lower
        self.promote = conversion.promote
        self._rules = RuleApplications(interpreter.context)
        self._infer = self._rules.infer
        self._ranks: ObservedRanks | None = None
        # Whether the variables of the code name dims, too.
        self._is_observed = interpreter.context.evidence.is_observed
        self._patches: Patches | None = None

    def has(self, operator: str, forms: str) -> bool:
        """Whether the table has the operator in one of these forms."""
        row = self.interpreter.context.rows.get(operator)
        return row is not None and any(form in row.forms for form in forms)

    def method(self, name: str) -> str | None:
        """The operator that a method of a tensor runs; None where the table has none."""
        if not name.endswith("_"):
            return name if self.has(name, "m") else None
        return name if self.has(name, "mi") or self.has(name[:-1], "i") else None

    def of_tensors_only(self, name: str) -> bool:
        """Whether an unknown value that has a method of this name is a tensor."""
        if name in _TENSOR_ONLY:
            return True
        in_place = name.endswith("_") and not name.endswith("__") and name not in _OF_MODULES
        return in_place and self.method(name) is not None

    def function(self, path: str) -> str | None:
        """The operator that a function of torch runs, by its dotted name."""
        key = path.removeprefix("torch.")
        if self.has(key, "fncj" if key.endswith("_") else "fnc"):
            return key
        if key.startswith("nn.functional.") and self.has(key.removeprefix("nn.functional."), "n"):
            return key.removeprefix("nn.functional.")
        if key.startswith("nn.functional.") and key.endswith("_"):
            return self._functional_in_place(key)
        if key.startswith("Tensor."):
            return self.method(key.removeprefix("Tensor."))
        return key if key.endswith("_") and self.has(key[:-1], "j") else None

    def _functional_in_place(self, key: str) -> str | None:
        for row in (key[:-1], key[:-1].removeprefix("nn.functional.")):
            if self.has(row, "nij"):
                return f"{row}_"
        return None

    def call(
        self,
        operator: str,
        args: Sequence[Value],
        keyword_values: Mapping[str, Value],
        node: Node,
        store: Store,
        frame: Frame,
        operands: Sequence[Operand] = (),
        begun: Begun | None = None,
    ) -> Value:
        """Run an operator; a contradiction becomes a finding at `node`, and the result unknown."""
        interpreter = self.interpreter
        key = operators.key_of(operator)
        interpreter.listeners.called(key, keyword_values, node)
        every = (*args, *keyword_values.values())
        row = operators.row_of(key, interpreter.context.rows)
        operator_call = OperatorCall(
            operator, key, row, args, keyword_values, every, node, store, frame, operands, begun
        )
        if any(has_failed(value, store) for value in every):
            return self._nothing(operator_call)
        if store.get(TORCH_MODE, NONE) != NONE:
            self._leave_open(operator_call)
            return interpreter.fresh("result")
        if self._is_observed and "einops." in key:
            return self._call_with_letters(operator_call)
        return self._run(operator_call)

    def _call_with_letters(self, operator_call: OperatorCall) -> Value:
        """Run an operator whose pattern may name the dims of its tensors."""
        from namecheck.interpreter.models import observed_letters  # few files use them

        interpreter = self.interpreter
        every, node, store = operator_call.every, operator_call.node, operator_call.store
        letters = observed_letters.of_call(operator_call.key, every, interpreter.new_address())
        if letters is None:
            return self._run(operator_call)
        # A layer has the arguments of its constructor first.
        first = 0 if operator_call.begun is None else operator_call.begun.args
        tensor = operator_call.args[first] if len(operator_call.args) > first else None
        frame = operator_call.frame
        wrong = observed_letters.read(interpreter, letters, tensor, node, store, frame)
        if wrong is not None:
            self._report(operator_call, wrong, by_axes=True)
            return self._missing(operator_call)

        def observe(result: Value) -> None:
            observed_letters.name_result(interpreter, letters, result, node, store)

        return self._run(operator_call, observe)

    def _run(
        self, operator_call: OperatorCall, observe: Callable[[Value], None] | None = None
    ) -> Value:
        """Run an operator on operands none of which has failed; `observe` sees a result.

        The inputs with likely dims serve where they contradict nothing.
        """
        interpreter = self.interpreter
        lowered_inputs, likely_inputs, is_informed = self._inputs(operator_call)
        certain_inputs = lowered_inputs
        inputs = lowered_inputs.every
        # The call may raise an error that is not reported: about names, or about sizes that do not
        # fit.
        interpreter.progress.unknowns += not is_informed or not sizes_fit(inputs)
        defaults = interpreter.torch_defaults.at(operator_call.store)
        answer = certain = self._infer(operator_call, lowered_inputs, defaults)
        recorder = interpreter.context.recorder
        if recorder is not None:
            record(recorder, operator_call, lowered_inputs, answer, is_informed=is_informed)
        if likely_inputs is not None and answer.contradiction is None:
            from namecheck.interpreter.models import likelihood

            expected = self._infer(operator_call, likely_inputs, defaults)
            if expected.contradiction is None:
                answer = likelihood.with_likely_answer(answer, expected)
                lowered_inputs = likely_inputs
            elif expected.contradiction.code in _PATTERNS:
                answer = expected
        contradiction = answer.contradiction or self._mirrored(operator_call, lowered_inputs)
        if contradiction is not None:
            return self._refused(operator_call, lowered_inputs, contradiction, defaults)
        attempt = Attempt(inputs, operator_call.every, operator_call.operator)
        number = operator_call.frame.environment.number
        interpreter.findings.judged.accept(number, operator_call.node, certain, attempt)
        if self._is_observed and self._learn_ranks(operator_call, certain_inputs, defaults):
            known_inputs = self._inputs(operator_call)[0]
            known = self._infer(operator_call, known_inputs, defaults)
            if tells_more(known, answer):
                answer, lowered_inputs = known, known_inputs
        self._learn(operator_call, lowered_inputs)
        result = self._result(operator_call, answer)
        if self._is_observed:
            from namecheck.interpreter.models import observed_results

            result = observed_results.known(interpreter, operator_call, lowered_inputs, result)
        if observe is not None:
            observe(result)
        is_heard = interpreter.listeners.follow_results
        return self._heard(operator_call, lowered_inputs, result) if is_heard else result

    def _mirrored(
        self, operator_call: OperatorCall, lowered_inputs: Inputs
    ) -> Contradiction | None:
        """What contradicts a broadcast of sides in two orders, by where their sizes were read."""
        rule = operator_call.row.names if operator_call.row is not None else None
        if not self._is_observed or rule is None or traits_of(rule).aligns != "broadcast":
            return None
        from namecheck.interpreter.models import observed_sides  # only where asked for

        return observed_sides.contradiction(self.interpreter, operator_call, lowered_inputs.every)

    def _inputs(self, operator_call: OperatorCall) -> tuple[Inputs, Inputs | None, bool]:
        """The certain inputs, those with likely dims if there are any, and whether all is known."""
        args, keyword_values = operator_call.args, operator_call.keywords
        row, store = operator_call.row, operator_call.store
        lowered_inputs = self._lowered(operator_call, store)
        if self._is_observed:
            from namecheck.interpreter.models import observed_sizes, observed_squares

            if observed_squares.learn(self.interpreter, operator_call, lowered_inputs):
                lowered_inputs = self._lowered(operator_call, store)
            self._fill(operator_call, lowered_inputs, store)
        if all(map(is_known, lowered_inputs.every)):
            return lowered_inputs, None, True
        from namecheck.interpreter.models import likelihood  # not where everything is known

        rule = None if row is None else row.names
        likely_inputs = likelihood.likely(rule, lowered_inputs, args, keyword_values, store)
        if likely_inputs is None and self._is_observed:
            likely_inputs = observed_sizes.with_likely_matrix(row, lowered_inputs)
        return likelihood.certain(lowered_inputs), likely_inputs, False

    def _lowered(self, operator_call: OperatorCall, store: Store) -> Inputs:
        """The arguments as `infer` takes them, with what a store has of them."""
        follow, frame = self.interpreter.torch_devices.with_module_device, operator_call.frame
        return Inputs(
            [follow(arg, self.lower(arg, store), store, frame) for arg in operator_call.args],
            {
                name: follow(value, self.lower(value, store), store, frame)
                for name, value in operator_call.keywords.items()
            },
        )

    @staticmethod
    def _fill(operator_call: OperatorCall, lowered_inputs: Inputs, store: Store) -> None:
        from namecheck.interpreter.models import observed_sizes  # only where asked for

        key, row, args = operator_call.key, operator_call.row, operator_call.args
        observed_sizes.fill(key, row, args, operator_call.keywords, *lowered_inputs, store)

    def _refused(
        self,
        operator_call: OperatorCall,
        lowered_inputs: Inputs,
        contradiction: Contradiction,
        defaults: Defaults,
    ) -> Value:
        """The result of a contradicted call: a finding is made if the contradiction is certain."""
        interpreter = self.interpreter
        writes.forget(operator_call.keywords.get("out"), operator_call.store)
        if not self._is_certain(operator_call, lowered_inputs, contradiction, defaults):
            self._leave_open(operator_call)
            return interpreter.fresh("result")
        interpreter.context.ledger.meter.spent += meter.CONTRADICTION
        inputs = lowered_inputs.every
        self._report(operator_call, contradiction, by_axes=any(map(has_axes, inputs)))
        if is_of_names(contradiction.code) and operators.is_in_place(operator_call.operator):
            writes.forget_names(operator_call)
        source, node = interpreter.source, operator_call.node
        finding_key = source.filename, source.span(node), contradiction.code
        attempt = Attempt(inputs, operator_call.every, operator_call.operator)
        frame, judged = operator_call.frame, interpreter.findings.judged
        calls = (call for _, call in judged.calls_around(frame))
        judged.refuse(finding_key, judged.site(frame.environment.number, node), calls, attempt)
        return self._missing(operator_call)

    def _missing(self, operator_call: OperatorCall) -> Value:
        """The missing result of a call for which a finding was made."""
        missing = self.interpreter.failed()
        if self.interpreter.context.recorder is not None:
            self.interpreter.context.recorder.refused(operator_call.node, missing)
        return missing

    def _is_certain(
        self,
        operator_call: OperatorCall,
        lowered_inputs: Inputs,
        contradiction: Contradiction,
        defaults: Defaults,
    ) -> bool:
        """Whether a call is refused on every path: as it is, and as it may be meant."""
        store, frame = operator_call.store, operator_call.frame
        if not self._is_refused_by_torch(operator_call, contradiction):
            return False
        if contradiction.code == "NC114":
            from namecheck.interpreter.models import placeholders  # a rare error

            scope = frame.environment.scope
            filled = placeholders.filled(lowered_inputs, operator_call.node, scope)
            if filled and self._infer(operator_call, filled, defaults).contradiction is None:
                return False
        supposed = equalities.supposed(store)
        if supposed is not None and self._fits(operator_call, supposed, defaults):
            return False
        if not self._is_observed:
            return True
        from namecheck.interpreter.models import observed_purposes

        inputs, every = lowered_inputs.every, operator_call.every
        lone = observed_purposes.of_height_one(contradiction, inputs, store, frame)
        if lone is not None and self._fits(operator_call, lone, defaults):
            return False
        return not (
            observed_purposes.is_on_purpose(
                contradiction, operator_call.node, inputs, every, store, frame
            )
            or observed_purposes.may_be_nothing(self.interpreter, contradiction, inputs)
            or observed_purposes.is_of_another_case(
                self.interpreter, contradiction, inputs, every, store, frame
            )
        )

    def _fits(self, operator_call: OperatorCall, store: Store, defaults: Defaults) -> bool:
        """Whether nothing contradicts a call where the sizes are equal that a store equates."""
        from namecheck.interpreter.models import likelihood  # not where everything is known

        lowered_inputs = self._lowered(operator_call, store)
        if self._is_observed:
            self._fill(operator_call, lowered_inputs, store)
        equal_inputs = likelihood.certain(lowered_inputs)
        return self._infer(operator_call, equal_inputs, defaults).contradiction is None

    def _learn_ranks(
        self, operator_call: OperatorCall, lowered_inputs: Inputs, defaults: Defaults
    ) -> bool:
        """Learn the ranks that operands of unknown rank have because the call succeeds."""
        if all(map(is_known, lowered_inputs.every)):
            return False
        if self._ranks is None:
            from namecheck.interpreter.models.observed_ranks import ObservedRanks

            self._ranks = ObservedRanks(self.interpreter, self._rules)
        return self._ranks.learn(operator_call, lowered_inputs, defaults)

    def _learn(self, operator_call: OperatorCall, lowered_inputs: Inputs) -> None:
        """Learn the sizes that operands have because nothing contradicts the call."""
        store = operator_call.store
        if self._is_observed:
            from namecheck.interpreter.models import observed_results

            observed_results.learn(self.interpreter, operator_call, lowered_inputs)
        if operator_call.key.startswith("einops."):
            from namecheck.interpreter.evaluation import single_dims  # few files use einops

            single_dims.learn(lowered_inputs.args, store)

    def _result(self, operator_call: OperatorCall, answer: operators.Inference) -> Value:
        """The value that a call returns; what it writes to its arguments is written."""
        every, node, store = operator_call.every, operator_call.node, operator_call.store
        before = origins.gather(every, store)
        for key, content in answer.after.items():
            writes.write(
                self.interpreter, operator_call.argument(key), content, before, node, store
            )
        query = None
        if not isinstance(answer.result, (Tensor, Dims)):
            query = OperatorResult(
                operator_call.operator,
                tuple(identities.of(value, store) for value in every),
                tuple(operator_call.keywords),
            )
        result = self.lift(answer.result, before, node, query)
        if isinstance(result, TensorValue):
            result = self._placed(result, answer, operator_call)
        elif answer.may_be_input:
            result = conversion.each_picked(self.interpreter, operator_call.args, result, store)
        return self._same(result, answer, operator_call)

    def _heard(self, operator_call: OperatorCall, lowered_inputs: Inputs, result: Value) -> Value:
        """A result after the lints have heard of the call."""
        interpreter = self.interpreter
        row, keywords = operator_call.row, lowered_inputs.keywords
        applied = Applied(
            operator_call.key,
            row.flow or None if row else None,
            tensor_operands(operator_call.args, lowered_inputs.args, operator_call.store),
            lowered_inputs.args,
            in_usual_spelling(row.signatures, keywords) if row else keywords,
            operator_call.node,
            operator_call.store,
            interpreter.source,
            interpreter.findings.silent > 0,
        )
        return interpreter.listeners.applied(applied, result)

    def _is_refused_by_torch(
        self, operator_call: OperatorCall, contradiction: Contradiction
    ) -> bool:
        """Whether an argument is refused for certain: by torch itself, and as it is.

        An empty list may be a placeholder, and torch may have been patched.
        """
        if contradiction.code != "NC114" or operator_call.key.startswith("einops."):
            return True
        from namecheck.interpreter.evaluation import patches  # for a rare error
        from namecheck.interpreter.models import placeholders

        if placeholders.may_have_items(operator_call):
            return False
        if self._patches is None:
            self._patches = patches.Patches(self.interpreter)
        return not self._patches.are_possible(operator_call.frame)

    def _report(
        self, operator_call: OperatorCall, contradiction: Contradiction, *, by_axes: bool
    ) -> None:
        """Add a finding that points at the operands, and at the origins of their names."""
        interpreter = self.interpreter
        operands, every = operator_call.operands, operator_call.every
        store, frame = operator_call.store, operator_call.frame
        marks = tuple(
            interpreter.place(where, shown)
            for where, value in operands
            if isinstance(value, (TensorValue, Opaque))
            and (shown := self._shown(value, contradiction.code, store))
        )
        sources = origins.gather([value for _, value in operands], store).values()
        settled = all(is_within(place, frame, interpreter.source) for place in sources)
        is_observed = False
        if self._is_observed:
            from namecheck.interpreter.models import observed_sizes  # only where asked for

            is_observed = not observed_sizes.declare(self.lower(value, store) for value in every)
        interpreter.report(
            contradiction,
            operator_call.node,
            store,
            frame,
            marks,
            origins.of_names(contradiction.names, every, store),
            by_axes=by_axes,
            facts=Facts(
                operator_call.key,
                contradiction.names,
                self.operand_facts(operands, store),
                settled,
            ),
            is_observed=is_observed,
        )

    def lift(
        self,
        answer: Any,
        before: Mapping[str, Place],
        node: Node,
        query: OperatorResult | None = None,
    ) -> Value:
        """A result of `infer` as a value; an unknown result is the answer to a query."""
        return conversion.lift(self.interpreter, answer, before, node, query)

    def tensor(self, abstract: Tensor, origins: Mapping[str, Place] | None = None) -> TensorValue:
        """A new tensor, with the origins of its names."""
        return conversion.new_tensor(self.interpreter, abstract, origins)

    def origins_of(
        self, dim_labels: Sequence[str], choices: Sequence[Value], store: Store
    ) -> tuple[Place, ...]:
        """The origins of the names that a contradiction is about, one place for each span."""
        return origins.of_names(dim_labels, choices, store)

    def operand_facts(self, operands: Iterable[Operand], store: Store) -> tuple[OperandFacts, ...]:
        """The facts about the tensors among some operands."""
        lowered = ((where, self.lower(value, store)) for where, value in operands)
        return tuple(
            facts_of(tensor, self.interpreter.source.span(where))
            for where, tensor in lowered
            if isinstance(tensor, Tensor)
        )

    def _nothing(self, operator_call: OperatorCall) -> Value:
        """The failed result of a call with a failed operand."""
        self._leave_open(operator_call)
        return self.interpreter.failed()

    def _leave_open(self, operator_call: OperatorCall) -> None:
        """Note that nothing is known about a call, neither its result nor what it writes."""
        self.interpreter.progress.unknowns += 1
        if self.interpreter.context.recorder is not None:
            self.interpreter.context.recorder.applied(
                operator_call.node, informed=False, sized=False
            )
        self.forget(
            operator_call.operator, operator_call.args, operator_call.keywords, operator_call.store
        )

    def _placed(
        self, tensor_value: TensorValue, answer: operators.Inference, operator_call: OperatorCall
    ) -> Value:
        """A result at an address that says whether it is new, or may be an existing object."""
        store = operator_call.store
        tensor = next(
            (v for v in operator_call.every if isinstance(v, (TensorValue, Opaque))), None
        )
        if answer.may_be_input and tensor is not None:
            source = self.promote(tensor, store) if isinstance(tensor, Opaque) else tensor
            return conversion.passed_on(self.interpreter, operator_call, source, tensor_value)
        if self.has(operator_call.operator, "a"):
            address = AttributeTensor(self.interpreter.new_address())
            return TensorValue(address, tensor_value.initial, tensor_value.tags)
        return tensor_value

    def _same(
        self, result: Value, answer: operators.Inference, operator_call: OperatorCall
    ) -> Value:
        """In-place calls and calls with ``out=`` return the tensor they wrote to."""
        for key, after in answer.after.items():
            if after is answer.result:
                target = operator_call.argument(key)
                if isinstance(target, Opaque):
                    return self.promote(target, operator_call.store)
                if isinstance(target, TupleValue):
                    return replace(target, fields=answer.fields)
                return target
        if isinstance(result, TupleValue) and answer.fields:
            return replace(result, fields=answer.fields)
        return result

    def gathered(self, operator: str, args: Sequence[Value]) -> list[Value] | None:
        """Arguments with unknown starred ones: those of a list become one unknown value.

        None where they are no list: then the call is unknown.
        """
        key = operators.key_of(operator)
        rows = self.interpreter.context.rows
        row = rows[key if key in rows else key.removesuffix("_")]
        for signature in row.signatures:
            for index, parameter in enumerate(signature):
                if parameter.variadic and parameter.kinds and index <= len(args):
                    return [*args[:index], self.interpreter.fresh("arguments")]
        return None

    def forget(
        self,
        operator: str,
        args: Sequence[Value],
        keyword_values: Mapping[str, Value],
        store: Store,
    ) -> None:
        """Make the tensors of an unknown call unknown: it may have written to them."""
        writes.forget(keyword_values.get("out"), store)
        if operators.is_in_place(operator) and args:
            writes.forget(args[0], store)

    def replace_data(self, tensor_value: TensorValue, value: Value, store: Store) -> None:
        """``x.data = y``: x has the dims of y; its dtype, device and order become unknown."""
        writes.replace_data(tensor_value, value, store)

    def show(self, value: Value, store: Store) -> str:
        """The dims of a tensor for the reader: ``['N', 'C']``, empty where they are unknown."""
        lowered = self.lower(value, store)
        has_dims = isinstance(lowered, Tensor) and lowered.dims != OPEN
        return lowered.dims.show() if has_dims else ""

    def _shown(self, value: Value, code: str, store: Store) -> str:
        """The part of an operand that a contradiction is about: its dims, dtype, or device."""
        if not is_of_dtypes(code) and not is_of_devices(code):
            return self.show(value, store)
        lowered = self.lower(value, store)
        if is_of_devices(code):
            return devices.show(lowered.device) if isinstance(lowered, Tensor) else ""
        dtype = lowered.dtype if isinstance(lowered, Tensor) else UNKNOWN
        return dtypes.show(dtype)

    def brief(self, value: Value, store: Store) -> str:
        """The names of a tensor as a short text: ``N C``, empty where they are unknown."""
        lowered = self.lower(value, store) if isinstance(value, TensorValue) else None
        if not isinstance(lowered, Tensor) or lowered.dims == OPEN:
            return ""
        return " ".join(word.partition("=")[0] for word in lowered.dims.brief().split(" "))
