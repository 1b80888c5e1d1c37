"""What a plan depends on: the kinds of the arguments of a call, and the sizes of tensors."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any, Final, cast

import torch

from namecheck.runtime.core import tensor_names

# Longer lists are taken for data, and their calls are not remembered.
LONGEST_LIST: Final = 32


def of(value: Any) -> Hashable:
    """The part of an argument that a plan depends on; TypeError if there is no such key."""
    if isinstance(value, torch.Tensor):
        names = tensor_names.names_of(value)
        return rank_of(value) if names is None else names, value.dtype
    if isinstance(value, (list, tuple)):
        if len(value) > LONGEST_LIST:
            raise TypeError("data")
        return (type(value), *map(of, value))
    if isinstance(value, dict):
        return type(value), tuple((key, of(part)) for key, part in value.items())
    if isinstance(value, slice):
        return slice
    if isinstance(value, (bool, int, str)) or value is None or value is ...:
        return type(value), value
    number = tensor_names.as_int(value)
    return cast(Hashable, type(value)) if number is None else (type(value), number)


def typed(value: Any) -> Any:
    """A number that is no int, with its type: 1, True and 1.0 have one hash, and differ."""
    kind = value.__class__
    return (kind, value) if kind is bool or kind is float or kind is complex else value


def rank_of(tensor: torch.Tensor) -> Hashable:
    """The part of an unnamed tensor that a plan depends on: the rank, and a sparse layout."""
    rank = tensor.dim()
    return rank if tensor.layout is torch.strided else (rank, tensor.layout)


def is_list(part: object) -> bool:
    """Whether a value is a list; not asked of its class, which a file may have made."""
    return type(part) is list


def without_lists(key_path: Sequence[Any]) -> tuple[Any, ...]:
    """A key in which each list is a tuple that begins with the type, since lists have no hash.

    A long list is taken for data: it stays, so that nothing is remembered under the key.
    """
    return tuple(
        (list, *without_lists(part))
        if is_list(part) and len(part) <= LONGEST_LIST
        else without_lists(part)
        if type(part) is tuple
        else part
        for part in key_path
    )


def sizes_of(values: Sequence[Any]) -> Hashable:
    """The sizes of all tensors among the arguments, and the values of slices."""
    collected: list[Hashable] = []
    for value in values:
        if isinstance(value, torch.Tensor):
            collected.append(tuple(value.shape))
        elif isinstance(value, (list, tuple)):
            collected.append(sizes_of(value))
        elif isinstance(value, slice):
            collected.append(sizes_of((value.start, value.stop, value.step)))
        else:
            hash(value)
            collected.append(value)
    return tuple(collected)


def reuses_input(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
    """Whether a tensor passed as ``out=`` is one of the inputs itself."""
    if "out" not in kwargs:
        return False
    inputs = (*args, *(kwargs[name] for name in kwargs if name != "out"))
    outputs = set(map(id, _tensors(kwargs["out"])))
    return any(id(tensor) in outputs for value in inputs for tensor in _tensors(value))


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    """The tensors in a sequence, or the value alone if it is one."""
    values = value if isinstance(value, (tuple, list)) else (value,)
    return (each for each in values if isinstance(each, torch.Tensor))
