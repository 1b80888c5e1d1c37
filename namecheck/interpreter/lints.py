"""Patterns that only reading ahead can see: lints, which are no contradictions.

- A softmax whose weights are summed over another dim than the one that it normalises. It is told
  once the whole file has been run: weights that are normalised anew, before or after, are meant so.
- A square divided by its own row sums, which broadcasting lays along the columns.

Both follow a mark on a tensor from call to call; what a mark survives is the table's, ``[flow]``.
Source: docs/semantics.md, "Findings and lints".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from namecheck import operators
from namecheck.findings import Finding, Place
from namecheck.interpreter import joins
from namecheck.interpreter.machine import Machine
from namecheck.interpreter.objects import Mark, TensorValue, Value
from namecheck.interpreter.store import Store
from namecheck.names import UNKNOWN, Axis, Name, show_name, word
from namecheck.syntax import Located as Node
from namecheck.values import Dims, Tensor

NORMALISED = "normalised"
REDUCED = "reduced"


@dataclass(frozen=True, slots=True)
class Applied:
    """One operator that was applied: its operands with what is known of them, and where."""

    flow: str
    operator: str
    args: Sequence[Value]
    given: Sequence[Any]
    words: Mapping[str, Any]
    node: Node
    store: Store

    def operands(self) -> Iterator[tuple[int, TensorValue, Dims]]:
        """The tensors among the arguments by place, with their dims."""
        place = 0
        for value, known in zip(self.args, self.given, strict=True):
            if isinstance(value, TensorValue) and isinstance(known, Tensor):
                yield place, value, known.dims
                place += 1

    def is_scaled(self) -> bool:
        """Whether all but one of the operands are plain numbers."""
        return sum(not isinstance(known, (int, float)) for known in self.given) == 1

    def mark(self, value: TensorValue, kind: str) -> Mark | None:
        """The mark of a kind that a tensor has."""
        mark = joins.held(value, self.store).mark
        return mark if mark is not None and mark.kind == kind else None

    def dim(self) -> int | str | None:
        """The one dim that is spoken of, as it is written."""
        written = [self.words["dim"]] if "dim" in self.words else self.given
        for value in written:
            told = value[0] if isinstance(value, (list, tuple)) and len(value) == 1 else value
            if isinstance(told, str) or type(told) is int:
                return told
        return None


class Lints:
    """Sees every operator that is applied, and marks what comes of it."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self._doubtful: dict[Place, Finding] = {}
        self._renewed: set[Place] = set()

    def settle(self) -> list[Finding]:
        """What is to be told, now that all code has been run."""
        return [found for place, found in self._doubtful.items() if place not in self._renewed]

    def see(
        self,
        operator: str,
        args: Sequence[Value],
        given: Sequence[Any],
        words: Mapping[str, Any],
        result: Value,
        node: Node,
        store: Store,
    ) -> Value:
        """Judge a call, and mark its result."""
        key = operators.key_of(operator)
        flow = operators.flow().get(key)
        if flow is None:
            return result
        applied = Applied(flow, key, args, given, words, node, store)
        if flow in ("contracts", "picks"):
            self._check_weights(applied)
        elif flow == "divides":
            self._check_square(applied)
        elif flow == "reduces":
            self._renew(applied)
        mark = self._mark(applied)
        if mark is None or not isinstance(result, TensorValue):
            return result
        return replace(result, initial=replace(result.initial, mark=mark))

    def _mark(self, applied: Applied) -> Mark | None:
        first = next(applied.operands(), None)
        if first is None:
            return None
        _, value, dims = first
        alone = applied.flow == "scales" and applied.is_scaled()
        if applied.flow == "carries" or alone:
            return joins.held(value, applied.store).mark
        name = _name_at(dims, applied.dim())
        if name in (None, UNKNOWN):
            return None
        if applied.flow == "normalises":
            place = self.machine.place(applied.node, f"normalised over {show_name(name)} here")
            return Mark(NORMALISED, name, place)
        if applied.flow == "reduces" and not applied.words.get("keepdim"):
            left = [other for other in dims.names if other != name and word(other) == word(name)]
            if len(left) == 1:
                place = self.machine.place(applied.node, f"{show_name(name)} is reduced here")
                return Mark(REDUCED, left[0], place)
        return None

    def _renew(self, applied: Applied) -> None:
        """Weights whose sums are taken are normalised anew, here or by what they come to."""
        for _, value, _ in applied.operands():
            mark = applied.mark(value, NORMALISED)
            if mark is not None:
                self._renewed.add(mark.place)

    # Softmax

    def _check_weights(self, applied: Applied) -> None:
        marks = [
            (place, dims, mark)
            for place, value, dims in applied.operands()
            if (mark := applied.mark(value, NORMALISED)) is not None
        ]
        if len(marks) != 1:
            return  # of two (a step of a Markov chain) one is not contracted over its own
        place, dims, mark = marks[0]
        summed = _summed(applied, place, dims)
        if not summed or not all(_is_other(name, mark.name) for name in summed):
            return
        told, over = show_name(mark.name), ", ".join(map(show_name, summed))
        verb = "picked along" if applied.flow == "picks" else "summed over"
        self._doubt(
            mark.place,
            applied.node,
            "NC601",
            f"Weights that a softmax normalises over dim {told} are {verb} dim {over}: "
            f"they do not add up to 1 there.",
            f"Take the softmax over dim {over}.",
        )

    def _doubt(self, mark: Place, node: Node, code: str, message: str, help: str) -> None:
        machine = self.machine
        if machine.silent:
            return
        span = machine.source.span(node)
        finding = Finding(code, message, machine.source.filename, span, help, related=(mark,))
        self._doubtful.setdefault(mark, finding)

    # Squares

    def _check_square(self, applied: Applied) -> None:
        operands = list(applied.operands())
        if len(operands) != 2:
            return
        (_, _, square), (_, divisor, dims) = operands
        mark = applied.mark(divisor, REDUCED)
        if mark is None or dims.open or square.open:
            return
        for offset in range(1, len(dims.prefix) + 1):
            mine, its = dims.from_right(offset), square.from_right(offset)
            if mine is None or its is None or mine.name != mark.name:
                continue
            twice = sum(word(name) == word(mark.name) for name in square.names) == 2
            if twice and _is_other(its.name, mark.name) and word(its.name) == word(mark.name):
                self._doubt(
                    mark.place,
                    applied.node,
                    "NC602",
                    f"What is left of {square.show()} once one dim {show_name(mark.name)} is "
                    "reduced is laid along the other: rows meet columns.",
                    "Keep the dim with `keepdim=True`.",
                )


