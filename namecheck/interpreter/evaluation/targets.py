"""Targets of assignments: names, attributes, subscripts, and tuples of them."""

from __future__ import annotations

import ast

from namecheck.core.dataclasses import replace
from namecheck.core.syntax import Located as Node
from namecheck.interpreter.domain import joins
from namecheck.interpreter.domain.provenance import OperatorResult, UnmeantTensor
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.values import (
    Const,
    Environment,
    ListValue,
    Opaque,
    Repeated,
    TensorValue,
    TupleValue,
    Union,
    Value,
)
from namecheck.interpreter.evaluation.frames import Frame
from namecheck.interpreter.evaluation.interpreter import Interpreter


class Targets:
    """Binds values to targets."""

    def __init__(self, interpreter: Interpreter) -> None:
        self.interpreter = interpreter
        # The variables that are declared anywhere without a value.
        self._declared: set[str] = set()

    def bind(self, target_node: Node, value: Value, store: Store, frame: Frame) -> None:
        """Assign a value to a target."""
        if isinstance(target_node, ast.Name):
            if target_node.id in self._declared:
                value = self._as_declared(target_node, value, store, frame)
            self.bind_name(target_node.id, value, store, frame.environment)
        elif isinstance(target_node, ast.Attribute):
            receiver = self.interpreter.evaluate(target_node.value, store, frame)
            self.interpreter.write_attribute(
                receiver, target_node.attr, value, target_node, store, frame
            )
        elif isinstance(target_node, ast.Subscript):
            receiver = self.interpreter.evaluate(target_node.value, store, frame)
            index = self.interpreter.evaluate(target_node.slice, store, frame)
            self.interpreter.write_item(receiver, index, value, target_node, store, frame)
        elif isinstance(target_node, ast.Starred):
            self.bind(target_node.value, value, store, frame)
        elif isinstance(target_node, (ast.Tuple, ast.List)):
            self._unpack(target_node, value, store, frame)

    def declare(self, assignment: ast.AnnAssign, store: Store, frame: Frame) -> None:
        """``x: Float[Tensor, "n"]`` declares each value that the variable is given later."""
        target_node, environment = assignment.target, frame.environment
        is_field = isinstance(environment.scope, ast.ClassDef)
        if isinstance(target_node, ast.Name) and not is_field:
            self._declared.add(target_node.id)
            key = environment.number, _annotation_of(target_node.id)
            store.set(key, Const(assignment.annotation))

    def _as_declared(
        self, target_node: ast.Name, value: Value, store: Store, frame: Frame
    ) -> Value:
        """The value of a variable that was declared before, without a value."""
        cell: Value | None = store.get((frame.environment.number, _annotation_of(target_node.id)))
        if not isinstance(cell, Const):
            return value
        assignment = ast.AnnAssign(target_node, cell.value, target_node, 1)
        return self.interpreter.declarations.assigned(assignment, value, store, frame)

    def bind_name(self, name: str, value: Value, store: Store, environment: Environment) -> None:
        """Assign a value to a variable of the scope that it belongs to."""
        owner = self.interpreter.owner_of(name, environment) or environment
        store.set((owner.number, name), value)

    def _unpack(
        self, target_nodes: ast.Tuple | ast.List, value: Value, store: Store, frame: Frame
    ) -> None:
        if isinstance(value, Opaque) and isinstance(value.key.provenance, OperatorResult):
            from namecheck.interpreter.evaluation import unpacking  # few shapes have no known rank

            value = unpacking.ranked(self.interpreter, value, target_nodes, store, frame)
        elif isinstance(value, Opaque) and self.interpreter.context.evidence.is_observed:
            from namecheck.interpreter.evaluation import unpacking  # only where asked for

            value = unpacking.itemised(value, target_nodes)
        content = self.interpreter.iterate(value, target_nodes, store, frame)
        star = next(
            (i for i, t in enumerate(target_nodes.elts) if isinstance(t, ast.Starred)), None
        )
        count = len(target_nodes.elts)
        if isinstance(content, Repeated):
            if isinstance(value, TensorValue) and isinstance(content.each, TensorValue):
                content = Repeated(self._likely_row(content.each, store))
            for element in target_nodes.elts:
                each: Value = ListValue(self.interpreter.new_address(), content)
                if not isinstance(element, ast.Starred):
                    each = joins.pick(content, self.interpreter.new_address(), store)
                self.bind(element, each, store, frame)
            return
        if len(content) < count - 1 if star is not None else len(content) != count:
            from namecheck.interpreter.evaluation import unpacking  # rarely so

            if not unpacking.refuse_count(self.interpreter, value, target_nodes, store, frame):
                self.interpreter.fail("ValueError")
            for element in target_nodes.elts:
                self.bind(element, self.interpreter.failed(), store, frame)
            return
        if star is None:
            for element, item in zip(target_nodes.elts, content, strict=True):
                self.bind(element, item, store, frame)
            return
        after = count - star - 1
        middle = content[star : len(content) - after]
        pieces: list[Value] = [
            *content[:star],
            ListValue(self.interpreter.new_address(), middle),
            *content[len(content) - after :],
        ]
        for element, item in zip(target_nodes.elts, pieces, strict=True):
            self.bind(element, item, store, frame)

    def _likely_row(self, tensor_value: TensorValue, store: Store) -> TensorValue:
        """A row of a tensor that is unpacked, and whose first dim has an unknown size.

        The number of rows is certain to whoever wrote this; more often than not the value is
        another one here, a tuple on the path that is meant. So the dims of a row are likely.
        """
        tensor = joins.held(tensor_value, store).tensor
        return self.interpreter.torch.tensor(tensor.of_any_dims(tensor.likeliest))


def unpackable(union: Union, store: Store) -> Union:
    """The alternatives that an unpacking is meant for: tuples, where there are some.

    A function that returns a tensor or a tuple of tensors is unpacked by callers that know which:
    beside a tuple, the rows of a tensor are unknown, and nothing is certain where they are tested.
    """
    choices = [choice for choice in union.alternatives if store.allows(choice.facts)]
    if not any(isinstance(choice.value, TupleValue) for choice in choices):
        return union
    return Union(
        tuple(
            replace(choice, value=Opaque(UnmeantTensor(store.ledger.new())))
            if isinstance(choice.value, TensorValue)
            else choice
            for choice in choices
        )
    )


def _annotation_of(name: str) -> str:
    """The cell of a variable's annotation beside the variables: no variable has such a name."""
    return f"annotation {name}"
