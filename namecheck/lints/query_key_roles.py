"""A lint that reads the author's words: what is of the keys is laid along the queries.

Where both dims of the scores of attention have one name, their occurrences tell which came from
which operand of the product, and the words of the code tell which operand is of the queries and
which of the keys: ``q @ k.mT``. A vector that is called after one of the two belongs to the dim
that came from it. Nothing is told where the words say both, or nothing.
Source: docs/semantics.md, "Findings and lints".
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Final, TypeAlias

from namecheck import operators
from namecheck.core.dims import Dims
from namecheck.core.findings import Finding, Place
from namecheck.core.names import Axis, Name, show_name, word
from namecheck.core.syntax import Located as Node
from namecheck.core.tensors import Tensor
from namecheck.interpreter.domain import joins
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.values import Scores, Spoken, TensorValue, Union, Value
from namecheck.interpreter.evaluation.interpreter import Interpreter
from namecheck.lints.following import SPELT, spelt, terms

_WORDS: Final = {
    **dict.fromkeys(("q", "query", "queries"), "queries"),
    **dict.fromkeys(("k", "key", "keys"), "keys"),
}
# In "top_k" it is a number.
_NUMBERED: Final = "top"
_MEETING: Final = ("scales", "divides", "meets")


@dataclass(frozen=True, slots=True)
class _Part:
    """A tensor that an operator was given: its dims, and which side it is said to be of."""

    dims: Dims
    side: Spoken | Scores | None


_Meeting: TypeAlias = tuple[Scores, Dims, Spoken, Dims]


class Sides:
    """Sees every operator that is applied, and follows which tensor is of which side."""

    def __init__(self, interpreter: Interpreter) -> None:
        self.interpreter = interpreter
        self._doubtful: dict[tuple[Place, str], Finding] = {}
        self._right: set[tuple[Place, str]] = set()

    def settle(self) -> list[Finding]:
        """What is to be told: a vector that is laid along both dims of the scores is meant so."""
        return [found for key, found in self._doubtful.items() if key not in self._right]

    def see(
        self,
        operator: str,
        args: Sequence[Value],
        given: Sequence[Any],
        result: Value,
        node: Node,
        store: Store,
    ) -> Value:
        """Judge a call, and keep of what side its result is."""
        parts = list(_parts(args, given))
        if not any(part.side for part in parts) or not isinstance(result, TensorValue):
            return result
        key = operators.key_of(operator).removesuffix("_")
        flow = operators.flow().get(operators.key_of(operator), operators.flow().get(key))
        side = self._side(flow, key, parts, given, joins.held(result, store).tensor.dims, node)
        if flow in _MEETING:
            for meeting in _meetings(parts):
                self._judge(*meeting, node)
        return replace(result, side=side)

    def named(self, value: Value, called: str, node: Node) -> Value:
        """A value that the code calls so at a node: it is of the sides that the name speaks of."""
        told = sides_of(called)
        if not told:
            return value
        if isinstance(value, Union):
            return Union(
                tuple(
                    replace(choice, value=self.named(choice.value, called, node))
                    for choice in value.alternatives
                )
            )
        if not isinstance(value, TensorValue) or isinstance(value.side, Scores):
            return value
        if value.side is not None:
            return replace(value, side=replace(value.side, sides=value.side.sides | told))
        place = self.interpreter.place(node, f"'{called}' is of the {' and '.join(sorted(told))}")
        return replace(value, side=Spoken(told, called, place))

    def _side(
        self,
        flow: str | None,
        operator: str,
        parts: Sequence[_Part],
        given: Sequence[Any],
        dims: Dims,
        node: Node,
    ) -> Spoken | Scores | None:
        if flow == "contracts":
            return self._product(operator, parts, given, dims, node)
        scores = [part.side for part in parts if isinstance(part.side, Scores)]
        if scores:
            alone = len(parts) == 1 or (len(scores) == 1 and flow in _MEETING)
            return scores[0] if alone else None
        lone = [part.side for part in parts if part.dims.rank != 0]
        return lone[0] if len(lone) == 1 else None

    def _product(
        self,
        operator: str,
        parts: Sequence[_Part],
        given: Sequence[Any],
        dims: Dims,
        node: Node,
    ) -> Scores | None:
        """The scores that the product of queries and keys gives, if it is square by name."""
        sides = [part.side for part in parts]
        spoken = [side for side in sides if isinstance(side, Spoken) and len(side.sides) == 1]
        if len(sides) != 2 or len(spoken) != 2 or spoken[0].sides == spoken[1].sides:
            return None
        axes = _square(operator, given, dims)
        if axes is None:
            return None
        called = {side: told.called for told in spoken for side in told.sides}
        told = {side: axis for said, axis in zip(spoken, axes, strict=True) for side in said.sides}
        words = " and ".join(f"'{said.called}'" for said in spoken)
        place = self.interpreter.place(
            node, f"the dims {show_name(axes[0])} come from {words}, in turn"
        )
        return Scores(told["queries"], told["keys"], called["queries"], called["keys"], place)

    def _judge(
        self, scores: Scores, square: Dims, spoken: Spoken, vector: Dims, node: Node
    ) -> None:
        interpreter = self.interpreter
        of_keys = spoken.sides == {"keys"}
        mine, other = (scores.keys, scores.queries) if of_keys else (scores.queries, scores.keys)
        laid = _laid(mine, other, square, vector)
        key = scores.place, spoken.called
        if laid == mine:
            self._right.add(key)
        if laid != other or interpreter.findings.silent:
            return
        names = scores.called_queries, scores.called_keys
        its, wrong = names[of_keys], names[not of_keys]
        side, against = ("keys", "queries") if of_keys else ("queries", "keys")
        offset = square.names[::-1].index(mine) + 1
        finding = Finding(
            "NC603",
            f"'{spoken.called}' is of the {side}, but laid along the {against}: of the two dims "
            f"{show_name(mine)} of {square.show()} it meets the one that came from '{wrong}'.",
            interpreter.source.filename,
            interpreter.source.span(node),
            f"Lay it along dim -{offset}, which came from '{its}'.",
            related=(spoken.place, scores.place),
        )
        self._doubtful.setdefault(key, finding)


@cache
def sides_of(called: str) -> frozenset[str]:
    """Of which sides an identifier speaks: ``key_pad`` of the keys, ``qk_scale`` of neither."""
    words = called.lower().split("_")
    before = ["", *words]
    told = (_WORDS.get(one) for one, last in zip(words, before, strict=False) if last != _NUMBERED)
    return frozenset(side for side in told if side is not None)


def _parts(args: Sequence[Value], given: Sequence[Any]) -> Iterator[_Part]:
    for value, known in zip(args, given, strict=True):
        if isinstance(value, TensorValue) and isinstance(known, Tensor):
            yield _Part(known.dims, value.side)


def _square(operator: str, given: Sequence[Any], dims: Dims) -> tuple[Axis, Axis] | None:
    """The two dims of one name that a product has from its first operand, and its second.

    None where it is not certain that they are the two, or that nothing else has their name.
    """
    if not dims.complete or len(dims.prefix) < 2:
        return None
    pairs = [(dims[-2].name, dims[-1].name)]
    if operator in SPELT:
        pairs = _from_each(operator, given, dims)
    for rows, columns in pairs:
        if isinstance(rows, Axis) and isinstance(columns, Axis) and rows.name == columns.name:
            told = 0 < rows.occurrence != columns.occurrence > 0
            twice = sum(word(name) == rows.name for name in dims.names) == 2
            return (rows, columns) if told and twice else None
    return None


def _from_each(operator: str, given: Sequence[Any], dims: Dims) -> list[tuple[Name, Name]]:
    """The dims of two operands that are spelt out, each of which only the one of them has."""
    told = terms(operator, given)
    if told is None or len(told[0]) != 2:
        return []
    (first, second), kept = told
    rows, columns = (
        [dim.name for letter, dim in spelt(kept, dims) if letter in one and letter not in other]
        for one, other in ((first, second), (second, first))
    )
    return list(itertools.product(rows, columns))


def _meetings(parts: Sequence[_Part]) -> Iterator[_Meeting]:
    """Scores and what is said to be of one side, where an operator was given both."""
    for one in parts:
        for other in parts:
            if isinstance(one.side, Scores) and isinstance(other.side, Spoken):
                yield one.side, one.dims, other.side, other.dims


def _laid(mine: Axis, other: Axis, square: Dims, vector: Dims) -> Axis | None:
    """The one of the two dims of the scores that a vector is laid along, if it is just one."""
    if not vector.complete or not square.complete:
        return None
    if sum(word(name) == mine.name for name in vector.names) != 1:
        return None
    for offset, dim in enumerate(reversed(square.prefix), start=1):
        its = vector.from_right(offset)
        if its is None or its.name != Axis(mine.name) or its.size == 1:
            continue
        against = next((axis for axis in (mine, other) if axis == dim.name), None)
        left = other if against == mine else mine
        offsets = [n for n, name in enumerate(reversed(square.names), start=1) if name == left]
        broadcast = [vector.from_right(n) for n in offsets]
        alone = all(dim is None or dim.size == 1 for dim in broadcast) and len(broadcast) == 1
        return against if alone else None
    return None
