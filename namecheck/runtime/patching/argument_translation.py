"""Replaces names among the arguments of a call by the indices of dims, which torch takes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import torch

from namecheck.core.names import Contradiction, show
from namecheck.effects.words import Parameter
from namecheck.runtime.core import tensor_names
from namecheck.runtime.patching.targets import is_fresh

# Kinds of parameters that name dims.
NAMING: Final = frozenset({"dim", "dims", "name", "names"})
# The kind of a parameter with dims of the first tensor, and of the second.
PAIRED: Final = "paired"


@dataclass(frozen=True, slots=True)
class Changes:
    """Replacements of positional and keyword arguments, and the arguments that are dropped."""

    positional: tuple[tuple[int, Any], ...] = ()
    keywords: tuple[tuple[str, Any], ...] = ()
    dropped: tuple[int | str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.positional or self.keywords or self.dropped)

    def apply(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Sequence[Any], dict[str, Any]]:
        """The arguments as torch takes them, the positional ones first."""
        values = dict(self.positional)
        positional = [
            values.get(index, arg) for index, arg in enumerate(args) if index not in self.dropped
        ]
        keywords = kwargs | dict(self.keywords)
        return positional, {key: arg for key, arg in keywords.items() if key not in self.dropped}


UNCHANGED: Final = Changes()


def translated(
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    positional_parameters: Sequence[Parameter | None],
    keyword_parameters: Mapping[str, Parameter],
    *,
    are_aligned: bool,
) -> Changes:
    """The changes to a call, given the parameter of each argument.

    Where the tensors of the call `are_aligned`, a name is that of a dim of the broadcast ones.
    Raises `Contradiction` if the first tensor of the call, or none of the aligned ones, has a dim
    of a name.
    """
    tensors = tuple(_tensors((*args, *kwargs.values())))
    receivers = tensors if are_aligned else tensors[:1]
    positional: list[tuple[int, Any]] = []
    keyword_arguments: list[tuple[str, Any]] = []
    dropped: list[int | str] = []
    for index, (arg, parameter) in enumerate(zip(args, positional_parameters, strict=False)):
        if parameter is not None and is_fresh(parameter):
            dropped.append(index)
        elif parameter is not None and contains_text(arg) and _names_dims(parameter):
            positional.append((index, _translated(arg, parameter, tensors, receivers)))
    for key, parameter in keyword_parameters.items():
        if is_fresh(parameter):
            dropped.append(key)
        elif contains_text(kwargs[key]) and _names_dims(parameter):
            translation = _translated(kwargs[key], parameter, tensors, receivers)
            keyword_arguments.append((key, translation))
    return Changes(tuple(positional), tuple(keyword_arguments), tuple(dropped))


def _names_dims(parameter: Parameter) -> bool:
    return bool(parameter.kinds & NAMING) or PAIRED in parameter.kinds


def _translated(
    value: Any,
    parameter: Parameter,
    owners: Sequence[torch.Tensor],
    receivers: Sequence[torch.Tensor],
) -> Any:
    """An argument with indices for names, which are those of `receivers`, or of a tensor each."""
    if PAIRED not in parameter.kinds:
        return _indices(value, receivers)
    if not isinstance(value, (list, tuple)):
        return value
    return [_indices(part, (tensor,)) for part, tensor in zip(value, owners, strict=False)]


def contains_text(value: Any) -> bool:
    """Whether an argument is, or holds, a string."""
    if isinstance(value, str):
        return True
    return isinstance(value, (list, tuple)) and any(map(contains_text, value))


def _tensors(values: Sequence[Any]) -> Iterator[torch.Tensor]:
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from _tensors(value)


def _indices(value: Any, receivers: Sequence[torch.Tensor]) -> Any:
    """An argument with each name replaced by the index of its dim."""
    if isinstance(value, (list, tuple)):
        indices = [_indices(part, receivers) for part in value]
        return indices if isinstance(value, list) else tuple(indices)
    return _index_in_any(value, receivers) if isinstance(value, str) else value


def _index_in_any(name: str, receivers: Sequence[torch.Tensor]) -> int:
    """The index of the dim with this name in one tensor, or in what several broadcast to."""
    if len(receivers) > 1:
        for tensor in receivers:
            names = tensor_names.visible_names(tensor)
            if name in names:
                return names.index(name) - len(names)  # broadcasting aligns from the right
    return index_of(name, receivers[0] if receivers else None)


def index_of(name: str, tensor: torch.Tensor | None) -> int:
    """The index of the dim with this name; raises `Contradiction` if there is none."""
    names = tensor_names.visible_names(tensor) if tensor is not None else ()
    if name in names:
        return names.index(name)
    labels = tensor_names.names_of(tensor) if tensor is not None else None
    raise Contradiction(
        "NC103",
        f"Name '{name}' not found in Tensor{show(tensor_names.lift(labels or names))}.",
        names=(name,),
        help="A name that shows as ? is not known: give the index of the dim, or name the tensor "
        "with `refine_names` first.",
    )
