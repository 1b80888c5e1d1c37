"""Names among the arguments of a call become what torch takes now: the indices of dims."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import torch

from namecheck.core.names import Contradiction, show
from namecheck.operators.signatures import Parameter
from namecheck.runtime.core import tensor_names
from namecheck.runtime.patching.targets import is_fresh

# Parameters that name dims.
NAMING: Final = frozenset({"dim", "dims", "name", "names"})


@dataclass(frozen=True, slots=True)
class Changes:
    """What is passed in the place of some arguments, and which are not passed on."""

    positional: tuple[tuple[int, Any], ...] = ()
    keywords: tuple[tuple[str, Any], ...] = ()
    dropped: tuple[int | str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.positional or self.keywords or self.dropped)

    def apply(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Sequence[Any], dict[str, Any]]:
        """The arguments as torch takes them."""
        values = dict(self.positional)
        given = [
            values.get(place, arg) for place, arg in enumerate(args) if place not in self.dropped
        ]
        words = kwargs | dict(self.keywords)
        return given, {key: value for key, value in words.items() if key not in self.dropped}


UNCHANGED: Final = Changes()


def translated(
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    places: Sequence[Parameter | None],
    words: Mapping[str, Parameter],
) -> Changes:
    """The changes to a call whose arguments are for these parameters.

    Raises `Contradiction` where a name is not among those of the call's first tensor.
    """
    receiver = _receiver((*args, *kwargs.values()))
    positional: list[tuple[int, Any]] = []
    keywords: list[tuple[str, Any]] = []
    dropped: list[int | str] = []
    for index, (arg, parameter) in enumerate(zip(args, places, strict=False)):
        if parameter is not None and is_fresh(parameter):
            dropped.append(index)
        elif parameter is not None and parameter.kinds & NAMING and speaks(arg):
            positional.append((index, _index(arg, receiver)))
    for key, parameter in words.items():
        if is_fresh(parameter):
            dropped.append(key)
        elif parameter.kinds & NAMING and speaks(kwargs[key]):
            keywords.append((key, _index(kwargs[key], receiver)))
    return Changes(tuple(positional), tuple(keywords), tuple(dropped))


def speaks(value: Any) -> bool:
    """Whether an argument is, or holds, a string."""
    if isinstance(value, str):
        return True
    return isinstance(value, (list, tuple)) and any(map(speaks, value))


def _receiver(values: Sequence[Any]) -> torch.Tensor | None:
    """The tensor in whose names a call looks its dims up: the first."""
    return next(_tensors(values), None)


def _tensors(values: Sequence[Any]) -> Iterator[torch.Tensor]:
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from _tensors(value)


def _index(value: Any, tensor: torch.Tensor | None) -> Any:
    """An argument with the index of each name in the name's place."""
    if isinstance(value, (list, tuple)):
        return type(value)(_index(part, tensor) for part in value)
    return place_of(value, tensor) if isinstance(value, str) else value


def place_of(name: str, tensor: torch.Tensor | None) -> int:
    """The index of the dim with this name; raises `Contradiction` where it is not known."""
    names = tensor_names.shown(tensor) if tensor is not None else ()
    if name in names:
        return names.index(name)
    held = tensor_names.names_of(tensor) if tensor is not None else None
    raise Contradiction(
        "NC103",
        f"Name '{name}' not found in Tensor{show(tensor_names.lift(held or names))}.",
        names=(name,),
        help="A name that shows as ? is not known: give the index of the dim, or name the tensor "
        "with `refine_names` first.",
    )
