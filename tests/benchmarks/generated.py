"""Projects of named-tensor code of any size, with calls of a given depth and fan-out.

Units (functions and classes) are on levels; each calls units of the next level, so that many paths
lead to one unit. Half of them name dims by ``refine_names``, half by annotations, and each half
calls its own units. Loops, branches, recursion and layers alternate in the units. A project is one
file, or files of some 200 lines that import each other.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path
from typing import Final

DEPTHS: Final = (2, 8, 32)
FAN_OUTS: Final = (1, 3, 10)
FILE_LINES: Final = 200

_HEAD: Final = ("from typing import Annotated", "", "import torch", "from torch import Tensor, nn")
_FEATURES: Final = ("straight", "loops", "layer", "branch", "pair", "block", "items")
_ANNOTATION: Final = 'Annotated[Tensor, "n t c"]'


@dataclass(frozen=True)
class Shape:
    """The parameters of a project: its lines, the depth of its calls, the calls of each unit."""

    lines: int
    depth: int
    fan_out: int
    many_files: bool


@dataclass(frozen=True)
class Unit:
    """A function or a class, on a level of the calls."""

    number: int
    level: int

    @property
    def is_annotated(self) -> bool:
        """Whether it names dims by annotations."""
        return self.number % 2 == 1

    @property
    def feature(self) -> str:
        """The statement that it contains besides calls."""
        return _FEATURES[(self.number // 2 + self.level) % len(_FEATURES)]

    @property
    def is_class(self) -> bool:
        """Whether it is a class with ``__init__`` and ``forward``."""
        return self.feature in ("layer", "block")

    @property
    def name(self) -> str:
        """Its name in calls."""
        return f"Layer{self.number}" if self.is_class else f"step{self.number}"


@dataclass(frozen=True)
class File:
    """One file under construction: the files of the units, and the file it recurs with."""

    number: int
    partner: int
    home: dict[Unit, int]

    def word(self, unit: Unit) -> str:
        """The name of a unit in this file."""
        home = self.home[unit]
        return unit.name if home == self.number else f"part{home:04}.{unit.name}"

    def recurring(self, name: str) -> str:
        """The name of the partner's part of a recursion."""
        prefix = f"part{self.partner:04}." if self.partner != self.number else ""
        return f"{prefix}{name}{self.partner}"


