"""The names that a real tensor carries, and real values as `infer` takes them.

The names of a tensor are one plain attribute, ``_names``: a tuple with a label, None or ``"?"``
(unknown) for each dim, or None where nothing was ever said of them. A plain attribute is what
copy, pickle and ``torch.save`` keep by themselves; ``torch.load(weights_only=True)`` takes it too.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeAlias, cast

import torch

from namecheck.core.dims import OPEN, Dims
from namecheck.core.names import UNKNOWN, Name, word
from namecheck.core.tensors import Constant, Many, Tensor

Names: TypeAlias = tuple[str | None, ...]

ATTRIBUTE: Final = "_names"
UNSAID: Final = "?"


class _Overriding:
    """What a class of tensors has in the place of names if it overrides torch's functions.

    It lets a wrapper take the long way; its length is the rank of no tensor.
    """

    def __len__(self) -> int:
        return sys.maxsize


OVERRIDING: Final = _Overriding()


class _Unremembered(tuple[str | None, ...]):
    """The names of a tensor of such a class, under which no memo has anything."""

    __slots__ = ()

    def __hash__(self) -> int:
        return ~super().__hash__()

    def __reduce__(self) -> tuple[Any, ...]:
        return tuple, (tuple(self),)


def names_of(tensor: torch.Tensor) -> Names | None:
    """The names that a tensor carries, None where it has none.

    Names that do not fit its rank, because something changed the tensor underneath, are unknown.
    Where nothing is installed any more the attribute itself may be missing.
    """
    names: Names | _Overriding | None = getattr(tensor, ATTRIBUTE, None)
    if names is None or names is OVERRIDING:
        return None
    rank = tensor.dim()
    return tuple(cast(Names, names)) if len(names) == rank else (UNSAID,) * rank


def shown(tensor: torch.Tensor) -> Names:
    """What ``tensor.names`` says: one entry for every dim; what is unknown shows as None."""
    names = names_of(tensor)
    if names is None:
        return (None,) * tensor.dim()
    return tuple(None if name == UNSAID else name for name in names)


def give(tensor: torch.Tensor, names: Names | None) -> None:
    """Let a tensor carry these names."""
    if names is None:
        vars(tensor).pop(ATTRIBUTE, None)
        return
    overrides = getattr(type(tensor), ATTRIBUTE, None) is OVERRIDING
    tensor._names = _Unremembered(names) if overrides else names  # type: ignore[attr-defined]


class _Originals:
    """torch's own functions, as they are before anything is patched."""

    view_as: Any = torch.Tensor.view_as
    clone: Any = torch.Tensor.clone
    detach: Any = torch.Tensor.detach


def alias(tensor: torch.Tensor, *_: Any, **__: Any) -> torch.Tensor:
    """The same data as a tensor of its own, as native ``rename`` gives it.

    torch has no view of a sparse or a nested tensor: one that requires a gradient is copied.
    """
    if tensor.layout is torch.strided and not tensor.is_nested:
        return cast(torch.Tensor, _Originals.view_as(tensor, tensor))
    copied = _Originals.clone if tensor.requires_grad else _Originals.detach
    return cast(torch.Tensor, copied(tensor))


def lift(names: Iterable[str | None]) -> tuple[Name, ...]:
    """Carried names as values of the algebra."""
    return tuple(UNKNOWN if name == UNSAID else name for name in names)


def lower(names: Iterable[Name]) -> Names:
    """Names of the algebra as a tensor carries them."""
    return tuple(UNSAID if name is UNKNOWN else word(name) for name in names)


def dims_of(tensor: torch.Tensor, *, sized: bool, said: bool) -> Dims:
    """The dims of a real tensor.

    With `sized` they have their sizes; with `said` a tensor of which no names were ever said is
    unnamed, else its names are unknown.
    """
    names = names_of(tensor)
    if names is None:
        names = ((None if said else UNSAID),) * tensor.dim()
    sizes = _sizes(tensor) if sized else [UNKNOWN] * len(names)
    return Dims.of(*lift(names), sizes=sizes)


def _sizes(tensor: torch.Tensor) -> list[Any]:
    """The size of each dim as far as it is one number; some nested tensors have none at all."""
    try:
        return [_size(size) for size in tensor.shape]
    except RuntimeError:
        return [UNKNOWN] * tensor.dim()


def _size(size: Any) -> Any:
    return size if type(size) is int else UNKNOWN


def abstract(value: Any, *, sized: bool = True, said: bool = True) -> Any:
    """A real argument as `infer` takes it."""
    if isinstance(value, torch.Tensor):
        dtype = str(value.dtype).removeprefix("torch.")
        return Tensor(dims_of(value, sized=sized, said=said), dtype)
    if value is None or isinstance(value, (str, bool, int, float, complex)) or value is ...:
        return value
    if isinstance(value, torch.Size):
        return tuple(map(_size, value))
    if isinstance(value, (list, tuple)):
        parts = [abstract(part, sized=sized, said=said) for part in value]
        return parts if isinstance(value, list) else tuple(parts)
    if isinstance(value, slice):
        return slice(abstract(value.start), abstract(value.stop), abstract(value.step))
    if isinstance(value, Mapping):
        return type(value)({k: abstract(v) for k, v in value.items()})  # type: ignore[call-arg]
    return _constant(value)


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


def stamp(value: Any, answer: Any, *, said: bool) -> None:
    """Give a real result the names that `infer` answered, its parts those of the answer's parts.

    Where `said` is false a tensor that has no names says so with a tuple of None.
    """
    if isinstance(value, torch.Tensor):
        _stamp_one(value, answer, said=said)
    elif isinstance(value, (tuple, list)):
        parts = answer if isinstance(answer, (tuple, list)) else [answer] * len(value)
        if isinstance(answer, Many):
            parts = [answer.each] * len(value)
        for part, told in zip(value, parts, strict=False):
            stamp(part, told, said=said)


def apart(tensor: torch.Tensor, answer: Any) -> torch.Tensor:
    """The tensor, or another one of the same data where an answer gives it other names."""
    names = answered(answer, tensor.dim())
    present = names_of(tensor) or (None,) * tensor.dim()
    return tensor if names == present else alias(tensor)


def answered(answer: Any, rank: int) -> Names:
    """The names that an answer gives to a tensor of this rank."""
    return fitted(answer.dims if isinstance(answer, Tensor) else OPEN, rank)


def _stamp_one(tensor: torch.Tensor, answer: Any, *, said: bool) -> None:
    names = answered(answer, tensor.dim())
    silent = said and all(name is None for name in names)
    give(tensor, None if silent else names)


def fitted(dims: Dims, rank: int) -> Names:
    """The names of dims on a tensor of this rank; unknown wherever they do not tell."""
    if not dims.open:
        return lower(dims.names) if dims.rank == rank else (UNSAID,) * rank
    missing = rank - dims.min_rank
    if missing < 0:
        return (UNSAID,) * rank
    front = lower(dim.name for dim in dims.prefix)
    back = lower(dim.name for dim in dims.suffix)
    return (*front, *(UNSAID,) * missing, *back)
