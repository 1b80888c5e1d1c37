"""Records the results of jaxtyping: ``python -m tests.annotation_recorder`` rewrites the file.

It needs an environment with jaxtyping and torch. It skips calls that jaxtyping cannot check (an
expression before its axes), and ``name=4``, whose name jaxtyping ignores.
"""

from __future__ import annotations

import importlib
import json
import random
from pathlib import Path
from typing import Any, Final

import torch

RECORDED: Final = Path(__file__).parents[1] / "fixtures" / "annotations" / "jaxtyping.jsonl"

_ITEMS: Final = ["a", "b", "c", "2", "1", "_", "#a", "#b", "a+b", "2*a", "a*b", "b-1"]
_SEVERAL: Final = ["...", "*s", "*#s"]
_CALLS: Final = 3_000


def draw(random_source: random.Random) -> list[tuple[str, tuple[int, ...]]]:
    """The arguments of one call, each a pattern and a shape, which usually has its rank."""
    arguments = []
    for _ in range(3):
        items = random_source.choices(_ITEMS, k=random_source.randint(0, 3))
        rank = len(items)
        if random_source.random() < 0.4:
            items.insert(random_source.randint(0, rank), random_source.choice(_SEVERAL))
            rank += random_source.randint(0, 2)
        if random_source.random() < 0.1:
            rank = random_source.randint(0, 4)
        arguments.append((" ".join(items), tuple(random_source.choices([1, 2, 2, 2, 3], k=rank))))
    return arguments


def judge(jaxtyping: Any, arguments: list[tuple[str, tuple[int, ...]]]) -> bool | None:
    """Whether jaxtyping accepts the call; None where it cannot check it."""
    try:
        with jaxtyping.jaxtyped("context"):
            return all(
                isinstance(torch.empty(shape), jaxtyping.Float[torch.Tensor, pattern])
                for pattern, shape in arguments
            )
    except jaxtyping.AnnotationError:
        return None


def main() -> None:
    """Draw calls, and keep as many accepted ones as refused ones."""
    jaxtyping = importlib.import_module("jaxtyping")
    source = random.Random(0)
    answers: dict[bool, list[str]] = {True: [], False: []}
    for _ in range(_CALLS):
        arguments = draw(source)
        fits = judge(jaxtyping, arguments)
        if fits is not None:
            answers[fits].append(json.dumps({"arguments": arguments, "fits": fits}))
    count = min(map(len, answers.values()))
    RECORDED.parent.mkdir(exist_ok=True)
    lines = [line for kept in answers.values() for line in kept[:count]]
    RECORDED.write_text("\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    main()
