"""The operands of a call, collected once for all attributes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from namecheck.core.dataclasses import dataclass
from namecheck.core.tensors import Many, Tensor
from namecheck.effects.words import ParameterNames


@dataclass(frozen=True, slots=True)
class Operands:
    """The arguments of a call, and for each parameter the items of its argument, lists flattened.

    `leaves` has the parameters that the columns of the row mention: tensors, `Many`, numbers,
    UNKNOWN and other arguments; nothing for None.
    """

    arguments: Mapping[str, Any]
    leaves: Mapping[str, tuple[Any, ...]]

    def tensors(self, parameters: ParameterNames) -> list[Tensor]:
        """The tensors in some arguments, in order; for `Many` the one that represents each."""
        tensors: list[Tensor] = []
        for parameter in parameters:
            for leaf in self.leaves[parameter]:
                if isinstance(leaf, Tensor):
                    tensors.append(leaf)
                elif isinstance(leaf, Many):
                    tensors.append(leaf.each)
        return tensors


def walk(arguments: Mapping[str, Any], parameters: ParameterNames) -> Operands:
    """The operands among bound arguments, of these parameters."""
    leaves: dict[str, tuple[Any, ...]] = {}
    for parameter in parameters:
        argument = arguments.get(parameter)
        if argument is None:
            leaves[parameter] = ()
        elif isinstance(argument, (tuple, list)):
            leaves[parameter] = tuple(_leaves(argument))
        else:
            leaves[parameter] = (argument,)
    return Operands(arguments, leaves)


def _leaves(nested: Iterable[Any]) -> Iterator[Any]:
    for part in nested:
        if isinstance(part, (tuple, list)):
            yield from _leaves(part)
        elif part is not None:
            yield part
