"""Decorators that only write docstrings: they return what they decorate, and are not run."""

from __future__ import annotations

import ast
from pathlib import Path
from textwrap import dedent

import pytest

from namecheck import project
from namecheck.interpreter.domain.documenting import Documenting
from namecheck.project import Walk


def documents(source: str) -> bool:
    """Whether the last function of a file documents its first argument."""
    tree = ast.parse(dedent(source))
    function = tree.body[-1]
    assert isinstance(function, ast.FunctionDef)
    return Documenting(tree).documents(function)


HELPERS = """
def indent(cls):
    return 4 * len(cls.__qualname__.split("."))

def keep(cls):
    KEPT.append(cls)

def again(cls, depth):
    return again(cls, depth - 1)

def written(func, text):
    func.__doc__ = text
    return func

"""


@pytest.mark.parametrize(
    "body",
    [
        "cls.__doc__ = 'x'; return cls",
        "if cls is None or not cls:\n        raise ValueError\n    return cls",
        "n = indent(cls); return cls",
        "return written(cls, text='x')",
        "return written(text='x', func=cls)",
        "written(cls.__init__, 'x'); return cls",
        "print(f'{cls}', inspect.signature(cls), isinstance(cls, type)); return cls",
        "x = cls.get_names() if hasattr(cls, 'get_names') else is_model(cls); return cls",
        "if cls:\n        return cls\n    else:\n        return written(cls, 'x')",
        "names = [base.__name__ for base in cls.__mro__]; return cls",
    ],
)
def test_a_decorator_that_documents(body: str) -> None:
    assert documents(f"{HELPERS}def decorator(cls):\n    {body}\n")


@pytest.mark.parametrize(
    "body",
    [
        "keep(cls); return cls",
        "again(cls, 3); return cls",
        "other(cls); return cls",
        "cls.forward = other; return cls",
        "cls.__init__ = other; return cls",
        "cls.__annotations__ = {}; return cls",
        "cls.__dict__['forward'] = other; return cls",
        "setattr(cls, 'forward', other); return cls",
        "cls(); return cls",
        "cls.register(); return cls",
        "MODELS[cls.__name__] = cls; return cls",
        "cls = other; return cls",
        "alias = cls; alias.forward = 1; return cls",
        "alias = cls or other; return cls",
        "def inner():\n        return cls()\n    return cls",
        "if cls:\n        return cls",
        "return other(cls)",
        "return written(other, cls)",
        "return cls, 1",
        "yield 1\n    return cls",
        "written(*cls); return cls",
        "del cls.__doc__; return cls",
    ],
)
def test_a_decorator_that_may_do_more(body: str) -> None:
    assert not documents(f"{HELPERS}def decorator(cls):\n    {body}\n")


@pytest.mark.parametrize("change", ["written = other", "for written in others: pass"])
def test_a_helper_that_is_bound_twice_is_not_known(change: str) -> None:
    assert not documents(f"{HELPERS}{change}\ndef decorator(cls):\n    return written(cls, 'x')\n")


DESCRIBED = """
import torch

def described(text):
    def decorator(func):
        func.__doc__ = text + str(torch.zeros(2, names=("N",)).sum("H"))
        return func
    return decorator
"""
USE = """
import torch
from decorators import described

@described("x")
def mean(x):
    return x.mean("C")

mean(torch.zeros(2, names=("N",)))
"""


def test_a_documenting_decorator_is_run_in_its_own_file_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "decorators.py").write_text(DESCRIBED)
    (tmp_path / "use.py").write_text(USE)
    monkeypatch.chdir(tmp_path)
    found = project.check(Walk().entries(["use.py"]), jobs=1).findings
    assert [(one.filename, one.code, one.span.line) for one in found] == [("use.py", "NC103", 7)]
    (tmp_path / "decorators.py").write_text(f"{DESCRIBED}\n@described('x')\ndef f():\n    pass\n")
    found = project.check(Walk().entries(["decorators.py"]), jobs=1).findings
    assert [(one.code, one.span.line) for one in found] == [("NC103", 6)]