def generate(shape: Shape, folder: Path) -> int:
    """Write a project into an empty folder; returns the number of its lines."""
    each = _average_lines(shape)
    count = max(shape.lines // each, 2 * shape.depth)
    width = max(count // shape.depth // 2 * 2, 2)
    units = [Unit(n, n // width) for n in range(width * shape.depth)]
    chance = random.Random(shape.depth * 100 + shape.fan_out)
    calls = {unit: _called(unit, units, width, shape.fan_out, chance) for unit in units}
    size = max(FILE_LINES // each, 2) if shape.many_files else len(units)
    groups = [units[start : start + size] for start in range(0, len(units), size)]
    home = {unit: number for number, group in enumerate(groups) for unit in group}
    (folder / "__init__.py").write_text("")
    total = 0
    for number, group in enumerate(groups):
        file = File(number, min(number ^ 1, len(groups) - 1), home)
        lines = _file(file, group, calls)
        lines += _main([unit for unit in group if not unit.level and not unit.is_annotated])
        (folder / f"part{number:04}.py").write_text("\n".join(lines) + "\n")
        total += len(lines)
    return total


def _average_lines(shape: Shape) -> int:
    """The average number of lines of a unit."""
    sample = [Unit(n, 0) for n in range(2 * len(_FEATURES))]
    file = File(0, 0, dict.fromkeys(sample, 0))
    return sum(len(_unit(u, [u] * shape.fan_out, file)) for u in sample) // len(sample)


def _called(
    unit: Unit, units: list[Unit], width: int, fan_out: int, chance: random.Random
) -> list[Unit]:
    """The units of the next level that one calls, among those that name dims the same way."""
    start = (unit.level + 1) * width + unit.is_annotated
    following = units[start : start + width - unit.is_annotated : 2]
    return [chance.choice(following) for _ in range(fan_out)] if following else []


def _file(file: File, group: list[Unit], calls: dict[Unit, list[Unit]]) -> list[str]:
    imported = {file.home[callee] for unit in group for callee in calls[unit]} | {file.partner}
    lines = list(_HEAD)
    lines += [f"from . import part{other:04}" for other in sorted(imported - {file.number})]
    for unit in group:
        lines += _unit(unit, calls[unit], file)
    return [*lines, *_pair(file)]


def _unit(unit: Unit, callees: list[Unit], file: File) -> list[str]:
    if unit.is_class:
        return _class(unit, callees, file)
    uses = []
    for index, callee in enumerate(callees):
        made = f"{file.word(callee)}(4)" if callee.is_class else file.word(callee)
        uses.append(f"    y = y + {made}({'xy'[index % 2]}, flag)")
    return [
        "",
        "",
        *_signature(f"def {unit.name}(", "x", unit, ""),
        *_body(unit, file),
        *uses,
        "    return torch.relu(y)",
    ]


def _signature(start: str, parameter: str, unit: Unit, indent: str) -> list[str]:
    """The first lines of a function that takes a tensor and a flag, and returns such a tensor."""
    if unit.is_annotated:
        typed = f"{parameter}: {_ANNOTATION}, flag: bool = False"
        return [f"{indent}{start}", f"{indent}    {typed}", f"{indent}) -> {_ANNOTATION}:"]
    refined = f'{indent}    {parameter} = {parameter}.refine_names("N", "T", "C")'
    return [f"{indent}{start}{parameter}, flag=False):", refined]


def _body(unit: Unit, file: File) -> list[str]:
    """Statements that bind `y` to a tensor like `x`."""
    if unit.feature == "loops":
        return [
            "    y = x",
            "    for i in range(len(x)):",
            "        for j in range(i):",
            "            y = y * j + x",
            "        y = torch.tanh(y)",
        ]
    if unit.feature == "branch":
        return [
            "    if flag:",
            "        y = x.softmax(2)",
            "    elif x.shape[0] > 3:",
            "        y = x - x.mean(1, keepdim=True)",
            "    else:",
            "        y = x * 2",
        ]
    if unit.feature == "items":
        return [
            "    parts = [x, torch.relu(x), x * 3]",
            "    total = [part.exp() for part in parts]",
            "    y = parts[0]",
            "    for part in total:",
            "        y = y + part",
        ]
    if unit.feature == "pair" and not unit.is_annotated:
        return [
            f"    y = {file.recurring('odd')}(x, 3)",
            f"    y = y + even{file.number}(x, len(x))",
        ]
    return [
        "    scale = x.mean(dim=(0, 1))",
        "    y = x * scale",
        "    total = y.sum(1, keepdim=True)",
        "    y = y / total",
    ]


def _class(unit: Unit, callees: list[Unit], file: File) -> list[str]:
    made, used = [], []
    for index, callee in enumerate(callees):
        if callee.is_class:
            made.append(f"        self.inner{index} = {file.word(callee)}(width)")
            used.append(f"        y = y + self.inner{index}(y, flag)")
        else:
            used.append(f"        y = y + {file.word(callee)}(y, flag)")
    is_layer = unit.feature == "layer"
    return [
        "",
        "",
        f"class {unit.name}{'(nn.Module)' if is_layer else ''}:",
        "    def __init__(self, width):",
        *(["        super().__init__()"] if is_layer else []),
        "        self.scale = torch.ones(1, 1, width)",
        "        self.norm = nn.LayerNorm(width)",
        *made,
        "",
        *_signature("def forward(self, ", "x", unit, "    "),
        "        y = self.norm(x) * self.scale",
        *used,
        "        if flag:",
        "            y = torch.sigmoid(y)",
        "        return y",
        *([] if is_layer else ["", "    __call__ = forward"]),
    ]


def _pair(file: File) -> list[str]:
    """Two functions that call each other, across two files where there are two."""
    return [
        "",
        "",
        f"def even{file.number}(x, n):",
        '    x = x.refine_names("N", "T", "C")',
        "    if n == 0:",
        "        return x",
        f"    return {file.recurring('odd')}(torch.relu(x), n - 1)",
        "",
        "",
        f"def odd{file.number}(x, n):",
        '    x = x.refine_names("N", "T", "C")',
        "    if n == 0:",
        "        return x * 2",
        f"    return {file.recurring('even')}(torch.exp(x), n - 1)",
    ]


def _main(units: list[Unit]) -> list[str]:
    """Code at the top level that calls some of the units of the first level."""
    if not units:
        return []
    lines = ["", "", 'if __name__ == "__main__":']
    lines += ['    x = torch.zeros(2, 3, 4, names=("N", "T", "C"))']
    for unit in units[:5]:
        lines.append(f"    {unit.name}{'(4)' if unit.is_class else ''}(x)")
    return lines
