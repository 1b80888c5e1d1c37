"""Recorded calls as Python source: the lines that make the inputs, and the call."""

from __future__ import annotations

import keyword
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from namecheck.core.tensors import Constant
from tests.conformance.cases import Case, Pairs, Ref, Size

PREAMBLE: Final = ("import collections", "import operator", "import torch")


@dataclass(frozen=True, slots=True)
class Placed:
    """The place of a call in the program: line numbers from 1, the end exclusive."""

    case: Case
    first_line: int
    call_line: int
    end_line: int
    inputs: tuple[str, ...]
    result: str | None


@dataclass(frozen=True, slots=True)
class Program:
    """One source file that makes many recorded calls one after the other."""

    text: str
    calls: tuple[Placed, ...]


def write(cases: Sequence[Case]) -> Program:
    """The program that makes these calls; no two of them share a variable."""
    lines = list(PREAMBLE)
    calls = []
    for number, case in enumerate(cases):
        writer = Writer(tuple(f"x{number}_{index}" for index in range(len(case.inputs))))
        first = len(lines) + 1
        for index in range(len(case.inputs)):
            lines.append(writer.make_input(case, index))
        call = len(lines) + 1
        result = f"r{number}"
        statements, gives = writer.call(case, result)
        lines += statements
        calls.append(
            Placed(case, first, call, len(lines) + 1, writer.inputs, result if gives else None)
        )
    return Program("\n".join(lines) + "\n", tuple(calls))


_BINARY: Final = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "truediv": "/",
    "floordiv": "//",
    "mod": "%",
    "pow": "**",
    "matmul": "@",
    "and_": "&",
    "or_": "|",
    "xor": "^",
    "lshift": "<<",
    "rshift": ">>",
    "eq": "==",
    "ne": "!=",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
}
_AUGMENTED: Final = {
    f"i{name.rstrip('_')}": f"{sign}="
    for name, sign in _BINARY.items()
    if name not in ("eq", "ne", "lt", "le", "gt", "ge")
}
_UNARY: Final = {
    "neg": "-{}",
    "pos": "+{}",
    "invert": "~{}",
    "abs": "abs({})",
    "truth": "bool({})",
    "not_": "not {}",
    "index": "operator.index({})",
}


@dataclass(frozen=True, slots=True)
class Writer:
    """Writes one call on variables of these names."""

    inputs: tuple[str, ...]

    def make_input(self, case: Case, index: int) -> str:
        """The statement that makes one of the inputs."""
        tensor = case.inputs[index]
        options: dict[str, Any] = {}
        if tensor.dtype != "float32":
            options["dtype"] = Constant("dtype", str(tensor.dtype))
        if any(name is not None for name in tensor.names):
            options["names"] = tensor.names
        if case.requires_grad[index]:
            options["requires_grad"] = True
        sizes = tensor.dims.sizes or ((),)
        return f"{self.inputs[index]} = torch.zeros({self.arguments(sizes, options)})"

    def call(self, case: Case, result: str) -> tuple[list[str], bool]:
        """The statements of the call, and whether they bind the result."""
        if case.kind == "operator":
            return self.operator(case, result)
        if case.kind == "setattr":
            return [f"{self.inputs[0]}.{case.op} = {self.literal(case.args[0])}"], False
        if case.kind == "attr":
            return [f"{result} = {self.inputs[0]}.{case.op}"], True
        arguments = self.arguments(case.args, case.kwargs)
        if case.kind == "method":
            return [f"{result} = {self.inputs[0]}.{case.op}({arguments})"], True
        if case.kind == "module":
            constructor = f"{case.op}({self.arguments(case.ctor, {})})"
            return [
                f"{result}_module = {constructor}",
                f"{result} = {result}_module({arguments})",
            ], True
        return [f"{result} = {case.op}({arguments})"], True

    def operator(self, case: Case, result: str) -> tuple[list[str], bool]:
        """A call of a function of the operator module, written with the operator itself."""
        operands = [self.operand(arg) for arg in case.args]
        if case.op == "getitem":
            return [f"{result} = {operands[0]}[{self.index(case.args[1])}]"], True
        if case.op == "setitem":
            place = f"{operands[0]}[{self.index(case.args[1])}]"
            return [f"{place} = {self.literal(case.args[2])}"], False
        if case.op in _AUGMENTED:
            target = operands[0] if isinstance(case.args[0], Ref) else result
            before = [] if target == operands[0] else [f"{result} = {operands[0]}"]
            change = f"{target} {_AUGMENTED[case.op]} {operands[1]}"
            after = [f"{result} = {target}"] if target == operands[0] else []
            return [*before, change, *after], True
        if case.op in _UNARY:
            return [f"{result} = {_UNARY[case.op].format(operands[0])}"], True
        if case.op in _BINARY:
            return [f"{result} = {operands[0]} {_BINARY[case.op]} {operands[1]}"], True
        return [f"{result} = operator.{case.op}({self.arguments(case.args, {})})"], True

    def operand(self, arg: Any) -> str:
        """One operand, in brackets if it begins with a sign."""
        text = self.literal(arg)
        return f"({text})" if text.startswith("-") else text

    def index(self, arg: Any) -> str:
        """The text between the brackets of a subscript."""
        if isinstance(arg, slice):
            parts = ["" if part is None else self.literal(part) for part in _parts(arg)]
            return ":".join(parts if arg.step is not None else parts[:2])
        if isinstance(arg, tuple) and arg:
            return ", ".join(map(self.index, arg)) + ("," if len(arg) == 1 else "")
        return self.literal(arg)

    def arguments(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
        """The text between the brackets of a call."""
        words = [self.literal(arg) for arg in args]
        for key, arg in kwargs.items():
            if key.isidentifier() and not keyword.iskeyword(key):
                words.append(f"{key}={self.literal(arg)}")
            else:
                words.append(f"**{{{key!r}: {self.literal(arg)}}}")
        return ", ".join(words)

    def literal(self, arg: Any) -> str:
        """One argument as an expression."""
        if isinstance(arg, Ref):
            return self.inputs[arg.index]
        if isinstance(arg, Constant):
            return f"torch.device({arg.name!r})" if arg.kind == "device" else f"torch.{arg.name}"
        if isinstance(arg, Size):
            return f"torch.Size({list(arg.sizes)})"
        if isinstance(arg, Pairs):
            return self.mapping(arg)
        if isinstance(arg, slice):
            return f"slice({', '.join(map(self.literal, _parts(arg)))})"
        if isinstance(arg, list):
            return f"[{', '.join(map(self.literal, arg))}]"
        if isinstance(arg, tuple):
            return f"({', '.join(map(self.literal, arg))}{',' if len(arg) == 1 else ''})"
        if arg is ...:
            return "..."
        if isinstance(arg, float) and not math.isfinite(arg):
            return f"float({str(arg)!r})"
        return repr(arg)

    def mapping(self, arg: Pairs) -> str:
        """A dict as an expression."""
        if arg.ordered:
            pairs = ", ".join(f"({self.literal(k)}, {self.literal(v)})" for k, v in arg.items)
            return f"collections.OrderedDict([{pairs}])"
        pairs = ", ".join(f"{self.literal(k)}: {self.literal(v)}" for k, v in arg.items)
        return f"{{{pairs}}}"


def _parts(arg: slice) -> tuple[Any, Any, Any]:
    return arg.start, arg.stop, arg.step
