"""The names of tensors in files: pickle and ``torch.save`` store the attributes of a tensor.

A file from elsewhere may hold anything as names, so they are checked where torch sets the
attributes of a tensor that it has loaded.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any, Final

import torch

from namecheck.core.names import Contradiction, check_distinct
from namecheck.core.semantics import Semantics
from namecheck.rules import refusals
from namecheck.runtime.core import reporting, tensor_names
from namecheck.runtime.core.name_propagation import has_label
from namecheck.runtime.core.patch_table import Patch
from namecheck.runtime.core.tensor_names import ATTRIBUTE

_REDUCER: Final = "_reduce_ex_internal"

_HELP: Final = (
    "The file holds names that no tensor can have. To load it without names, call "
    "`namecheck.uninstall()` first."
)


def patches(semantics: Semantics) -> Iterator[Patch]:
    """How torch reads and sets the attributes of a tensor that is stored, loaded or copied."""
    if semantics is Semantics.NATIVE:
        tensor: Any = torch.Tensor
        yield Patch(tensor, _REDUCER, refusing_names(vars(tensor)[_REDUCER]))
    utilities: Any = torch._utils
    yield Patch(utilities, "_get_obj_state", _refreshing(utilities._get_obj_state))
    yield Patch(utilities, "_set_obj_state", _checking(utilities._set_obj_state))


def refusing_names(reducer: Callable[..., Any]) -> Callable[..., Any]:
    """A wrapper of what takes a tensor apart to store it: torch 2.12 does not store names."""

    @functools.wraps(reducer)
    def reduce(tensor: torch.Tensor, *args: Any) -> Any:
        if has_label(tensor):
            reporting.report(refusals.not_stored(), (tensor,))
        return reducer(tensor, *args)

    return reduce


def _refreshing(original: Callable[..., Any]) -> Callable[..., Any]:
    """A wrapper that stores unknown names where other code has changed the rank of the tensor."""

    @functools.wraps(original)
    def get_obj_state(obj: Any) -> Any:
        state = original(obj)
        if isinstance(obj, torch.Tensor) and isinstance(state, dict) and ATTRIBUTE in state:
            return {**state, ATTRIBUTE: tensor_names.names_of(obj)}
        return state

    return get_obj_state


def _checking(original: Callable[..., Any]) -> Callable[..., Any]:
    """A wrapper that refuses what are no names, or are not as many as the dims."""

    @functools.wraps(original)
    def set_obj_state(obj: Any, pickled: Any) -> Any:
        result = original(obj, pickled)
        if isinstance(result, torch.Tensor) and vars(result).get(ATTRIBUTE) is not None:
            _check(result)
        return result

    return set_obj_state


def _check(tensor: torch.Tensor) -> None:
    try:
        names = tensor_names.read_names(vars(tensor)[ATTRIBUTE])
        check_distinct(names)
        if len(names) != tensor.dim():
            raise Contradiction(
                "NC106",
                f"Number of names ({len(names)}) and number of dimensions in tensor "
                f"({tensor.dim()}) do not match.",
            )
    except Contradiction as contradiction:
        tensor_names.set_names(tensor, None)
        message = "".join(map(_visible, contradiction.message))
        refused = Contradiction(contradiction.code, message, help=_HELP)
        raise reporting.error_for(refused, []) from None


def _visible(letter: str) -> str:
    """A character for display: that of a file may control a terminal, or be half of one."""
    return letter if letter.isprintable() else letter.encode("unicode_escape").decode()
