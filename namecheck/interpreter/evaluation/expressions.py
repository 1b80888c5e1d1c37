"""Expressions, evaluated on abstract values."""

from __future__ import annotations

import ast
import builtins
import itertools
from collections.abc import Callable, Hashable, Sequence
from typing import Any, Final

from namecheck.core import sizes
from namecheck.core.syntax import Located as Node
from namecheck.core.tensors import Constant
from namecheck.core.trees import grouped_operands
from namecheck.interpreter.domain import identities, joins, limits, merges, opaque_tensors
from namecheck.interpreter.domain.cells import ConstantOf, Truth
from namecheck.interpreter.domain.meter import EXPRESSION
from namecheck.interpreter.domain.provenance import Negation, SizeOf, Text, Variable
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.values import (
    FALSE,
    NONE,
    TRUE,
    Alternative,
    Const,
    DictValue,
    Entries,
    Environment,
    External,
    Imported,
    Key,
    ListValue,
    Opaque,
    Operand,
    Repeated,
    SliceValue,
    TensorValue,
    TupleValue,
    Union,
    Value,
    each_of,
)
from namecheck.interpreter.evaluation import comparisons, narrowing, python_operators
from namecheck.interpreter.evaluation.comprehensions import Comprehensions
from namecheck.interpreter.evaluation.frames import Frame, PathEnds
from namecheck.interpreter.evaluation.interpreter import Interpreter

_COMBINATIONS: Final = 16
BUILTINS: Final = {name: External(f"builtins.{name}") for name in (*dir(builtins), "reveal_type")}


