"""Calls through the door: values become arguments, answers become values, origins follow."""

from __future__ import annotations

import ast
from collections import OrderedDict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from namecheck import operators
from namecheck.core import devices, dtypes
from namecheck.core import names as naming
from namecheck.core.dims import ANY_DIM, OPEN, Dims
from namecheck.core.dtypes import Around
from namecheck.core.findings import Facts, Given, Place, Span, is_of_devices, is_of_dtypes
from namecheck.core.names import UNKNOWN, Axis
from namecheck.core.sizes import Expression
from namecheck.core.syntax import Located as Node
from namecheck.core.syntax import Source
from namecheck.core.tensors import SOME_NUMBERS, Constant, Many, Maybe, Tensor
from namecheck.interpreter.domain import device_values, equalities, joins
from namecheck.interpreter.domain.scopes import COMPREHENSIONS, FUNCTIONS
from namecheck.interpreter.domain.store import Fact, Store
from namecheck.interpreter.domain.values import (
    NONE,
    Alternative,
    Const,
    DictValue,
    Entries,
    Held,
    ListValue,
    Opaque,
    Operand,
    Picked,
    Repeated,
    SliceValue,
    TensorValue,
    TupleValue,
    Union,
    Value,
    has_failed,
    size_of,
    sized,
)
from namecheck.interpreter.evaluation import narrowing
from namecheck.interpreter.evaluation.events import Applied
from namecheck.interpreter.evaluation.frames import Frame
from namecheck.interpreter.evaluation.interpreter import Interpreter
from namecheck.interpreter.evaluation.observations import Application, Begun

_NUMBERS: Final = frozenset({"float", "complex"})
_COUNTS: Final = frozenset(
    {"shape", "size", "numel", "nelement", "dim", "ndim", "ndimension", "__len__"}
)

_TENSOR_ONLY: Final = frozenset({"refine_names", "align_to", "align_as", "has_names"})
# What modules have, too.
_OF_MODULES: Final = frozenset({"requires_grad_"})


