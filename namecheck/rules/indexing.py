"""Indexing: ``x[…]`` and ``x[…] = value`` (name_inference.rst, "Keeps input names"; recorded).

Ints remove a dim, slices keep it, None inserts a new one. Index tensors, which torch 2.12 refuses
with names, follow the natural rule: their dims replace the dims that they index.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from types import EllipsisType
from typing import Any

from namecheck.core import names as naming
from namecheck.core.dataclasses import dataclass, field, replace
from namecheck.core.dims import OPEN, SCALAR, Dim, Dims, Size, clash, observed
from namecheck.core.dtypes import MASKS, is_among
from namecheck.core.names import UNKNOWN, Answer, Contradiction, Name, Unknown
from namecheck.core.sizes import Expression, Known, is_at_least, symbol, symbols
from namecheck.core.tensors import Many, Tensor
from namecheck.rules import dim_map
from namecheck.rules.broadcasting import broadcast, check_one
from namecheck.rules.factories import shape_of
from namecheck.rules.refusals import has_named, not_supported, refuse_named
from namecheck.rules.registry import rule
from namecheck.rules.splits import part_of


@rule(memory="indexes")
def indexing(input: Tensor, index: Any) -> Dims:
    """The dims of ``x[index]`` (recorded: getitem)."""
    return _indexed(input.dims, index, native=False).result()


@rule
def indexing_natively(input: Tensor, index: Any) -> Dims:
    """As `indexing`; torch 2.12 refuses None, bools, lists and index tensors with names."""
    indexed = _indexed(input.dims, index, native=True)
    indexed.refuse("index.Tensor")
    return indexed.result()


@rule(aligns="matched")
def assigning(input: Tensor, index: Any, value: Any) -> None:
    """``x[index] = value``: the value is broadcast to the indexed part (recorded: setitem)."""
    target = _indexed(input.dims, index, native=False).result()
    if isinstance(value, Tensor):
        _check_value(target, value.dims)


def _check_value(indexed: Dims, value_dims: Dims) -> None:
    """Check a value against the indexed part; torch drops the value's leading dims of size 1."""
    dims = _without_leading_ones(value_dims, indexed)
    broadcast(indexed, dims)
    dim_map.check_expandable(dims, indexed)


def _without_leading_ones(dims: Dims, indexed: Dims) -> Dims:
    """The dims of a value without those that torch may drop: ``x[i : i + 1]`` has one item.

    So may a dim have that only the code itself names, as a batch of one.
    """
    while dims.rank is not None and indexed.rank is not None and dims.rank > indexed.rank:
        size = dims.prefix[0].size
        if size not in (1, UNKNOWN) and not observed(size):
            break
        dims = dim_map.without_left(dims, 1)
    return dims


@rule
def assigning_natively(input: Tensor, index: Any, value: Any) -> None:
    """As `assigning`; torch 2.12 copies into a view: names must match, or the value is expanded."""
    if index is False:
        return
    indexed = _indexed(input.dims, index, native=True)
    if indexed.advanced and isinstance(value, Tensor) and _starts_with_one(value.dims):
        refuse_named("view", (value,))  # torch drops leading dims of size 1 by a view
    indexed.refuse("index_put_", value)
    if indexed.advanced or not isinstance(value, Tensor) or value.dims.rank == 0:
        return
    target = indexed.result()
    same = dim_map.same_shape(target, value.dims)
    if same is Answer.NO and value.dims.named() is Answer.YES:
        raise not_supported("view")
    if same is not Answer.YES:
        if same is Answer.NO:
            dim_map.check_expandable(_without_leading_ones(value.dims, target), target)
        return
    dim_map.take_names(target, broadcast(target, value.dims))


def _starts_with_one(dims: Dims) -> bool:
    return bool(dims.prefix) and dims.prefix[0].size == 1


@dataclass(frozen=True, slots=True)
class _Advanced:
    """A dim (or more, under a mask) that an index tensor, a list or a bool replaces."""

    over: tuple[Dim, ...]
    index: Dims
    by_tensor: bool
    mask: bool
    named: Answer = Answer.NO