class Expressions:
    """Evaluates the expression nodes of the syntax tree."""

    def __init__(self, interpreter: Interpreter) -> None:
        self.interpreter = interpreter
        self._budget, self._progress = interpreter.budget, interpreter.progress
        self._recorder = interpreter.context.recorder
        self._meter = interpreter.context.ledger.meter
        comprehensions = Comprehensions(interpreter)
        self._cases: dict[type[ast.AST], Callable[[Any, Store, Frame], Value]] = {
            ast.Constant: self._constant,
            ast.Name: self._name,
            ast.Attribute: self._attribute,
            ast.Call: self._call,
            ast.BinOp: self._binary,
            ast.UnaryOp: self._unary,
            ast.Compare: self._compare,
            ast.BoolOp: self._boolean,
            ast.IfExp: self._conditional,
            ast.Subscript: self._subscript,
            ast.Slice: self._slice,
            ast.Tuple: self._tuple,
            ast.List: self._list,
            ast.Set: self._set,
            ast.Dict: self._dict,
            ast.JoinedStr: self._joined,
            ast.FormattedValue: self._formatted,
            ast.Lambda: self._lambda,
            ast.NamedExpr: self._walrus,
            ast.Starred: self._starred,
            ast.ListComp: comprehensions.evaluate,
            ast.SetComp: comprehensions.evaluate,
            ast.GeneratorExp: comprehensions.evaluate,
            ast.DictComp: comprehensions.evaluate,
            ast.Yield: self._yield,
            ast.YieldFrom: self._yield_from,
            ast.Await: self._await,
        }

    def evaluate(self, node: Node, store: Store, frame: Frame) -> Value:
        """The value of an expression."""
        case = self._cases.get(type(node))
        if case is None:
            return self.interpreter.fresh("expression")
        self._meter.spent += EXPRESSION
        if frame.caller is not None:
            self._budget.left -= 1
        result = case(node, store, frame)
        if isinstance(result, Opaque):
            if result.key.size > limits.LARGEST_KEY:
                result = limits.shortened(result, store)
            result = store.fact(ConstantOf, result.key, result)
            if isinstance(result, Opaque) and opaque_tensors.is_tensor(result, store):
                result = self.interpreter.torch.promote(result, store)
        elif result.__class__ in limits.COMPOUND and limits.is_bulky(result, store):
            result = self.interpreter.fresh("nested")
        if isinstance(result, (Opaque, Union)):
            self._progress.unknowns += 1
        if self._recorder is not None:
            self._recorder.value(node, result, store)
        return result

    def spread(
        self,
        store: Store,
        choices: Sequence[Value],
        apply: Callable[[Store, list[Value]], Value],
    ) -> Value:
        """Apply a function to each combination of alternatives that the path facts allow."""
        for value in choices:
            if isinstance(value, Union):
                break
        else:
            return apply(store, list(choices))
        combinations = itertools.product(*map(joins.alternatives, choices))
        results: list[Alternative] = []
        layers: list[Store] = []
        for combination in itertools.islice(combinations, _COMBINATIONS):
            facts = tuple(dict.fromkeys(f for choice in combination for f in choice.facts))
            if len(dict(facts)) < len(facts) or not store.allows(facts):
                continue
            self._meter.spent += EXPRESSION
            layer = store.assume(facts)
            try:
                result = apply(layer, [choice.value for choice in combination])
            except PathEnds:
                continue
            results.append(Alternative(result, facts))
            layers.append(layer)
        if not results:
            raise PathEnds
        return self._rejoined(results, layers, store)

    def _rejoined(
        self, choices: Sequence[Alternative], joined_layers: Sequence[Store], store: Store
    ) -> Value:
        """The value of an expression of which each path has a result; the paths meet here."""
        merges.rejoin(store, joined_layers)
        if len(choices) == 1:
            return joins.union(choices, store.ledger)
        from namecheck.interpreter.domain import results  # not every program has options

        return results.one_of(choices, joined_layers, store)

    # Names and constants

    def _constant(self, constant: ast.Constant, store: Store, frame: Frame) -> Value:
        self._meter.spent -= EXPRESSION - 1  # a table of constants may be long
        value = constant.value
        if isinstance(value, int) and not sizes.fits(value):
            return self.interpreter.fresh("big", "int")
        return Const(value)

    def _name(self, name_node: ast.Name, store: Store, frame: Frame) -> Value:
        value = self.lookup(name_node.id, store, frame.environment)
        if not isinstance(value, (TensorValue, Union)):
            return value
        interpreter = self.interpreter
        return interpreter.listeners.named(value, name_node.id, name_node, interpreter.source)

    def lookup(self, name: str, store: Store, environment: Environment) -> Value:
        """The value of a name in a scope; opaque where it is not bound."""
        holder = self.owner_of(name, environment)
        if holder is not None:
            value: Value | None = store.get((holder.number, name))
            if isinstance(value, (Imported, Union)):
                return self.interpreter.imports.resolve(value, store)
            if value is not None:
                return value
            if holder.enclosing is not None and not isinstance(holder.scope, ast.ClassDef):
                return Opaque(Variable(holder.number, name))
        value = self.interpreter.imports.starred(environment.module, name, store)
        if value is not None:
            return value
        builtin = BUILTINS.get(name)
        if builtin is not None:
            return builtin
        return Opaque(Variable(environment.module.number, name))

    def owner_of(self, name: str, environment: Environment) -> Environment | None:
        """The scope that a name belongs to, seen from an environment."""
        current: Environment | None = environment
        while current is not None:
            info = self.interpreter.scope(current.scope)
            visible = current is environment or not isinstance(current.scope, ast.ClassDef)
            if name in info.global_:
                return current.module
            if visible and name in info.local:
                return current
            current = current.enclosing
        return environment.module

    def _attribute(self, attribute_node: ast.Attribute, store: Store, frame: Frame) -> Value:
        interpreter, word = self.interpreter, attribute_node.attr
        receiver = self.evaluate(attribute_node.value, store, frame)
        if isinstance(receiver, Union):
            value = self.spread(
                store,
                [receiver],
                lambda layer, values: interpreter.read_attribute(
                    values[0], word, attribute_node, layer, frame, alone=False
                ),
            )
        else:
            value = interpreter.read_attribute(receiver, word, attribute_node, store, frame)
        if not isinstance(value, (TensorValue, Union)):
            return value
        return interpreter.listeners.named(value, word, attribute_node, interpreter.source)

    def _call(self, call_node: ast.Call, store: Store, frame: Frame) -> Value:
        return self.interpreter.evaluate_call(call_node, store, frame)

    # Operators

    def _binary(self, operation: ast.BinOp, store: Store, frame: Frame) -> Value:
        name, left_node, right_node = type(operation.op).__name__, operation.left, operation.right
        left = self.evaluate(left_node, store, frame)
        right = self.evaluate(right_node, store, frame)
        operands: list[Operand] = [(left_node, left), (right_node, right)]
        return python_operators.apply_to_each(
            self.interpreter, name, operation, operands, store, frame
        )

    def operate(
        self,
        operator: str,
        node: Node,
        operands: list[Operand],
        store: Store,
        frame: Frame,
    ) -> Value:
        """A Python operator, by the name of its node; on tensors it goes through the table."""
        return python_operators.apply(self.interpreter, operator, node, operands, store, frame)

    def _unary(self, unary: ast.UnaryOp, store: Store, frame: Frame) -> Value:
        operand = self.evaluate(unary.operand, store, frame)
        if isinstance(unary.op, ast.Not):
            narrowing.ask(self.interpreter, unary.operand, operand, store, frame)
            return self.spread(
                store, [operand], lambda layer, values: self.negate(values[0], layer)
            )
        return self.spread(
            store,
            [operand],
            lambda layer, values: self.operate(
                type(unary.op).__name__,
                unary,
                [(unary.operand, values[0])],
                layer,
                frame,
            ),
        )

    def negate(self, value: Value, store: Store) -> Value:
        """``not value``."""
        truth = self.truth(value, store)
        if truth is not None:
            return FALSE if truth else TRUE
        return Opaque(Negation(identities.of(value, store)), "bool")

    def _compare(self, comparison: ast.Compare, store: Store, frame: Frame) -> Value:
        from namecheck.interpreter.evaluation import comparison_chains  # few small files compare

        return comparison_chains.evaluate(self.interpreter, comparison, store, frame)

    def _boolean(self, bool_operation: ast.BoolOp, store: Store, frame: Frame) -> Value:
        stop = isinstance(bool_operation.op, ast.Or)
        results: list[Alternative] = []
        exits: list[Store] = []
        layer = store
        *operands, last_operand = grouped_operands(bool_operation)
        for operand in operands:
            with frame.choosing(is_undecided=bool(exits)):
                value = self.evaluate(operand, layer, frame)
            narrowing.ask(self.interpreter, operand, value, layer, frame)
            truth = self.truth(value, layer)
            if truth is stop:
                return self._leave(store, [*exits, layer], [*results, Alternative(value)])
            if truth is not None:
                continue
            going: list[Store] = []
            for choice, branch, outcome in narrowing.outcomes(
                self.interpreter, operand, value, layer, frame
            ):
                if outcome is stop:
                    exits.append(branch)
                    results.append(Alternative(choice, branch.facts_since(store)))
                else:
                    going.append(branch)
            if not going:
                return self._leave(store, exits, results)
            layer = merges.merged(layer, going)
        try:
            with frame.choosing(is_undecided=bool(exits)):
                value = self.evaluate(last_operand, layer, frame)
        except PathEnds:
            if not exits:
                raise
            return self._leave(store, exits, results)
        facts = () if layer is store else layer.facts_since(store)
        return self._leave(store, [*exits, layer], [*results, Alternative(value, facts)])

    def _leave(self, store: Store, exits: list[Store], results: list[Alternative]) -> Value:
        if exits != [store]:
            merges.rejoin(store, exits)
        return joins.union(results, store.ledger)

    def _conditional(self, conditional: ast.IfExp, store: Store, frame: Frame) -> Value:
        holds, fails = narrowing.decide(self.interpreter, conditional.test, store, frame)
        results: list[Alternative] = []
        layers: list[Store] = []
        for branch, entries in ((conditional.body, holds), (conditional.orelse, fails)):
            for layer in entries:
                if layer is store:
                    return self.evaluate_whole(branch, store, frame)
                try:
                    with frame.choosing(is_undecided=bool(holds) and bool(fails)):
                        value = self.evaluate_whole(branch, layer, frame)
                except PathEnds:
                    continue
                results.append(Alternative(value, layer.facts_since(store)))
                layers.append(layer)
        if not results:
            raise PathEnds
        return self._rejoined(results, layers, store)

    def evaluate_whole(self, expression: ast.expr, store: Store, frame: Frame) -> Value:
        """The value of an expression that is run as a whole: the sizes that it reads are read."""
        if self.interpreter.context.evidence.is_observed:
            from namecheck.interpreter.evaluation import observed_axes  # only where asked for

            observed_axes.observe_inline(self.interpreter, expression, store, frame)
        return self.evaluate(expression, store, frame)

    def truth(self, value: Value, store: Store) -> bool | None:
        """Whether a value is true; None where that is unknown."""
        if isinstance(value, Const):
            return bool(value.value)
        if isinstance(value, Opaque):
            provenance = value.key.provenance
            if isinstance(provenance, SizeOf) and sizes.same(provenance.size, 0) is False:
                return True
            return self._assumed(value.key, store)
        if isinstance(value, TupleValue):
            return bool(value.items)
        if isinstance(value, ListValue):
            content = joins.items(value, store)
            return (
                None if isinstance(content, Repeated) or value.kind == "iterator" else bool(content)
            )
        if isinstance(value, DictValue):
            content_ = joins.entries(value, store)
            return True if content_.items else None if content_.rest is not None else False
        if isinstance(value, Union):
            truths = {
                self.truth(c.value, store) for c in value.alternatives if store.allows(c.facts)
            }
            return truths.pop() if len(truths) == 1 else None
        if isinstance(value, (TensorValue, Repeated)):
            return self._assumed(identities.of(value, store), store)
        return self.interpreter.attribute_truth(value, store)

    def _assumed(self, key: Hashable, store: Store) -> bool | None:
        if isinstance(key, Key) and isinstance(key.provenance, Negation):
            inner = self._assumed(key.provenance.value, store)
            return None if inner is None else not inner
        if not store.may_assume(key):
            return None
        constant: Const | None = store.get(ConstantOf(key))
        if isinstance(constant, Const):
            return bool(constant.value)
        fact: bool | None = store.get(Truth(key))
        return fact

    # Subscripts

    def _subscript(self, subscript: ast.Subscript, store: Store, frame: Frame) -> Value:
        receiver = self.evaluate(subscript.value, store, frame)
        index = self.evaluate(subscript.slice, store, frame)
        if receiver == NONE and self._is_own(subscript.value, frame.environment):
            self.interpreter.fail("TypeError")  # the paths that continue have another value there
        if not isinstance(receiver, Union) and not isinstance(index, Union):
            return self.interpreter.read_item(receiver, index, subscript, store, frame)
        return self.spread(
            store,
            [receiver, index],
            lambda layer, values: self.interpreter.read_item(
                values[0], values[1], subscript, layer, frame
            ),
        )

    def _is_own(self, expression: ast.expr, environment: Environment) -> bool:
        """Whether an expression is a local variable of a function, which no other code can bind."""
        function = isinstance(environment.scope, (ast.FunctionDef, ast.AsyncFunctionDef))
        return (
            function
            and isinstance(expression, ast.Name)
            and self.owner_of(expression.id, environment) is environment
        )

    def _slice(self, slice_node: ast.Slice, store: Store, frame: Frame) -> Value:
        lower, upper, step = (
            NONE if part is None else self.evaluate(part, store, frame)
            for part in (slice_node.lower, slice_node.upper, slice_node.step)
        )
        slice_value = SliceValue(lower, upper, step)
        if not self.interpreter.context.evidence.is_observed:
            return slice_value
        from namecheck.interpreter.evaluation import lone_items  # only where asked for

        return lone_items.bounded(slice_node, slice_value)

    # Displays

    def _elements(
        self, nodes: Sequence[ast.expr], store: Store, frame: Frame
    ) -> tuple[Value, ...] | Repeated:
        """The items of a display; their number is unknown if it stars an unknown value."""
        values: list[Value] = []
        unknown = starred = False
        for node in nodes:
            if isinstance(node, ast.Starred):
                starred = True
                content = self.interpreter.iterate(
                    self.evaluate(node.value, store, frame), node, store, frame
                )
                unknown |= isinstance(content, Repeated)
                values.extend(each_of(content))
            else:
                values.append(self.evaluate(node, store, frame))
        if not unknown:
            return limits.gathered(values, store) if starred else tuple(values)
        return Repeated(joins.either(values, store))

    def _tuple(self, tuple_node: ast.Tuple, store: Store, frame: Frame) -> Value:
        content = self._elements(tuple_node.elts, store, frame)
        if isinstance(content, Repeated):
            return content
        return TupleValue(content)

    def _list(self, list_node: ast.List, store: Store, frame: Frame) -> Value:
        return ListValue(
            self.interpreter.new_address(), self._elements(list_node.elts, store, frame)
        )

    def _set(self, set_node: ast.Set, store: Store, frame: Frame) -> Value:
        content = self._elements(set_node.elts, store, frame)
        if not isinstance(content, Repeated):
            content = comparisons.distinct(content, store)
        return ListValue(self.interpreter.new_address(), content, "set")

    def _dict(self, dict_node: ast.Dict, store: Store, frame: Frame) -> Value:
        items: dict[Value, Value] = {}
        rest: Value | None = None
        for key_node, value_node in zip(dict_node.keys, dict_node.values, strict=True):
            value = self.evaluate(value_node, store, frame)
            if key_node is None:
                content = Entries((), self.interpreter.fresh("unpacked"))
                if isinstance(value, DictValue):
                    content = joins.entries(value, store)
                items = joins.overlaid(items, content, store)
                rest = content.rest or rest
                continue
            items[self.evaluate(key_node, store, frame)] = value
        return DictValue(self.interpreter.new_address(), Entries(tuple(items.items()), rest))

    def _joined(self, joined_text: ast.JoinedStr, store: Store, frame: Frame) -> Value:
        parts = [self.evaluate(part, store, frame) for part in joined_text.values]
        if all(isinstance(part, Const) for part in parts):
            texts = [str(part.value) for part in parts if isinstance(part, Const)]
            if limits.is_long(sum(map(len, texts)), store):
                return self.interpreter.fresh("formatted", "str")
            return Const("".join(texts))
        return Opaque(Text(tuple(identities.of(part, store) for part in parts)), "str")

    def _formatted(self, formatted: ast.FormattedValue, store: Store, frame: Frame) -> Value:
        value = self.evaluate(formatted.value, store, frame)
        spec = (
            NONE
            if formatted.format_spec is None
            else self.evaluate(formatted.format_spec, store, frame)
        )
        if (
            isinstance(value, Const)
            and spec == NONE
            and isinstance(value.value, (str, int, Constant))
        ):
            if formatted.conversion == ord("r"):
                return Const(repr(value.value))
            return Const(str(value.value))
        if spec == NONE and isinstance(value, Opaque) and value.kind == "int":
            from namecheck.interpreter.domain import texts  # names that loops compute

            return texts.part_of(value, store)
        return self.interpreter.fresh("formatted", "str")

    def _starred(self, starred: ast.Starred, store: Store, frame: Frame) -> Value:
        self.evaluate(starred.value, store, frame)
        return self.interpreter.fresh("starred")

    def _lambda(self, lambda_node: ast.Lambda, store: Store, frame: Frame) -> Value:
        return self.interpreter.define_function(lambda_node, store, frame)

    def _walrus(self, walrus: ast.NamedExpr, store: Store, frame: Frame) -> Value:
        value = self.evaluate(walrus.value, store, frame)
        self.interpreter.bind(walrus.target, value, store, frame)
        return value

    def _await(self, await_node: ast.Await, store: Store, frame: Frame) -> Value:
        return self.evaluate(await_node.value, store, frame)

    def _yield(self, yield_node: ast.Yield, store: Store, frame: Frame) -> Value:
        # A path that leaves the generator here has a layer that is not written to any more.
        base = store.copied()
        ends = self.yielded(yield_node, base, frame)
        merges.rejoin(base, ends)
        store.absorb(base.cells)
        return self.interpreter.fresh("sent")

    def yielded(self, yield_node: ast.Yield, store: Store, frame: Frame) -> list[Store]:
        """Yield an item: the paths on which the next item is requested."""
        item = NONE if yield_node.value is None else self.evaluate(yield_node.value, store, frame)
        ends = [store] if frame.on_yield is None else frame.on_yield(item, store.fork())
        if not ends:
            self.interpreter.fail("GeneratorExit")
        return ends

    def _yield_from(self, yield_node: ast.YieldFrom, store: Store, frame: Frame) -> Value:
        """``yield from``: a loop that yields each item; the value is a generator's return value."""
        value = self.evaluate(yield_node.value, store, frame)
        generator = self.interpreter.unasked_generator(value, yield_node, store, frame)
        each = frame.on_yield
        base = store.copied()
        returns = None
        if generator is not None and each is not None:
            returns = self.interpreter.generators.run(generator, each, yield_node, base, frame)
        if returns is None:
            loop, variable = self.interpreter.generators.loop_of(yield_node)
            self.interpreter.bind_name(variable, value, base, frame.environment)
            ends = self.interpreter.execute([loop], [base.fork()], frame)
            returns = [(end, NONE) for end in ends]
        if not returns:
            raise PathEnds
        merges.rejoin(base, [end for end, _ in returns])
        store.absorb(base.cells)
        return joins.either([value for _, value in returns], store)

    # Iteration

    def iterate_any(
        self,
        value: Value,
        node: Node,
        store: Store,
        frame: Frame,
        *,
        whole: bool = True,
    ) -> tuple[Value, ...] | Repeated:
        """The items of a value that may be one of several."""
        whole = whole and not isinstance(value, Union)
        choices = [
            self.interpreter.iterate(choice.value, node, store, frame, whole=whole)
            for choice in joins.alternatives(value)
            if choice.value != NONE and store.allows(choice.facts)
        ]
        if len(choices) == 1:
            return choices[0]
        every = [item for content in choices for item in each_of(content)]
        return Repeated(joins.either(every, store))
