"""Which sizes an assignment reads of which tensor: ``B, T, C = x.shape``, ``n = x.size(0)``."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TypeAlias

from namecheck.core.dataclasses import dataclass, replace
from namecheck.core.trees import nodes

Subject: TypeAlias = ast.Name | ast.Attribute | ast.Subscript


@dataclass(frozen=True, slots=True)
class Reading:
    """The sizes that are read of one tensor at once.

    `variables` are given with the positions of their dims, from the left, or from the right if
    they are negative. `rank` is the rank that the reading proves, `least` the lowest possible one.
    The subject is the tensor, or (`of_shape`) a variable that may have the shape of one.
    """

    subject: Subject
    variables: tuple[tuple[int, ast.Name], ...]
    rank: int | None
    least: int
    of_shape: bool = False

    @property
    def shape(self) -> str:
        """The source text of the shape."""
        text = ast.unparse(self.subject)
        return text if self.of_shape else f"{text}.shape"


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the shape of a tensor: ``x.shape[first:end]``; a single size where it is one."""

    subject: Subject
    first: int
    end: int | None
    is_single: bool = False


def part_of(expression: ast.expr) -> Part | None:
    """The part of a shape that an expression reads: ``x.shape``, ``x.shape[1:]``, ``x.size(0)``."""
    subject = _subject(expression)
    if subject is not None:
        return Part(subject, 0, None)
    cut = _cut(expression)
    if cut is not None:
        subject, first, end = cut
        return Part(subject, first, end)
    reading = _single(ast.Name(""), expression)
    if reading is None:
        return None
    place = reading.variables[0][0]
    return Part(reading.subject, place, place + 1 or None, is_single=True)


def readings(lvalue: ast.expr, expression: ast.expr) -> Iterator[Reading]:
    """The sizes that ``lvalue = expression`` reads."""
    if isinstance(lvalue, (ast.Tuple, ast.List)):
        if isinstance(expression, (ast.Tuple, ast.List)):
            yield from _joined(_of_parts(lvalue.elts, expression.elts))
            return
        reading = _unpacking(lvalue.elts, expression)
    elif isinstance(lvalue, ast.Name):
        reading = (
            _whole(lvalue, expression) or _single(lvalue, expression) or _item(lvalue, expression)
        )
    else:
        return
    if reading is not None:
        yield reading


@lru_cache(maxsize=4096)
def subjects(definition: ast.AST) -> frozenset[str]:
    """The tensors of which a function has variables for sizes, as texts."""
    assignments = [node for node in nodes(definition) if isinstance(node, ast.Assign)]
    return frozenset(
        ast.unparse(reading.subject)
        for assignment in assignments
        for reading in readings(assignment.targets[0], assignment.value)
        if reading.variables
    )


@lru_cache(maxsize=4096)
def inline(expression: ast.expr) -> tuple[Reading, ...]:
    """The sizes that an expression certainly reads, without a variable: ``x.view(x.size(0), -1)``.

    Each branch of a conditional expression is an expression of its own.
    """
    singles: list[Reading] = []
    for node in evaluated(expression):
        if isinstance(node, (ast.Subscript, ast.Call)):
            word = ast.copy_location(ast.Name(""), node)
            reading = _single(word, node)
            if reading is not None and isinstance(reading.subject, ast.Name):
                word.id = f"{reading.subject.id}.shape[{reading.variables[0][0]}]"
                singles.append(reading)
    return tuple(singles)


def evaluated(expression: ast.expr) -> Iterator[ast.AST]:
    """The parts of an expression that are evaluated whenever it is, and the expression itself."""
    waiting: list[ast.AST] = [expression]
    while waiting:
        node = waiting.pop()
        yield node
        match node:
            case ast.IfExp(test):
                waiting.append(test)
            case ast.BoolOp(_, [first, *_]):
                waiting.append(first)
            case ast.Compare(left, _, [first, *_]):
                waiting += first, left
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
                waiting.append(node.generators[0].iter)
            case ast.Lambda():
                pass
            case _:
                waiting += reversed(list(ast.iter_child_nodes(node)))