def _name_at(dims: Dims, dim: int | str | None) -> Name:
    if isinstance(dim, int):
        return dims[dim].name
    return dim if dim is not None and dim in map(word, dims.names) else None


def _is_other(name: Name, marked: Name) -> bool:
    """Whether a dim certainly is another one than that of a mark."""
    if name in (None, UNKNOWN):
        return False
    if word(name) != word(marked):
        return True
    if not isinstance(name, Axis) or not isinstance(marked, Axis):
        return False
    return min(name.occurrence, marked.occurrence) > 0 and name.occurrence != marked.occurrence


def _summed(applied: Applied, place: int, dims: Dims) -> list[Name]:
    """The names of the dims of an operand that are summed, or picked from; empty if unclear."""
    if applied.flow == "picks":
        name = _name_at(dims, applied.dim())
        return [name] if place == 0 and name is not None else []
    if applied.operator == "einsum":
        return _summed_letters(applied, place, dims)
    if place == 0:
        return [dims[-1].name]
    return [dims[-2].name if dims.rank != 1 else dims[-1].name] if place == 1 else []


def _summed_letters(applied: Applied, place: int, dims: Dims) -> list[Name]:
    equation = applied.given[0] if applied.given else None
    if not isinstance(equation, str) or "->" not in equation or "." in equation or dims.open:
        return []
    left, _, right = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    if place >= len(terms) or len(terms[place]) != len(dims.prefix):
        return []
    others = "".join(terms[:place] + terms[place + 1 :])
    return [
        dim.name
        for letter, dim in zip(terms[place], dims.prefix, strict=True)
        if letter not in right and letter in others
    ]
