"""The registry of library models: every modelled name exists, and has a single model."""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections import OrderedDict, deque
from pathlib import Path
from typing import Final, NamedTuple

import pytest
import torch

from namecheck.interpreter import models
from namecheck.interpreter.domain.values import (
    DictValue,
    ListValue,
    TensorValue,
    TorchModule,
    TupleValue,
)
from namecheck.interpreter.models import registry

registry.discover()

# Not names for type checkers only, nor results of functions: ``itemgetter()``.
_NAMES = sorted(
    path
    for path in {
        *registry.FUNCTIONS,
        *registry.DECORATORS,
        *registry.KINDS,
        *(p.removesuffix(".*") for p in registry.TRANSPARENT_DECORATORS),
    }
    if "()" not in path and path.partition(".")[0] not in ("typing_extensions", "jaxtyping")
    if path != "builtins.reveal_type"
)
_TYPES: Final = {
    ListValue: (list, set, deque, type(iter(()))),
    TupleValue: (tuple, torch.Size, NamedTuple("Row", [])),
    DictValue: (dict, OrderedDict),
    TensorValue: (torch.Tensor,),
    TorchModule: (torch.nn.Module,),
}


@pytest.mark.parametrize("path", _NAMES)
def test_what_is_modelled_exists(path: str) -> None:
    library, *names = path.split(".")
    if library in ("beartype", "typeguard", "einx", "fancy_einsum", "opt_einsum"):
        assert (Path(models.__path__[0]) / "third_party" / f"{library}.py").is_file()
        return
    thing = importlib.import_module(library)
    for index, name in enumerate(names, 2):
        if not hasattr(thing, name):
            importlib.import_module(".".join(path.split(".")[:index]))
        thing = getattr(thing, name)


@pytest.mark.parametrize(
    ("receiver_type", "name"), registry.METHODS, ids=lambda part: getattr(part, "__name__", part)
)
def test_a_method_that_is_modelled_exists(receiver_type: type, name: str) -> None:
    assert any(hasattr(each, name) for each in _TYPES[receiver_type])


@pytest.mark.parametrize("path", registry.BASES)
def test_a_class_that_others_derive_from_exists(path: str) -> None:
    module, _, name = path.rpartition(".")
    assert isinstance(getattr(importlib.import_module(module), name), type)


def test_a_second_model_of_a_name_is_refused() -> None:
    with pytest.raises(registry.DuplicateModel, match=r"two models of math\.prod"):
        registry.model("math.prod")(registry.FUNCTIONS["math.prod"].function)


@pytest.mark.parametrize(
    ("path", "covered"),
    [
        ("abc.abstractmethod", True),
        ("torch.jit.script", True),
        ("functools.cache", True),
        ("functools.reduce", False),
        ("abcd.f", False),
    ],
)
def test_a_pattern_covers_what_is_below_it(path: str, covered: bool) -> None:
    assert registry.covers(registry.TRANSPARENT_DECORATORS, path) is covered


def test_a_library_is_added_by_one_file(tmp_path: Path) -> None:
    (tmp_path / "grids.py").write_text(
        "from namecheck.interpreter.domain.values import Const\n"
        "from namecheck.interpreter.models.registry import model\n"
        "@model('grids.rank')\n"
        "def rank(interpreter, call):\n"
        "    return Const(3)\n"
    )
    program = (
        "from namecheck.interpreter.models import third_party\n"
        f"third_party.__path__.append({str(tmp_path)!r})\n"
        "from tests.interpreting import value\n"
        "print(value('import grids\\nr = grids.rank(1)', 'r'))\n"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert run.stdout == "Const(3)\n", run.stderr
