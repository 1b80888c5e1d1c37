"""The part of the old API that torch has no function for any more: names read, set and moved.

Every function here only moves data; what the result is called, and whether the call is allowed,
`infer` has told before.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, cast

import torch

from namecheck.operators import Operator
from namecheck.runtime.core import tensor_names
from namecheck.runtime.core.tensor_names import Names, shown
from namecheck.runtime.patching import argument_translation
from namecheck.runtime.patching.targets import Target


class _Originals:
    """torch's own functions, as they are before anything is patched."""

    permute: Any = torch.Tensor.permute
    unsqueeze: Any = torch.Tensor.unsqueeze
    flatten: Any = torch.flatten
    unflatten: Any = torch.Tensor.unflatten
    repr: Any = torch.Tensor.__repr__
    data: Any = torch.Tensor.data


def itself(tensor: torch.Tensor, *_: Any, **__: Any) -> torch.Tensor:
    """The tensor, whose names alone change."""
    return tensor


def nothing(tensor: torch.Tensor, value: Any) -> None:
    """What is left to do where names are set: they are given as they were inferred."""


def align_to(tensor: torch.Tensor, *names: Any) -> torch.Tensor:
    """The dims in the order of `names`, an Ellipsis for the rest, new ones of size 1."""
    present = shown(tensor)
    rest = [dim for dim, name in enumerate(present) if name is None or name not in names]
    order: list[int | None] = []
    for name in names:
        if name is ... or name == "...":
            order += rest
        else:
            order.append(present.index(name) if name in present else None)
    result: torch.Tensor = _Originals.permute(tensor, [dim for dim in order if dim is not None])
    for place, dim in enumerate(order):
        if dim is None:
            result = _Originals.unsqueeze(result, place)
    return result


def align_as(tensor: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """The dims in the order of those of `other`."""
    return align_to(tensor, *shown(other))


def align_tensors(*tensors: Any) -> tuple[torch.Tensor, ...]:
    """All tensors in the order of the one with the most dims."""
    given = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else tensors
    longest = max(given, key=torch.Tensor.dim)
    return tuple(align_to(tensor, *shown(longest)) for tensor in given)


def flatten(
    input: torch.Tensor, start_dim: Any = 0, end_dim: int = -1, *, dims: Sequence[int] = ()
) -> torch.Tensor:
    """``flatten`` of the dims from one to another, or of a list of them."""
    listed = start_dim if isinstance(start_dim, (list, tuple)) else dims
    if listed:
        start_dim, end_dim = listed[0], listed[-1]
    return cast(torch.Tensor, _Originals.flatten(input, start_dim, end_dim))


def unflatten(input: torch.Tensor, dim: Any, sizes: Any, names: Any = None) -> torch.Tensor:
    """``unflatten`` into sizes, or into pairs of names and sizes."""
    pairs = list(sizes.items()) if isinstance(sizes, Mapping) else sizes
    if pairs and isinstance(pairs[0], (tuple, list)):
        pairs = [size for _, size in pairs]
    place = argument_translation.place_of(dim, input) if isinstance(dim, str) else dim
    return cast(torch.Tensor, _Originals.unflatten(input, place, pairs))


def taking_pairs(original: Callable[..., None]) -> Callable[..., None]:
    """How ``nn.Unflatten`` looks at its sizes: they may be pairs of names and sizes again."""

    @functools.wraps(original)
    def require(module: torch.nn.Unflatten, sizes: Any) -> None:
        pairs = isinstance(sizes, tuple) and all(isinstance(one, tuple) for one in sizes)
        if not pairs:
            original(module, sizes)

    return require


def has_names(tensor: torch.Tensor) -> bool:
    """Whether any dim has a name."""
    with torch._C.DisableTorchFunction():
        return any(name is not None for name in shown(tensor))


MOVES: Final[Mapping[str, Callable[..., Any]]] = {
    "refine_names": tensor_names.alias,
    "rename": tensor_names.alias,
    "rename_": itself,
    "align_to": align_to,
    "align_as": align_as,
    "align_tensors": align_tensors,
    "flatten": flatten,
    "unflatten": unflatten,
}


def targets(rows: Mapping[str, Operator]) -> Iterator[Target]:
    """The functions and methods of the old API, each with the function that moves its data."""
    for key, move in MOVES.items():
        row = rows[key]
        for form in row.forms:
            owner: Any = torch if form == "f" else torch.Tensor
            operator = key if form == "i" else f"{'torch' if form == 'f' else 'Tensor'}.{key}"
            yield Target(
                owner,
                key,
                operator,
                row,
                form,
                getattr(owner, key, move),
                move=move,
                by_name=move is not flatten,
                moves=move not in (tensor_names.alias, itself),
            )


def names_property(set_names: Callable[[torch.Tensor, Any], Any]) -> property:
    """``tensor.names``."""

    def read(tensor: torch.Tensor) -> Names:
        with torch._C.DisableTorchFunction():
            return shown(tensor)

    return property(read, set_names, doc="The name of each dim, None where it has none.")


def data_property() -> property:
    """``tensor.data``: reading keeps the names; what is assigned brings its own, if it has any."""
    original: Any = _Originals.data

    def read(tensor: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = original.__get__(tensor)
        names = tensor_names.names_of(tensor)
        if names is not None:
            tensor_names.give(result, names)
        return result

    def write(tensor: torch.Tensor, value: torch.Tensor) -> None:
        before, told = tensor_names.names_of(tensor), tensor_names.names_of(value)
        original.__set__(tensor, value)
        names = told if has_names(value) else before
        fits = names is not None and len(names) == tensor.dim()
        tensor_names.give(tensor, names if fits else None)

    return property(read, write, doc=original.__doc__)


def show(tensor: torch.Tensor, *, tensor_contents: Any = None) -> str:
    """``repr(tensor)``, with its names before the closing bracket."""
    text: str = _Originals.repr(tensor, tensor_contents=tensor_contents)
    names: Sequence[str | None] = shown(tensor)
    if not text.endswith(")") or all(name is None for name in names):
        return text
    last = text.rpartition("\n")[2]
    suffix = f"names={tuple(names)}"
    gap = " " if len(last) + len(suffix) + 2 <= _LINE else "\n" + " " * len("tensor(")
    return f"{text[:-1]},{gap}{suffix})"


_LINE: Final = 80
