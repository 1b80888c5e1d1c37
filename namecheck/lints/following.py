"""Patterns that only reading ahead can see: lints, which are no contradictions.

- A softmax whose weights are summed over another dim than the one that it normalises. It is told
  once the whole file has been run: weights that are normalised anew, before or after, are meant so.
  So are those of a softmax over the last dim that are turned round, or spelt out letter by letter:
  they assign each thing to some groups, and the groups are summed.
- A square divided by its own row sums, which broadcasting lays along the columns.

Both follow a mark on a tensor from call to call; what a mark survives is the table's, ``[flow]``.
Source: docs/semantics.md, "Findings and lints".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

from namecheck import operators
from namecheck.core.dims import Dim, Dims
from namecheck.core.findings import Finding, Place
from namecheck.core.names import UNKNOWN, Axis, Name, show_name, word
from namecheck.core.syntax import Located as Node
from namecheck.core.tensors import Tensor
from namecheck.interpreter.domain import joins
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.values import Mark, TensorValue, TupleValue, Value
from namecheck.interpreter.evaluation.interpreter import Interpreter

NORMALISED: Final = "normalised"
WEIGHTED: Final = "weighted"
REDUCED: Final = "reduced"

Operand: TypeAlias = tuple[int, TensorValue, Dims]

_KEEPING: Final = ("carries", "indexes", "bounds")
# Where the letters of a contraction stand among its arguments.
SPELT: Final = {"einsum": 0, "einops.einsum": -1}
_LETTERS: Final = re.compile(r"\.\.\.|[A-Za-z]")


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

    def operands(self) -> Iterator[Operand]:
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

    def __init__(self, interpreter: Interpreter) -> None:
        self.interpreter = interpreter
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
        flow = operators.flow().get(key) or operators.flow().get(key.removesuffix("_"))
        if flow is None:
            return result
        applied = Applied(flow, key, args, given, words, node, store)
        if flow in ("contracts", "picks", "classifies", "indexes"):
            self._check_weights(applied)
        elif flow == "divides":
            self._check_square(applied)
        elif flow == "reduces":
            self._check_product(applied)
            self._renew(applied)
        mark = self._mark(applied)
        if mark is None:
            return result
        if flow == "selects" and isinstance(result, TupleValue):
            values, *rest = result.items
            return replace(result, items=(_marked(values, mark), *rest))
        return _marked(result, mark)

    def _mark(self, applied: Applied) -> Mark | None:
        first = next(applied.operands(), None)
        if first is None:
            return None
        _, value, dims = first
        held = joins.held(value, applied.store).mark
        if applied.flow in _KEEPING:
            return held if held is None or self._keeps(held, applied) else None
        if applied.flow == "turns":
            return None if held is None else replace(held, turned=True)
        if applied.flow == "scales":
            return held if applied.is_scaled() else _product(applied)
        name = _name_at(dims, applied.dim())
        if name in (None, UNKNOWN):
            return None
        if applied.flow == "normalises":
            place = self.interpreter.place(applied.node, f"normalised over {show_name(name)} here")
            return Mark(NORMALISED, name, place, last=name == dims[-1].name)
        if applied.flow in ("reduces", "selects") and not applied.words.get("keepdim"):
            left = [other for other in dims.names if other != name and word(other) == word(name)]
            if len(left) == 1:
                place = self.interpreter.place(applied.node, f"{show_name(name)} is reduced here")
                return Mark(REDUCED, left[0], place)
        return None

    def _keeps(self, mark: Mark, applied: Applied) -> bool:
        """Whether a mark holds of what an operator gives that hardly changes a tensor."""
        if applied.flow == "bounds":
            return mark.kind == REDUCED
        return applied.flow == "carries" or _adds_dims(applied.given[1])

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
        meant = mark.last and (mark.turned or applied.operator in SPELT)
        others = [its.names for other, _, its in applied.operands() if other != place]
        if meant and _are_groups(mark, summed, others):
            return
        self._doubt_weights(applied, mark, summed)

    def _check_product(self, applied: Applied) -> None:
        """Weights that were multiplied with values, as a contraction does, are summed."""
        for _, value, dims in applied.operands():
            mark = applied.mark(value, WEIGHTED)
            name = _name_at(dims, applied.dim())
            if mark is not None and word(name) in mark.shared and _is_other(name, mark.name):
                self._doubt_weights(applied, mark, [name])

    def _doubt_weights(self, applied: Applied, mark: Mark, summed: Sequence[Name]) -> None:
        told, over = show_name(mark.name), ", ".join(map(show_name, summed))
        verb = "summed over" if applied.flow in ("contracts", "reduces") else "picked along"
        self._doubt(
            mark.place,
            applied.node,
            "NC601",
            f"Weights that a softmax normalises over dim {told} are {verb} dim {over}: "
            f"they do not add up to 1 there.",
            f"Take the softmax over dim {over}.",
        )

    def _doubt(self, mark: Place, node: Node, code: str, message: str, help: str) -> None:
        interpreter = self.interpreter
        if interpreter.findings.silent:
            return
        span = interpreter.source.span(node)
        finding = Finding(code, message, interpreter.source.filename, span, help, related=(mark,))
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
    if applied.flow in ("picks", "classifies"):
        classes = 1 if dims.rank != 1 else 0
        name = _name_at(dims, classes if applied.flow == "classifies" else applied.dim())
        return [name] if place == 0 and name is not None else []
    if applied.flow == "indexes":
        return _picked(dims, applied.given[1])
    if applied.operator in SPELT:
        return _summed_letters(applied, place, dims)
    if place == 0 or applied.operator == "nn.functional.linear":
        return [dims[-1].name]
    return [dims[-2].name if dims.rank != 1 else dims[-1].name] if place == 1 else []


def _picked(dims: Dims, index: Any) -> list[Name]:
    """The dim of a matrix from which one item is picked for each position of the other."""
    parts = index if isinstance(index, tuple) else ()
    if dims.rank != 2 or len(parts) != 2 or not all(isinstance(p, Tensor) for p in parts):
        return []
    picked = [
        dim.name for dim, part in zip(dims.prefix, parts, strict=True) if part.names != (dim.name,)
    ]
    return picked if len(picked) == 1 else []


def _summed_letters(applied: Applied, place: int, dims: Dims) -> list[Name]:
    """The same where each dim has a letter (`torch.einsum`), or a word (`einops.einsum`)."""
    told = terms(applied.operator, applied.given)
    if told is None:
        return []
    written, kept = told
    if place >= len(written):
        return []
    others = [letter for term in written[:place] + written[place + 1 :] for letter in term]
    return [
        dim.name
        for letter, dim in spelt(written[place], dims)
        if letter not in kept and letter in others
    ]


def terms(operator: str, given: Sequence[Any]) -> tuple[list[list[str]], list[str]] | None:
    """The letters, or words, of each operand of a contraction, and those of what it gives."""
    written = given[SPELT[operator]] if given else None
    if not isinstance(written, str) or "->" not in written or "(" in written:
        return None
    left, _, right = written.partition("->")
    split = str.split if operator.startswith("einops") else _LETTERS.findall
    return [split(term) for term in left.split(",")], split(right)


def spelt(term: Sequence[str], dims: Dims) -> Iterator[tuple[str, Dim]]:
    """The letters of an operand with their dims, those before and after an ellipsis."""
    if "..." not in term:
        if not dims.open and len(term) == len(dims.prefix):
            yield from zip(term, dims.prefix, strict=True)
        return
    front = term.index("...")
    back = term[front + 1 :]
    if len(back) <= dims.min_rank - front:
        yield from ((letter, dims[place]) for place, letter in enumerate(term[:front]))
        yield from ((letter, dims[n - len(back)]) for n, letter in enumerate(back))


def _product(applied: Applied) -> Mark | None:
    """The mark of weights that are multiplied with values, to be summed.

    The values have dims of their own, and not that which the weights are normalised over: what is
    weighed one by one may well be summed over another dim.
    """
    marked = [
        (mark, dims, others)
        for (_, value, dims), (_, _, others) in _pairs(list(applied.operands()))
        if (mark := applied.mark(value, NORMALISED)) is not None
    ]
    if len(marked) != 1 or applied.operator not in ("mul", "multiply"):
        return None
    mark, dims, others = marked[0]
    mine, its = ({word(name) for name in names} - {None} for names in (dims.names, others.names))
    known = dims.complete and others.complete
    if not known or mark.last or word(mark.name) in its or not its - mine:
        return None
    shared = frozenset(str(told) for told in mine & its)
    return replace(mark, kind=WEIGHTED, shared=shared)


def _pairs(operands: list[Operand]) -> list[tuple[Operand, Operand]]:
    """Two operands, either first; nothing of another number."""
    return [(operands[0], operands[1]), (operands[1], operands[0])] if len(operands) == 2 else []


def _adds_dims(index: Any) -> bool:
    """Whether an index leaves all dims as they are, and adds some of size 1 at most."""
    parts = index if isinstance(index, tuple) else (index,)
    return all(part is None or part is ... or part == slice(None) for part in parts)


def _marked(value: Value, mark: Mark) -> Value:
    if not isinstance(value, TensorValue):
        return value
    return replace(value, initial=replace(value.initial, mark=mark))


def _are_groups(mark: Mark, summed: Sequence[Name], others: Sequence[Sequence[Name]]) -> bool:
    """Whether the dim of a mark is no side of a square, and nothing that is weighed has it."""
    names = [*summed, *(name for names in others for name in names)]
    return all(word(name) != word(mark.name) for name in names)
