"""Random single calls on plain torch, compared with what `infer` says about them.

By hand, from the root of the repository::

    python -m tests.compare_calls --count 20000 --seed 7
    python -m tests.compare_calls --only "cumsum|trapz"

The tensors have no names, but all kinds of dtypes, sizes of 0, strides, and in some calls the meta
device. A call that torch accepts must not be refused; the inferred facts about the result, and
about the tensors that the call writes to (rank, sizes, dtype, device, layout, strides), must be
correct. Each contradiction is printed once for an operator, and the command exits with 1 if there
is one. One seed always makes the same calls; ``--start`` goes on where another run has ended.
"""

from __future__ import annotations

import argparse
import multiprocessing
import operator as python
import random
import re
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from typing import Any, Final

import torch

from namecheck.operators import Inference, python_operators
from tests import torch_samples
from tests.oracle import random_calls
from tests.oracle.random_calls import Catalogue, Maker
from tests.oracle.record_random import filled
from tests.torch_samples import Call

DTYPES: Final = (
    *("float32", "float32", "float32", "float64", "float16", "bfloat16", "complex64"),
    *("int64", "int64", "int32", "uint8", "bool", "bool"),
)
# Each decision is made once for a call, so that its tensors fit each other often enough.
_WITH_EMPTY, _ON_META, _SPECIAL = 0.25, 0.15, 0.15
# How many calls share a process.
_TOGETHER: Final = 4000
_WORDS: Final = {
    **{"add": "Add", "and_": "BitAnd", "or_": "BitOr", "xor": "BitXor", "truediv": "Div"},
    **{"eq": "Eq", "floordiv": "FloorDiv", "gt": "Gt", "ge": "GtE", "invert": "Invert"},
    **{"lt": "Lt", "le": "LtE", "matmul": "MatMult", "mod": "Mod", "mul": "Mult", "ne": "NotEq"},
    **{"pow": "Pow", "sub": "Sub", "pos": "UAdd", "neg": "USub"},
}
_METHODS: Final = {"getitem": "__getitem__", "setitem": "__setitem__", "abs": "abs"}


class PlainMaker(Maker):
    """A call of tensors without names."""

    def __init__(self, rng: random.Random) -> None:
        super().__init__(rng, torch)
        self.with_empty, self.on_meta = self.chance(_WITH_EMPTY), self.chance(_ON_META)

    def dtype(self) -> str:
        return self.rng.choice(DTYPES)

    def fresh(self, rank: int | None = None) -> dict[str, Any]:
        spec = super().fresh(rank)
        if self.with_empty and spec["shape"] and self.chance(0.5):
            spec["shape"][self.rng.randrange(len(spec["shape"]))] = 0
        return _unnamed(spec)

    def relative(self, spec: dict[str, Any]) -> dict[str, Any]:
        return _unnamed(super().relative(spec))

    def name(self) -> Any:
        return self.index()


def _unnamed(spec: dict[str, Any]) -> dict[str, Any]:
    return {**spec, "names": [None] * len(spec["shape"])}


@dataclass(frozen=True)
class PlainCall:
    """A call, and a text that shows it with its tensors as they were before it."""

    call: Call
    text: str

    def outcome(self) -> tuple[bool, str | None]:
        """Whether torch accepts the call, and where the rules contradict torch about it."""
        try:
            inference = self.call.told()
        except Exception as error:
            return False, f"infer raised {type(error).__name__}: {error}"
        try:
            real = self.call.function(*self.call.args, **self.call.kwargs)
        except Exception:
            return False, None
        return True, next(self.differences(inference, real), None)

    def differences(self, inference: Inference, real: Any) -> Iterator[str]:
        contradiction = inference.contradiction
        if contradiction is not None:
            yield f"refused: {contradiction.code} {contradiction}"
            return
        yield from torch_samples.differences(inference.result, real)
        for passed_as, tensor in inference.after.items():
            call = self.call
            written = call.args[passed_as] if isinstance(passed_as, int) else call.kwargs[passed_as]
            for difference in torch_samples.differences(tensor, written):
                yield f"afterwards {difference}"


def drawn_call(rng: random.Random, catalogue: Catalogue, *, with_special: bool) -> PlainCall:
    """Draw a random call; `with_special` also one of Python's operators, or a factory."""
    while True:
        maker = PlainMaker(rng)
        if with_special and maker.chance(_SPECIAL):
            rng.choice(random_calls.SPECIAL)(maker)
        elif not maker.table_call(*rng.choice(catalogue.operators)):
            continue
        drawn, callee = maker.call, _callee(maker.call)
        if callee is not None:
            break
    key, function = callee
    tensors = [made(rng, spec, on_meta=maker.on_meta) for spec in drawn.inputs]
    text = f"{key} {drawn.args} {drawn.kwargs} [{', '.join(map(_described, tensors))}]"
    args = [filled(argument, tensors) for argument in drawn.args]
    kwargs = {name: filled(value, tensors) for name, value in drawn.kwargs.items()}
    receiver = tensors[:1] if drawn.kind == "method" else []
    kwargs.pop("names", None)
    return PlainCall(Call(key, function, (*receiver, *args), kwargs), text)


def _callee(drawn: random_calls.Call) -> tuple[str, Callable[..., Any]] | None:
    """The key of an operator for `infer`, and its function; None where torch has none."""
    if drawn.kind == "operator":
        key = _key_of(drawn.op)
        return None if key is None else (key, getattr(python, drawn.op))
    bare = drawn.op.removeprefix("torch.")
    if drawn.kind == "method":
        function, key = getattr(torch.Tensor, bare, None), f"Tensor.{bare}"
    else:
        function, key = random_calls.attribute(torch, bare), bare if "." in bare else drawn.op
    return (key, function) if callable(function) else None


