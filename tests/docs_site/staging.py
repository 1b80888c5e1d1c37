"""Writes what the generator of the site reads: its configuration, and a folder of pages."""

from __future__ import annotations

import re
import shutil
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from namecheck.core.findings import register
from tests.docs_site import codes
from tests.docs_site.pages import Page
from tests.docs_site.screens import ROOT

SITE: Final = ROOT / "docs" / "site"
_CODES: Final = '"codes/index.md",'
_API: Final = "docs/site/api.md"
_CARD: Final = re.compile(r"^(?P<link>- \[[^\]]*\]\([^)]*\)): (?P<first>.)", re.MULTILINE)
TUTORIAL: Final = "tutorial.md"


def stage(folder: Path, *, playground: bool) -> None:
    """Write the sources of the site to a folder, which is emptied first."""
    shutil.rmtree(folder, ignore_errors=True)
    pages = folder / "pages"
    shutil.copytree(SITE / "assets", pages / "assets")
    shutil.copy(ROOT / "docs" / "playground" / "icon.svg", pages / "assets")
    for place, text in staged(playground=playground).items():
        path = pages / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    (folder / "zensical.toml").write_text(configuration(playground=playground), "utf-8")


def staged(*, playground: bool) -> dict[str, str]:
    """The pages of the site, by their places."""
    texts: dict[str, str] = {}
    waiting = [*sources()]
    while waiting:
        page = Page(waiting.pop(), playground=playground)
        if page.place in texts:
            continue
        texts[page.place] = page.text()
        waiting += sorted(page.links)
    texts["index.md"] = _first_page(texts["index.md"], playground=playground)
    texts["codes/index.md"] = codes.overview()
    for code in register().values():
        page = Page(f"docs/{codes.path(code)}", playground=playground)
        texts[page.place] = "\n".join(page.converted(codes.page(code))) + "\n"
    return texts


def _first_page(text: str, *, playground: bool) -> str:
    """The first page with a larger beginning instead of its title and its first paragraph."""
    title, first, rest = text.split("\n\n", 2)
    if not title.startswith("# ") or first.startswith("#"):
        raise ValueError("docs/index.md begins with a title and a paragraph")
    hero = (SITE / "hero.html").read_text("utf-8")
    hero = hero.replace("START", TUTORIAL if _has_tutorial() else "cli.md")
    if not playground:
        hero = re.sub(r' <a class="playground".*?</a>', "", hero)
    screen, end, rest = rest.partition("</pre>\n")
    if not end or "\n#" in screen:
        raise ValueError("docs/index.md has a screen after its first paragraph")
    head = f"---\ntitle: {title[2:]}\nhide:\n- navigation\n- toc\n---\n"
    return f'{head}\n<div class="first">\n{hero}{screen}{end}</div>\n{_CARD.sub(_card, rest)}'


def _card(item: re.Match[str]) -> str:
    """A title, and what the page is about on a line of its own."""
    return f"{item['link']}<br>{item['first'].upper()}"


def _has_tutorial() -> bool:
    return (ROOT / "docs" / TUTORIAL).exists()


def sources() -> Iterator[str]:
    """The files of the repository that the site begins with; their links lead to further ones."""
    for path in sorted((ROOT / "docs").glob("*.md")):
        yield path.relative_to(ROOT).as_posix()
    for path in sorted((ROOT / "docs" / "contributing").glob("*.md")):
        yield path.relative_to(ROOT).as_posix()
    yield from (_API, "CONTRIBUTING.md", "CHANGELOG.md", "LICENSE")


def configuration(*, playground: bool) -> str:
    """The configuration of the generator: that of the repository, with the codes.

    It lists the playground and the tutorial only where they are.
    """
    text = (SITE / "zensical.toml").read_text("utf-8")
    listed = "\n".join(
        f'{{ "{code.code} {code.name}" = "{codes.path(code)}" }},' for code in register().values()
    )
    if text.count(_CODES) != 1:
        raise ValueError(f"docs/site/zensical.toml needs the line {_CODES}")
    text = text.replace(_CODES, f"{_CODES}\n{listed}")
    for name, present in (("playground/index.html", playground), (TUTORIAL, _has_tutorial())):
        if not present:
            text = re.sub(rf"^.*{name}.*\n", "", text, flags=re.MULTILINE)
    return text


def navigation(configured: str) -> list[str]:
    """The pages that a configuration lists, in their order."""
    return [*_leaves(tomllib.loads(configured)["project"]["nav"])]


def _leaves(entry: Any) -> Iterator[str]:
    if isinstance(entry, str):
        yield entry
    elif isinstance(entry, Mapping):
        for value in entry.values():
            yield from _leaves(value)
    else:
        for value in entry:
            yield from _leaves(value)
