"""The names of a real tensor, and real values as abstract values for `infer`.

The names of a tensor are the plain attribute ``_names``: a tuple with a label, None (unnamed) or
``"?"`` (unknown) for each dim, or None if the tensor was never named. copy, pickle and
``torch.save`` keep plain attributes, and ``torch.load(weights_only=True)`` accepts them.
"""

from __future__ import annotations

import operator
import sys
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from types import NoneType
from typing import Any, Final, TypeAlias, cast

import torch

from namecheck.core import memory_order
from namecheck.core.dims import OPEN, Dims
from namecheck.core.memory_order import Memory
from namecheck.core.names import UNKNOWN, Contradiction, Name, check_label, not_a_name, word
from namecheck.core.tensors import Constant, Many, Tensor
from namecheck.runtime.core import native_warnings
from namecheck.runtime.core.patch_table import TABLE

Names: TypeAlias = tuple[str | None, ...]

ATTRIBUTE: Final = "_names"
UNKNOWN_NAME: Final = "?"


class _Overriding:
    """The ``_names`` of a tensor class that overrides torch's functions.

    It differs from every rank and every key, so that a wrapper takes its slow path.
    """

    def __len__(self) -> int:
        return sys.maxsize


OVERRIDING: Final = _Overriding()


class _UncachedNames(tuple[str | None, ...]):
    """The names of a tensor of such a class; no memo has an entry for them."""

    __slots__ = ()

    def __hash__(self) -> int:
        return ~super().__hash__()

    def __reduce__(self) -> tuple[Any, ...]:
        return tuple, (tuple(self),)


def names_of(tensor: torch.Tensor) -> Names | None:
    """The names of a tensor, None if it has none.

    All names are unknown if their number is not the rank of the tensor, which happens when other
    code changed its shape, and if the attribute holds anything else than names: a file may have set
    it before `install`. After `uninstall` the attribute itself may be missing.
    """
    carried: Any = getattr(tensor, ATTRIBUTE, None)
    if carried is None or carried is OVERRIDING:
        return None
    rank = tensor.dim()
    if _are_texts(carried) and len(carried) == rank and _are_names(carried):
        return tuple(carried)
    return (UNKNOWN_NAME,) * rank


def may_be_key(value: Any) -> bool:
    """Whether the names of a value may be part of a key: they have no methods of their own.

    A number would be equal to the rank of a tensor without names.
    """
    carried: Any = getattr(value, ATTRIBUTE, None)
    return carried is None or _are_texts(carried)


def _are_texts(carried: Any) -> bool:
    if type(carried) is not tuple and type(carried) is not _UncachedNames:
        return False
    try:
        return _TEXTS.issuperset(map(type, carried))
    except Exception:  # a class that has no hash
        return False


_TEXTS: Final = frozenset({str, NoneType})


@lru_cache(maxsize=4096)
def _are_names(carried: Names) -> bool:
    try:
        read_names(carried)
    except Contradiction:
        return False
    return True


def read_names(carried: object) -> tuple[Name, ...]:
    """The names that an attribute of a tensor holds; raises `Contradiction` if it holds no names.

    A file from elsewhere may hold anything, instances of any class too.
    """
    if type(carried) is not tuple and type(carried) is not _UncachedNames:
        raise Contradiction("NC114", "names must either be None or a tuple of dim names")
    return tuple(map(_stored_name, cast("tuple[object, ...]", carried)))


def _stored_name(given_name: object) -> Name:
    if given_name is None:
        return None
    if type(given_name) is not str:
        raise not_a_name(given_name)
    if given_name == UNKNOWN_NAME:
        return UNKNOWN
    check_label(given_name)
    return given_name


def has_rank_of_names(tensor: torch.Tensor) -> bool:
    """Whether a tensor has as many dims as names, or no names."""
    carried: Any = getattr(tensor, ATTRIBUTE, None)
    return carried is None or (_are_texts(carried) and len(carried) == tensor.dim())


def visible_names(tensor: torch.Tensor) -> Names:
    """The value of ``tensor.names``: one entry for each dim, None where a name is unknown."""
    names = names_of(tensor)
    if names is None:
        return (None,) * tensor.dim()
    return tuple(None if name == UNKNOWN_NAME else name for name in names)


def set_names(tensor: torch.Tensor, names: Names | None) -> None:
    """Set the names of a tensor; None removes them."""
    if names is None:
        vars(tensor).pop(ATTRIBUTE, None)
        return
    if TABLE.warns and any(name is not None for name in names):
        TABLE.warns = False
        native_warnings.warn(native_warnings.EXPERIMENTAL)
    overrides = getattr(type(tensor), ATTRIBUTE, None) is OVERRIDING
    tensor._names = _UncachedNames(names) if overrides else names  # type: ignore[attr-defined]


class _Originals:
    """torch's functions, read before they are patched."""

    subscript: Any = torch.Tensor.__getitem__
    view_as: Any = torch.Tensor.view_as
    clone: Any = torch.Tensor.clone
    detach: Any = torch.Tensor.detach
    is_contiguous: Any = torch.Tensor.is_contiguous


