"""The table of subsystems agrees with the behaviour of names in each of them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest

from tests.runtime.subsystem_rows import ROWS, outcome

pytestmark = pytest.mark.usefixtures("shim")

PAGE: Final = Path(__file__).parents[2] / "docs" / "subsystems.md"
TABLE: Final = dict(
    re.findall(r"^\| (.+?) \| (kept|unknown|dropped|refused) \|", PAGE.read_text(), re.M)
)


def test_every_row_of_the_page_is_run() -> None:
    assert list(TABLE) == list(ROWS)


@pytest.mark.parametrize("subsystem", ROWS)
def test_names_in_a_subsystem(subsystem: str) -> None:
    assert outcome(subsystem).split(":")[0] == TABLE.get(subsystem), outcome(subsystem)
