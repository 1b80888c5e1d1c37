"""Exchanges the sizes of a view instead of the dims: `x.view(b, t, h, d).transpose(1, 2)`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.real_code.recall.calls import method_calls, number, receiver_of, sizes
from tests.real_code.recall.mutation import Mutation, Replacement, Source, Wrongness


def _replacements(tree: ast.AST, source: Source) -> Iterator[Replacement]:
    for call, receiver in method_calls(tree, {"transpose"}):
        if not isinstance(receiver, ast.Call) or receiver_of(receiver, {"view", "reshape"}) is None:
            continue
        dims = [number(argument) for argument in call.args]
        texts = [source.of(size) for size in sizes(receiver)]
        if len(dims) == 2 and None not in dims and not any("*" in text[:1] for text in texts):
            first, second = (dim for dim in dims if dim is not None)
            if max(first, second) < len(texts) and min(first, second) >= -len(texts):
                texts[first], texts[second] = texts[second], texts[first]
                yield Replacement(call, f"{source.of(receiver.func)}({', '.join(texts)})")


MUTATION = Mutation("view for transpose", Wrongness.CERTAIN, _replacements)
