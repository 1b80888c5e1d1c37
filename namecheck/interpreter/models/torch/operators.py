"""Calls of `infer`: converts values to arguments and results to values, and tracks origins."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from namecheck import operators
from namecheck.core import devices, dtypes
from namecheck.core import names as naming
from namecheck.core.dataclasses import replace
from namecheck.core.dims import OPEN, Dims
from namecheck.core.dtypes import Defaults
from namecheck.core.evidence import Evidence
from namecheck.core.findings import Facts, OperandFacts, Place, Span, is_of_devices, is_of_dtypes
from namecheck.core.names import UNKNOWN, Axis, Contradiction
from namecheck.core.sizes import Expression
from namecheck.core.syntax import Located as Node
from namecheck.core.tensors import Many, Maybe, Tensor
from namecheck.interpreter.domain import equalities, joins
from namecheck.interpreter.domain.addresses import AttributeTensor
from namecheck.interpreter.domain.provenance import OperatorResult
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.unfollowed import filled_variables
from namecheck.interpreter.domain.values import (
    Held,
    ListValue,
    Opaque,
    Operand,
    Picked,
    Repeated,
    TensorValue,
    TupleValue,
    Value,
    has_failed,
)
from namecheck.interpreter.evaluation.events import Applied, tensor_operands
from namecheck.interpreter.evaluation.frames import Frame
from namecheck.interpreter.evaluation.interpreter import Interpreter
from namecheck.interpreter.evaluation.observations import Application, Begun
from namecheck.interpreter.models.torch import conversion, origins

if TYPE_CHECKING:
    from namecheck.interpreter.evaluation.patches import Patches

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
        row_key = operators.key_of(operator)
        interpreter.listeners.called(row_key, keyword_values, node)
        every = (*args, *keyword_values.values())
        for value in every:
            if _has_failed(value, store):
                return self._nothing(operator, args, keyword_values, node, store)
        letters = None
        if interpreter.context.evidence is Evidence.OBSERVED and "einops." in row_key:
            from namecheck.interpreter.models import observed_letters  # few files use them

            letters = observed_letters.of_call(row_key, every)
            if letters is not None:
                wrong = observed_letters.read(interpreter, letters, every, node, store, frame)
                if wrong is not None:
                    self._report(wrong, operator, every, node, store, frame, operands, by_axes=True)
                    return interpreter.failed()
        follow = interpreter.torch_devices.with_module_device
        lowered = [follow(arg, self.lower(arg, store), store, frame) for arg in args]
        lowered_keywords = {
            name: follow(value, self.lower(value, store), store, frame)
            for name, value in keyword_values.items()
        }
        if interpreter.context.evidence is Evidence.OBSERVED:
            from namecheck.interpreter.models import observed_sizes  # only where asked for

            observed_sizes.fill(row_key, args, keyword_values, lowered, lowered_keywords, store)
        inputs = (*lowered, *lowered_keywords.values())
        informed = all(map(_is_known, inputs))
        likely = None
        if not informed:
            from namecheck.interpreter.models import likelihood  # not where everything is known

            row = operators.row_of(row_key, interpreter.context.rows)
            every_input = likelihood.Inputs(lowered, lowered_keywords)
            likely = likelihood.likely(
                None if row is None else row.names, every_input, args, keyword_values, store
            )
            if likely is None and interpreter.context.evidence is Evidence.OBSERVED:
                likely = observed_sizes.with_likely_matrix(row, every_input)
            lowered, lowered_keywords = likelihood.certain(every_input)
            inputs = (*lowered, *lowered_keywords.values())
        # The call may raise an error that is not reported: about names, or about sizes that do not
        # fit.
        interpreter.progress.unknowns += not informed or not _sizes_fit(inputs)
        defaults = interpreter.torch_defaults.at(store)
        answer = certain = self._infer(operator, lowered, lowered_keywords, defaults)
        recorder = interpreter.context.recorder
        if recorder is not None:
            tells = answer.contradiction is not None or answer.result is not UNKNOWN
            recorder.applied(node, informed and tells, all(map(_is_sized, inputs)))
            recorder.application(
                node,
                Application(
                    operator,
                    tuple(lowered),
                    tuple(lowered_keywords.items()),
                    answer.result,
                    answer.contradiction,
                    begun,
                ),
            )
        if likely is not None and answer.contradiction is None:
            from namecheck.interpreter.models import likelihood

            expected = self._infer(operator, likely.args, likely.keywords, defaults)
            if expected.contradiction is None:
                answer = likelihood.with_likely_answer(answer, expected)
                lowered, lowered_keywords = likely
            elif expected.contradiction.code in _PATTERNS:
                answer = expected
        site = frame.environment.number, node
        if answer.contradiction is not None:
            self._forget(keyword_values.get("out"), store)
            is_certain = self._is_certain(answer.contradiction, row_key, every, store, frame)
            if is_certain and answer.contradiction.code == "NC114":
                from namecheck.interpreter.models import likelihood, placeholders  # a rare error

                every_input = likelihood.Inputs(lowered, lowered_keywords)
                filled = placeholders.filled(every_input, node, frame.environment.scope)
                if filled is not None:
                    expected = self._infer(operator, filled.args, filled.keywords, defaults)
                    is_certain = expected.contradiction is not None
            if is_certain and equalities.are_possible(store):
                from namecheck.interpreter.models import possible_sizes  # rarely needed

                lowered_again = possible_sizes.lowered(
                    interpreter, args, keyword_values, store, frame
                )
                expected = self._infer(operator, *lowered_again, defaults)
                is_certain = expected.contradiction is not None
            if is_certain and interpreter.context.evidence is Evidence.OBSERVED:
                is_certain = not observed_sizes.is_on_purpose(
                    answer.contradiction, inputs, frame
                ) and not observed_sizes.is_of_another_case(
                    interpreter, inputs, every, store, frame
                )
            if not is_certain:
                self.forget(operator, args, keyword_values, store)
                interpreter.progress.unknowns += 1
                return interpreter.fresh("result")
            by_axes = any(map(_has_axes, inputs))
            contradiction = answer.contradiction
            self._report(contradiction, operator, every, node, store, frame, operands, by_axes)
            source = interpreter.source
            finding_key = source.filename, source.span(node), contradiction.code
            interpreter.findings.judged.refuse(finding_key, site, inputs)
            return interpreter.failed()
        interpreter.findings.judged.accept(site, certain, inputs)
        if interpreter.context.evidence is Evidence.OBSERVED:
            row = operators.row_of(row_key, interpreter.context.rows)
            observed_sizes.learn_features(row, lowered, lowered_keywords, begun, store)
        if row_key.startswith("einops."):
            from namecheck.interpreter.evaluation import single_dims  # few files use einops

            single_dims.learn(lowered, store)
        before = origins.gather(every, store)
        for key, content in answer.after.items():
            target = args[key] if isinstance(key, int) else keyword_values[key]
            self._write(target, content, before, node, store)
        query = None
        if not isinstance(answer.result, (Tensor, Dims)):
            identities = tuple(joins.identity(value, store) for value in every)
            query = OperatorResult(operator, identities, tuple(keyword_values))
        result = self.lift(answer.result, before, node, query)
        if isinstance(result, TensorValue):
            result = self._placed(result, answer, operator, every, store)
        result = self._same(result, answer, args, keyword_values, store)
        if interpreter.context.evidence is Evidence.OBSERVED and row_key in ("view", "reshape"):
            observed_sizes.name_rest(interpreter, lowered, result, store)
        if letters is not None:
            from namecheck.interpreter.models import observed_letters

            observed_letters.name_result(interpreter, letters, result, node, store)
        if not interpreter.listeners.follow_results:
            return result
        row = operators.row_of(row_key, interpreter.context.rows)
        applied = Applied(
            row_key,
            row.flow or None if row else None,
            tensor_operands(args, lowered),
            lowered,
            lowered_keywords,
            node,
            store,
            interpreter.source,
            interpreter.findings.silent > 0,
        )
        return interpreter.listeners.applied(applied, result)

    def _is_certain(
        self,
        contradiction: Contradiction,
        row_key: str,
        every: Sequence[Value],
        store: Store,
        frame: Frame,
    ) -> bool:
        """Whether an argument is refused for certain: by torch itself, and as it is.

        A list that is empty here may have been filled by code that nobody sees, unless it was made
        in the code that runs, and nothing there fills it: a loop may always run once.
        """
        if contradiction.code != "NC114" or row_key.startswith("einops."):
            return True
        made = frame.environment.number
        for value in every:
            if not isinstance(value, ListValue) or joins.items(value, store) != ():
                continue
            if isinstance(value.address, int) and value.address < made:
                return False
            for name in filled_variables(frame.environment.scope):
                if store.get((made, name)) == value:
                    return False
        from namecheck.interpreter.evaluation import (
            patches,  # for an error that hardly any file has
        )

        if self._patches is None:
            self._patches = patches.Patches(self.interpreter)
        return not self._patches.are_possible(frame)

    def _report(
        self,
        contradiction: Contradiction,
        operator: str,
        every: Sequence[Value],
        node: Node,
        store: Store,
        frame: Frame,
        operands: Sequence[Operand],
        by_axes: bool,
    ) -> None:
        """Add a finding that points at the operands, and at the origins of their names."""
        interpreter = self.interpreter
        marks = tuple(
            interpreter.place(where, shown)
            for where, value in operands
            if isinstance(value, (TensorValue, Opaque))
            and (shown := self._shown(value, contradiction.code, store))
        )
        sources = origins.gather([value for _, value in operands], store).values()
        settled = all(origins.is_within(place, frame, interpreter.source) for place in sources)
        is_observed = False
        if interpreter.context.evidence is Evidence.OBSERVED:
            from namecheck.interpreter.models import observed_sizes  # only where asked for

            is_observed = not observed_sizes.declare(self.lower(value, store) for value in every)
        interpreter.report(
            contradiction,
            node,
            store,
            frame,
            marks,
            origins.of_names(contradiction.names, every, store),
            by_axes=by_axes,
            facts=Facts(
                operators.key_of(operator),
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
            _operand_facts(tensor, self.interpreter.source.span(where))
            for where, tensor in lowered
            if isinstance(tensor, Tensor)
        )

    def _nothing(
        self,
        operator: str,
        args: Sequence[Value],
        keyword_values: Mapping[str, Value],
        node: Node,
        store: Store,
    ) -> Value:
        """The failed result of a call with a failed operand."""
        self.interpreter.progress.unknowns += 1
        if self.interpreter.context.recorder is not None:
            self.interpreter.context.recorder.applied(node, informed=False, sized=False)
        self.forget(operator, args, keyword_values, store)
        return self.interpreter.failed()

    def _placed(
        self,
        tensor_value: TensorValue,
        answer: operators.Inference,
        operator: str,
        every: Sequence[Value],
        store: Store,
    ) -> TensorValue:
        """A result at an address that says whether it is new, or may be an existing object."""
        number = self.interpreter.new_address()
        tensor = next((v for v in every if isinstance(v, (TensorValue, Opaque))), None)
        if answer.may_be_input and tensor is not None:
            source = self.promote(tensor, store) if isinstance(tensor, Opaque) else tensor
            if _may_be_one(joins.held(source, store).tensor, tensor_value.initial.tensor):
                address = Picked((source,), number, number)
                return TensorValue(address, tensor_value.initial, tensor_value.tags)
        elif self.has(operator, "a"):
            address_ = AttributeTensor(number)
            return TensorValue(address_, tensor_value.initial, tensor_value.tags)
        return tensor_value

    def _infer(
        self,
        operator: str,
        lowered: Sequence[Any],
        lowered_keywords: Mapping[str, Any],
        defaults: Defaults,
    ) -> operators.Inference:
        """The cached result of `infer`: it depends on the abstract inputs alone."""
        key = (operator, defaults, *map(_frozen, (lowered, tuple(lowered_keywords.items()))))
        context = self.interpreter.context
        answer = context.inferences.get(key)
        if answer is None:
            rank = sum(len(one.dims.known) for one in lowered if isinstance(one, Tensor))
            context.ledger.meter.spend(rank * rank >> 6)  # some rules compare dims in pairs
            answer = context.inferences[key] = operators.infer(
                operator,
                *lowered,
                semantics=context.semantics,
                rows=context.rows,
                defaults=defaults,
                **lowered_keywords,
            )
        return answer

    def _same(
        self,
        result: Value,
        answer: operators.Inference,
        args: Sequence[Value],
        keyword_values: Mapping[str, Value],
        store: Store,
    ) -> Value:
        """In-place calls and calls with ``out=`` return the tensor they wrote to."""
        for key, after in answer.after.items():
            if after is answer.result:
                target = args[key] if isinstance(key, int) else keyword_values[key]
                return self.promote(target, store) if isinstance(target, Opaque) else target
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
        self._forget(keyword_values.get("out"), store)
        if operator.endswith("_") and args:
            self._forget(args[0], store)

    def _forget(self, target: Value | None, store: Store) -> None:
        """Make the ``out=`` tensors of a failed call unknown."""
        if isinstance(target, TensorValue):
            joins.write(target, store, Held(Tensor()))
        elif isinstance(target, TupleValue):
            for item in target.items:
                self._forget(item, store)

    def replace_data(self, tensor_value: TensorValue, store: Store) -> None:
        """``x.data = y``: the dtype, device and order of x become unknown."""
        content = joins.held(tensor_value, store)
        blank = replace(
            content.tensor, dtype=UNKNOWN, device=UNKNOWN, layout=UNKNOWN, memory=UNKNOWN
        )
        joins.write(tensor_value, store, replace(content, tensor=blank))

    def _write(
        self, target: Value, content: Any, before: Mapping[str, Place], node: Node, store: Store
    ) -> None:
        if isinstance(target, Opaque) and isinstance(content, Tensor):
            target = self.promote(target, store)
        if isinstance(target, TensorValue) and isinstance(content, Tensor):
            joins.write(
                target, store, Held(content, origins.trace(self.interpreter, content, before, node))
            )
        elif isinstance(target, TupleValue) and isinstance(content, (tuple, list)):
            for each, part in zip(target.items, content, strict=False):
                self._write(each, part, before, node, store)

    def show(self, value: Value, store: Store) -> str:
        """The dims of a tensor for the reader: ``['N', 'C']``, empty where they are unknown."""
        lowered = self.lower(value, store)
        if not isinstance(lowered, Tensor) or lowered.dims == OPEN:
            return ""
        return lowered.dims.show()

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


def _has_failed(value: Value, store: Store) -> bool:
    """Whether an operand is, or contains, the missing result of a call that failed."""
    if isinstance(value, ListValue):
        content = joins.items(value, store)
        value = content if isinstance(content, Repeated) else TupleValue(content)
    return has_failed(value)


def _operand_facts(tensor: Tensor, span: Span) -> OperandFacts:
    """The facts about a tensor operand."""
    names = tuple(map(naming.word, tensor.names)) if tensor.dims.complete else None
    labelled = not any(isinstance(name, Axis) for name in tensor.names)
    dtype, device = dtypes.show(tensor.dtype), devices.show(tensor.device)
    return OperandFacts(span, names, labelled, dtype, device)


def _has_axes(operand: Any) -> bool:
    """Whether an operand has names, or sizes, from annotations."""
    if isinstance(operand, Tensor):
        named = any(isinstance(name, Axis) for name in operand.names)
        return named or any(isinstance(size, Expression) for size in operand.dims.sizes)
    if isinstance(operand, (tuple, list)):
        return any(map(_has_axes, operand))
    return isinstance(operand, Expression)


def _is_sized(operand: Any) -> bool:
    """Whether the sizes of all tensors in an operand are known."""
    if isinstance(operand, Tensor):
        return all(isinstance(size, int) for size in operand.dims.sizes)
    return not isinstance(operand, (tuple, list)) or all(map(_is_sized, operand))


def _sizes_fit(inputs: Sequence[Any]) -> bool:
    """Whether no size of several tensors is unknown, so that it might not fit the others."""
    several = sum(isinstance(operand, (Tensor, tuple, list)) for operand in inputs) > 1
    return not several or all(map(_is_sized, inputs))


def _is_known(operand: Any) -> bool:
    """Whether everything about an operand is known that an operator's names depend on."""
    if isinstance(operand, Tensor):
        return operand.dims.complete
    if isinstance(operand, (tuple, list)):
        return all(map(_is_known, operand))
    return operand is not UNKNOWN and not isinstance(operand, (Many, Maybe))


def _may_be_one(input: Tensor, tensor: Tensor) -> bool:
    """Whether a result may be the input tensor itself."""
    return (
        input.dims == tensor.dims
        and dtypes.may_be_one(input.dtype, tensor.dtype)
        and not devices.differ(input.device, tensor.device)
    )


def _frozen(value: Any) -> Hashable:
    """A key for a lowered value: equal for equal values of one type (1, 1.0 and True are three)."""
    if isinstance(value, (list, tuple)):
        return type(value), tuple(map(_frozen, value))
    if isinstance(value, dict):
        return type(value), tuple(map(_frozen, value.items()))
    if isinstance(value, slice):
        return slice, _frozen((value.start, value.stop, value.step))
    return type(value), value
