"""Random programs that are hard to analyse: loops in loops, values of values, calls of calls.

`python -m tests.hostile_random --minutes 60` checks programs with new seeds, one limited process
each; a program that costs more than 10 s or 500 MB, or on which namecheck fails, is written to the
folder. The tests check a few with fixed seeds. Programs are a mix of statements that double, nest,
repeat or share what others made, so that their combinations meet, which nobody would write down.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Final

from tests.benchmarks.hostile import HEAD, MEBIBYTES, SECONDS, TAIL
from tests.benchmarks.processes import check_alone, measure_limited

_VARIABLES: Final = ("a", "b", "c", "d", "e")
_HELPERS: Final = """\
import collections
import copy
import functools
import itertools
import math


class Node(torch.nn.Module):
    def __init__(self, a, b):
        super().__init__()
        self.a = a
        self.b = b

    def forward(self, x):
        return self.a(self.b(x)) + self.b(self.a(x))

    def __getitem__(self, index):
        return self.a[index], self.b[index]

    def __eq__(self, other):
        return self.a == other.b or self.b == other.a


Pair = collections.namedtuple("Pair", "a b")


def twice(f):
    return lambda x: f(f(x))


def grows(x, n):
    yield x
    for y in grows((x, n), n):
        yield y, x


def swap(a, b=None, *rest, **words):
    return [b, a, *rest, words]


"""
# Expressions over two values; what stands for them is chosen at random.
_EXPRESSIONS: Final = (
    "[{x}, {y}]",
    "({x}, {y})",
    "({x}, *{y})",
    "[*{x}, *{y}]",
    "{{'k': {x}, 'l': {y}}}",
    "{{**{x}, 'm': {y}}}",
    "{{{x}, {y}}}",
    "{x} + {y}",
    "{x} * {y}",
    "{x} * 64",
    "{x} ** 9",
    "{x} << 99",
    "{x} == {y}",
    "{x} < {y} < {x}",
    "not {x}",
    "{x} and {y}",
    "{x} or {y}",
    "{x} if {y} else {x}",
    "{x}[0]",
    "{x}[{y}]",
    "{x}[::2]",
    "{x}.a",
    "{x}.relu()",
    "{x}.rename(N='K')",
    "{x}.refine_names('N', 'C')",
    "{x}.shape",
    "{x}.size(0) * {y}.size(1)",
    "{x}({y})",
    "{x}.k({y}, {y})",
    "Node({x}, {y})",
    "Pair({x}, {y})",
    "Pair({x}, {y})._replace(a={y})",
    "swap({x}, {y}, *{x}, **{y})",
    "twice({x})",
    "list(grows({x}, {y}))",
    "(lambda x={x}, y={y}: [x, y])",
    "functools.partial({x}, {y}, {y})",
    "functools.reduce(swap, [{x}, {y}, {x}])",
    "f'{{{x}}}{{{y}!r}}'",
    "'%s%s' % ({x}, {y})",
    "str({x}).join([{y}, {y}])",
    "sorted([{x}, {y}, {x}])",
    "list(zip({x}, {y}))",
    "list(itertools.product({x}, {y}, repeat=3))",
    "dict(zip({x}, {y}))",
    "[i for i in {x} for j in {y} if i == j]",
    "{{i: j for i, j in {x}}}",
    "(i for i in {x} if {y})",
    "copy.deepcopy([{x}, {y}])",
    "torch.stack([{x}, {y}])",
    "torch.cat([{x}] * 50, 'N')",
    "torch.einsum('ab,bc->ac', {x}, {y})",
    "torch.zeros({x}, {y}, names=('N', 'C'))",
    "torch.nn.Sequential({x}, {y})",
    "torch.nn.ModuleList([{x}, {y}])[0]",
    "{x}.flatten(['N', 'C'], 'N').unflatten('N', (('N', 2), ('C', -1)))",
    "math.factorial({x}) // 7",
    "sum([{x}, {y}], {x})",
    "max({x}, {y})",
    "isinstance({x}, {y})",
    "getattr({x}, 'a', {y})",
    "type({x})({y})",
    "slice({x}, {y})",
    "range({x}, {y})",
    "(yield {x})",
)
_STATEMENTS: Final = (
    "{x} = {e}",
    "{x} = {e}",
    "{x} = {e}",
    "{x} += {e}",
    "{x}, {y} = {y}, {e}",
    "{x}, *{y} = {e}",
    "{x}.append({e})",
    "{x}.append([])",
    "{x}[-1].append({e})",
    "{x}.extend({e})",
    "{x}[{y}] = {e}",
    "{x}['k'] = {e}",
    "{x}.a = {e}",
    "setattr({x}, 'b', {e})",
    "{x}.names = ('N', 'C')",
    "{x}.update(k={e})",
    "del {x}[0]",
    "assert {e}",
    "print({e})",
    "return {e}",
    "global {x}",
    "raise ValueError({e})",
)
_BLOCKS: Final = (
    ("if {e}:",),
    ("if {e}:", "else:"),
    ("if {e}:", "elif {e}:", "else:"),
    ("for {x} in {e}:",),
    ("for {x}, {y} in enumerate({e}):",),
    ("for {x}, {y} in zip({y}, {e}):",),
    ("for {x} in range(7):",),
    ("while {e}:",),
    ("while True:",),
    ("try:", "except (ValueError, KeyError) as {x}:"),
    ("try:", "except Exception:", "finally:"),
    ("with {e} as {x}:",),
    ("with torch.no_grad():",),
    ("match {e}:\n{i} case [{x}, *{y}]:",),
    ("def {x}({y}, {z}={e}, *more):",),
    ("class {x}(Node):\n{i} def forward(self, {y}):",),
)


class _Writer:
    """Writes one program."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._left = self._random.choice((10, 30, 100, 300))
        self._deepest = self._random.choice((2, 4, 8, 14))
        # Few kinds of expressions in one program repeat, and so grow, what they make.
        count = self._random.choice((2, 4, 8, len(_EXPRESSIONS)))
        self._expressions = self._random.sample(_EXPRESSIONS, count)

    def program(self) -> str:
        functions = self._random.randint(1, 4)
        lines = [_HELPERS]
        for number in range(functions):
            names = ", ".join(_VARIABLES)
            lines += [f"def f{number}({names}):", *self._block(1), ""]
        called = ", ".join(self._random.choice(("A", "[A]", "3", "'ab'", "f0")) for _ in _VARIABLES)
        lines += [f"f{number}({called})" for number in range(functions)]
        return "\n".join(lines) + "\n"

    def _block(self, depth: int) -> list[str]:
        indent = " " * depth
        lines: list[str] = []
        for _ in range(self._random.randint(1, 6)):
            self._left -= 1
            if depth < self._deepest and self._left > 0 and self._random.random() < 0.4:
                for head in self._random.choice(_BLOCKS):
                    lines.append(indent + self._filled(head, indent))
                    inner = 2 if "\n" in head else 1
                    lines += self._block(depth + inner)
            elif self._left > 0 and self._random.random() < 0.2:
                line = self._filled(self._random.choice(_STATEMENTS), indent)
                lines += [indent + line] * self._random.choice((2, 8, 40))
            else:
                lines.append(indent + self._filled(self._random.choice(_STATEMENTS), indent))
        return lines

    def _filled(self, template: str, indent: str) -> str:
        x, y, z = self._random.sample(_VARIABLES, 3)
        text = template.replace("{i}", indent).replace("{x}", x).replace("{y}", y)
        while "{e}" in text:
            text = text.replace("{e}", self._expression(2), 1)
        return text.replace("{z}", z)

    def _expression(self, depth: int) -> str:
        if not depth or self._random.random() < 0.2:
            return self._random.choice((*_VARIABLES, "A", "2", "'a b'", "None"))
        parts = {name: self._expression(depth - 1) for name in ("x", "y")}
        return "(" + self._random.choice(self._expressions).format(**parts) + ")"


