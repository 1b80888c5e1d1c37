"""Every row of the table on two devices: compares the rules with torch.

A second device without data represents a device other than the CPU: torch makes it from its private
backend, and refuses mixed operands as it does for CUDA. This changes torch for the whole process,
so it is a program: it writes disagreements to the standard output, a line for each row. Its
argument is the second device: that one, `meta`, or an existing one.
"""

from __future__ import annotations

import itertools
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any, Final

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils import backend_registration

from namecheck.core.dims import Dims
from namecheck.core.names import UNKNOWN
from namecheck.core.tensors import Constant, Many, Tensor
from namecheck.operators import Inference, Operator, infer, table
from tests.runtime.dtype_samples import Sample, Slot, everyday, samples

SECOND: Final = "second:0"
# More tensors than this are not mixed in every way.
MOST: Final = 4
# On a device with data torch refuses two things that it accepts here: an index on another device
# than the tensor ("indices should be either on cpu or on the same device as the indexed tensor"),
# and a kernel ("Input type (torch.cuda.FloatTensor) and weight type (torch.FloatTensor) should be
# the same").
LENIENT: Final = ("__getitem__", "conv")
# This is checked only on devices with data; so are rounded quotients.
UNCHECKED: Final = frozenset({"floor_divide"})
# torch's errors about two devices.
REFUSES: Final = ("same device", "wrong device", "two devices", "expected device")

_RAISES: Final = (RuntimeError, TypeError, ValueError, LookupError, AssertionError)


@dataclass(frozen=True)
class Placed:
    """A tensor of a call, on a device."""

    slot: Slot
    device: str

    def made(self) -> torch.Tensor:
        dtype = getattr(torch, self.slot.dtype)
        return torch.ones(self.slot.shape, dtype=dtype, device=self.device)

    def told(self) -> Tensor:
        shape = self.slot.shape
        return Tensor(Dims.of(*(None,) * len(shape), sizes=shape), self.slot.dtype, self.device)


def mapped(value: Any, change: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return type(value)(mapped(part, change) for part in value)
    if isinstance(value, Mapping):
        return {key: mapped(part, change) for key, part in value.items()}
    return change(value)


def slots(value: Any) -> Iterator[Slot]:
    if isinstance(value, Slot):
        yield value
    elif isinstance(value, (tuple, list)):
        for part in value:
            yield from slots(part)


def variants(sample: Sample) -> Iterator[Sample]:
    """The sample, and with each of its tensors made 0-d, where torch accepts that."""
    yield sample
    count = len(list(slots((*sample.args, *sample.kwargs.values()))))
    for place in range(count):
        numbers = itertools.count()

        def scalar(value: Any, numbers: Any = numbers, place: int = place) -> Any:
            here = isinstance(value, Slot) and next(numbers) == place
            return replace(value, shape=()) if here else value

        changed = replace(
            sample, args=mapped(sample.args, scalar), kwargs=mapped(sample.kwargs, scalar)
        )
        try:
            changed.run()
        except _RAISES:
            continue
        yield changed


def mixtures(sample: Sample, second: str) -> Iterator[Sample]:
    """The sample with its tensors on either device, in every combination."""
    count = len(list(slots((*sample.args, *sample.kwargs.values()))))
    for devices in itertools.product(("cpu", second), repeat=count) if count <= MOST else ():
        rest = iter(devices)

        def place(value: Any, rest: Any = rest) -> Any:
            return Placed(value, next(rest)) if isinstance(value, Slot) else value

        yield replace(sample, args=mapped(sample.args, place), kwargs=mapped(sample.kwargs, place))


def really(sample: Sample, second: str) -> tuple[Any, str]:
    """The result of torch, and its error: "" without one, "?" where the error says nothing."""
    try:
        with FakeTensorMode() if second == SECOND else nullcontext():
            make = lambda value: value.made() if isinstance(value, Placed) else value  # noqa: E731
            args, kwargs = mapped(sample.args, make), mapped(sample.kwargs, make)
            return sample.function(*args, **kwargs), ""
    except Exception as error:
        return None, str(error) if any(word in str(error) for word in REFUSES) else "?"


def inferred(sample: Sample) -> Inference:
    def lowered(value: Any) -> Any:
        if isinstance(value, torch.dtype):
            return Constant("dtype", str(value).removeprefix("torch."))
        return value.told() if isinstance(value, Placed) else value

    kwargs = mapped(sample.kwargs, lowered)
    return infer(sample.operator, *mapped(sample.args, lowered), **kwargs)


def contradicts(guess: Any, real: Any) -> bool:
    """Whether an inferred device differs from that of the tensor."""
    if isinstance(real, torch.Tensor) and isinstance(guess, Tensor):
        return guess.device not in (UNKNOWN, str(real.device))
    if isinstance(real, (tuple, list)) and isinstance(guess, (tuple, list)):
        return any(map(contradicts, guess, real))
    if isinstance(real, (tuple, list)) and isinstance(guess, Many):
        return any(contradicts(guess.each, part) for part in real)
    return False


def described(sample: Sample) -> str:
    def show(value: Any) -> Any:
        return f"{value.device}{list(value.slot.shape)}" if isinstance(value, Placed) else value

    return f"{sample.operator}{mapped(sample.args, show)}{mapped(sample.kwargs, show) or ''}"


def is_excused(row: Operator, sample: Sample, second: str) -> bool:
    """Whether torch is known to accept here what it refuses on other devices."""
    if second == SECOND:
        return row.key.rpartition(".")[2].startswith(LENIENT)
    return second == "meta" and (row.key in UNCHECKED or "rounding_mode" in sample.kwargs)


def faults(row: Operator, second: str, tally: Counter[str]) -> Iterator[str]:
    for sample in samples(row, settings=False):
        for mixture in [m for variant in variants(sample) for m in mixtures(variant, second)]:
            real, refusal = really(mixture, second)
            if refusal == "?":
                tally["nothing told by torch"] += 1
                continue
            guess = inferred(mixture)
            found = guess.contradiction
            mixed = found is not None and found.code.startswith("NC4")
            if refusal:
                tally["refused by both" if mixed else "refused by torch alone"] += 1
                if not mixed:
                    tally[f"missed {row.key}"] += 1
            elif mixed and is_excused(row, mixture, second):
                tally["refused by the rules, and by torch elsewhere"] += 1
            elif mixed:
                yield f"{described(mixture)}: torch takes it, refused: {found}"
            elif found is None and contradicts(guess.result, real):
                yield f"{described(mixture)}: told {guess.result}, is {real}"
            else:
                tally["taken by both"] += 1


def main(second: str, keys: Sequence[str]) -> int:
    if second == SECOND:
        backend_registration._setup_privateuseone_for_python_backend("second")
    tally: Counter[str] = Counter()
    rows = [row for row in table().values() if not set(row.forms) & set("plc")]
    for row in [row for row in rows if row.key in keys] if keys else everyday(rows):
        for fault in list(faults(row, second, tally))[:3]:
            sys.stdout.write(f"{row.key}: {fault}\n")
    for what, count in tally.most_common():
        sys.stderr.write(f"{count} {what}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
