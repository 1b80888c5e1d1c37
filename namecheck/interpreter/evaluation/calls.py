"""Evaluates calls: of functions and classes of the program, and of libraries."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import Final

from namecheck.core.dataclasses import replace
from namecheck.core.syntax import Located as Node
from namecheck.interpreter.domain import (
    class_lookup,
    device_values,
    identities,
    joins,
    merges,
    meter,
)
from namecheck.interpreter.domain.cells import MODULE_CALLS
from namecheck.interpreter.domain.provenance import Asked, Attribute, Parameter, Variable
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.values import (
    NONE,
    TRANSPARENT,
    Alternative,
    BoundMethod,
    BuiltinMethod,
    ClassValue,
    Const,
    DictValue,
    Entries,
    Environment,
    External,
    FunctionValue,
    Generator,
    Instance,
    ListValue,
    Opaque,
    Operand,
    Partial,
    Repeated,
    TorchMethod,
    TorchModule,
    TupleValue,
    Union,
    Value,
    Wrapped,
    each_of,
    has_failed,
)
from namecheck.interpreter.evaluation import guards, shape_tests
from namecheck.interpreter.evaluation.context import Moment
from namecheck.interpreter.evaluation.events import Entered, handed_to
from namecheck.interpreter.evaluation.following import Following
from namecheck.interpreter.evaluation.frames import (
    Arguments,
    Call,
    Frame,
    PathEnds,
    outside_comprehensions,
)
from namecheck.interpreter.evaluation.havoc import is_stranger
from namecheck.interpreter.evaluation.interpreter import Interpreter
from namecheck.interpreter.evaluation.observations import Begun
from namecheck.interpreter.evaluation.summaries import CallSummaries

# The budget of one call into another file that names no dims.
_STEPS_ELSEWHERE: Final = 1_000
_DEFINED: Final = (FunctionValue, ClassValue)
_SUPER: Final = External("builtins.super")
_ASKING_PREFIXES: Final = ("is_", "has_", "can_", "should_", "use_", "supports_", "startswith")
_OF_TEXTS: Final = frozenset({"endswith", "lower", "startswith", "strip", "upper"})
_ASKING: Final = _OF_TEXTS | {"get", "getenv", "dim", "ndimension", "size", "numel"}


def _stays_whole(callee: Value, value: Value) -> bool:
    """Whether an argument is a choice of devices that torch takes as one value."""
    takes = isinstance(callee, (TorchMethod, TorchModule)) or (
        isinstance(callee, External) and callee.path.startswith("torch.")
    )
    moves = isinstance(callee, BuiltinMethod) and isinstance(
        callee.receiver, (Instance, TorchModule)
    )
    return (takes or moves) and device_values.is_choice(value)


def _begun(partial: Partial | TorchModule, named_arguments: Mapping[str, Value]) -> Begun | None:
    """The arguments that were bound when a callable was made, and that a call does not replace."""
    if partial.made is None:
        return None
    keywords = frozenset(name for name, _ in partial.kwargs)
    return Begun(partial.made, len(partial.args), keywords - named_arguments.keys())


class Calls:
    """Evaluates calls, whatever the callee is."""

    def __init__(self, interpreter: Interpreter, following: Following) -> None:
        self.interpreter = interpreter
        self.summaries = CallSummaries(interpreter)
        self._following = following
        self._is_observed = interpreter.context.evidence.is_observed

    def evaluate_call(self, call_node: ast.Call, store: Store, frame: Frame) -> Value:
        """Evaluate a call expression."""
        function = self.interpreter.evaluate(call_node.func, store, frame)
        if function == _SUPER:
            return self.interpreter.libraries.super_of(call_node, store, frame)
        if isinstance(function, Opaque) and self._is_observed:
            from namecheck.interpreter.evaluation import observed_methods  # only where asked for

            function = observed_methods.called(self.interpreter, call_node, function, store, frame)
        arguments = self.arguments(call_node, store, frame)
        many = [function, *arguments.args, *arguments.kwargs.values()]
        if not any(isinstance(value, Union) for value in many):
            return self.call(function, Call(arguments, call_node, store, frame))

        def apply(layer: Store, values: list[Value]) -> Value:
            rest = iter(values[1:])
            chosen = Arguments(
                [next(rest) for _ in arguments.args],
                {name: next(rest) for name in arguments.kwargs},
                arguments.open,
                arguments.rest,
            )
            return self.call(values[0], Call(chosen, call_node, layer, frame))

        if isinstance(function, (FunctionValue, BoundMethod, ClassValue)):
            # The body of a function of the program forks where it needs one of the alternatives.
            return apply(store, many)
        # A choice of devices is one argument: it makes no alternatives.
        whole = {n: v for n, v in enumerate(many) if _stays_whole(function, v)}
        apart = [NONE if n in whole else value for n, value in enumerate(many)]

        def chosen(layer: Store, values: list[Value]) -> Value:
            return apply(layer, [whole.get(n, value) for n, value in enumerate(values)])

        from namecheck.interpreter.evaluation import layer_choices  # few calls have alternatives

        return layer_choices.spread(self.interpreter, function, store, apart, call_node, chosen)

    def arguments(self, call_node: ast.Call, store: Store, frame: Frame) -> Arguments:
        """Evaluate the arguments of a call; starred ones are unpacked."""
        result = Arguments()
        for arg in call_node.args:
            if isinstance(arg, ast.Starred):
                value = self.interpreter.evaluate(arg.value, store, frame)
                values = each_of(content := self.interpreter.iterate(value, arg, store, frame))
                result.open |= isinstance(content, Repeated)
            else:
                values = (self.interpreter.evaluate(arg, store, frame),)
            if result.open:
                self.interpreter.havoc_containers(values, store)
                earlier = () if result.rest is None else (result.rest,)
                result.rest = joins.either((*earlier, *values), store)
            else:
                result.args.extend(values)
        result.by_keyword = not result.open
        for keyword in call_node.keywords:
            value = self.interpreter.evaluate(keyword.value, store, frame)
            if keyword.arg is not None:
                result.kwargs[keyword.arg] = value
            elif isinstance(value := joins.opened(value, store), DictValue):
                content_ = joins.entries(value, store)
                result.open |= content_.rest is not None
                for key, entry in content_.items:
                    if isinstance(key, Const) and isinstance(key.value, str):
                        result.kwargs[key.value] = entry
                    else:
                        result.open = True
            else:
                result.open = True
        return result

    def call_values(
        self,
        callee: Value,
        args: Sequence[Value],
        node: Node,
        store: Store,
        frame: Frame,
        named_arguments: Mapping[str, Value] | None = None,
    ) -> Value:
        """Call a value with arguments that are values already."""
        return self.call(
            callee, Call(Arguments(list(args), dict(named_arguments or {})), node, store, frame)
        )

    def call(self, callee: Value, call: Call) -> Value:
        """Call a value by its kind; an unknown callee has an unknown result."""
        if isinstance(callee, FunctionValue):
            return self.call_function(callee, call)
        if isinstance(callee, BoundMethod):
            return self._prepend(callee.function, callee.receiver, call)
        if isinstance(callee, Partial):
            return self._partial(callee, call)
        if isinstance(callee, Wrapped):
            return self.interpreter.libraries.call_wrapped(callee, call)
        if isinstance(callee, TorchMethod):
            return self.torch_method(callee, call)
        if isinstance(callee, External):
            return self.interpreter.libraries.call(callee.path, call)
        if isinstance(callee, ClassValue):
            return self.interpreter.classes.instantiate(callee, call)
        if isinstance(callee, (Instance, TorchModule)):
            return self._of_object(callee, call)
        if isinstance(callee, ListValue) and callee.kind == "sequence":
            return self.interpreter.torch_nn.run(callee, call)
        if isinstance(callee, TupleValue) and callee.cls is not None:
            return self._named_tuple(callee, callee.cls, call)
        if isinstance(callee, BuiltinMethod):
            return self.interpreter.methods.call(callee.receiver, callee.name, call)
        if isinstance(callee, Union):
            from namecheck.interpreter.evaluation import layer_choices

            return layer_choices.spread(
                self.interpreter,
                callee,
                call.store,
                [callee],
                call.node,
                lambda layer, values: self.call(
                    values[0], Call(call.arguments, call.node, layer, call.frame)
                ),
            )
        if callee == NONE:
            around = self.interpreter.progress.around
            if around is not None:
                around.heard = True
            if self.interpreter.findings.silent:
                self.interpreter.fail("TypeError")
        if isinstance(callee, Opaque):
            if callee.kind == TRANSPARENT and isinstance(call.argument(0), _DEFINED):
                return call.argument(0)
            provenance = callee.key.provenance
            name = provenance.name if isinstance(provenance, (Attribute, Variable)) else ""
            if isinstance(provenance, Attribute):
                # On another path the owner may be a tensor, which this one does not contradict.
                self.interpreter.findings.judged.hear(call.frame.environment.number, call.node)
            choice = self.interpreter.torch_nn.kept(call)
            result = self.call_unknown(callee, name, call)
            return result if choice is None else choice
        self.interpreter.havoc_arguments(call)
        return self.interpreter.fresh("result")

    def call_unknown(self, callee: Value, name: str, call: Call, kind: str | None = None) -> Opaque:
        """Call unknown code: its result is unknown, and havoc is applied to its arguments.

        A query such as ``is_available()`` changes nothing, and has equal results for equal
        arguments in the same round of a loop; a text, which nothing changes, in all of them.
        """
        values = (*call.args, *call.kwargs.values())
        recorder = self.interpreter.context.recorder
        if recorder is not None:
            recorder.called_unknown(call.node)
            if has_failed(callee):
                recorder.applied(call.node, informed=False, sized=False)
        if (name in _ASKING or name.startswith(_ASKING_PREFIXES)) and not call.arguments.open:
            args = tuple(identities.of(value, call.store) for value in values)
            identity = identities.of(callee, call.store)
            number = 0 if name in _OF_TEXTS else self.interpreter.progress.asked_round()
            return Opaque(Asked(number, identity, args, tuple(call.kwargs)), kind)
        self.interpreter.havoc_arguments(call, name, stranger=is_stranger(callee, name))
        return self.interpreter.made_of((callee, *values), "result", kind)

    def _prepend(self, callee: Value, receiver: Value, call: Call) -> Value:
        arguments = replace(call.arguments, args=[receiver, *call.args])
        return self.call(callee, Call(arguments, call.node, call.store, call.frame))

    def _partial(self, partial: Partial, call: Call) -> Value:
        arguments = Arguments(
            [*partial.args, *(() if partial.open else call.args)],
            {**dict(partial.kwargs), **call.kwargs},
            partial.open or call.arguments.open,
            None if partial.open else call.arguments.rest,
            _begun(partial, call.kwargs),
        )
        return self.call(partial.function, Call(arguments, call.node, call.store, call.frame))

    def _of_object(self, called_module: Instance | TorchModule, call: Call) -> Value:
        """Call an instance or a layer, as hooks and patches change it."""

        def proceed(call: Call) -> Value:
            if isinstance(called_module, TorchModule):
                return self._module(called_module, call)
            return self._instance(called_module, call)

        if call.store.get(MODULE_CALLS) is None:
            return proceed(call)
        from namecheck.interpreter.evaluation import module_calls  # few programs change them

        return module_calls.follow(self.interpreter, called_module, call, proceed)

    def _instance(self, instance: Instance, call: Call) -> Value:
        method = class_lookup.method(instance, "__call__", call.store)
        if method is not None:
            return self._prepend(method, instance, call)
        set_: Value | None = call.store.get((instance.address, "forward"))
        if set_ is not None:
            return self.call(set_, call)
        method = class_lookup.method(instance, "forward", call.store)
        if method is not None:
            return self._prepend(method, instance, call)
        own = joins.inherited(instance, call.store)
        if own is not None:
            return self.call(own, call)
        self.interpreter.havoc_arguments(call, stranger=True)
        return self.interpreter.fresh("result")

    def _named_tuple(self, named_tuple: TupleValue, cls: ClassValue, call: Call) -> Value:
        method = class_lookup.attribute(cls, "__call__", call.store)
        if method is None:
            return self.interpreter.fresh("result")
        return self._prepend(method, named_tuple, call)

    # torch

    def torch_method(self, method: TorchMethod, call: Call) -> Value:
        """A method of a tensor."""
        operator = f"Tensor.{method.operator}"
        return self.call_operator(operator, [method.receiver, *call.args], call)

    def call_operator(self, operator: str, positional: list[Value], call: Call) -> Value:
        """Call an operator of the table; each operand is passed with its node in the source."""
        if call.arguments.open:
            gathered = self.interpreter.torch.gathered(operator, positional)
            if gathered is None:
                if self.interpreter.context.recorder is not None:
                    self.interpreter.context.recorder.open(call.node)
                self.interpreter.torch.forget(operator, positional, call.kwargs, call.store)
                return self.interpreter.fresh("result")
            positional = gathered
        operands: list[Operand] = []
        if isinstance(call.node, ast.Call):
            nodes: list[Node] = [*call.node.args]
            if isinstance(call.node.func, ast.Attribute) and len(positional) == len(call.args) + 1:
                nodes.insert(0, call.node.func.value)
            if not call.arguments.open and len(nodes) == len(positional):
                words = [
                    (keyword.value, call.kwargs[keyword.arg])
                    for keyword in call.node.keywords
                    if keyword.arg in call.kwargs and keyword.arg != "out"
                ]
                operands = [
                    part
                    for node, arg in (*zip(nodes, positional, strict=True), *words)
                    for part in self._parts(node, arg, call.store)
                ]
        return self.interpreter.torch.call(
            operator,
            positional,
            call.kwargs,
            call.node,
            call.store,
            call.frame,
            operands,
            call.arguments.begun,
        )

    def _parts(self, node: Node, value: Value, store: Store) -> list[Operand]:
        """The operands in an argument: each item of a list display, or the argument itself."""
        if isinstance(node, (ast.List, ast.Tuple)) and isinstance(value, (ListValue, TupleValue)):
            content = value.items if isinstance(value, TupleValue) else joins.items(value, store)
            if not isinstance(content, Repeated) and len(content) == len(node.elts):
                return list(zip(node.elts, content, strict=True))
        return [(node, value)]

    def _module(self, nn_module: TorchModule, call: Call) -> Value:
        if not self.interpreter.torch.has(nn_module.key, "cl"):
            return self.interpreter.fresh("result")
        settings, named_settings = self.interpreter.torch_nn.settings(nn_module, call.store)
        kwargs = {**named_settings, **call.kwargs}
        row = self.interpreter.context.rows[nn_module.key]
        if row.is_placed:
            where, dtype, laid = (
                self.interpreter.torch_devices.noted(
                    what, nn_module.address, call.store, call.frame
                )
                for what in ("device", "dtype", "format")
            )
            kwargs["device"] = where or NONE
            kwargs["dtype"] = dtype or self.interpreter.fresh("dtype")
            if row.is_laid:
                kwargs["weight_format"] = laid or NONE
        arguments = Arguments(
            [*settings, *call.args],
            kwargs,
            call.arguments.open,
            begun=_begun(nn_module, call.kwargs),
        )
        call = Call(arguments, call.node, call.store, call.frame)
        return self.call_operator(nn_module.key, call.args, call)

    # Functions of the program

    def call_function(self, function: FunctionValue, call: Call) -> Value:
        """Call a function of the program: by a summary of an earlier call, or by its body."""
        if self.interpreter.listeners.follow_calls:
            self._tell(function, call)

        def summarised(call: Call) -> Value:
            return self.summaries.call(
                function, call, lambda followed: self._followed(function, followed)
            )

        if not self._is_observed or self.interpreter.budget.is_program:
            return summarised(call)
        from namecheck.interpreter.evaluation import lone_batches  # only where asked for

        return lone_batches.called(self.interpreter, call, summarised)

    def _tell(self, function: FunctionValue, call: Call) -> None:
        """Tell the listeners of a call whose arguments are all written at its place."""
        interpreter, node = self.interpreter, call.node
        if not isinstance(node, ast.Call) or call.arguments.open or call.arguments.begun:
            return
        around = outside_comprehensions(call.frame).environment.scope
        is_silent = interpreter.findings.silent > 0
        source = interpreter.source
        function = handed_to(function, call)
        interpreter.listeners.entered(Entered(function, call.args, node, around, source, is_silent))

    def _followed(self, function: FunctionValue, call: Call) -> Value:
        """Run the body with these arguments, and join the results of its paths."""
        interpreter = self.interpreter
        interpreter.definitions.called.add(function.node)
        interpreter.context.ledger.meter.spend(meter.CALL + len(call.args) + len(call.kwargs))
        moment = interpreter.moment()
        environment = Environment(
            interpreter.new_address(),
            function.node,
            function.environment,
            function.cls,
            call.args[0] if call.args else None,
        )
        is_told = self._following.is_told(function, call)
        if interpreter.scope(function.node).generator and not is_told:
            bound = self._entered(function, environment, call, call.store)
            return (
                Generator(environment, function, call.node)
                if bound
                else interpreter.fresh("result")
            )
        layer = call.store.fork()
        if not self._entered(function, environment, call, layer):
            return self.interpreter.fresh("result")
        bindings = interpreter.declarations.bound(function, environment, layer)
        if self._following.enters_body(function, call, is_told=is_told):
            inner = Frame(environment, call.frame, call.node, call, function.name)
            findings, count = interpreter.findings, len(interpreter.findings.added)
            returns = self.run_body(function, layer, inner)
            if not returns:
                raise PathEnds
            if not findings.silent and len(findings.added) == count:
                findings.judged.hear(call.frame.environment.number, call.node)
            self._following.refuse_return(function)
            result = self._return(returns, environment, call.store, moment)
        else:
            self._following.refuse_return(function)
            result = self._following.unfollowed_result(function, call, is_told=is_told)
        if bindings is None and not isinstance(result, Const):
            from namecheck.interpreter.evaluation import stubs  # few results are looked up

            return stubs.result(interpreter, function, result, call)
        return interpreter.declarations.result(
            function, environment, bindings, result, call.store, is_told=is_told
        )

    def _entered(
        self, function: FunctionValue, environment: Environment, call: Call, store: Store
    ) -> bool:
        """Bind the parameters; False if they do not fit, or contradict their annotations."""
        bound = self._bind(function, environment, call, store)
        return bound and self.interpreter.declarations.enter(function, environment, call, store)

    def run_body(
        self, function: FunctionValue, layer: Store, frame: Frame
    ) -> list[tuple[Store, Value]]:
        """Run the body of a function: the store and the result of each path that leaves it."""
        interpreter = self.interpreter
        source = interpreter.context.source_of(frame.environment)
        is_elsewhere = (
            not interpreter.budget.is_program
            and source is not interpreter.source
            and not interpreter.context.files.names_dims(source)
        )
        with (
            interpreter.file.switched(source),
            interpreter.budget.limited(_STEPS_ELSEWHERE) if is_elsewhere else nullcontext(),
        ):
            if isinstance(function.node, ast.Lambda):
                value = interpreter.evaluate(function.node.body, layer, frame)
                return [(layer, value)]
            guard = guards.of_test(interpreter, function, layer)
            frame.guards += [guard] if guard is not None else []
            ends = interpreter.execute(function.node.body, [layer], frame)
            return [*frame.returns, *((end, NONE) for end in ends)]

    def leave_function(
        self,
        returns: list[tuple[Store, Value]],
        environment: Environment,
        store: Store,
        moment: Moment,
    ) -> None:
        """Write the changes of the paths through a function to the caller's store."""
        own = (
            None if environment.number in self.interpreter.context.ledger.captured else environment
        )
        cells = merges.merge(store, [end for end, _ in returns], without=own)
        roots = [value for _, value in returns] + self.interpreter.definitions.since(moment)
        store.ledger.meter.spend(4 * len(cells))
        store.absorb(moment.stretch.without_garbage(cells, roots))

    def _return(
        self,
        returns: list[tuple[Store, Value]],
        environment: Environment,
        store: Store,
        moment: Moment,
    ) -> Value:
        """Write the changes of the paths to the caller's store; the union of their results."""
        facts = [end.facts_since(store) for end, _ in returns] if len(returns) > 1 else [()]
        self.leave_function(returns, environment, store, moment)
        outcomes: list[tuple[Store, Alternative]] = []
        for (end, value), path_facts in zip(returns, facts, strict=True):
            for index, (other_end, other) in enumerate(outcomes):
                if merges.alike(other.value, other_end, value, end):
                    shared = tuple(fact for fact in other.facts if fact in path_facts)
                    either = joins.Joiner(other_end, end).value(other.value, value)
                    outcomes[index] = (other_end, Alternative(either, shared))
                    break
            else:
                outcomes.append((end, Alternative(value, path_facts)))
        choices = [choice for _, choice in outcomes]
        if any(shape_tests.is_of_kind(fact) for choice in choices for fact, _ in choice.facts):
            return joins.either_across([(end, choice.value) for end, choice in outcomes])
        return joins.union(choices, store.ledger)

    def _bind(
        self, function: FunctionValue, environment: Environment, call: Call, store: Store
    ) -> bool:
        """Write the arguments to the parameters; False if they do not fit the signature."""
        spec = function.node.args
        positional = [*spec.posonlyargs, *spec.args]
        kwargs = dict(call.kwargs)
        args = list(call.args)
        defaults = dict(
            zip(
                [p.arg for p in positional[len(positional) - len(function.defaults) :]],
                function.defaults,
                strict=True,
            )
        )
        defaults.update(function.keyword_defaults)
        for parameter in positional:
            if args:
                store.set((environment.number, parameter.arg), args.pop(0))
            elif not self._by_name(parameter.arg, kwargs, defaults, environment, call, store):
                return False
        if spec.vararg is not None:
            rest = call.arguments.items(store, len(positional))
            more = rest if isinstance(rest, Repeated) else TupleValue(rest)
            store.set((environment.number, spec.vararg.arg), more)
        elif args:
            return False
        for parameter in spec.kwonlyargs:
            if not self._by_name(parameter.arg, kwargs, defaults, environment, call, store):
                return False
        if spec.kwarg is not None:
            entries = tuple((Const(name), value) for name, value in kwargs.items())
            others = Opaque(Parameter(environment.number, spec.kwarg.arg))
            unknown = others if call.arguments.open else None
            store.set(
                (environment.number, spec.kwarg.arg),
                DictValue(self.interpreter.new_address(), Entries(entries, unknown)),
            )
            return True
        return not kwargs

    def _by_name(
        self,
        name: str,
        named_values: dict[str, Value],
        defaults: Mapping[str, Value],
        environment: Environment,
        call: Call,
        store: Store,
    ) -> bool:
        if name in named_values:
            store.set((environment.number, name), named_values.pop(name))
        elif call.arguments.open:
            store.set((environment.number, name), Opaque(Parameter(environment.number, name)))
        elif name in defaults:
            store.set((environment.number, name), defaults[name])
        else:
            return False
        return True
