"""Takes another size of the function in a view: `view(b, h, d)` for `view(b, t, d)`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.real_code.recall.calls import method_calls, sizes
from tests.real_code.recall.mutation import Mutation, Replacement, Source, Wrongness
from tests.real_code.recall.unpackings import unpackings


def _replacements(tree: ast.AST, source: Source) -> Iterator[Replacement]:
    names = [name.id for names in unpackings(tree) for name in names if name.id != "_"]
    for call, _ in method_calls(tree, {"view", "reshape", "expand"}):
        for size in sizes(call):
            if isinstance(size, ast.Name) and size.id in names:
                others = names[names.index(size.id) + 1 :] + names[: names.index(size.id)]
                other = next((name for name in others if name != size.id), None)
                if other is not None:
                    yield Replacement(size, other)


MUTATION = Mutation("wrong size in a view", Wrongness.NAMES, _replacements)