def all_sizes(subject: Subject, rank: int) -> Reading:
    """The reading of all sizes of a tensor of known rank, without variables."""
    text = ast.unparse(subject)
    variables = [
        (index, ast.copy_location(ast.Name(f"{text}.shape[{index}]"), subject))
        for index in range(rank)
    ]
    return Reading(subject, tuple(variables), None, rank)


def chosen(lvalue: ast.expr, expression: ast.expr) -> tuple[ast.Name, ...]:
    """The variables for the sizes of one of two tensors: ``x.shape if y is None else y.shape``."""
    if not isinstance(expression, ast.IfExp) or not isinstance(lvalue, (ast.Tuple, ast.List)):
        return ()
    if _subject(expression.body) is None or _subject(expression.orelse) is None:
        return ()
    variables = tuple(node for node in lvalue.elts if isinstance(node, ast.Name))
    return variables if len(variables) == len(lvalue.elts) else ()


def _joined(several: Sequence[Reading]) -> Iterator[Reading]:
    """Readings of single sizes of one tensor as one: ``b, c = x.shape[0], x.shape[1]``."""
    by_subject: dict[str, Reading] = {}
    for reading in several:
        if reading.rank is not None or len(reading.variables) != 1:
            yield reading
            continue
        key = reading.shape
        earlier = by_subject.get(key)
        variables = (
            reading.variables if earlier is None else (*earlier.variables, *reading.variables)
        )
        least = reading.least if earlier is None else max(earlier.least, reading.least)
        by_subject[key] = replace(reading, variables=variables, least=least)
    yield from by_subject.values()


def _of_parts(target_nodes: Sequence[ast.expr], source_nodes: Sequence[ast.expr]) -> list[Reading]:
    """``(b, c), n = x.shape, len(y)``, and ``b, n, _, h = *x.shape, self.heads``."""
    if any(isinstance(node, ast.Starred) for node in target_nodes):
        return []
    stars = [index for index, part in enumerate(source_nodes) if isinstance(part, ast.Starred)]
    more = len(target_nodes) - len(source_nodes)
    if len(stars) > 1 or more < -len(stars) or (more and not stars):
        return []
    every: list[Reading] = []
    place = 0
    for part in source_nodes:
        if isinstance(part, ast.Starred):
            every += _of_star(target_nodes[place : place + 1 + more], part.value)
            place += 1 + more
        else:
            every += readings(target_nodes[place], part)
            place += 1
    return every


def _of_star(target_nodes: Sequence[ast.expr], expression: ast.expr) -> list[Reading]:
    """The sizes in the middle of a tuple: the ``*x.shape`` of ``*x.shape, self.heads``."""
    reading = _unpacking(target_nodes, expression) if target_nodes else None
    return [] if reading is None else [reading]


def _whole(variable: ast.Name, expression: ast.expr) -> Reading | None:
    """``shape = x.shape``: no size yet, but `x` is a tensor.

    Queues and groups of processes have a ``size()`` too, which is a number, and what is kept in an
    attribute may be a space, whose shape is that of its points.
    """
    subject = _subject(expression)
    if not isinstance(subject, ast.Name) or (
        isinstance(expression, ast.Call) and "shape" not in variable.id
    ):
        return None
    return Reading(subject, (), None, 0)


def _item(variable: ast.Name, expression: ast.expr) -> Reading | None:
    """``n = shape[0]``."""
    if not isinstance(expression, ast.Subscript) or not isinstance(expression.value, ast.Name):
        return None
    position = _number(expression.slice)
    if position is None:
        return None
    least = position + 1 if position >= 0 else -position
    return Reading(expression.value, ((position, variable),), None, least, of_shape=True)


