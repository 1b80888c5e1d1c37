"""The parameters of functions, beside those that `inspect` tells."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any

import pytest

from namecheck.core.parameters import REQUIRED, Declared, declared, unwrapped
from namecheck.rules import registry


def plain(first: int, second, third: str = "x", *rest: int, word: int, other=None) -> None:  # type: ignore[no-untyped-def]
    """All kinds of parameters."""
    local = first
    del local, second, third, rest, word, other


def only_words(*, one: int = 1, two: int) -> None:
    """No parameter by position."""


@wraps(plain)
def wrapped(*args: Any, **kwargs: Any) -> None:
    """The parameters are those of the function under it."""


def nothing() -> None:
    """No parameters."""


FUNCTIONS = {function.__name__: function for function in (plain, only_words, nothing)} | {
    "wrapped": wrapped,
    **registry.load(),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_they_are_those_of_inspect(name: str) -> None:
    examined: Callable[..., Any] = FUNCTIONS[name]
    told = inspect.signature(examined).parameters.values()
    assert declared(examined) == tuple(
        Declared(
            each.name,
            "" if each.annotation is each.empty else str(each.annotation),
            REQUIRED if each.default is each.empty else each.default,
            each.kind is each.KEYWORD_ONLY,
            each.kind is each.VAR_POSITIONAL,
        )
        for each in told
    )


def test_the_function_under_decorators() -> None:
    assert unwrapped(wrapped) is plain
    assert unwrapped(plain) is plain