@dataclass(slots=True)
class _Taken:
    """The dims of the result so far, and those that are not yet indexed."""

    slots: list[Dim | _Advanced | Dims] = field(default_factory=list)
    left: Dims = SCALAR

    @property
    def advanced(self) -> list[_Advanced]:
        return [slot for slot in self.slots if isinstance(slot, _Advanced)]

    def named(self) -> Answer:
        """Whether the tensor, indexed so far, has a name."""
        parts = [self.left]
        for slot in self.slots:
            if isinstance(slot, Dims):
                parts.append(slot)
            else:
                parts.append(Dims(slot.over if isinstance(slot, _Advanced) else (slot,)))
        return max((part.named() for part in parts), key=lambda answer: answer.value)

    def refuse(self, aten: str, *others: Any) -> None:
        """Raise where an index tensor certainly indexes a named tensor."""
        answers = [self.named(), *(has_named(o) for o in others), *(a.named for a in self.advanced)]
        if self.advanced and Answer.YES in answers:
            raise not_supported(aten)

    def result(self) -> Dims:
        """The dims of the result."""
        if not self.advanced:
            return dim_map.joined(*map(_as_dims, self.slots))
        return _with_advanced(self.slots, self.advanced)


def _as_dims(slot: Dim | _Advanced | Dims) -> Dims:
    if isinstance(slot, Dim):
        return Dims((slot,))
    return slot if isinstance(slot, Dims) else slot.index


def _with_advanced(slots: Sequence[Dim | _Advanced | Dims], advanced: list[_Advanced]) -> Dims:
    """The broadcast dims of all index tensors replace the first indexed dim, or stand in front."""
    inserted = reduce(broadcast, [one.index for one in advanced])
    if len(advanced) == 1:
        inserted = _kept_name(advanced[0])
    places = [place for place, slot in enumerate(slots) if isinstance(slot, _Advanced)]
    between = slots[places[0] : places[-1] + 1]
    rest = [_as_dims(slot) for slot in slots if not isinstance(slot, _Advanced)]
    if len(between) > len(advanced):
        return dim_map.joined(inserted, *rest)
    return dim_map.joined(*rest[: places[0]], inserted, *rest[places[0] :])


def _kept_name(slot: _Advanced) -> Dims:
    """A list or a mask along one dim keeps its name; for an index tensor that is unknown."""
    if len(slot.over) != 1 or slot.index.rank != 1 or slot.index.prefix[0].name is not None:
        return slot.index
    name: Name = slot.over[0].name
    if slot.by_tensor and name is not None:
        name = UNKNOWN
    return Dims((replace(slot.index.prefix[0], name=name),))


def _indexed(dims: Dims, index: Any, *, native: bool) -> _Taken:
    items = list(_decided(dims, _items(index)))
    if dims.rank == 0 and not isinstance(index, tuple):
        _check_scalar(index)
    if any(_is_doubtful(item) for item in items):
        return _until_doubt(dims, items)
    needed = [_needed(item) for item in items]
    if dims.rank is not None and sum(needed) > dims.rank:
        raise Contradiction(
            "NC206",
            f"too many indices for tensor of dimension {dims.rank}",
            error="IndexError",
            help=f"The tensor's dims are {dims.show()}.",
        )
    for item in items:
        _check_item(item)
    gaps = [place for place, item in enumerate(items) if item is ...]
    if len(gaps) > 1 and dims.open:
        return _Taken([OPEN])
    front = sum(needed[: gaps[0]]) if gaps else sum(needed)
    back = sum(needed) - front
    middle = dim_map.without_left(dim_map.without_right(dims, back), front)
    beyond = [item for item in items[gaps[1] :] if _needed(item)] if len(gaps) > 1 else []
    if middle.rank and beyond:
        if isinstance(beyond[0], slice):
            return _Taken([OPEN])  # torch cuts no dim there, and may read any size
        raise _out_of_bounds(0, gaps[1] + 1, 0)
    supply = iter([*dim_map.first(dims, front).prefix, *dim_map.last(dims, back).prefix])
    result = _Taken()
    consumed = 0
    for place, (item, count) in enumerate(zip(items, needed, strict=True)):
        consumed += count
        past = bool(gaps) and place >= gaps[0]
        result.left = (
            dim_map.last(dims, front + back - consumed)
            if past
            else dim_map.without_left(dims, consumed)
        )
        if item is ...:
            result.slots.append(middle if place == gaps[0] else Dims())
        else:
            over = tuple(next(supply) for _ in range(count))
            _take(result, item, over, place, native=native)
    if not gaps:
        result.slots.append(middle)
    result.left = Dims()
    return result


def _items(index: Any) -> list[Any]:
    """The parts of an index as a list; torch treats some lists as tuples (recorded)."""
    if isinstance(index, tuple):
        return list(index)
    apart = (Tensor, list, tuple, slice, EllipsisType, type(None))
    if isinstance(index, list) and len(index) < 32 and any(isinstance(i, apart) for i in index):
        return list(index)
    return [index]


