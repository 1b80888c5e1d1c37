"""Random programs, grown piece by piece; a piece is kept if native torch runs it.

See tests/programs_generator.py, which records their outcomes on native torch.
"""

from __future__ import annotations

import itertools
import os
import random
import sys
import traceback
import types
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from tests.oracle.random_expressions import NAMES, Expressions

PLACE: Final = "<program>"
Space: TypeAlias = dict[str, Any]
_TRIES: Final = 12
_STEPS: Final = 5_000
_HEAD: Final = """import os
from dataclasses import dataclass, field
import torch
import torch.nn.functional as F
from torch import nn
"""


class Failed(Exception):
    """A piece that cannot be drawn here."""


class Endless(Exception):
    """A program that takes too many steps."""


@dataclass(frozen=True, slots=True)
class Fault:
    """The error that ended a program, and the innermost line of the program."""

    kind: str
    message: str
    line: int


def run(
    text: str, flags: Sequence[bool], reached: set[int] | None = None
) -> tuple[Space, Fault | None]:
    """Run a program under one choice of its flags: its variables, and its error.

    The lines that it runs are added to `reached`.
    """
    for index, flag in enumerate(flags):
        os.environ[f"FLAG_{index}"] = "1" if flag else "0"
    module = types.ModuleType("program")
    sys.modules["program"] = module
    steps = itertools.count()

    def trace(frame: Any, event: str, argument: Any) -> Any:
        if frame.f_code.co_filename != PLACE:
            return None
        if next(steps) > _STEPS:
            raise Endless
        if reached is not None:
            reached.add(frame.f_lineno)
        return trace

    try:
        with warnings.catch_warnings(), open(os.devnull, "w") as hidden:
            warnings.simplefilter("ignore")
            shown, sys.stdout = sys.stdout, hidden
            sys.settrace(trace)
            exec(compile(text, PLACE, "exec"), module.__dict__)
    except Exception as error:
        lines = [
            line
            for frame, line in traceback.walk_tb(error.__traceback__)
            if frame.f_code.co_filename == PLACE
        ]
        line = lines[-1] if lines else getattr(error, "lineno", 0)
        return module.__dict__, Fault(type(error).__name__, str(error), line)
    finally:
        sys.settrace(None)
        sys.stdout = shown
    return module.__dict__, None


def run_all(text: str, flags: int) -> list[tuple[Space, Fault | None]]:
    """Run a program under every choice of its flags."""
    return [run(text, chosen) for chosen in itertools.product((False, True), repeat=flags)]


class Grower:
    """A program under construction, and the sources of its pieces."""

    def __init__(self, rng: random.Random, torch: Any) -> None:
        self.rng = rng
        self.torch = torch
        self.drawn = Expressions(rng, torch.Tensor)
        self.text = _HEAD
        self.flags = rng.choice((0, 1, 1, 2))
        self.number = 0
        self.uniform = rng.random() < 0.4
        self.sizes = {name: 2 if self.uniform else size for size, name in enumerate(NAMES, 2)}
        self.spaces: list[Space] = []

    def fresh(self, stem: str) -> str:
        """An unused variable name."""
        self.number += 1
        return f"{stem}{self.number}"

    @property
    def space(self) -> Space:
        """The variables so far, under one choice of the flags."""
        return self.rng.choice(self.spaces)

    def add(self, piece: Callable[[], str]) -> None:
        """Append a piece that runs under every choice of the flags."""
        if not self.spaces:
            self.spaces = [space for space, _ in run_all(self.text, self.flags)]
        for _ in range(_TRIES):
            try:
                text = self.text + piece()
            except (Failed, RuntimeError):
                continue
            outcomes = run_all(text, self.flags)
            if not any(error for _, error in outcomes):
                self.text, self.spaces = text, [space for space, _ in outcomes]
                return

    # Parts of pieces

    def scratch(self, space: Space, **extra: Any) -> Space:
        """A copy of a namespace for trying a block."""
        copied = {**space, **extra}
        for key, value in copied.items():
            if isinstance(value, self.torch.Tensor):
                copied[key] = value.detach().clone()
        return copied

    def pick(self, space: Space, *, least: int = 0) -> str:
        """A variable with a tensor."""
        found = [
            k for k, v in self.drawn.tensors(space).items() if v.dim() >= least and v.dim() < 6
        ]
        if not found:
            raise Failed
        return self.rng.choice(found[-8:])

    def chain(self, text: str, space: Space, length: int) -> str:
        """An expression of several operations that runs in this namespace."""
        for _ in range(length):
            for _ in range(4):
                candidate = self.drawn.operation(text, self.value(text, space), space)
                if isinstance(self.value(candidate, space), self.torch.Tensor):
                    text = candidate
                    break
        return text

    def value(self, text: str, space: Space) -> Any:
        """The value of an expression, None if it fails."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return eval(text, self.scratch(space))
        except Exception:
            return None

    def block(
        self, space: Space, length: int, *, local: Sequence[str] = ()
    ) -> tuple[list[str], str]:
        """Statements on the variables of a namespace, tried in it; the last variable they set."""
        lines: list[str] = []
        names = list(local) or [self.pick(space)]
        for _ in range(length):
            visible = (
                {**space}
                if self.rng.random() < 0.3
                else {
                    k: v
                    for k, v in space.items()
                    if k in names or not isinstance(v, self.torch.Tensor)
                }
            )
            source = self.rng.choice(
                [n for n in names if isinstance(space.get(n), self.torch.Tensor)]
            )
            text = self.chain(source, visible, self.rng.choice((1, 1, 2)))
            target = (
                self.rng.choice((source, self.fresh("v"))) if source in local else self.fresh("v")
            )
            line = f"{target} = {text}"
            if self.rng.random() < 0.12 and source in local:
                line, target = self.mutation(source, space), source
            try:
                self.execute(line, space)
            except Exception:
                continue
            lines.append(line)
            names.append(target)
        return lines, names[-1]

    def execute(self, text: str, space: Space) -> None:
        """Run statements in a namespace."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(text, space)

    def mutation(self, name: str, space: Space) -> str:
        """A statement that changes a tensor in place."""
        tensor = space[name]
        free = [n for n in NAMES if n not in tensor.names]
        present = [n for n in tensor.names if n]
        other = self.pick(space)
        forms = [
            f"{name} += {other}",
            f"{name} *= 2",
            f"{name}.add_({other})",
            f"{name}.zero_()",
            f"{name}.mul_({other})",
            f"{name}.copy_({other})",
            f"{name} /= 2.0",
            f"{name}.masked_fill_({name} > 0, 1.0)",
            f"{name}.fill_(0)",
            f"{name}.clamp_(min=0)",
        ]
        if present and free:
            forms.append(f"{name}.rename_({present[0]}={free[0]!r})")
            forms.append(f"{name}.names = {tuple(self.rng.sample(NAMES, tensor.dim()))!r}")
        if tensor.dim():
            forms.append(f"{name}[0] = 0")
            forms.append(f"{name}.names = None")
        return self.rng.choice(forms)
