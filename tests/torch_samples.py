"""The calls by which torch tests its own operators and layers, compared with the rules.

By hand, from the root of the repository; it needs ``pip install expecttest``, which torch's own
lists ask for::

    python -m tests.torch_samples
    python -m tests.torch_samples --samples 40

Each call is made unchanged, with its floats cast to other dtypes, and with another memory order of
its first operand. The rules must not refuse a call that torch accepts, and the inferred facts about
a result (rank, sizes, dtype, device, layout, strides) must be correct. Each contradiction is
printed once for an operator, and the command exits with 1 if there are others than those of
`KNOWN`.
"""

from __future__ import annotations

import argparse
import itertools
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import torch

from namecheck.core import memory_order
from namecheck.core.names import UNKNOWN, Unknown
from namecheck.core.tensors import Constant, Many, Tensor
from namecheck.operators import Inference, infer, table
from namecheck.runtime.core.tensor_attributes import abstract_value

DTYPES: Final = (
    *(torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.complex64),
    *(torch.int64, torch.int32, torch.uint8, torch.bool),
)
_CONSTANTS: Final = (torch.dtype, torch.device, torch.layout, torch.memory_format)
# Calls that torch accepts only for tensors without elements, which no kernel sees, or with another
# meaning.
KNOWN: Final[Mapping[str, str]] = {
    "addbmm_": "torch 2.13 resizes what is written to",
    "cat": "whether the tensors have names is not said here",
}


@dataclass(frozen=True)
class Call:
    """A call of an operator: its key for `infer`, the function, and its arguments."""

    operator: str
    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    settings: tuple[Any, ...] = ()
    options: Mapping[str, Any] | None = None

    def told(self) -> Inference:
        """The inferred result, for the arguments before the call."""
        args = [lowered(value) for value in (*self.settings, *self.args)]
        options = {**(self.options or {}), **self.kwargs}
        return infer(self.operator, *args, **{k: lowered(v) for k, v in options.items()})

    def fault(self) -> str | None:
        """Where the rules contradict torch about the call."""
        told = self.told()
        try:
            real = self.function(*self.args, **self.kwargs)
        except Exception:
            return None
        if told.contradiction is not None:
            empty = any(t.numel() == 0 for t in tensors_in((*self.args, *self.kwargs.values())))
            return None if empty else f"refused: {told.contradiction}"
        return next(differences(told.result, real), None)


def lowered(value: Any) -> Any:
    """An argument in the form that `infer` takes."""
    if isinstance(value, torch.Tensor):
        return abstract_value(value)
    if isinstance(value, _CONSTANTS):
        kind = type(value).__name__
        return Constant(kind, str(value).removeprefix("torch."))
    if isinstance(value, (tuple, list)):
        parts = map(lowered, value)
        return list(parts) if isinstance(value, list) else tuple(parts)
    plain = value is None or isinstance(value, (bool, int, float, complex, str, slice))
    return value if plain else UNKNOWN


def differences(told: Any, real: Any) -> Iterator[str]:
    """Inferred facts about a result that are wrong."""
    if isinstance(real, torch.Tensor) and isinstance(told, Tensor):
        yield from _of_tensor(told, real)
    elif isinstance(real, (tuple, list)) and isinstance(told, (tuple, list)):
        if len(told) != len(real):
            yield f"{len(told)} results are told of {len(real)}"
        for one, other in zip(told, real, strict=False):
            yield from differences(one, other)
    elif isinstance(real, (tuple, list)) and isinstance(told, Many):
        for other in real:
            yield from differences(told.each, other)


def _of_tensor(told: Tensor, real: torch.Tensor) -> Iterator[str]:
    known = abstract_value(real)
    for facet in ("dtype", "device", "layout"):
        one, other = getattr(told, facet), getattr(known, facet)
        if isinstance(one, str) and one != other:
            yield f"{facet} {one} is {other}"
    if told.dims.open:
        return
    sizes = told.dims.sizes
    if len(sizes) != real.dim():
        yield f"rank {len(sizes)} is {real.dim()}"
        return
    for place, size in enumerate(sizes):
        if isinstance(size, int) and size != real.shape[place]:
            yield f"size {size} of dim {place} is {real.shape[place]}"
    if isinstance(told.memory, Unknown) or real.layout is not torch.strided or not real.numel():
        return
    steps = memory_order.strides(told.memory, tuple(real.shape))
    for size, step, own in zip(real.shape, steps, real.stride(), strict=True):
        if isinstance(step, int) and step != own and size != 1:
            yield f"strides {steps} are {real.stride()}"