def subscript() -> Callable[..., torch.Tensor]:
    """torch's own function of ``tensor[index]``, which makes an alias by an Ellipsis."""
    return cast("Callable[..., torch.Tensor]", _Originals.subscript)


def alias(tensor: torch.Tensor, *_: Any, **__: Any) -> torch.Tensor:
    """Another tensor with the same data, as native ``rename`` returns it.

    torch has no view of a sparse or jagged tensor: it is copied if it requires a gradient.
    """
    if tensor.__class__ is torch.Tensor or tensor.__class__ is torch.nn.Parameter:
        try:  # as an index, an Ellipsis is `aten::alias`: its backward pass hands on the gradient
            plain: torch.Tensor = _Originals.subscript(tensor, ...)
        except RuntimeError:
            pass
        else:
            return plain
    if tensor.layout is torch.strided and not tensor.is_nested:
        return cast(torch.Tensor, _Originals.view_as(tensor, tensor))
    copied = _Originals.clone if tensor.requires_grad else _Originals.detach
    return cast(torch.Tensor, copied(tensor))


def lift(real_names: Iterable[str | None]) -> tuple[Name, ...]:
    """The names of a real tensor as names of an abstract one."""
    return tuple(UNKNOWN if name == UNKNOWN_NAME else name for name in real_names)


def lower(abstract_names: Iterable[Name]) -> Names:
    """The names of an abstract tensor as names of a real one."""
    return tuple(UNKNOWN_NAME if name is UNKNOWN else word(name) for name in abstract_names)


def dims_of(tensor: torch.Tensor, *, sized: bool, assume_unnamed: bool) -> Dims:
    """The dims of a real tensor.

    With `sized` they have their sizes. The dims of a tensor that was never named are unnamed with
    `assume_unnamed`, else of unknown names; where it has no dims, all of it is then unknown.
    """
    names = names_of(tensor)
    if names is None:
        if not assume_unnamed and tensor.dim() == 0:
            return OPEN
        names = ((None if assume_unnamed else UNKNOWN_NAME),) * tensor.dim()
    sizes = _sizes(tensor) if sized else [UNKNOWN] * len(names)
    return Dims.of(*lift(names), sizes=sizes)


def _sizes(tensor: torch.Tensor) -> list[Any]:
    """The size of each dim, UNKNOWN if it is symbolic; some nested tensors have no sizes."""
    try:
        return [_size(extent) for extent in tensor.shape]
    except RuntimeError:
        return [UNKNOWN] * tensor.dim()


def _size(value: Any) -> Any:
    return value if type(value) is int else UNKNOWN


def layout_of(tensor: torch.Tensor) -> str:
    """The layout of a real tensor, as torch names it: ``strided``."""
    return str(tensor.layout).removeprefix("torch.")


def memory_of(tensor: torch.Tensor) -> Memory:
    """The order of a real tensor's dims in memory."""
    if tensor.layout is not torch.strided:
        return UNKNOWN
    if _Originals.is_contiguous(tensor):
        return memory_order.CONTIGUOUS
    return memory_order.laid(tensor.stride(), tensor.shape)


def abstract(
    value: Any, *, sized: bool = True, assume_unnamed: bool = True, laid_out: bool = False
) -> Any:
    """The abstract value of an argument, as `infer` takes it.

    `laid_out` with its layout and, where its sizes are given, too, with its order in memory.
    """
    if isinstance(value, torch.Tensor):
        dtype = str(value.dtype).removeprefix("torch.")
        dims = dims_of(value, sized=sized, assume_unnamed=assume_unnamed)
        if not laid_out:
            return Tensor(dims, dtype)
        memory = memory_of(value) if sized else UNKNOWN
        return Tensor(dims, dtype, layout=layout_of(value), memory=memory)
    if isinstance(value, str):  # a member of an enumeration, too, is a plain name
        return str.__str__(value)
    if value is None or isinstance(value, (bool, int, float, complex)) or value is ...:
        return value
    if isinstance(value, torch.Size):
        return tuple(map(_size, value))
    if isinstance(value, (list, tuple)):
        parts = [
            abstract(part, sized=sized, assume_unnamed=assume_unnamed, laid_out=laid_out)
            for part in value
        ]
        return parts if isinstance(value, list) else tuple(parts)
    if isinstance(value, slice):
        return slice(abstract(value.start), abstract(value.stop), abstract(value.step))
    if isinstance(value, Mapping):
        pairs = {abstract(key): abstract(part) for key, part in value.items()}
        return _mapping_like(value, pairs)
    number = as_int(value)
    return _constant(value) if number is None else number


