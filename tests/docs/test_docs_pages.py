"""Generated pages are up to date, links resolve, programs have the findings that they state."""

from __future__ import annotations

import re

import pytest

from tests.docs_pages import DOCS, names, stale
from tests.fixture_reader import blocks, differences

WRITTEN = sorted(path.name for path in DOCS.glob("*.md"))


@pytest.mark.parametrize("name", names())
def test_up_to_date(name: str) -> None:
    assert not list(stale([name])), "refresh the pages: python -m tests.docs_pages"


@pytest.mark.parametrize("name", WRITTEN)
def test_links_lead_somewhere(name: str) -> None:
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", (DOCS / name).read_text("utf-8"))
    assert [link for link in links if not (DOCS / link).exists()] == []


# The examples of codes.md are those of the register, which test_findings.py checks; those of
# runtime-assertions.md state their errors (test_runtime_assertions_page.py).
ELSEWHERE = ("codes.md", "runtime-assertions.md")


@pytest.mark.parametrize("name", [name for name in WRITTEN if name not in ELSEWHERE])
def test_programs_give_what_they_say(name: str) -> None:
    assert [told for block in blocks(DOCS / name) for told in differences(block)] == []
