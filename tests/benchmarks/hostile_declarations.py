"""Hostile programs of any size that define much: classes of classes, fields, layers, parameters."""

from __future__ import annotations

from collections.abc import Sequence


def _joined(lines: Sequence[str]) -> str:
    return "\n".join(lines) + "\n"


def deep_inheritance(size: int) -> str:
    """A class that is derived from the one before, and so on, each of which is looked through."""
    lines = ["class C0:", "    def f(self, x):", "        return x"]
    for number in range(1, size):
        lines += [f"class C{number}(C{number - 1}):", "    def f(self, x):"]
        lines += ["        return super().f(x)"]
    return _joined([*lines, f"C{size - 1}().f(A)", *[f"C{size - 1}.absent"] * size])


def diamonds_of_dataclasses(size: int) -> str:
    """Diamonds of dataclasses, each with fields of its own."""
    lines = ["import dataclasses", "@dataclasses.dataclass", "class C0:", "    a: int"]
    for number in range(1, size):
        below = f"C{number - 1}"
        for name, bases in (("L", below), ("R", below), ("C", f"L{number}, R{number}")):
            lines += ["@dataclasses.dataclass", f"class {name}{number}({bases}):"]
            lines += [f"    {name.lower()}{number}: int = {number}"]
    return _joined([*lines, f"C{size - 1}(1).a"])


def records_of_many_fields(size: int) -> str:
    """Instances of a dataclass of many fields."""
    lines = ["import dataclasses", "@dataclasses.dataclass", "class C:"]
    lines += [f"    a{number}: int = {number}" for number in range(size)]
    return _joined([*lines, "def f():", *["    c = C()"] * 50, "f()"])


def submodules(size: int) -> str:
    """A module of many submodules."""
    lines = ["class M(torch.nn.Module):", "    def __init__(self):", "        super().__init__()"]
    lines += [f"        self.a{number} = torch.nn.Linear(3, 3)" for number in range(size)]
    return _joined([*lines, "    def forward(self, x):", "        return self.a0(x)", "M()(A)"])


def annotated_functions(size: int) -> str:
    """Functions that declare the dims of a parameter."""
    lines = ["from typing import Annotated"]
    for number in range(size):
        lines += [f"def f{number}(x: Annotated[Tensor, 'N C']):", "    return x"]
    return _joined(lines)


def writes_to_one_of_many(size: int) -> str:
    """One of many lists, of which it is unknown which, that is written many times."""
    lists = ", ".join(f"[{', '.join(['A'] * (number % 7))}]" for number in range(100))
    writes = ["    y = x[v]", "    y.extend(x)", "    y.append(u)"] * size
    return _joined(["def f(u, v):", f"    x = [{lists}]", *writes, "    return x"])


def long_dict(size: int) -> str:
    """A dict of many entries, each of which is read and deleted."""
    keys = range(size)
    entries = ", ".join(f"'k{key}': A" for key in keys)
    lines = [line for key in keys for line in (f"d['k{key}']", f"del d['k{key}']")]
    return _joined([f"d = {{{entries}}}", *lines])


def long_list(size: int) -> str:
    """A list of many items, each of which is written."""
    items = ", ".join(["A"] * size)
    return _joined([f"x = [{items}]", *[f"x[{index}] = None" for index in range(size)]])


def either_of_many(size: int) -> str:
    """A pattern of many alternatives."""
    pattern = " | ".join(map(str, range(size)))
    return _joined(
        ["def f(u):", "    match u:", f"        case {pattern}:", "            return A"]
    )


def _of_sizes(*lines: str) -> str:
    """A function that computes sizes from those of a declared tensor."""
    first = ["from typing import Annotated", "def f(x: Annotated[Tensor, 'a b c d e']):"]
    body = ["a, b, c, d, e = x.shape", "s = a + b + c + d + e", "q = a // b", *lines]
    used = ["y = torch.zeros(s, q, names=('S', 'Q'))", "y.flatten(['S', 'Q'], 'R').sum('H')"]
    return _joined([*first, *(f"    {line}" for line in (*body, *used))])


def squared_sizes(size: int) -> str:
    """A sum of sizes that is squared again and again."""
    return _of_sizes(*["s = s * s"] * size)


def quotients_of_sizes(size: int) -> str:
    """Quotients of sizes in quotients."""
    return _of_sizes(*["q = (q + a) // (q * b + 1) + q % (s + q)"] * size)


def sums_of_sizes(size: int) -> str:
    """Products of sums of sizes, and many of them."""
    return _of_sizes(*["s = (a + b + 1) * (c + d + 2) * (e + s)", "q = s - q"] * size)


def declared_powers(size: int) -> str:
    """Declared sizes that are powers of powers, of numbers and of sums."""
    number, total = "9", "(a+b+c+d+e)"
    for _ in range(size):
        number, total = f"({number})**64", f"({total})**8"
    return _joined(
        [
            "from typing import Annotated",
            f"def f(x: Annotated[Tensor, 'n={number} t={total}']):",
            "    return x.flatten() + x.reshape(-1, 2)",
        ]
    )


def repeated_dims(size: int) -> str:
    """Dims that are repeated a great number of times, again and again."""
    lines = ["x = torch.zeros(2, 3, names=('N', 'C')).rename(None)"]
    lines += ["x = x.repeat(2**62, 2**62)", "x.flatten().sum('H')"] * size
    return _joined(lines)
