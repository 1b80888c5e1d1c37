"""The origins of names: the places that findings point at besides the call."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping

from namecheck.core import names as naming
from namecheck.core.findings import Place, Span
from namecheck.core.syntax import Located as Node
from namecheck.core.tensors import Tensor
from namecheck.core.trees import nodes
from namecheck.interpreter.domain import joins
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.values import ListValue, Repeated, TensorValue, TupleValue, Value
from namecheck.interpreter.evaluation.interpreter import Interpreter


def gather(operand_values: Iterable[Value], store: Store) -> dict[str, Place]:
    """The origins of the operands' names, the first operand's first."""
    place_of_name: dict[str, Place] = {}
    _gather(operand_values, store, place_of_name, set())
    return place_of_name


def _gather(
    operand_values: Iterable[Value],
    store: Store,
    place_of_name: dict[str, Place],
    visited_lists: set[ListValue],
) -> None:
    """Add the origins of values; a list that is in `visited_lists` has been looked at."""
    for value in operand_values:
        if isinstance(value, TensorValue):
            for name, place in joins.held(value, store).origins.items():
                place_of_name.setdefault(name, place)
        elif isinstance(value, TupleValue):
            _gather(value.items, store, place_of_name, visited_lists)
        elif isinstance(value, ListValue) and value not in visited_lists:
            visited_lists.add(value)
            content = joins.items(value, store)
            if not isinstance(content, Repeated):
                _gather(content, store, place_of_name, visited_lists)


def trace(
    interpreter: Interpreter, tensor: Tensor, before: Mapping[str, Place], node: Node
) -> dict[str, Place]:
    """The origin of each name of a result: an operand's origin, or this call."""
    traced: dict[str, Place] = {}
    literals: dict[object, Node] | None = None
    for name in tensor.names:
        word = naming.word(name)
        if word is None:
            continue
        place = before.get(word)
        if place is None:
            if literals is None:
                literals = _literals(node)
            place = interpreter.place(literals.get(word, node), "named here")
        traced[word] = place
    return traced


def of_names(
    dim_labels: Iterable[str], operand_values: Iterable[Value], store: Store
) -> tuple[Place, ...]:
    """The origins of the names that a contradiction is about, one place for each span.

    A name that was not found has no origin: then all names of the operands count.
    """
    place_of_name = gather(operand_values, store)
    named = [label for label in dict.fromkeys(dim_labels) if label in place_of_name] or list(
        place_of_name
    )
    together: dict[tuple[str, Span], list[str]] = {}
    for label in named:
        together.setdefault((place_of_name[label].filename, place_of_name[label].span), []).append(
            label
        )
    places = []
    for (filename, span), words in together.items():
        listed = ", ".join(f"'{word}'" for word in words)
        verb = "is" if len(words) == 1 else "are"
        places.append(Place(filename, span, f"{listed} {verb} {place_of_name[words[0]].message}"))
    return tuple(places)


def _literals(node: Node) -> dict[object, Node]:
    """The first place of each string in a call, outer ones first; not those of its receiver."""
    every = nodes(node)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        every = nodes(*node.args, *node.keywords)
    literals: dict[object, Node] = {}
    for inner in every:
        if isinstance(inner, ast.Constant) and isinstance(inner.value, str):
            literals.setdefault(inner.value, inner)
    return literals
