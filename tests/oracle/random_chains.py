"""Random programs that are chains of operators of the table, with branches and loops.

The calls are those of random_calls.py, on the variables that the program has so far.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

from tests.conformance import cases
from tests.conformance.program import Writer
from tests.oracle.random_calls import Call, Catalogue, InputRef, Maker, draw
from tests.oracle.random_pieces import Pieces
from tests.oracle.random_programs import Failed, Space
from tests.oracle.record_random import encode

LENGTHS: Final = (3, 12)
_MOST_DIMS: Final = 5


class _OnVariables(Maker):
    """Draws calls on the variables of a namespace; `variables` has one for each input, or None."""

    def __init__(self, rng: random.Random, torch: Any, space: Space) -> None:
        super().__init__(rng, torch)
        self.space = space
        self.variables: list[str | None] = []

    def tensor(self, *, rank: int | None = None, dtype: str | None = None) -> InputRef:
        """A variable, always the first input if one fits; else a tensor of its own."""
        suits = [
            name
            for name, value in self.space.items()
            if isinstance(value, self.torch.Tensor)
            and (value.dim() == rank if rank is not None else value.dim() < _MOST_DIMS)
            and dtype in (None, self._dtype_of(value))
        ]
        if not suits or (self.call.inputs and self.chance(0.5)):
            self.variables.append(None)
            return super().tensor(rank=rank, dtype=dtype)
        chosen = self.rng.choice(suits[-6:])
        value = self.space[chosen]
        spec = {"names": list(value.names), "shape": list(value.shape)}
        self.call.inputs.append({**spec, "dtype": self._dtype_of(value)})
        self.variables.append(chosen)
        return InputRef(len(self.call.inputs) - 1)

    def _dtype_of(self, value: Any) -> str:
        return str(value.dtype).removeprefix("torch.")


class Chains(Pieces):
    """Draws chains of 3 to 12 pieces, most of them calls of operators of the table."""

    def __init__(self, rng: random.Random, torch: Any, catalogue: Catalogue) -> None:
        super().__init__(rng, torch)
        self.catalogue = catalogue

    def grow(self, lines: int) -> str:
        """A program of this many pieces; the last one may fail."""
        for index in range(self.flags):
            self.text += f'FLAG_{index} = os.environ.get("FLAG_{index}") == "1"\n'
        for piece in (self.constants, self.factory, self.factory, self.factory):
            self.add(piece)
        pieces: list[Callable[[], str]] = [
            self.operator,
            self.layer,
            self.step,
            self.branch,
            self.loop,
        ]
        for _ in range(lines):
            self.add(self.rng.choices(pieces, (12, 2, 3, 4, 1))[0])
        if self.rng.random() < 0.3:
            # torch makes tensors that it cannot copy, so that no piece can be tried any more.
            with suppress(Failed, RuntimeError):
                self.text += self.operator()
        return self.text

    def layer(self) -> str:
        """A module of torch.nn, made and called."""
        space = self.space
        name = self.pick(space, least=1)
        tensor = space[name]
        dim, last = self.rng.randrange(tensor.dim()), tensor.shape[-1]
        made = self.rng.choice(
            (
                "Identity()",
                "ReLU()",
                "GELU()",
                "Softplus()",
                "Dropout()",
                f"Softmax({dim})",
                f"LogSoftmax({tensor.names[dim]!r})",
                f"Linear({last}, {self.rng.randint(1, 4)})",
                f"Linear({last}, {self.rng.randint(1, 4)}, bias=False)",
                f"LayerNorm({last})",
                f"LayerNorm({list(tensor.shape[-2:])})",
                f"BatchNorm1d({tensor.shape[min(1, tensor.dim() - 1)]})",
                f"Conv1d({tensor.shape[-2:][0]}, 3, 1)",
                "MaxPool1d(2)",
                "AvgPool2d(2)",
                "Flatten()",
                f"Unflatten({tensor.names[dim]!r}, (('A', {tensor.shape[dim]}), ('B', 1)))",
            )
        )
        return f"{self.fresh('y')} = nn.{made}({name})\n"

    def operator(self) -> str:
        """A call of an operator of the table, with new arguments."""
        space = self.space
        makers: list[_OnVariables] = []

        def begun() -> Maker:
            makers.append(_OnVariables(self.rng, self.torch, space))
            return makers[-1]

        call = draw(self.rng, self.catalogue, self.torch, begun)
        names = [name or self.fresh("u") for name in makers[-1].variables]
        case = self._case(call)
        writer = Writer(tuple(names))
        made = [
            writer.make_input(case, index)
            for index, name in enumerate(makers[-1].variables)
            if name is None
        ]
        target = self.fresh("y")
        statements, gives = writer.call(case, target)
        text = "\n".join([*made, *statements]) + "\n"
        if gives and self.rng.random() < 0.9:
            text += self._unpacked(text, target, space)
        return text

    def _unpacked(self, text: str, target: str, space: Space) -> str:
        """Of several results the program continues with one."""
        scratch = self.scratch(space, torch=self.torch)
        try:
            self.execute(text, scratch)
        except Exception:
            return ""
        result = scratch.get(target)
        if isinstance(result, tuple) and result and isinstance(result[0], self.torch.Tensor):
            return f"{target} = {target}[{self.rng.randrange(len(result))}]\n"
        return ""

    def _case(self, call: Call) -> cases.Case:
        try:
            args = [encode(self.torch, arg) for arg in call.args]
            kwargs = {key: encode(self.torch, arg) for key, arg in call.kwargs.items()}
        except TypeError as error:
            raise Failed from error
        record: dict[str, Any] = {"id": "", "op": call.op, "kind": call.kind, "inputs": call.inputs}
        record |= {"args": args, "kwargs": kwargs, "result": {"value": None}}
        return cases.parse(json.dumps(record))
