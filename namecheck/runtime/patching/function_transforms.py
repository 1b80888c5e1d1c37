"""Names inside of ``vmap``, ``func.grad`` and forward-mode differentiation.

A transform hands its function wrapped tensors, and unwraps what comes back. Inside of ``vmap`` the
dim that is mapped over is gone; outside the results have it again, at ``out_dims``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch._functorch import eager_transforms, vmap
from torch.autograd import forward_ad
from torch.utils import _pytree as pytree

from namecheck.runtime.core import tensor_names
from namecheck.runtime.core.name_propagation import carry, keeping, said_of
from namecheck.runtime.core.patch_table import Patch
from namecheck.runtime.core.tensor_names import UNSAID, Names

# What wraps a tensor, or unwraps it.
_WRAPPING = (
    "_wrap_for_grad",
    "_unwrap_for_grad",
    "_wrap_functional_tensor",
    "_unwrap_functional_tensor",
)


def patches() -> Iterator[Patch]:
    """The functions of torch that wrap tensors for a transform."""
    for name in _WRAPPING:
        original = getattr(eager_transforms, name)
        yield Patch(eager_transforms, name, keeping(original, 0, "tensor"))
    yield Patch(forward_ad, "make_dual", keeping(forward_ad.make_dual, 0, "tensor"))
    yield Patch(forward_ad, "unpack_dual", _unpacking(forward_ad.unpack_dual))
    yield Patch(vmap, "_flat_vmap", _mapping(vmap._flat_vmap))


def _unpacking(original: Callable[..., Any]) -> Callable[..., Any]:
    """``unpack_dual``, whose primal has the names; tangents are unnamed, as gradients are."""

    @functools.wraps(original)
    def unpack_dual(tensor: Any, **kwargs: Any) -> Any:
        result = original(tensor, **kwargs)
        if not torch.compiler.is_compiling():
            carry(tensor, result.primal)
        return result

    return unpack_dual


def _mapping(original: Callable[..., Any]) -> Callable[..., Any]:
    """``vmap`` with its arguments flat."""

    @functools.wraps(original)
    def flat_vmap(
        func: Callable[..., Any],
        batch_size: Any,
        flat_in_dims: Sequence[int | None],
        flat_args: Sequence[Any],
        args_spec: Any,
        out_dims: Any,
        *settings: Any,
        **kwargs: Any,
    ) -> Any:
        given = (batch_size, flat_in_dims, flat_args, args_spec, out_dims, *settings)
        if torch.compiler.is_compiling():
            return original(func, *given, **kwargs)
        inside: list[Names | None] = []

        @functools.wraps(func)
        def named(*batched: Any, **others: Any) -> Any:
            for wrapped, arg, dim in zip(
                pytree.tree_leaves(batched), flat_args, flat_in_dims, strict=True
            ):
                names = said_of(arg)
                if dim is not None and names is not None:
                    tensor_names.give(wrapped, (*names[:dim], *names[dim + 1 :]))
            result = func(*batched, **others)
            inside.extend(map(said_of, pytree.tree_leaves(result)))
            return result

        result = original(named, *given, **kwargs)
        leaves, spec = pytree.tree_flatten(result)
        batch = _mapped_name(flat_in_dims, flat_args)
        places = pytree._broadcast_to_and_flatten(out_dims, spec) or [None] * len(leaves)
        for leaf, names, place in zip(leaves, inside, places, strict=True):
            outer = None if place is None else _outside(names, batch, place, leaf.dim())
            if outer is not None and said_of(leaf) is None:
                tensor_names.give(leaf, outer)
        return result

    return flat_vmap


def _mapped_name(dims: Sequence[int | None], args: Sequence[Any]) -> str | None:
    """The name of the dim that is mapped over; unknown where the arguments disagree."""
    found = {
        names[dim]
        for dim, names in zip(dims, map(said_of, args), strict=True)
        if dim is not None and names is not None
    } - {None}
    return _only(found)


def _only(names: set[Any]) -> str | None:
    if len(names) > 1:
        return UNSAID
    return next(iter(names), None)


def _outside(names: Names | None, batch: str | None, place: int, rank: int) -> Names | None:
    """The names of a result, of those that it had inside; a name that it has twice is unknown."""
    if names is None and batch is None:
        return None
    within = list(names if names is not None else (None,) * (rank - 1))
    within.insert(place % rank, UNSAID if batch in within and batch is not None else batch)
    return tuple(within)


# The steps that torch.compile makes of a transform.
_ADDING, _REMOVING, _UNPACKING = "_add_batch_dim", "_remove_batch_dim", "_unpack_dual"
_KEEPING = (*_WRAPPING, "_make_dual")


def follow(step: str, args: Sequence[Any], result: Any, mapped: dict[Any, set[str]]) -> None:
    """Give the result of one step of a transform its names.

    `mapped` has the names of the dims that are mapped over, for each level of ``vmap``.
    """
    if step in _KEEPING:
        carry(args[0], result)
    elif step == _UNPACKING:
        carry(args[0], result[0])
    elif step == _ADDING:
        tensor, dim, level = args
        if names := said_of(tensor):
            place = dim % len(names)
            mapped.setdefault(level, set()).update({names[place]} - {None})
            tensor_names.give(result, (*names[:place], *names[place + 1 :]))
    elif step == _REMOVING:
        tensor, level, _, place = args
        outer = _outside(said_of(tensor), _only(mapped.get(level, set())), place, result.dim())
        if outer is not None and said_of(result) is None:
            tensor_names.give(result, outer)
