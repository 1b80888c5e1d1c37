"""The functions of the naming API that torch no longer has: they read, set and align names.

The functions here only move data. `infer` has already computed the names of the result, and
whether the call is valid.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeAlias, cast

import torch
from torch import Tensor

from namecheck.core import names as naming
from namecheck.core.names import Contradiction
from namecheck.core.semantics import Semantics
from namecheck.operators import Operator
from namecheck.runtime.core import reporting, tensor_names
from namecheck.runtime.core.tensor_names import UNKNOWN_NAME, Names, visible_names
from namecheck.runtime.patching import argument_translation
from namecheck.runtime.patching.targets import Target

# Denotes a dim in a call: its index, or its name.
DimArgument: TypeAlias = int | str


class _Originals:
    """torch's functions, read before they are patched."""

    permute: Any = torch.Tensor.permute
    unsqueeze: Any = torch.Tensor.unsqueeze
    flatten: Any = torch.flatten
    unflatten: Any = torch.Tensor.unflatten
    repr: Any = torch.Tensor.__repr__
    data: Any = torch.Tensor.data


def itself(tensor: Tensor, *_: Any, **__: Any) -> Tensor:
    """The tensor itself: only its names change."""
    return tensor


def nothing(tensor: Tensor, value: Any) -> None:
    """Move no data: setting ``tensor.names`` only changes names, which were inferred."""


def align_to(tensor: Tensor, *dim_names: Any) -> Tensor:
    """The tensor with its dims in the order of `dim_names`; new dims have size 1.

    An Ellipsis stands for the dims that are not listed.
    """
    present = visible_names(tensor)
    rest = [dim for dim, name in enumerate(present) if name is None or name not in dim_names]
    order: list[int | None] = []
    for name in dim_names:
        if name is ... or name == "...":
            order += rest
        else:
            order.append(present.index(name) if name in present else None)
    if len(order) < tensor.dim() or None in order:
        _check_all_known(tensor)
    aligned: Tensor = _Originals.permute(tensor, [dim for dim in order if dim is not None])
    for index, dim in enumerate(order):
        if dim is None:
            aligned = _Originals.unsqueeze(aligned, index)
    return aligned


def _check_all_known(tensor: Tensor) -> None:
    """Raise an error where a dim of unknown name may be the one that was not found."""
    names = tensor_names.names_of(tensor) or ()
    if UNKNOWN_NAME in names:
        contradiction = Contradiction(
            "NC109",
            f"align_to: All input dims must be named. Found dim of unknown name at index "
            f"{names.index(UNKNOWN_NAME)} of Tensor{naming.show(tensor_names.lift(names))}",
            help="A name that shows as ? is not known: name the tensor with `refine_names` first.",
        )
        raise reporting.error_for(contradiction, (tensor,))


def align_as(tensor: Tensor, other: Tensor) -> Tensor:
    """The tensor with its dims in the order of those of `other`."""
    return align_to(tensor, *visible_names(other))


def align_tensors(*args: Any) -> tuple[Tensor, ...]:
    """All tensors, given one by one or in a sequence, aligned to the one with the most dims."""
    is_sequence = len(args) == 1 and isinstance(args[0], (list, tuple))
    tensors = args[0] if is_sequence else args
    longest = max(tensors, key=torch.Tensor.dim)
    return tuple(align_to(tensor, *visible_names(longest)) for tensor in tensors)


def flattened_dims(
    input: Tensor, start_dim: Any = 0, end_dim: int = -1, **kwargs: Any
) -> tuple[int, int]:
    """The first and the last of the dims that a call of ``flatten`` merges."""
    listed = start_dim if isinstance(start_dim, (list, tuple)) else kwargs.get("dims", ())
    return (listed[0], listed[-1]) if listed else (start_dim, end_dim)


