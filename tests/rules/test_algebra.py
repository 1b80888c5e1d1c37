"""Products, distances, differences and sets of tensors whose dims are axes."""

from __future__ import annotations

from typing import Any

import pytest

from tests.annotated import annotated, run


@pytest.mark.parametrize(
    ("operator", "args", "settings", "result"),
    [
        ("diff", (":b t d",), {}, "b t d-1"),
        ("diff", (":b t d", 1, 1), {"prepend": ":b ~1 d"}, "b t d"),
        ("diff", (":b t d", 1, 1), {"prepend": ":b s d"}, "b s+t-1 d"),
        ("diff", (":b t d", 1, 1), {"append": ":c s d"}, "NC101"),
        ("quantile", (":b t d", ":q", 1), {}, "q b d"),
        ("quantile", (":b t d", 0.5, 1), {}, "b d"),
        ("cdist", (":b n d", ":b m d"), {}, "b n m"),
        ("cdist", (":n d", ":m e"), {}, "NC101"),
        ("cdist", (":b n d", ":c m d"), {}, "NC101"),
        ("linalg.cross", (":b 3", ":b 3"), {}, "b _=3"),
        ("linalg.cross", (":b 4", ":b 4"), {}, "NC201"),
        ("linalg.cross", (":b d", ":b d"), {}, "b d"),
    ],
)
def test_axes(operator: str, args: tuple[Any, ...], settings: Any, result: str) -> None:
    given = {key: annotated(text[1:]) for key, text in settings.items()}
    assert run(operator, *args, **given) == result