class TorchCalls:
    """Runs operators of the table on abstract values."""

    def __init__(self, interpreter: Interpreter) -> None:
        self.interpreter = interpreter

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

    def tensor(self, known: Tensor, origins: Mapping[str, Place] | None = None) -> TensorValue:
        """A new tensor."""
        return TensorValue(self.interpreter.new_address(), Held(known, origins or {}))

    def promote(self, value: Opaque, store: Store) -> TensorValue:
        """An unknown value, seen as the tensor that it must be."""
        rank: int | None = store.get(Fact(("rank", value.key)))
        known = Tensor() if rank is None else Tensor(Dims((ANY_DIM,) * rank))
        return TensorValue(narrowing.tensor_address(value), Held(known))

    def lower(self, value: Value, store: Store) -> Any:
        """A value as `infer` takes it."""
        if isinstance(value, TensorValue):
            tensor = equalities.equated(joins.held(value, store).tensor, store)
            return device_values.resolved(tensor, store)
        if isinstance(value, Const):
            return value.value
        if isinstance(value, Opaque):
            return self._lower_opaque(value, store)
        if isinstance(value, TupleValue):
            return tuple(self.lower(item, store) for item in value.items)
        if isinstance(value, ListValue):
            return self._lower_items(joins.items(value, store), store)
        if isinstance(value, Repeated):
            return self._lower_items(value, store)
        if isinstance(value, SliceValue):
            return slice(
                *(self.lower(part, store) for part in (value.lower, value.upper, value.step))
            )
        if isinstance(value, DictValue):
            return self._lower_dict(value, store)
        if isinstance(value, Union) and device_values.is_choice(value):
            return device_values.chosen(value, store)
        return UNKNOWN

    def _lower_opaque(self, value: Opaque, store: Store) -> Any:
        if narrowing.is_tensor(value, store):
            return self.lower(self.promote(value, store), store)
        size = size_of(value)
        if size is not None:
            return equalities.size(size, store)
        device = device_values.lowered(value.key)
        if device is not None:
            return device
        return SOME_NUMBERS[value.kind] if value.kind in _NUMBERS else UNKNOWN

    def _lower_items(self, content: tuple[Value, ...] | Repeated, store: Store) -> Any:
        if not isinstance(content, Repeated):
            return [self.lower(item, store) for item in content]
        each = self.lower(content.each, store)
        return Many(each) if isinstance(each, Tensor) else UNKNOWN

    def _lower_dict(self, value: DictValue, store: Store) -> Any:
        content = joins.entries(value, store)
        if content.rest is not None:
            return UNKNOWN
        lowered = [(self.lower(k, store), self.lower(v, store)) for k, v in content.items]
        if any(key is UNKNOWN or isinstance(key, Tensor) for key, _ in lowered):
            return UNKNOWN
        return OrderedDict(lowered) if value.ordered else dict(lowered)

    def call(
        self,
        operator: str,
        args: Sequence[Value],
        kwargs: Mapping[str, Value],
        node: Node,
        store: Store,
        frame: Frame,
        operands: Sequence[Operand] = (),
        begun: Begun | None = None,
    ) -> Value:
        """Run an operator; a contradiction becomes a finding at `node`, and the result unknown."""
        row_key = operators.key_of(operator)
        self.interpreter.listeners.called(row_key, kwargs, node)
        every = (*args, *kwargs.values())
        if any(self._has_failed(value, store) for value in every):
            return self._nothing(operator, args, kwargs, node, store)
        follow = self.interpreter.torch_devices.followed
        given = [follow(arg, self.lower(arg, store), store, frame) for arg in args]
        words = {
            name: follow(value, self.lower(value, store), store, frame)
            for name, value in kwargs.items()
        }
        inputs = (*given, *words.values())
        informed = all(map(_is_known, inputs))
        # It may raise an error that cannot be told: of names, or of sizes that do not fit.
        self.interpreter.progress.unknowns += not informed or not _sizes_fit(inputs)
        answer = self._infer(operator, given, words, self.interpreter.torch_defaults.around(store))
        if self.interpreter.context.recorder is not None:
            tells = answer.contradiction is not None or answer.result is not UNKNOWN
            sized = all(map(_is_sized, inputs))
            self.interpreter.context.recorder.applied(node, informed and tells, sized)
            self.interpreter.context.recorder.application(
                node,
                Application(
                    operator,
                    tuple(given),
                    tuple(words.items()),
                    answer.result,
                    answer.contradiction,
                    begun,
                ),
            )
        if answer.contradiction is not None:
            contradiction = answer.contradiction
            self._forget(kwargs.get("out"), store)
            marks = tuple(
                self.interpreter.place(where, shown)
                for where, value in operands
                if isinstance(value, (TensorValue, Opaque))
                and (shown := self._shown(value, contradiction.code, store))
            )
            origins = self.origins_of(contradiction.names, every, store)
            self.interpreter.report(
                contradiction,
                node,
                store,
                frame,
                marks,
                origins,
                by_axes=any(map(_has_axes, inputs)),
                facts=self._facts(operator, contradiction.names, operands, store, frame),
            )
            return self.interpreter.fresh("contradiction")
        before = self._gather(every, store)
        for key, tensor in answer.after.items():
            target = args[key] if isinstance(key, int) else kwargs[key]
            self._write(target, tensor, before, node, store)
        query: tuple[Hashable, ...] = ()
        if not isinstance(answer.result, (Tensor, Dims)):
            query = (operator, *(joins.identity(value, store) for value in every), *kwargs)
        result = self.lift(answer.result, before, node, query)
        if isinstance(result, TensorValue):
            result = self._placed(result, answer, operator, every, store)
        result = self._same(result, answer, args, kwargs, store)
        row = operators.row_of(row_key, self.interpreter.context.rows)
        applied = Applied(
            row_key,
            row.flow or None if row else None,
            args,
            given,
            words,
            node,
            store,
            self.interpreter.source,
            self.interpreter.findings.silent > 0,
        )
        return self.interpreter.listeners.applied(applied, result)

    def _facts(
        self,
        operator: str,
        words: tuple[str, ...],
        operands: Sequence[Operand],
        store: Store,
        frame: Frame,
    ) -> Facts:
        """What a fix has to know of a call that contradicts."""
        origins = self._gather([value for _, value in operands], store).values()
        settled = all(_is_within(place, frame, self.interpreter.source) for place in origins)
        return Facts(operators.key_of(operator), words, self.given(operands, store), settled)

    def given(self, operands: Iterable[Operand], store: Store) -> tuple[Given, ...]:
        """What is known of the tensors among some operands."""
        lowered = ((where, self.lower(value, store)) for where, value in operands)
        return tuple(
            _given(tensor, self.interpreter.source.span(where))
            for where, tensor in lowered
            if isinstance(tensor, Tensor)
        )

    def _has_failed(self, value: Value, store: Store) -> bool:
        if isinstance(value, ListValue):
            content = joins.items(value, store)
            value = content if isinstance(content, Repeated) else TupleValue(content)
        return has_failed(value)

    def _nothing(
        self,
        operator: str,
        args: Sequence[Value],
        kwargs: Mapping[str, Value],
        node: Node,
        store: Store,
    ) -> Value:
        """Of what an operator that failed would have given nothing can be told."""
        self.interpreter.progress.unknowns += 1
        if self.interpreter.context.recorder is not None:
            self.interpreter.context.recorder.applied(node, informed=False, sized=False)
        self.forget(operator, args, kwargs, store)
        return self.interpreter.fresh("contradiction")

    def _placed(
        self,
        result: TensorValue,
        answer: operators.Inference,
        operator: str,
        inputs: Sequence[Value],
        store: Store,
    ) -> TensorValue:
        """A result at an address that says whether it is new, or may be what was there before."""
        number = self.interpreter.new_address()
        given = next((v for v in inputs if isinstance(v, (TensorValue, Opaque))), None)
        if answer.may_be_input and given is not None:
            source = self.promote(given, store) if isinstance(given, Opaque) else given
            if _may_be_one(joins.held(source, store).tensor, result.initial.tensor):
                return replace(result, address=Picked((source,), number, number))
        elif self.has(operator, "a"):
            return replace(result, address=("attribute", number))
        return result

    def _infer(
        self, operator: str, args: Sequence[Any], kwargs: Mapping[str, Any], around: Around
    ) -> operators.Inference:
        """The answer of `infer`, remembered: it depends on the abstract inputs alone."""
        key = (operator, around, *map(_frozen, (args, tuple(kwargs.items()))))
        known = self.interpreter.context.inferences
        answer = known.get(key)
        if answer is None:
            answer = known[key] = operators.infer(
                operator,
                *args,
                semantics=self.interpreter.context.semantics,
                rows=self.interpreter.context.rows,
                around=around,
                **kwargs,
            )
        return answer

    def _same(
        self,
        result: Value,
        answer: operators.Inference,
        args: Sequence[Value],
        kwargs: Mapping[str, Value],
        store: Store,
    ) -> Value:
        """An in-place call and one with ``out=`` give back the tensor they wrote to."""
        for key, after in answer.after.items():
            if after is answer.result:
                target = args[key] if isinstance(key, int) else kwargs[key]
                return self.promote(target, store) if isinstance(target, Opaque) else target
        if isinstance(result, TupleValue) and answer.fields:
            return replace(result, fields=answer.fields)
        return result

    def gathered(self, operator: str, args: Sequence[Value]) -> list[Value] | None:
        """Arguments to which a star adds unknown ones: those of a list become one unknown value.

        None where they are no list: then nothing is known of the call.
        """
        key = operators.key_of(operator)
        row = self.interpreter.context.rows[
            key if key in self.interpreter.context.rows else key.removesuffix("_")
        ]
        for signature in row.signatures:
            for index, parameter in enumerate(signature):
                if parameter.variadic and parameter.kinds and index <= len(args):
                    return [*args[:index], self.interpreter.fresh("arguments")]
        return None

    def forget(
        self, operator: str, args: Sequence[Value], kwargs: Mapping[str, Value], store: Store
    ) -> None:
        """A call of which nothing is known may have written to its tensors."""
        self._forget(kwargs.get("out"), store)
        if operator.endswith("_") and args:
            self._forget(args[0], store)

    def _forget(self, out: Value | None, store: Store) -> None:
        """What a failed call left in the tensors that it was given as ``out=`` is not known."""
        if isinstance(out, TensorValue):
            joins.write(out, store, Held(Tensor()))
        elif isinstance(out, TupleValue):
            for item in out.items:
                self._forget(item, store)

    def replace_data(self, target: TensorValue, store: Store) -> None:
        """``x.data = y``: of what x is made now, and where, nothing is known."""
        held = joins.held(target, store)
        blank = replace(held.tensor, dtype=UNKNOWN, device=UNKNOWN, layout=UNKNOWN, memory=UNKNOWN)
        joins.write(target, store, replace(held, tensor=blank))

    def _write(
        self, target: Value, after: Any, before: Mapping[str, Place], node: Node, store: Store
    ) -> None:
        if isinstance(target, Opaque) and isinstance(after, Tensor):
            target = self.promote(target, store)
        if isinstance(target, TensorValue) and isinstance(after, Tensor):
            joins.write(target, store, Held(after, self._trace(after, before, node)))
        elif isinstance(target, TupleValue) and isinstance(after, (tuple, list)):
            for item, content in zip(target.items, after, strict=False):
                self._write(item, content, before, node, store)

    def _gather(self, values: Sequence[Value], store: Store) -> dict[str, Place]:
        """Where the names of the operands came from, the first operand's first."""
        gathered: dict[str, Place] = {}
        for value in values:
            if isinstance(value, TensorValue):
                for name, place in joins.held(value, store).origins.items():
                    gathered.setdefault(name, place)
            elif isinstance(value, (TupleValue, ListValue)):
                content = (
                    value.items if isinstance(value, TupleValue) else joins.items(value, store)
                )
                if not isinstance(content, Repeated):
                    for name, place in self._gather(content, store).items():
                        gathered.setdefault(name, place)
        return gathered

    def _trace(self, tensor: Tensor, before: Mapping[str, Place], node: Node) -> dict[str, Place]:
        """For each name of a result, where it came from: an operand, or this very call."""
        traced: dict[str, Place] = {}
        for name in tensor.names:
            word = naming.word(name)
            if word is not None:
                known = before.get(word)
                traced[word] = known or self.interpreter.place(_written(word, node), "named here")
        return traced

    def origins_of(
        self, labels: Sequence[str], values: Sequence[Value], store: Store
    ) -> tuple[Place, ...]:
        """Where the names that a contradiction is about came from, one place for each span.

        Of a name that was not found there is no such place: then all names of the operands count.
        """
        known = self._gather(values, store)
        told = [label for label in dict.fromkeys(labels) if label in known] or list(known)
        together: dict[tuple[str, Span], list[str]] = {}
        for label in told:
            together.setdefault((known[label].filename, known[label].span), []).append(label)
        places = []
        for (filename, span), words in together.items():
            listed = ", ".join(f"'{word}'" for word in words)
            verb = "is" if len(words) == 1 else "are"
            places.append(Place(filename, span, f"{listed} {verb} {known[words[0]].message}"))
        return tuple(places)

    def lift(
        self,
        answer: Any,
        before: Mapping[str, Place],
        node: Node,
        query: tuple[Hashable, ...] = (),
    ) -> Value:
        """What `infer` answered, as a value; what it left unknown is the answer to a query."""
        if isinstance(answer, Tensor):
            return self.tensor(answer, self._trace(answer, before, node))
        if isinstance(answer, Dims):
            return self.lift(Tensor(answer), before, node)
        if isinstance(answer, Many):
            return Repeated(self.lift(answer.each, before, node))
        if isinstance(answer, Maybe):
            address = ("attribute", self.interpreter.new_address())
            filled = TensorValue(
                address, Held(answer.tensor, self._trace(answer.tensor, before, node))
            )
            return joins.union(
                [Alternative(NONE), Alternative(filled)], self.interpreter.context.ledger
            )
        if isinstance(answer, Expression):
            return sized(answer)
        if answer is UNKNOWN:
            kind = "int" if query and operators.key_of(str(query[0])) in _COUNTS else None
            return Opaque(("answer", *query), kind) if query else self.interpreter.fresh("unknown")
        if isinstance(answer, tuple):
            parts = [
                self.lift(part, before, node, (*query, index) if query else ())
                for index, part in enumerate(answer)
            ]
            return TupleValue(tuple(parts))
        if isinstance(answer, list):
            content = tuple(self.lift(part, before, node) for part in answer)
            return ListValue(self.interpreter.new_address(), content)
        if isinstance(answer, dict):
            pairs = [(Const(key), self.lift(part, before, node)) for key, part in answer.items()]
            return DictValue(self.interpreter.new_address(), Entries(tuple(pairs)))
        if answer is None or isinstance(answer, (bool, int, float, complex, str, Constant)):
            return Const(answer)
        return self.interpreter.fresh("value")

    def show(self, value: Value, store: Store) -> str:
        """The dims of a tensor for the reader: ``['N', 'C']``, empty where nothing is known."""
        lowered = self.lower(value, store)
        if not isinstance(lowered, Tensor) or lowered.dims == OPEN:
            return ""
        return lowered.dims.show()

    def _shown(self, value: Value, code: str, store: Store) -> str:
        """What of an operand a contradiction is about: its dims, its dtype, or its device."""
        if not is_of_dtypes(code) and not is_of_devices(code):
            return self.show(value, store)
        lowered = self.lower(value, store)
        if is_of_devices(code):
            return devices.show(lowered.device) if isinstance(lowered, Tensor) else ""
        dtype = lowered.dtype if isinstance(lowered, Tensor) else UNKNOWN
        return dtypes.show(dtype)

    def brief(self, value: Value, store: Store) -> str:
        """The names of a tensor in few words: ``N C``, empty where nothing is known."""
        lowered = self.lower(value, store) if isinstance(value, TensorValue) else None
        if not isinstance(lowered, Tensor) or lowered.dims == OPEN:
            return ""
        return " ".join(word.partition("=")[0] for word in lowered.dims.brief().split(" "))