def _key_of(name: str) -> str | None:
    """The key of a function of the module ``operator``; None for one that the table lacks."""
    if name in _METHODS:
        return _METHODS[name]
    plain = next((each for each in (name, name[1:], f"{name[1:]}_") if each in _WORDS), None)
    if plain is None:
        return None
    key = python_operators()[_WORDS[plain]]
    return key if plain == name else f"{key}_"


def made(rng: random.Random, spec: Mapping[str, Any], *, on_meta: bool) -> torch.Tensor:
    """A tensor of random elements, with random strides."""
    dtype, shape = getattr(torch, spec["dtype"]), spec["shape"]
    if dtype.is_floating_point or dtype.is_complex:
        tensor = torch.randn(shape).to(dtype)
    elif dtype is torch.bool:
        tensor = torch.rand(shape) > 0.5
    else:
        tensor = torch.randint(0, 3, shape).to(dtype)
    tensor = _restrided(rng, tensor)
    return tensor.to("meta") if on_meta and rng.random() < 0.8 else tensor


def _restrided(rng: random.Random, tensor: torch.Tensor) -> torch.Tensor:
    """The same tensor in another memory order."""
    chance = rng.random()
    if chance < 0.15 and tensor.dim() > 1:
        first, second = rng.sample(range(tensor.dim()), 2)
        return tensor.transpose(first, second).contiguous().transpose(first, second)
    if chance < 0.2 and tensor.dim() > 0:
        return torch.cat((tensor, tensor))[::2]
    if chance < 0.25 and tensor.dim() > 0:
        return torch.cat((tensor, tensor), -1)[..., : tensor.shape[-1]]
    if chance < 0.3 and tensor.dim() == 4:
        return tensor.contiguous(memory_format=torch.channels_last)
    if chance < 0.34 and tensor.dim() > 0 and tensor.shape[0] > 0:
        return tensor[:1].expand(tensor.shape)
    return tensor


def _described(tensor: torch.Tensor) -> str:
    device = " on meta" if tensor.is_meta else ""
    strides = "" if tensor.is_contiguous() else f" strides {tensor.stride()}"
    return f"{str(tensor.dtype).removeprefix('torch.')}{list(tensor.shape)}{strides}{device}"


@dataclass(frozen=True)
class Outcome:
    """What became of some calls: how many torch accepted or did not survive, and the faults.

    `faults` has the operator of a call, the text of the call, and where the rules contradict torch.
    """

    accepted: int = 0
    lost: tuple[str, ...] = ()
    faults: tuple[tuple[str, str, str], ...] = ()

    def __add__(self, other: Outcome) -> Outcome:
        faults = (*self.faults, *other.faults)
        return Outcome(self.accepted + other.accepted, (*self.lost, *other.lost), faults)


def outcome_here(seed: str, only: str, numbers: Sequence[int]) -> Outcome:
    """The outcome of the calls with these numbers, made in this process."""
    catalogue = Catalogue.of_table(only)
    accepted, faults = 0, []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number in numbers:
            torch.manual_seed(number)
            rng = random.Random(f"{seed}/{number}")
            drawn = drawn_call(rng, catalogue, with_special=not only)
            is_accepted, fault = drawn.outcome()
            accepted += is_accepted
            if fault is not None:
                faults.append((drawn.call.operator, f"{seed}/{number} {drawn.text}", fault))
    return Outcome(accepted, (), tuple(faults))


def outcome(seed: str, only: str, numbers: Sequence[int]) -> Outcome:
    """The outcome of the calls with these numbers, made in a process of their own.

    torch has calls that end their process, or damage its memory. Those that end a process in which
    they are alone are lost.
    """
    context = multiprocessing.get_context("fork")
    try:
        with ProcessPoolExecutor(1, context) as pool:
            return pool.submit(outcome_here, seed, only, numbers).result()
    except BrokenProcessPool:
        if len(numbers) == 1:
            return Outcome(lost=(f"{seed}/{numbers[0]}",))
    middle = len(numbers) // 2
    return outcome(seed, only, numbers[:middle]) + outcome(seed, only, numbers[middle:])


def main() -> int:
    """Print the contradictions; returns 1 if there are any."""
    parser = argparse.ArgumentParser(prog="python -m tests.compare_calls", description=__doc__)
    parser.add_argument("--seed", default=str(random.SystemRandom().randrange(10**6)))
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--only", default="", help="a regular expression for operators")
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    torch.set_num_threads(1)
    outcome_here("warm", options.only, range(500))  # the processes inherit what this has imported
    numbers = range(options.start, options.start + options.count)
    kinds: Counter[tuple[str, str]] = Counter()
    total = Outcome()
    for start in range(0, len(numbers), _TOGETHER):
        part = outcome(options.seed, options.only, numbers[start : start + _TOGETHER])
        total += part
        for operator, text, fault in part.faults:
            kind = operator, re.sub(r"\d+", "", fault)
            kinds[kind] += 1
            if kinds[kind] == 1:
                print(f"{text}\n    {fault}", flush=True)
    print(f"{len(numbers):,} calls, of which torch accepted {total.accepted:,}: ", end="")
    print(f"{kinds.total()} are contradicted, of {len(kinds)} kinds")
    if total.lost:
        print(f"{len(total.lost)} calls ended their process: {', '.join(total.lost)}")
    return min(len(kinds), 1)


if __name__ == "__main__":
    sys.exit(main())