def program(seed: int) -> str:
    """The random program of a seed, with a mistake at its end."""
    return HEAD + _Writer(seed).program() + TAIL


def failure(path: Path) -> str:
    """How the check of a file fails, or nothing."""
    run = measure_limited(check_alone(path), 2 * SECONDS)
    if run.code not in (0, 1):
        return f"ends with {run.code} after {run.seconds:.1f} s: {run.output[-200:]}"
    if run.seconds > SECONDS:
        return f"takes {run.seconds:.1f} s"
    if run.mebibytes * (1 << 20) > MEBIBYTES * 10**6:
        return f"takes {run.mebibytes:.0f} MiB"
    return "" if "NC005" not in run.output else "NC005"


def run(seeds: Callable[[], int], until: float, folder: Path) -> tuple[int, int]:
    """Check programs until a moment: how many were tried, and how many fail."""
    tried = failures = 0
    while time.monotonic() < until:
        seed = seeds()
        text = program(seed)
        try:
            with warnings.catch_warnings(action="ignore"):
                compile(text, "program", "exec")
        except SyntaxError:  # such as a return at a place where a class stands
            continue
        path = folder / f"hostile_{seed}.py"
        path.write_text(text)
        tried += 1
        if what := failure(path):
            failures += 1
            print(f"{path}: {what}", flush=True)
        else:
            path.unlink()
    return tried, failures


def main() -> None:
    """Check programs with new seeds for some time."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()))
    parser.add_argument("--seed", type=int, help="check the program of this seed alone")
    options = parser.parse_args()
    if options.seed is not None:
        print(program(options.seed), end="")
        return
    options.folder.mkdir(parents=True, exist_ok=True)
    source = random.SystemRandom()
    until = time.monotonic() + 60 * options.minutes
    tried, failures = run(lambda: source.randrange(1 << 32), until, options.folder)
    print(f"{tried} programs, {failures} over a limit or with a fault of namecheck")


if __name__ == "__main__":
    main()
