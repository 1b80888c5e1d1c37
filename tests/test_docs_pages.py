"""The pages that are made from data are up to date, and every page links to what exists."""

from __future__ import annotations

import re

import pytest

from tests.docs_pages import DOCS, PAGES, stale

WRITTEN = sorted(path.name for path in DOCS.glob("*.md"))


@pytest.mark.parametrize("name", PAGES)
def test_up_to_date(name: str) -> None:
    assert not list(stale([name])), "refresh the pages: python -m tests.docs_pages"


@pytest.mark.parametrize("name", WRITTEN)
def test_links_lead_somewhere(name: str) -> None:
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", (DOCS / name).read_text("utf-8"))
    assert [link for link in links if not (DOCS / link).exists()] == []
