"""The operands of a call, collected once for all attributes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from namecheck.core.dataclasses import dataclass
from namecheck.core.tensors import Many, Tensor
from namecheck.effects.words import ParameterNames


@dataclass(frozen=True, slots=True)
class Operands:
    """The operands of a call: the arguments of the parameters that the columns of its row mention.

    `leaves` has for each parameter the items of its argument, lists flattened: tensors, `Many`,
    numbers, UNKNOWN and others; nothing for None. `single` has each argument that is not a list.
    """

    # The whole bound call. It is read for what is no operand: a setting, whose value counts
    # (``dtype=``, ``memory_format=``, the equation of einsum, whether an argument is passed at
    # all), and what counts with its nesting (an index, the lists that `torch.tensor` takes, the
    # call that a rule is asked once more).
    arguments: Mapping[str, Any]
    leaves: Mapping[str, tuple[Any, ...]]
    single: Mapping[str, Any]

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
    single: dict[str, Any] = {}
    for parameter in parameters:
        argument = arguments.get(parameter)
        if argument is None:
            leaves[parameter] = ()
        elif isinstance(argument, (tuple, list)):
            leaves[parameter] = tuple(_leaves(argument))
        else:
            leaves[parameter] = (argument,)
            single[parameter] = argument
    return Operands(arguments, leaves, single)


def _leaves(nested: Iterable[Any]) -> Iterator[Any]:
    for part in nested:
        if isinstance(part, (tuple, list)):
            yield from _leaves(part)
        elif part is not None:
            yield part
