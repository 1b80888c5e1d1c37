"""One identifier has one meaning: no name is annotated with more than three types."""

from __future__ import annotations

import ast

import pytest

from tests.house import words


def test_no_name_has_more_than_three_types() -> None:
    told = {name: sorted(by_type) for name, by_type in words.overused().items()}
    assert not told, "call each after what it is; `python -m tests.house.words` has the places"


@pytest.mark.parametrize(
    ("annotation", "normalised"),
    [
        ("Value | None", "Value"),
        ("None", "None"),
        ("'B | A | None'", "A | B"),
        ("list[Value | None]", "list[Value | None]"),
    ],
)
def test_types_are_compared_without_none(annotation: str, normalised: str) -> None:
    assert words.normalised(ast.parse(annotation, mode="eval").body) == normalised
