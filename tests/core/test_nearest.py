"""A misspelt word and the one that was meant."""

from __future__ import annotations

import pytest

from namecheck.core.findings import register
from namecheck.core.nearest import nearest
from namecheck.project.settings import no_code

CODES = [name for code in register().values() for name in (code.code, code.name)]


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("NC1O1", "NC101"),
        ("NC6O1", "NC601"),
        ("NC1001", "NC101"),
        ("name_mismatch", "name-mismatch"),
        ("softmax-not-sumed", "softmax-not-summed"),
        ("xyzzy", None),
        ("", None),
    ],
)
def test_the_nearest_code(word: str, meant: str | None) -> None:
    assert nearest(word, CODES) == meant


def test_small_letters_are_meant_as_a_code() -> None:
    assert no_code("nc1o1") == "there is no code 'nc1o1'; did you mean 'NC101'?"


def test_a_longer_word_may_be_meant() -> None:
    assert nearest("chek", ["check", "coverage", "rule"]) == "check"
    assert nearest("baselines", ["base", "baseline"]) == "baseline"
    assert nearest("output-formt", ["output-format", "exclude"]) == "output-format"
