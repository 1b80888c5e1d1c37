"""Calls whose bodies are not run: what the syntax of the function tells of them."""

from __future__ import annotations

import ast
from pathlib import Path
from textwrap import dedent

import pytest

from namecheck import project
from namecheck.interpreter.domain.unfollowed import Unfollowed, unfollowed
from namecheck.project import Walk


def _of(source: str) -> Unfollowed:
    [function] = ast.parse(dedent(source)).body
    assert isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef))
    return unfollowed(function)


@pytest.mark.parametrize(
    "source",
    [
        "def register(fn):\n    MODELS[fn.__name__] = fn\n    return fn",
        "def register(fn):\n    if fn in MODELS:\n        return fn\n    raise KeyError",
        "def register(cls):\n    assert issubclass(cls, A)\n    MODELS.append(cls)\n    return cls",
    ],
)
def test_a_registering_decorator_returns_its_argument(source: str) -> None:
    assert _of(source).returns_argument
    assert _of(source).leaves_argument


@pytest.mark.parametrize(
    "source",
    [
        "def wrap(fn):\n    fn = other(fn)\n    return fn",
        "def wrap(fn):\n    if fn:\n        return fn",
        "def wrap(fn):\n    return fn, 1",
        "def wrap(fn):\n    yield 1\n    return fn",
        "async def wrap(fn):\n    return fn",
        "def wrap():\n    return fn",
        "def wrap(fn):\n    def set():\n        nonlocal fn\n        fn = 1\n    return fn",
    ],
)
def test_another_result_is_not_the_argument(source: str) -> None:
    assert not _of(source).returns_argument


@pytest.mark.parametrize("use", ["fn()", "other(fn)", "other(key=fn)", "fn.start()", "[fn()]"])
def test_an_argument_that_is_called_or_passed_on_is_not_left_alone(use: str) -> None:
    function = _of(f"def register(fn):\n    {use}\n    return fn")
    assert function.returns_argument
    assert not function.leaves_argument


@pytest.mark.parametrize(
    "inner", ["def add(fn):\n        MODELS[name] = fn\n        return fn", "add = 1"]
)
def test_a_factory_returns_a_decorator(inner: str) -> None:
    assert _of(f"def register(name):\n    {inner}\n    return add").returns_decorator == (
        inner != "add = 1"
    )


def test_the_written_variables_are_those_of_outer_scopes() -> None:
    function = _of(
        """
        def register(fn):
            global count
            count += 1
            MODELS[fn.__name__]["fn"] = fn
            NAMES.append(fn.__name__)
            own = []
            own.append(fn)
            return fn
        """
    )
    assert function.filled == {"MODELS", "NAMES"}
    assert function.rebound == {"count"}


_REGISTRY = """
MODELS = {}
COUNT = 0

def register(fn):
    MODELS[fn.__name__] = fn
    return fn

def register_as(name):
    def add(fn):
        MODELS[name] = fn
        return fn
    return add

def counted(fn):
    global COUNT
    COUNT = COUNT + 1
    return fn
"""
_MODELS = """
import torch
from registry import COUNT, MODELS, counted, register, register_as

@register
def rows(x):
    return x.sum("C")

@register_as("columns")
def columns(x):
    return x.sum("N")

@counted
def both(x):
    return x.sum(("N", "C"))

image = torch.zeros(2, 3, names=("N", "C"))
rows(image).sum("C")  # BUG
columns(image).sum("N")  # BUG
both(image).sum("N")  # BUG
if not MODELS or not COUNT:
    raise SystemExit
image.sum("W")  # BUG
"""


def test_registered_functions_stay_known(tmp_path: Path) -> None:
    """The registry is so long that only its relevant functions are run: none of these is."""
    (tmp_path / "registry.py").write_text(_REGISTRY + "\n" * 200)
    (tmp_path / "models.py").write_text(_MODELS)
    result = project.check(Walk().entries([str(tmp_path)]), jobs=1)
    expected = [
        number for number, line in enumerate(_MODELS.splitlines(), 1) if line.endswith("# BUG")
    ]
    assert [finding.span.line for finding in result.findings] == expected