def _check_scalar(item: Any) -> None:
    if isinstance(item, int) and not isinstance(item, bool):
        if item != 0:
            raise _out_of_bounds(item, 0, 0)
        raise Contradiction(
            "NC206",
            "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` "
            "in C++ to convert a 0-dim tensor to a number",
            error="IndexError",
        )
    if isinstance(item, slice):
        raise Contradiction(
            "NC206", "slice() cannot be applied to a 0-dim tensor.", error="IndexError"
        )


def _check_item(item: Any) -> None:
    if isinstance(item, str):
        raise Contradiction("NC114", "new(): invalid data type 'str'", error="TypeError")
    kinds = (int, Expression, slice, EllipsisType, Tensor, Many, tuple, list, Unknown, type(None))
    if not isinstance(item, kinds):
        raise Contradiction(
            "NC114",
            "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are "
            f"valid indices (got {type(item).__name__})",
            error="IndexError",
        )
    if isinstance(item, slice):
        _check_slice(item)


def _check_slice(cut: slice) -> None:
    for part in (cut.start, cut.stop, cut.step):
        if part is not None and not isinstance(part, (int, Expression, Tensor, Unknown)):
            raise Contradiction(
                "NC114",
                "slice indices must be integers or None or have an __index__ method",
                error="TypeError",
            )
    if isinstance(cut.step, int) and cut.step <= 0:
        reason = "slice step cannot be zero" if cut.step == 0 else "step must be greater than zero"
        raise Contradiction("NC206", reason, error="ValueError")


def _is_doubtful(item: Any) -> bool:
    """Whether the number of dims that an item indexes is unknown."""
    if isinstance(item, (Unknown, Many)):
        return True
    if isinstance(item, list):
        return any(isinstance(part, Unknown) for part in item)  # it may contain a list or a slice
    if not isinstance(item, Tensor):
        return False
    doubt = is_among(item.dtype, MASKS) is Answer.MAYBE
    return item.dims.rank is None or (doubt and item.dims.rank != 1)


def _decided(dims: Dims, parts: Sequence[Any]) -> Iterator[Any]:
    """The parts of an index, where tensors that are no masks of the dims there hold indices.

    A mask may have another word for one of its dims, but not for each.
    """
    place: int | None = 0
    for item in parts:
        decided = item
        if place is not None and isinstance(item, Tensor) and item.dims.rank and _is_doubtful(item):
            end = place + item.dims.rank
            is_long = dims.rank is not None and end > dims.rank
            over = dims.prefix[place:end]
            if is_long or (over and all(map(clash, item.dims.prefix, over))):
                decided = replace(item, dtype="int64")
        yield decided
        if decided is ... or _is_doubtful(decided):
            place = None
        elif place is not None:
            place += _needed(decided)


def _until_doubt(dims: Dims, parts: Sequence[Any]) -> _Taken:
    """The dims before the first item that indexes an unknown number of dims."""
    result = _Taken()
    for place, item in enumerate(parts):
        _check_item(item)
        if not isinstance(item, (int, Expression, slice, type(None))) or isinstance(item, bool):
            break
        over = dim_map.first(dims, 1).prefix if _needed(item) else ()
        _take(result, item, over, place, native=False)
        dims = dim_map.without_left(dims, _needed(item))
    result.slots.append(OPEN)
    return result


def _needed(item: Any) -> int:
    """How many dims an item indexes."""
    if item is None or item is ... or isinstance(item, bool):
        return 0
    if isinstance(item, Tensor) and _masks(item):
        return item.dims.rank or 0
    return 1


def _take(so_far: _Taken, item: Any, over: tuple[Dim, ...], place: int, *, native: bool) -> None:
    if isinstance(item, slice):
        so_far.slots.append(_sliced(over[0], item))
    elif isinstance(item, bool) or item is None or _is_bool_scalar(item):
        if native and so_far.named() is Answer.YES:
            raise not_supported("unsqueeze")
        so_far.slots.append(_new_dim(item))
    elif isinstance(item, int):
        _check_bounds(over[0], item, place)
    elif isinstance(item, Expression) or (isinstance(item, Tensor) and item.dims.rank == 0):
        return
    else:
        if not native:  # torch 2.12 refuses names before it reads the mask
            _check_mask(item, over)
        so_far.slots.append(_advanced(item, over))


