"""What is known of a program that is run from its first line to its last, and of no part of it."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent
from typing import Final

import pytest

from namecheck.core.syntax import Position
from namecheck.core.tensors import Tensor
from namecheck.interpreter.workspace import analysis
from namecheck.project.files import ProjectFiles

_CLASSES: Final = """
import sys
import torch
from torch import nn

class A:
    given = 0

    def __init__(self, flag):
        if flag:
            self.maybe = 1
        self.own = 2

class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("table", torch.zeros(2))
        for name in ("p", "q"):
            self.register_parameter(name, None)

a, m = A(len(sys.argv) > 1), M()
"""
YES, NO, EITHER = {5}, {6}, {5, 6}


def _sizes(program: str, folder: Path) -> set[object]:
    """The sizes of the tensor that the last line of a program makes."""
    script = folder / "program.py"
    script.write_text(program)
    observed = analysis.observe_program(str(script), ProjectFiles())[str(script)]
    *_, line = lines = program.splitlines()
    observation = observed[Position(len(lines), 0, len(lines), len(line))]
    assert all(isinstance(value, Tensor) for value in observation.values)
    return {value.dims.prefix[0].size for value in observation.values if isinstance(value, Tensor)}


@pytest.mark.parametrize(
    ("before", "value", "name", "answer"),
    [
        ("", "a", "own", YES),
        ("", "a", "given", YES),
        ("", "a", "maybe", EITHER),
        ("", "a", "other", NO),
        ("", "m", "table", YES),
        ("", "m", "p", YES),
        ("", "m", "foo", NO),
        ("", "m", "_foo", NO),
        ("", "m", "_modules", EITHER),
        ("m.add_module('foo', nn.Linear(2, 3))", "m", "foo", YES),
        ("M.foo = 3", "m", "foo", YES),
        ("del a.own", "a", "own", EITHER),
        ("for name in sys.argv: setattr(m, name, 1)", "m", "foo", EITHER),
        ("object.__setattr__(a, 'z', 3)", "a", "z", YES),
        ("m.__dict__.update(bar=1)", "m", "bar", EITHER),
        ("s = [A(False) for _ in sys.argv]; s[0].x = 3; i = s[1]", "i", "x", EITHER),
        ("class B(A): __getattr__ = lambda self, name: 3\nb = B(False)", "b", "x", EITHER),
        ("class B(sys.base): pass\nb = B()", "b", "x", EITHER),
    ],
)
def test_what_an_object_has_and_lacks(
    tmp_path: Path, before: str, value: str, name: str, answer: set[object]
) -> None:
    question = f"torch.zeros(5 if hasattr({value}, {name!r}) else 6)"
    assert _sizes(f"{_CLASSES}{before}\n{question}", tmp_path) == answer


def test_the_default_of_what_an_object_lacks(tmp_path: Path) -> None:
    assert _sizes(f"{_CLASSES}torch.zeros(getattr(m, 'foo', 7))", tmp_path) == {7}
    question = "torch.zeros(5 if getattr(a, 'maybe', 7) == 1 else 6)"
    assert _sizes(f"{_CLASSES}{question}", tmp_path) == EITHER


_REGISTERED: Final = """
import functools, inspect
import torch
from collections import OrderedDict
from torch import nn

class Settings(OrderedDict):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        for key, value in self.items():
            setattr(self, key, value)

def registered(init):
    @functools.wraps(init)
    def inner(self, *args, **kwargs):
        ignored = getattr(self, "ignored", [])
        defaults = {
            name: parameter.default
            for index, (name, parameter) in enumerate(inspect.signature(init).parameters.items())
            if index > 0 and name not in ignored
        }
        settings = dict(zip(defaults, args))
        settings.update({k: kwargs.get(k, d) for k, d in defaults.items() if k not in settings})
        self.config = Settings(settings)
        init(self, *args, **kwargs)
    return inner

class Model(nn.Module):
    @registered
    def __init__(self, dim=5, layers=2):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(dim, dim) for _ in range(layers)])

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x.new_zeros(self.config.dim if self.config["layers"] == 3 else 9, 1)
"""


def test_the_signature_of_a_constructor(tmp_path: Path) -> None:
    call = "Model(layers=3)(torch.zeros(2, 5))"
    assert _sizes(f"{_REGISTERED}\n{call}", tmp_path) == {5}


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("len(sig.parameters)", {6}),
        ("sig.parameters['b'].default", {3}),
        ("5 if 'q' in sig.parameters else 6", NO),
        ("5 if sig.parameters['a'].default is None else 6", NO),
        ("5 if sig.parameters['a'].default is inspect.Parameter.empty else 6", YES),
        ("5 if sig.parameters['a'].default is inspect._empty else 6", EITHER),
        ("5 if sig.parameters['a'].kind == inspect.Parameter.VAR_KEYWORD else 6", EITHER),
        ("5 if 'args' in inspect.signature(wrapped).parameters else 6", EITHER),
    ],
)
def test_signatures(tmp_path: Path, expression: str, expected: set[object]) -> None:
    program = (
        "import functools, inspect, torch\n"
        "def f(a, b=3, *args, c, d=4, **kw): pass\n"
        "@functools.wraps(f)\n"
        "def wrapped(*args): return f(*args)\n"
        "sig = inspect.signature(f)\n"
    )
    assert _sizes(f"{program}torch.zeros({expression})", tmp_path) == expected


def test_what_looks_at_a_function_does_not_call_it(tmp_path: Path) -> None:
    program = dedent(
        """
        import inspect, torch
        size = 5
        def f(x):
            global size
            size = 6
        inspect.getsource(f)
        torch.zeros(size)"""
    )
    assert _sizes(program, tmp_path) == {5}