def tensors_in(value: Any) -> Iterator[torch.Tensor]:
    """All tensors in an argument."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (tuple, list)):
        for part in value:
            yield from tensors_in(part)


def mapped(value: Any, change: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    """An argument with its tensors replaced."""
    if isinstance(value, torch.Tensor):
        return change(value)
    if isinstance(value, (tuple, list)):
        parts = [mapped(part, change) for part in value]
        return parts if isinstance(value, list) else tuple(parts)
    return value


def turned(tensor: torch.Tensor) -> torch.Tensor:
    """The same numbers, with the first two dims swapped in memory."""
    if tensor.dim() < 2 or tensor.layout is not torch.strided:
        return tensor
    return tensor.transpose(0, 1).contiguous().transpose(0, 1)


def of_operators(count: int) -> Iterator[Call]:
    """The calls of operators, as functions, methods and in place."""
    from torch.testing._internal.common_methods_invocations import op_db

    entries: list[Any] = op_db
    for entry in entries:
        if entry.name not in table():
            continue
        for dtype in DTYPES:
            own = dtype if dtype in entry.dtypes else torch.float32
            if own in entry.dtypes:
                try:
                    found = entry.sample_inputs("cpu", own, requires_grad=False)
                    samples = list(itertools.islice(found, count))
                except Exception:
                    continue
                for sample in samples:
                    yield from _forms(entry, sample, dtype)


def _forms(entry: Any, sample: Any, dtype: torch.dtype) -> Iterator[Call]:
    def cast(tensor: torch.Tensor) -> torch.Tensor:
        plain = tensor.detach()
        return plain.to(dtype, copy=True) if plain.dtype == torch.float32 else plain.clone()

    name = entry.name
    functional = "." in name
    function: Any = torch
    for part in name.split("."):
        function = getattr(function, part, None)
    forms = (
        (name if functional else f"torch.{name}", entry.op if entry.op is function else None),
        (f"Tensor.{name}", None if functional else entry.method_variant),
        (f"Tensor.{name}_", None if functional else entry.inplace_variant),
    )
    for operator, form in forms:
        if form is None:
            continue
        for first in (lambda tensor: tensor, turned):
            args = (mapped(mapped(sample.input, cast), first), *mapped(tuple(sample.args), cast))
            kwargs = {key: mapped(value, cast) for key, value in sample.kwargs.items()}
            yield Call(operator, form, args, kwargs)


def of_layers() -> Iterator[Call]:
    """The calls of layers, made in every way that torch tests."""
    from torch.testing._internal.common_modules import module_db

    for entry in module_db:
        name = f"nn.{entry.module_cls.__name__}"
        for dtype in DTYPES[:5] if name in table() else ():
            try:
                found = entry.module_inputs_func(
                    entry, device="cpu", dtype=dtype, requires_grad=False, training=True
                )
            except Exception:
                continue
            for sample in found:
                yield from _layers(name, entry.module_cls, sample, dtype)


def _layers(name: str, kind: Any, sample: Any, dtype: torch.dtype) -> Iterator[Call]:
    made, given = sample.constructor_input, sample.forward_input
    if given is None:
        return
    options = dict(made.kwargs)
    try:
        layer = kind(*made.args, **options).to(dtype)
    except Exception:
        return
    if any(parameter.name == "dtype" for parameter in table()[name].constructor):
        options["dtype"] = dtype
    for first in (lambda tensor: tensor, turned):
        args = (*mapped(tuple(given.args[:1]), first), *given.args[1:])
        yield Call(name, layer, args, given.kwargs, tuple(made.args), options)


def main() -> int:
    """Print the disagreements; returns 1 if there are any."""
    parser = argparse.ArgumentParser(prog="python -m tests.torch_samples", description=__doc__)
    parser.add_argument("--samples", type=int, default=5, help="of an operator and a dtype")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    count = 0
    seen: set[tuple[str, str]] = set()
    for call in itertools.chain(of_operators(options.samples), of_layers()):
        count += 1
        key = call.operator.removeprefix("torch.").removeprefix("Tensor.")
        fault = None if key in KNOWN else call.fault()
        if fault is not None and (key, re.sub(r"\d+", "", fault)) not in seen:
            seen.add((key, re.sub(r"\d+", "", fault)))
            shapes = [tuple(tensor.shape) for tensor in tensors_in(call.args)]
            print(f"{call.operator}{shapes} {dict(call.kwargs)}: {fault}", flush=True)
    print(f"{count} calls, {len(seen)} contradictions")
    return min(len(seen), 1)


if __name__ == "__main__":
    sys.exit(main())