def _check_mask(item: Any, over: tuple[Dim, ...]) -> None:
    if isinstance(item, Tensor) and _masks(item):
        for own, dim in zip(over, item.dims.prefix, strict=False):
            check_one("indexing", "a dim and that of its mask", own, dim)


def _masks(tensor: Tensor) -> bool:
    """Whether a tensor is certainly a mask, and no tensor of indices."""
    return is_among(tensor.dtype, MASKS) is Answer.YES


def _is_bool_scalar(item: Any) -> bool:
    return isinstance(item, Tensor) and item.dims.rank == 0 and _masks(item)


def _new_dim(item: Any) -> Dim | _Advanced:
    fresh = Dim(None, 1, purposeful=True)
    if item is None:
        return fresh
    size: Size = int(item) if isinstance(item, bool) else UNKNOWN
    return _Advanced((fresh,), Dims((Dim(None, size),)), by_tensor=False, mask=True)


def _check_bounds(dim: Dim, index: int, place: int) -> None:
    if isinstance(dim.size, int) and not -dim.size <= index < dim.size:
        raise _out_of_bounds(index, place, dim.size)


def _out_of_bounds(index: int, place: int, dim_size: int) -> Contradiction:
    return Contradiction(
        "NC206",
        f"index {index} is out of bounds for dimension {place} with size {dim_size}",
        error="IndexError",
    )


def _sliced(dim: Dim, cut: slice) -> Dim:
    if (cut.start, cut.stop) == (None, None) and cut.step in (None, 1):
        return dim
    bounds = (cut.start, cut.stop, cut.step)
    literal = all(part is None or type(part) is int for part in bounds)
    if isinstance(dim.size, int) and literal:
        return replace(dim, size=len(range(*cut.indices(dim.size))), purposeful=False)
    return part_of(dim, UNKNOWN if dim.size is UNKNOWN and literal else _extent(dim.size, cut))


def _extent(size: Size, cut: slice) -> Size:
    """The size of a slice with symbols, which is assumed to lie within the dim."""
    step = 1 if cut.step is None else cut.step
    first = 0 if cut.start is None else _bound(size, cut.start)
    last = size if cut.stop is None else _bound(size, cut.stop)
    if isinstance(first, Unknown) or isinstance(last, Unknown) or type(step) is not int:
        return UNKNOWN
    if last is not size and not _lies_within(last, size):
        return UNKNOWN
    extent = (last - first + step - 1) // step
    return extent if isinstance(extent, Expression) or extent > 0 else UNKNOWN


def _lies_within(last: Known, size: Size) -> bool:
    """Whether a slice ends within the dim, as far as that is assumed.

    Code that names no dim may count on a slice that ends where the dim does: ``x[:, : n + 1]``.
    """
    if isinstance(last, int) or last == symbol(next(iter(symbols(last)), "")):
        return True
    if not any(naming.is_observed(word) or naming.is_number(word) for word in symbols(last)):
        return True
    return not isinstance(size, Unknown) and is_at_least(0, size - last)


def _bound(size: Size, limit: Any) -> Size:
    """A start or stop counted from the left; unknown where its sign is unknown.

    Whoever counts from the right, ``x[:, -n // 2 :]``, takes the number not to be 0.
    """
    if not isinstance(limit, (int, Expression)):
        return UNKNOWN
    if is_at_least(0, limit):
        return limit
    if isinstance(size, Unknown):
        return UNKNOWN
    if is_at_least(0, limit * -1):
        return size + limit
    return limit if is_at_least(0, size - limit) else UNKNOWN


def _advanced(item: Any, over: tuple[Dim, ...]) -> _Advanced:
    if not isinstance(item, Tensor):
        mask = _is_mask(item)
        dims = Dims((Dim(None),)) if mask else shape_of(item)
        return _Advanced(over, dims, by_tensor=False, mask=mask, named=has_named(item))
    if _masks(item):
        return _Advanced(over, Dims((Dim(None),)), False, mask=True, named=item.dims.named())
    no_mask = is_among(item.dtype, MASKS) is Answer.NO
    certain = no_mask or _is_no_mask(item.dims, over)
    dims = item.dims if certain else item.dims.sizeless()
    return _Advanced(over, dims, by_tensor=True, mask=False, named=item.dims.named())


def _is_no_mask(mask: Dims, over: tuple[Dim, ...]) -> bool:
    """Whether a tensor has other axes than a mask over these dims."""
    return any(clash(own, dim) for own, dim in zip(mask.prefix, over, strict=False))


def _is_mask(flags: Sequence[Any]) -> bool:
    return bool(flags) and all(isinstance(flag, bool) for flag in flags)
