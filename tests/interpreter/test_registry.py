"""The registry of models of libraries: what is modelled exists, and nothing is modelled twice."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from namecheck.interpreter import models
from namecheck.interpreter.models import registry

registry.discover()

# What is no attribute of a module of Python: what others give, and the types of checkers alone.
_NAMES = sorted(
    path
    for path in {
        *registry.FUNCTIONS,
        *registry.DECORATORS,
        *registry.KINDS,
        *(p.removesuffix(".*") for p in registry.TRANSPARENT_DECORATORS),
    }
    if "()" not in path and path.partition(".")[0] not in ("typing_extensions", "jaxtyping")
)


@pytest.mark.parametrize("path", _NAMES)
def test_what_is_modelled_exists(path: str) -> None:
    library, *names = path.split(".")
    if library in ("beartype", "typeguard"):
        assert (Path(models.__path__[0]) / "third_party" / f"{library}.py").is_file()
        return
    thing = importlib.import_module(library)
    for index, name in enumerate(names, 2):
        if not hasattr(thing, name):
            importlib.import_module(".".join(path.split(".")[:index]))
        thing = getattr(thing, name)


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
