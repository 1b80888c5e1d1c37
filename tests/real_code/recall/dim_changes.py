"""Changes the dim of a call to its neighbour."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator

from tests.real_code.recall.calls import (
    function_calls,
    keyword,
    method_calls,
    number,
    swapped_dim,
)
from tests.real_code.recall.mutation import Replacement


def wrong_dims(tree: ast.AST, names: Collection[str]) -> Iterator[Replacement]:
    """The dims of calls of these functions and methods, each with a neighbour in its place."""
    calls = [(call, 0) for call, _ in method_calls(tree, names)]
    calls += [(call, 1) for call in function_calls(tree, names)]
    for call, place in calls:
        position = call.args[place] if len(call.args) > place else None
        argument = keyword(call, "dim") or keyword(call, "axis") or position
        dim = number(argument)
        if argument is not None and dim is not None:
            yield Replacement(argument, str(swapped_dim(dim)))
