"""What a run of a function has told of the dims of its parameters.

A function that reads ``B, T, C = x.shape`` takes a tensor of three dims, or it fails.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from namecheck.core.dataclasses import replace
from namecheck.core.dims import Dims
from namecheck.core.trees import nodes
from namecheck.interpreter.domain import joins, opaque_tensors
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.values import FunctionValue, Value
from namecheck.interpreter.evaluation.frames import Arguments
from namecheck.interpreter.workspace import relevance

# What else changes the dims of a tensor in place: those at the end are not those at the start.
_REPLACING: Final = frozenset({"data", "set_"})


def parameters(function: FunctionValue, arguments: Arguments) -> Iterator[tuple[str, Value]]:
    """The words of the parameters and their arguments."""
    spec = function.node.args
    words = [parameter.arg for parameter in (*spec.posonlyargs, *spec.args)]
    yield from zip(words, arguments.args, strict=False)
    yield from arguments.kwargs.items()


def changed(
    function: FunctionValue, arguments: Arguments, informed: Callable[[str, Value], Value]
) -> Arguments:
    """The arguments with each one of a parameter as `informed` returns it for its word."""
    spec = function.node.args
    words = [parameter.arg for parameter in (*spec.posonlyargs, *spec.args)]
    args = [*map(informed, words, arguments.args)]
    args += arguments.args[len(args) :]
    kwargs = {word: informed(word, value) for word, value in arguments.kwargs.items()}
    return replace(arguments, args=args, kwargs=kwargs)


def told(function: FunctionValue, arguments: Arguments, end_store: Store) -> Mapping[str, Dims]:
    """The dims of the parameters that are known at the end of a run, by their words.

    None where the function may change dims in place.
    """
    changing = relevance.in_place() | _REPLACING
    if any(getattr(node, "attr", None) in changing for node in nodes(function.node)):
        return {}
    dims_of: dict[str, Dims] = {}
    for word, value in parameters(function, arguments):
        tensor = opaque_tensors.known_tensor(value, end_store)
        if tensor is not None:
            dims = joins.held(tensor, end_store).tensor.dims
            if not dims.open:
                dims_of[word] = dims
    return dims_of