def abstract_names(abstracted: Callable[[Any], Any], value: Any) -> Any:
    """An argument that names dims, `abstracted` but for objects that cannot name any.

    These stay as they are, since their types are in the message that refuses them. A size that is
    not known yet is unknown.
    """
    if isinstance(value, (list, tuple)):
        parts = [abstract_names(abstracted, part) for part in value]
        return parts if isinstance(value, list) else tuple(parts)
    if isinstance(value, Mapping):
        return _mapping_like(value, abstract_names(abstracted, list(value.items())))
    described = abstracted(value)
    is_foreign = described is UNKNOWN and not isinstance(value, torch.SymInt)
    return value if is_foreign else described


def _mapping_like(original_mapping: Mapping[Any, Any], abstract_items: Any) -> Mapping[Any, Any]:
    """A mapping of these items, which is ordered where the original is."""
    is_ordered = isinstance(original_mapping, OrderedDict)
    return OrderedDict(abstract_items) if is_ordered else dict(abstract_items)


def listed(index: Any) -> Any:
    """An index whose ranges and arrays are lists, as torch takes them."""
    if isinstance(index, tuple):
        return tuple(map(listed, index))
    if isinstance(index, range):
        return list(index)
    if isinstance(index, torch.Tensor) or not hasattr(type(index), "__array_interface__"):
        return index
    try:
        return torch.as_tensor(index)
    except Exception:  # an array that torch does not take
        return index


def as_int(value: Any) -> int | None:
    """The int that a value stands for, as a scalar of numpy does; None for any other value."""
    if isinstance(value, (torch.Tensor, torch.SymInt)) or not hasattr(type(value), "__index__"):
        return None
    try:
        return operator.index(value)
    except Exception:  # an array of several elements; what a file holds may raise anything
        return None


def holds_index(value: Any) -> bool:
    """Whether an argument is, or holds, a 0-d tensor that torch takes as the index of a dim."""
    if type(value) in (list, tuple):
        return any(map(holds_index, value))
    if not isinstance(value, torch.Tensor) or value.dim() or value.requires_grad:
        return False
    return not (value.is_floating_point() or value.is_complex() or value.is_meta)


def with_ints(value: Any) -> Any:
    """An argument with an int for each tensor that is the index of a dim."""
    if type(value) in (list, tuple):
        return type(value)(map(with_ints, value))
    return int(value) if holds_index(value) else value


def _constant(value: Any) -> Any:
    for kind, type_ in _CONSTANTS.items():
        if isinstance(value, type_):
            return Constant(kind, str(value).removeprefix("torch."))
    return UNKNOWN


_CONSTANTS: Final = {
    "dtype": torch.dtype,
    "device": torch.device,
    "layout": torch.layout,
    "memory_format": torch.memory_format,
}


def set_inferred_names(value: Any, answer: Any, *, assume_unnamed: bool) -> None:
    """Set the names that `infer` returned on a real result, and on the parts of a sequence.

    Without `assume_unnamed` an unnamed result gets a tuple of None, to tell it from a tensor that
    was never named.
    """
    if isinstance(value, torch.Tensor):
        _set_names_of_one(value, answer, assume_unnamed=assume_unnamed)
    elif isinstance(value, (tuple, list)):
        parts = answer if isinstance(answer, (tuple, list)) else [answer] * len(value)
        if isinstance(answer, Many):
            parts = [answer.each] * len(value)
        for part, part_answer in zip(value, parts, strict=False):
            set_inferred_names(part, part_answer, assume_unnamed=assume_unnamed)


def alias_if_renamed(tensor: torch.Tensor, answer: Any) -> torch.Tensor:
    """The tensor, or an alias of it if the inferred names are not the present ones."""
    names = inferred_names(answer, tensor.dim())
    present = names_of(tensor) or (None,) * tensor.dim()
    return tensor if names == present else alias(tensor)


def put_names(result: Any, names: Names | None) -> None:
    """Set the remembered names of a result; without names it needs no attribute."""
    if names is not None or result._names is not None:
        result._names = names


def inferred_names(answer: Any, rank: int) -> Names:
    """The names that an answer of `infer` has for a tensor of this rank."""
    return names_of_rank(answer.dims if isinstance(answer, Tensor) else OPEN, rank)


def _set_names_of_one(tensor: torch.Tensor, answer: Any, *, assume_unnamed: bool) -> None:
    names = inferred_names(answer, tensor.dim())
    is_unknown = not isinstance(answer, Tensor) or answer.dims.rank is None
    silent = all(name is None for name in names) if assume_unnamed else not names and is_unknown
    set_names(tensor, None if silent else names)


def names_of_rank(dims: Dims, rank: int) -> Names:
    """The names of dims for a tensor of this rank; unknown where the dims leave them open."""
    if not dims.open:
        return lower(dims.names) if dims.rank == rank else (UNKNOWN_NAME,) * rank
    missing = rank - dims.min_rank
    if missing < 0:
        return (UNKNOWN_NAME,) * rank
    front = lower(dim.name for dim in dims.prefix)
    back = lower(dim.name for dim in dims.suffix)
    return (*front, *(UNKNOWN_NAME,) * missing, *back)
