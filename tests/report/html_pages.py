"""Reads the pages of a report as a browser does: elements, texts, links."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Final

_VOID: Final = frozenset({"meta", "link", "input", "wbr", "br", "img"})


@dataclass(eq=False)
class Element:
    """One element: its attributes, the elements and texts in it, and the element around it."""

    tag: str
    attributes: dict[str, str]
    parent: Element | None = None
    inner: list[Element | str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The text in it."""
        return "".join(part if isinstance(part, str) else part.text for part in self.inner)

    @property
    def classes(self) -> list[str]:
        return self.attributes.get("class", "").split()

    def all(self, tag: str = "", class_: str = "", **attributes: str) -> list[Element]:
        """The elements in it with a tag, a class and attributes, in their order."""
        chosen = []
        for part in self.inner:
            if isinstance(part, Element):
                has_tag = not tag or part.tag == tag
                has_class = not class_ or class_ in part.classes
                if has_tag and has_class and attributes.items() <= part.attributes.items():
                    chosen.append(part)
                chosen += part.all(tag, class_, **attributes)
        return chosen

    def one(self, tag: str = "", class_: str = "", **attributes: str) -> Element:
        """The only such element."""
        [element] = self.all(tag, class_, **attributes)
        return element


class _Reader(HTMLParser):
    """Builds the tree of a page; every end tag must belong to the innermost open element."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = self._at = Element("", {})

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len({name for name, _ in attrs}) == len(attrs), (tag, attrs)
        element = Element(tag, {name: value or "" for name, value in attrs}, self._at)
        self._at.inner.append(element)
        if tag not in _VOID:
            self._at = element

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        assert tag == self._at.tag, f"</{tag}> in <{self._at.tag}>, line {self.getpos()[0]}"
        assert self._at.parent is not None
        self._at = self._at.parent

    def handle_data(self, data: str) -> None:
        self._at.inner.append(data)

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")

    def handle_pi(self, data: str) -> None:
        raise AssertionError(f"a processing instruction: {data}")

    def close(self) -> None:
        super().close()
        assert self._at is self.root, f"<{self._at.tag}> is open at the end"


def parsed(text: str) -> Element:
    """The tree of a page."""
    reader = _Reader()
    reader.feed(text)
    reader.close()
    return reader.root


def read(report: Path) -> dict[str, Element]:
    """The pages of a report, by their paths in its folder."""
    return {
        path.relative_to(report).as_posix(): parsed(path.read_text("utf-8"))
        for path in sorted(report.rglob("*.html"))
    }


def page_of(pages: dict[str, Element], path: str) -> Element:
    """The page of a file."""
    [page] = [page for page in pages.values() if page.one("h1").text == path]
    return page