def _unpacking(target_nodes: Sequence[ast.expr], expression: ast.expr) -> Reading | None:
    """``B, T, C = x.shape``, ``b, *_, d = x.shape``, ``h, w = x.shape[-2:]``."""
    subject = _subject(expression)
    first, rank_beyond = 0, 0
    of_shape = isinstance(expression, ast.Name)
    if isinstance(expression, ast.Name):
        subject = expression
    elif subject is None:
        cut = _cut(expression)
        if cut is None:
            return None
        subject, first, end = cut
        bounded = end is not None
        rank_beyond = -1 if bounded else first if first > 0 else -1
        if bounded and any(isinstance(node, ast.Starred) for node in target_nodes):
            return None
    star = next((i for i, n in enumerate(target_nodes) if isinstance(n, ast.Starred)), None)
    count = len(target_nodes)
    variables: list[tuple[int, ast.Name]] = []
    for index, node in enumerate(target_nodes):
        if index == star:
            continue
        if not isinstance(node, ast.Name):
            return None
        from_right = star is not None and index > star
        variables.append((index - count if from_right else first + index, node))
    if star is not None:
        least = count - 1 + max(first, 0)
        return None if first < 0 else Reading(subject, tuple(variables), None, least, of_shape)
    if first < 0:
        return Reading(subject, tuple(variables), None, -first) if -first >= count else None
    rank = count + rank_beyond if rank_beyond >= 0 else None
    return Reading(subject, tuple(variables), rank, first + count, of_shape)


def _single(variable: ast.Name, expression: ast.expr) -> Reading | None:
    """``n = x.shape[0]``, ``n = x.size(0)``."""
    index_node: ast.expr | None = None
    subject: Subject | None = None
    if isinstance(expression, ast.Subscript):
        subject, index_node = _subject(expression.value), expression.slice
    elif isinstance(expression, ast.Call) and isinstance(expression.func, ast.Attribute):
        arguments = [
            *expression.args,
            *(word.value for word in expression.keywords if word.arg == "dim"),
        ]
        if expression.func.attr == "size" and len(arguments) == 1:
            subject, index_node = _stable(expression.func.value), arguments[0]
    position = None if index_node is None else _number(index_node)
    if subject is None or position is None:
        return None
    least = position + 1 if position >= 0 else -position
    return Reading(subject, ((position, variable),), None, least)


def _subject(expression: ast.expr) -> Subject | None:
    """The tensor of which an expression reads all sizes: ``x.shape``, ``x.size()``."""
    query, word = expression, "shape"
    if isinstance(expression, ast.Call) and not expression.args and not expression.keywords:
        query, word = expression.func, "size"
    if isinstance(query, ast.Attribute) and query.attr == word:
        return _stable(query.value)
    return None


def _stable(expression: ast.expr) -> Subject | None:
    """A tensor that is kept in a variable, an attribute, or at a constant index."""
    if isinstance(expression, ast.Subscript):
        return expression if isinstance(expression.slice, ast.Constant) else None
    return expression if isinstance(expression, (ast.Name, ast.Attribute)) else None


def _cut(expression: ast.expr) -> tuple[Subject, int, int | None] | None:
    """The tensor of ``x.shape[2:]``, the first dim, and the one before which the cut ends."""
    if not isinstance(expression, ast.Subscript) or not isinstance(expression.slice, ast.Slice):
        return None
    subject, bounds = _subject(expression.value), expression.slice
    if subject is None or bounds.step is not None:
        return None
    first = 0 if bounds.lower is None else _number(bounds.lower)
    end = None if bounds.upper is None else _number(bounds.upper)
    if first is None or (bounds.upper is not None and end is None):
        return None
    return subject, first, end


def _number(expression: ast.expr) -> int | None:
    """A literal index, perhaps a negative one."""
    if isinstance(expression, ast.UnaryOp) and isinstance(expression.op, ast.USub):
        number = _number(expression.operand)
        return None if number is None else -number
    if isinstance(expression, ast.Constant) and type(expression.value) is int:
        return expression.value
    return None