def _given(tensor: Tensor, span: Span) -> Given:
    """What is known of a tensor that an operator was given."""
    names = tuple(map(naming.word, tensor.names)) if tensor.dims.complete else None
    labelled = not any(isinstance(name, Axis) for name in tensor.names)
    dtype, device = dtypes.show(tensor.dtype), devices.show(tensor.device)
    return Given(span, names, labelled, dtype, device)


def _is_within(place: Place, frame: Frame, source: Source) -> bool:
    """Whether a place is in the scope that is being run; at the top level every place is."""
    scope = frame.environment.scope
    if isinstance(scope, COMPREHENSIONS) and frame.caller is not None:
        return _is_within(place, frame.caller, source)
    if not isinstance(scope, FUNCTIONS):
        return frame.caller is None
    span = source.span(scope)
    return place.filename == source.filename and span.line <= place.span.line <= span.end_line


def _has_axes(operand: Any) -> bool:
    """Whether an operand has names, or sizes, that annotations give."""
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


def _sizes_fit(operands: Sequence[Any]) -> bool:
    """Whether no size of several tensors is unknown, so that it might not fit the others."""
    several = sum(isinstance(operand, (Tensor, tuple, list)) for operand in operands) > 1
    return not several or all(map(_is_sized, operands))


def _is_known(operand: Any) -> bool:
    """Whether nothing of an operand is left open that an operator's names depend on."""
    if isinstance(operand, Tensor):
        return operand.dims.complete
    if isinstance(operand, (tuple, list)):
        return all(map(_is_known, operand))
    return operand is not UNKNOWN and not isinstance(operand, (Many, Maybe))


def _may_be_one(before: Tensor, after: Tensor) -> bool:
    """Whether nothing tells that a result is another tensor than the input."""
    return (
        before.dims == after.dims
        and dtypes.may_be_one(before.dtype, after.dtype)
        and not devices.differ(before.device, after.device)
    )


def _written(word: str, node: Node) -> Node:
    """Where in a call a name is written out: the string or the keyword, else the whole call."""
    for inner in ast.walk(node):
        if isinstance(inner, ast.Constant) and inner.value == word:
            return inner
    return node


def _frozen(value: Any) -> Hashable:
    """A key for a lowered value: equal for equal values of one type (1, 1.0 and True are three)."""
    if isinstance(value, (list, tuple)):
        return type(value), tuple(map(_frozen, value))
    if isinstance(value, dict):
        return type(value), tuple(map(_frozen, value.items()))
    if isinstance(value, slice):
        return slice, _frozen((value.start, value.stop, value.step))
    return type(value), value
