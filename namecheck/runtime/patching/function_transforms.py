"""Names inside ``vmap``, ``func.grad`` and forward-mode differentiation.

A transform calls its function with wrapped tensors and unwraps the results. Inside ``vmap`` the
mapped dim is removed; the results have it again, at ``out_dims``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import torch
from torch._functorch import eager_transforms, vmap
from torch.autograd import forward_ad
from torch.utils import _pytree as pytree

from namecheck.runtime.core import tensor_names
from namecheck.runtime.core.name_propagation import copy_names, copying_names, names_or_none
from namecheck.runtime.core.patch_table import Patch
from namecheck.runtime.core.tensor_names import UNKNOWN_NAME, Names

# The functions that wrap or unwrap a tensor.
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
        yield Patch(eager_transforms, name, copying_names(original, 0, "tensor"))
    yield Patch(forward_ad, "make_dual", copying_names(forward_ad.make_dual, 0, "tensor"))
    yield Patch(forward_ad, "unpack_dual", _unpacking(forward_ad.unpack_dual))
    yield Patch(vmap, "_flat_vmap", _mapping(vmap._flat_vmap))


def _unpacking(original: Callable[..., Any]) -> Callable[..., Any]:
    """A wrapper of ``unpack_dual``: the primal keeps the names; the tangent is unnamed."""

    @functools.wraps(original)
    def unpack_dual(tensor: torch.Tensor, **kwargs: Any) -> Any:
        result = original(tensor, **kwargs)
        if not torch.compiler.is_compiling():
            copy_names(tensor, result.primal)
        return result

    return unpack_dual


def _mapping(original: Callable[..., Any]) -> Callable[..., Any]:
    """A wrapper of the part of ``vmap`` that takes its arguments as a flat list."""

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
        arguments = (batch_size, flat_in_dims, flat_args, args_spec, out_dims, *settings)
        if torch.compiler.is_compiling():
            return original(func, *arguments, **kwargs)
        inside: list[Names | None] = []

        @functools.wraps(func)
        def named(*batched: Any, **others: Any) -> Any:
            leaves = pytree.tree_leaves(batched)
            # A container that torch does not open has several tensors.
            parts = zip(leaves, flat_args, flat_in_dims, strict=False)
            for wrapped, arg, dim in parts if len(leaves) == len(flat_args) else ():
                names = names_or_none(arg)
                if dim is not None and names is not None:
                    tensor_names.set_names(wrapped, (*names[:dim], *names[dim + 1 :]))
            result = func(*batched, **others)
            inside.extend(map(names_or_none, pytree.tree_leaves(result)))
            return result

        result = original(named, *arguments, **kwargs)
        leaves, spec = pytree.tree_flatten(result)
        batch = _mapped_name(flat_in_dims, flat_args)
        flat_out_dims = pytree._broadcast_to_and_flatten(out_dims, spec) or [None] * len(leaves)
        if len(inside) != len(leaves):
            return result
        for leaf, names, out_dim in zip(leaves, inside, flat_out_dims, strict=True):
            outer = None if out_dim is None else _outside(names, batch, out_dim, leaf.dim())
            if outer is not None and names_or_none(leaf) is None:
                tensor_names.set_names(leaf, outer)
        return result

    return flat_vmap


def _mapped_name(in_dims: Sequence[int | None], values: Iterable[Any]) -> str | None:
    """The name of the mapped dim; unknown if the arguments have different names."""
    mapped = {
        names[dim]
        for dim, names in zip(in_dims, map(names_or_none, values), strict=True)
        if dim is not None and names is not None
    } - {None}
    return _only(mapped)


def _only(distinct_names: set[Any]) -> str | None:
    if len(distinct_names) > 1:
        return UNKNOWN_NAME
    return next(iter(distinct_names), None)


def _outside(names: Names | None, batch: str | None, out_dim: int, rank: int) -> Names | None:
    """The names of a result: those inside, and the mapped dim's; a duplicate is unknown."""
    if names is None and batch is None:
        return None
    within = list(names if names is not None else (None,) * (rank - 1))
    within.insert(out_dim % rank, UNKNOWN_NAME if batch in within and batch is not None else batch)
    return tuple(within)


# The functions that torch.compile traces for a transform.
_ADDING, _REMOVING, _UNPACKING = "_add_batch_dim", "_remove_batch_dim", "_unpack_dual"
_KEEPING = (*_WRAPPING, "_make_dual")


def follow(function_name: str, args: Any, result: Any, mapped: dict[Any, set[str]]) -> None:
    """Name the result of one traced function of a transform.

    `mapped` has the names of the mapped dims for each level of ``vmap``; it is updated.
    """
    if function_name in _KEEPING:
        copy_names(args[0], result)
    elif function_name == _UNPACKING:
        copy_names(args[0], result[0])
    elif function_name == _ADDING:
        tensor, dim, level = args
        if names := names_or_none(tensor):
            index = dim % len(names)
            mapped.setdefault(level, set()).update({names[index]} - {None})
            tensor_names.set_names(result, (*names[:index], *names[index + 1 :]))
    elif function_name == _REMOVING:
        tensor, level, _, out_dim = args
        batch = _only(mapped.get(level, set()))
        outer = _outside(names_or_none(tensor), batch, out_dim, result.dim())
        if outer is not None and names_or_none(result) is None:
            tensor_names.set_names(result, outer)