def flatten(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """``flatten`` of the dims from `start_dim` to `end_dim`, or of a sequence, the `dims`."""
    return cast(Tensor, _Originals.flatten(input, *flattened_dims(input, *args, **kwargs)))


def unflattened_dim(
    input: Tensor, dim: DimArgument, sizes: Any, *_: Any, **__: Any
) -> tuple[int, Any]:
    """The index of the dim that a call of ``unflatten`` splits, and the sizes."""
    # To ask whether something is a Mapping is slow.
    is_sequence = sizes.__class__ in (tuple, list)
    pairs = list(sizes.items()) if not is_sequence and isinstance(sizes, Mapping) else sizes
    if pairs and isinstance(pairs[0], (tuple, list)):
        pairs = [size for _, size in pairs]
    index = argument_translation.index_of(dim, input) if isinstance(dim, str) else dim
    return index, pairs


def unflatten(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """``unflatten`` into sizes, or into pairs of a name and a size."""
    return cast(Tensor, _Originals.unflatten(input, *unflattened_dim(input, *args, **kwargs)))


def accepting_pairs(original: Callable[..., None]) -> Callable[..., None]:
    """A wrapper of the check of ``nn.Unflatten`` that also accepts pairs of a name and a size."""

    @functools.wraps(original)
    def require(unflatten_module: torch.nn.Unflatten, sizes: Any) -> None:
        pairs = isinstance(sizes, tuple) and all(isinstance(one, tuple) for one in sizes)
        if not pairs:
            original(unflatten_module, sizes)

    return require


def has_names(tensor: Tensor) -> bool:
    """Whether any dim has a name."""
    with torch._C.DisableTorchFunction():
        return any(name is not None for name in visible_names(tensor))


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

_SETTLED: Final[Mapping[str, Callable[..., tuple[Any, ...]]]] = {
    "flatten": flattened_dims,
    "unflatten": unflattened_dim,
}


def targets(rows: Mapping[str, Operator]) -> Iterator[Target]:
    """The functions and methods of the naming API, each with the function that moves its data."""
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
                settle=_SETTLED.get(key),
                by_name=move is not flatten,
                moves=move not in (tensor_names.alias, itself),
            )


def names_property(set_names: Callable[[Tensor, Any], Any]) -> property:
    """The property ``tensor.names``."""

    def read(tensor: Tensor) -> Names:
        with torch._C.DisableTorchFunction():
            return visible_names(tensor)

    return property(read, set_names, doc="The name of each dim, None where it has none.")


def data_property(semantics: Semantics) -> property:
    """The property ``tensor.data``: reading keeps the names, assigning takes those of the value.

    Assigning an unnamed value of the same rank keeps the names of the tensor, but in torch 2.12.
    """
    clears = semantics is Semantics.NATIVE

    def read(tensor: Tensor) -> Tensor:
        shared: Tensor = _Originals.data.__get__(tensor)
        names = tensor_names.names_of(tensor)
        if names is not None:
            tensor_names.set_names(shared, names)
        return shared

    def write(tensor: Tensor, value: Any) -> None:
        previous = None if clears else tensor_names.names_of(tensor)
        _Originals.data.__set__(tensor, value)
        names = tensor_names.names_of(value) if has_names(value) else previous
        fits = names is not None and len(names) == tensor.dim()
        tensor_names.set_names(tensor, names if fits else None)

    return property(read, write, doc=_Originals.data.__doc__)


def show(tensor: Tensor, *, tensor_contents: Any = None) -> str:
    """``repr(tensor)``, with its names before the closing bracket."""
    text: str = _Originals.repr(tensor, tensor_contents=tensor_contents)
    names: Names = visible_names(tensor)
    if not text.endswith(")") or all(name is None for name in names):
        return text
    last = text.rpartition("\n")[2]
    suffix = f"names={tuple(names)}"
    if text.endswith(f"{suffix})"):
        return text  # that of a subclass, whose handler has asked for this text already
    gap = " " if len(last) + len(suffix) + 2 <= _LINE else "\n" + " " * len("tensor(")
    return f"{text[:-1]},{gap}{suffix})"


_LINE: Final = 80
