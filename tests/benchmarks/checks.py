"""The cost of checking an annotated function, beside jaxtyping with beartype, in one process."""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Final

import torch
from torch import Tensor

from namecheck import checked
from namecheck.runtime import runtime
from tests.benchmarks.shim import MICRO, Step, Times, best_of

Attention = Callable[[Any, Any, Any], Any]

FETCHED: Final = ("jaxtyping", "beartype", "wadler-lindig", "typing-extensions")
CALLS: Final = 20
REPEATS: Final = 300


def attention(q: Any, k: Any) -> Attention:
    """An attention call, with the annotation of the queries and that of the keys and values."""

    def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return torch.softmax(q @ k.transpose(-2, -1), -1) @ v

    attend.__annotations__ = {"q": q, "k": k, "v": k, "return": q}
    return attend


def _sides(folder: Path) -> dict[str, Attention]:
    jaxtyping, beartype = _fetched(folder)
    theirs = jaxtyping.jaxtyped(typechecker=beartype.beartype)
    annotated, jax = Annotated[Tensor, "b h t d"], jaxtyping.Float[Tensor, "b h t d"]
    return {
        "plain": attention(annotated, annotated),
        "checked": checked(attention(annotated, annotated)),
        "checked, with dtypes": checked(attention(jax, jax)),
        "jaxtyping and beartype": theirs(attention(jax, jax)),
    }


def _fetched(folder: Path) -> tuple[Any, Any]:
    """Both packages, from a folder of their own."""
    target = folder / "jaxtyping"
    if not target.exists():
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target"]
        command = [*pip, str(target), *FETCHED]
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    sys.path.append(str(target))
    return importlib.import_module("jaxtyping"), importlib.import_module("beartype")


def annotated_attention(folder: Path, rounds: int) -> None:
    """g: an annotated attention call on small tensors, checked and unchecked."""
    torch.set_num_threads(1)
    sides, times, named = _sides(folder), Times(), Times()
    two = attention(Annotated[Tensor, "b h q d"], Annotated[Tensor, "b h k d"])
    for _ in range(rounds):
        for side, attend in sides.items():
            times.add(side, best_of(_step(attend), CALLS, REPEATS))
    with runtime():
        for _ in range(rounds):
            for side, attend in (("plain", two), ("checked", checked(two))):
                named.add(side, best_of(_named_step(attend), CALLS, REPEATS))
    print(f"(g) an annotated attention call, best of {rounds} rounds")
    for side in sides:
        _report(side, times)
    print("  with names on torch and on the tensors")
    for side in ("plain", "checked"):
        _report(side, named)


def _report(side: str, times: Times) -> None:
    taken, more = times.best(side), times.best(side) - times.best("plain")
    print(f"  {side:<24} {taken * MICRO:8.2f} µs {more * MICRO:+8.2f} µs")


def _tensors() -> list[Any]:
    return [torch.randn(2, 2, 4, 8) for _ in range(3)]


def _step(attend: Attention) -> Step:
    q, k, v = _tensors()
    return lambda: attend(q, k, v)


def _named_step(attend: Attention) -> Step:
    q, k, v = _tensors()
    for tensor, names in ((q, "bhqd"), (k, "bhkd"), (v, "bhkd")):
        tensor.names = tuple(names)
    return lambda: attend(q, k, v)
