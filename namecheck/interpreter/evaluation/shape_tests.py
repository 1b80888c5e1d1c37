"""Tests of ranks and sizes: their known outcomes, and the facts that follow from an outcome.

``x.dim() == 3``, ``len(x.shape) > 2``, ``x.shape[-1] == 1``, ``x.size(0) > 1``, also of tensors
whose rank is only partly known. A comparison is identified by its provenance, so the rank or the
size may have been read earlier: ``n = x.ndim; if n == 2``.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Hashable, Sequence
from typing import Final

from namecheck.core.dataclasses import dataclass, replace
from namecheck.core.dims import ANY_DIM, Dim, Dims
from namecheck.core.names import UNKNOWN
from namecheck.core.sizes import Expression, Known
from namecheck.core.tensors import Tensor
from namecheck.interpreter.domain import equalities, joins
from namecheck.interpreter.domain.cells import FOREIGN, RankOf, TensorTest, Truth
from namecheck.interpreter.domain.provenance import (
    Asked,
    Attribute,
    Chain,
    Item,
    Negation,
    Operation,
    OperatorResult,
    Result,
    SizeOf,
)
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.values import (
    Address,
    Const,
    Held,
    Key,
    Opaque,
    TensorValue,
    TupleValue,
)
from namecheck.rules.dim_map import MOST_UNKNOWN

_RANKS: Final = frozenset({"dim", "ndim", "ndimension"})
_PER_DIM: Final = frozenset({"shape", "size", "names"})
_KINDS: Final = _RANKS | _PER_DIM | {"has_names", "numel", "nelement"}
# How deep a test is looked into.
_DEEP: Final = 4
_NO_LIMIT: Final = 1 << 16


@dataclass(frozen=True, slots=True)
class _Measured:
    """The tensor whose rank or size was read, and its content then."""

    address: Address
    tensor: Tensor

    def held(self, store: Store) -> Held | None:
        """The content of the tensor now; None where it has changed since."""
        content = joins.held(TensorValue(self.address, Held(self.tensor)), store)
        return content if content.tensor == self.tensor else None

    def write(self, dims: Dims, store: Store) -> None:
        """Write the dims that follow from a test."""
        content = self.held(store)
        if content is not None and dims != self.tensor.dims:
            narrowed = replace(content, tensor=replace(content.tensor, dims=dims))
            joins.write(TensorValue(self.address, Held(self.tensor)), store, narrowed)


def _of_operands(query: OperatorResult) -> _Measured | None:
    match query.operands[:1]:
        case ((address, Tensor() as tensor),):
            return _Measured(address, tensor)
    return None


def _ranked(identity: object) -> _Measured | None:
    """The tensor whose rank a value is."""
    match identity.provenance if isinstance(identity, Key) else None:
        case OperatorResult(path=()) as query if query.key in _RANKS:
            return _of_operands(query)
        case Result("len", (Key(provenance=OperatorResult(path=()) as query),)) if (
            query.key in _PER_DIM and len(query.operands) == 1
        ):
            return _of_operands(query)
    return None


def _sized(identity: object) -> tuple[_Measured, int] | None:
    """The tensor and the dim whose size a value is."""
    match identity.provenance if isinstance(identity, Key) else None:
        case OperatorResult("size" | "Tensor.size", (_, Const(value=index))) as query:
            measured = _of_operands(query)
            return (measured, index) if measured and isinstance(index, int) else None
    return _read_at(identity, lambda query: query.reads_shape)


def _labelled(identity: object) -> tuple[_Measured, int] | None:
    """The tensor and the dim whose name a value is."""
    return _read_at(identity, lambda query: query.key == "names")


def _read_at(
    identity: object, is_read: Callable[[OperatorResult], bool]
) -> tuple[_Measured, int] | None:
    """The tensor and the dim of a value that is an item of what a query of all dims gives."""
    measured: _Measured | None = None
    position: object = None
    match identity.provenance if isinstance(identity, Key) else None:
        case OperatorResult(path=(place,)) as query if is_read(query):
            measured, position = _of_operands(query), place
        case Item(Key(provenance=OperatorResult(path=()) as query), index) if is_read(query):
            measured, position = _of_operands(query), index
    if measured is None or not isinstance(position, int):
        return None
    return measured, position


def subject_of_rank(expression: ast.expr) -> ast.expr | None:
    """The tensor whose rank an expression computes."""
    if isinstance(expression, ast.Call) and isinstance(expression.func, ast.Attribute):
        return expression.func.value if expression.func.attr in ("dim", "ndimension") else None
    if isinstance(expression, ast.Attribute):
        return expression.value if expression.attr == "ndim" else None
    if (
        isinstance(expression, ast.Call)
        and isinstance(expression.func, ast.Name)
        and expression.func.id == "len"
    ):
        sized = expression.args[0] if expression.args else None
        if isinstance(sized, ast.Attribute) and sized.attr in ("shape", "names"):
            return sized.value
    return None


def size_at(shape_key: Key, position: int) -> Known | None:
    """``x.shape[position]`` where this size is known, but not the rank."""
    match shape_key.provenance:
        case OperatorResult(path=()) as query if query.reads_shape:
            measured = _of_operands(query)
            size = UNKNOWN if measured is None else measured.tensor.dims[position].size
            return size if isinstance(size, (int, Expression)) else None
    return None


def places_of(shape_key: Key, cut: slice, least_rank: int) -> range | None:
    """The places of the sizes in ``x.shape[cut]``, of a tensor that may have any rank.

    None where their number is unknown: a tensor of lower rank than `least_rank` has fewer.
    """
    match shape_key.provenance:
        case OperatorResult(path=()) as query if query.reads_shape and cut.step in (None, 1):
            measured = _of_operands(query)
            first, end = cut.start or 0, cut.stop
            rank = max(least_rank, 0 if measured is None else measured.tensor.dims.min_rank)
            if first >= 0 and end is not None and first < end <= rank:
                return range(first, end)
            if first < 0 and (end is None or first < end < 0) and -first <= rank:
                return range(first, end or 0)
    return None


def fits(shape_key: Key, patterns: Sequence[ast.pattern], store: Store) -> bool:
    """``match x.shape`` with a sequence of patterns: False where the rank is another one.

    Where it may be the rank, it is from now on.
    """
    match shape_key.provenance:
        case OperatorResult(path=()) as query if query.key in _PER_DIM and len(query.operands) == 1:
            measured = _of_operands(query)
            if measured is not None:
                starred = any(isinstance(pattern, ast.MatchStar) for pattern in patterns)
                low = len(patterns) - starred
                high = _NO_LIMIT if starred else low
                ranks = _ranks(measured.tensor.dims)
                if ranks[-1] < low or ranks[0] > high:
                    return False
                _limit(measured, low, high, store)
    return True


def is_of_kind(fact: Hashable) -> bool:
    """Whether a fact is about the kind of a value: its type, its rank, a size, or its names."""
    return isinstance(fact, (RankOf, TensorTest)) or (
        isinstance(fact, Truth) and _asks_kind(fact.key)
    )


def _asks_kind(identity: object, depth: int = 0) -> bool:
    if not isinstance(identity, Key) or depth > _DEEP:
        return False
    match identity.provenance:
        case OperatorResult() as query:
            return query.key in _KINDS
        case Result("isinstance" | "hasattr" | "issubclass" | "callable"):
            return True
        case Attribute(_, name) if name in _KINDS:
            return True
        case Operation(_, parts) | Result("len" | "type", parts) | Negation(parts) | Chain(parts):
            inner = parts if isinstance(parts, tuple) else (parts,)
            return any(_asks_kind(part, depth + 1) for part in inner)
        case Item(container, _) | Asked(_, container):
            return _asks_kind(container, depth + 1)
    return False


def _number(identity: object) -> int | None:
    value = identity.value if isinstance(identity, Const) else None
    return value if type(value) is int else None


def _ranks(dims: Dims) -> range:
    """The ranks that a tensor may have."""
    return range(dims.min_rank, _NO_LIMIT if dims.open else dims.min_rank + 1)


def may_be_equal(one_side: Hashable, other_side: Hashable) -> bool:
    """Whether a value may be a constant: False for a rank or a name that it cannot have."""
    for one, other in ((one_side, other_side), (other_side, one_side)):
        labelled = _labelled(one)
        if labelled is not None and isinstance(other, Const):
            return not _is_elsewhere(*labelled, other.value)
        measured, number = _ranked(one), _number(other)
        if measured is not None and number is not None:
            return number in _ranks(measured.tensor.dims)
    return True


def _is_elsewhere(measured: _Measured, position: int, label: object) -> bool:
    """Whether another dim of a tensor has a name; no two dims have one."""
    dims = measured.tensor.dims
    if dims.open or not isinstance(label, str) or not -len(dims.prefix) <= position:
        return False
    return any(
        dim.name == label and index != position % len(dims.prefix)
        for index, dim in enumerate(dims.prefix)
    )


def is_less(smaller: Hashable, larger: Hashable) -> bool | None:
    """Whether a rank is less than a number, or a number than a rank; None where unknown."""
    measured, number = _ranked(smaller), _number(larger)
    if measured is not None and number is not None:
        ranks = _ranks(measured.tensor.dims)
        return True if ranks[-1] < number else False if ranks[0] >= number else None
    measured, number = _ranked(larger), _number(smaller)
    if measured is not None and number is not None:
        ranks = _ranks(measured.tensor.dims)
        return True if number < ranks[0] else False if number >= ranks[-1] else None
    return None


def learn_equal(one_side: Hashable, other_side: Hashable, truth: bool, store: Store) -> None:
    """Write what follows where a rank or a size equals a number, or a name a text."""
    for one, other in ((one_side, other_side), (other_side, one_side)):
        labelled = _labelled(one)
        if labelled is not None and truth and isinstance(other, Const):
            _label(*labelled, other.value, store)
        number = _number(other)
        if number is None:
            continue
        measured = _ranked(one)
        if measured is not None:
            if truth:
                _limit(measured, number, number, store)
            elif number == measured.tensor.dims.min_rank:
                _limit(measured, number + 1, _NO_LIMIT, store)
        sized = _sized(one)
        if sized is not None and truth:
            _fix(*sized, number, store)


def learn_less(smaller: Hashable, larger: Hashable, truth: bool, store: Store) -> None:
    """Write what follows from ``smaller < larger``, or from its contrary."""
    number = _number(larger)
    if number is not None:
        measured = _ranked(smaller)
        if measured is not None:
            low, high = (0, number - 1) if truth else (number, _NO_LIMIT)
            _limit(measured, low, high, store)
        elif truth and number == 2:
            _learn_single(smaller, store)
    number = _number(smaller)
    if number is not None:
        measured = _ranked(larger)
        if measured is not None:
            low, high = (number + 1, _NO_LIMIT) if truth else (0, number)
            _limit(measured, low, high, store)
        elif not truth and number == 1:
            _learn_single(larger, store)


def _learn_single(identity: object, store: Store) -> None:
    """A size that is less than 2 is 1: of an empty tensor nothing is reported either way."""
    provenance = identity.provenance if isinstance(identity, Key) else None
    if isinstance(provenance, SizeOf):
        equalities.equate(provenance.size, 1, store)
    sized = _sized(identity)
    if sized is not None:
        _fix(*sized, 1, store)


def _limit(measured: _Measured, low: int, high: int, store: Store) -> None:
    """Write that the rank is between two numbers."""
    dims = measured.tensor.dims
    gap = max(low - dims.min_rank, 0)
    if not dims.open or dims.min_rank + gap > high or dims.min_rank + gap > MOST_UNKNOWN:
        return
    prefix = (*dims.prefix, *[ANY_DIM] * gap)
    closed = dims.min_rank + gap == high
    limited = Dims((*prefix, *dims.suffix)) if closed else Dims(prefix, dims.suffix, open=True)
    measured.write(limited, store)


def _fix(measured: _Measured, position: int, extent: int, store: Store) -> None:
    """Write the size of a dim, if nothing is known of it."""
    dims = measured.tensor.dims
    dim = dims[position]
    if dim.size is UNKNOWN and dim != ANY_DIM:
        measured.write(dims.replace(position, replace(dim, size=extent)), store)
    elif dim == ANY_DIM and not dims.open and -dims.min_rank <= position < dims.min_rank:
        measured.write(dims.replace(position, Dim(UNKNOWN, extent)), store)


def _label(measured: _Measured, position: int, label: object, store: Store) -> None:
    """Write the name of a dim, if it is unknown; the tensor has this dim, as its name was read.

    Where it is the only unknown name, paths with other names may have met, and perhaps none has the
    one that is tested: what follows is not judged.
    """
    dims = measured.tensor.dims
    missing = position + 1 - len(dims.prefix)
    if dims.open and not dims.suffix and 0 < missing <= MOST_UNKNOWN:
        dims = Dims((*dims.prefix, *[ANY_DIM] * missing), open=True)
    if not isinstance(label, str) or not -dims.min_rank <= position < dims.min_rank:
        return
    is_at_known_place = not dims.open or 0 <= position < len(dims.prefix)
    if is_at_known_place and dims[position].name is UNKNOWN:
        labelled = dims.replace(position, replace(dims[position], name=label))
        measured.write(labelled, store)
        if labelled.complete:
            store.set(FOREIGN, True)


def learn_member(sought: Hashable, label_list: Hashable, store: Store) -> None:
    """Write what follows where a tuple of names holds a name: ``"C" in x.names``.

    Where one name alone is unknown, it is this one. Where several are, paths with other names may
    have met, and perhaps none of them has the name: what follows is not judged.
    """
    if not isinstance(sought, Const) or not isinstance(label_list, TupleValue):
        return
    keys = [each.key for each in label_list.items if isinstance(each, Opaque)]
    unknown = [labelled for labelled in map(_labelled, keys) if labelled is not None]
    if len(unknown) == 1 == len(keys):
        _label(*unknown[0], sought.value, store)
    elif any(not measured.tensor.dims.open for measured, _ in unknown):
        store.set(FOREIGN, True)
