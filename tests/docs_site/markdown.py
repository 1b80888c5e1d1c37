"""The parts of a page of Markdown: its blocks of code, its links, its headings.

Only what the pages of this project have is read: fences of three backquotes, inline links, headings
with `#`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

_LINK: Final = re.compile(r"(?P<head>!?\[(?:[^\[\]]|\[[^\[\]]*\])*\]\()(?P<target>[^()\s]+)\)")
_CODE: Final = re.compile(r"(`+)(?:(?!`).|(?!\1(?!`))`)+?\1(?!`)")
_HEADING: Final = re.compile(r"(?P<level>#{1,6}) (?P<text>.*?)(?: \{ *#(?P<id>[\w-]+) *\})?$")


@dataclass(frozen=True, slots=True)
class Fence:
    """A block of code: the words after its backquotes, and its lines."""

    info: str
    lines: tuple[str, ...]

    @property
    def text(self) -> str:
        """The code, with a line end at its end."""
        return "".join(f"{line}\n" for line in self.lines)

    @property
    def language(self) -> str:
        """The first word after the backquotes."""
        return self.info.partition(" ")[0]

    @property
    def arguments(self) -> str:
        """The words after the language."""
        return self.info.partition(" ")[2]


def parts(page: str) -> Iterator[str | Fence]:
    """The lines of a page outside of blocks of code, and these blocks."""
    inside: list[str] | None = None
    info = ""
    for line in page.rstrip("\n").split("\n"):
        if inside is not None and line == "```":
            yield Fence(info, tuple(inside))
            inside = None
        elif inside is not None:
            inside.append(line)
        elif line.startswith("```"):
            inside, info = [], line[3:].strip()
        else:
            yield line
    if inside is not None:
        raise ValueError(f"a block of code has no end: ```{info}")


def with_links(line: str, changed: Callable[[str], str]) -> str:
    """A line with the targets of its links changed; code in it has no links."""
    pieces, end = [], 0
    spans = [match.span() for match in _CODE.finditer(line)]
    for link in _LINK.finditer(line):
        if any(start < link.start("target") < stop for start, stop in spans):
            continue
        pieces += [line[end : link.start("target")], changed(link["target"])]
        end = link.end("target")
    return "".join((*pieces, line[end:]))


def targets(page: str) -> Iterator[str]:
    """The targets of the links of a page."""
    collected: list[str] = []

    def collect(target: str) -> str:
        collected.append(target)
        return target

    for part in parts(page):
        if isinstance(part, str):
            with_links(part, collect)
    yield from collected


def title(page: str) -> str:
    """The text of the first heading."""
    for part in parts(page):
        if isinstance(part, str) and (heading := _HEADING.fullmatch(part)):
            return heading["text"]
    raise ValueError("a page needs a heading")


def anchors(page: str) -> set[str]:
    """The anchors of the headings of a page, as the site makes them."""
    made: set[str] = set()
    for part in parts(page):
        if isinstance(part, str) and (heading := _HEADING.fullmatch(part)):
            anchor = heading["id"] or slug(heading["text"])
            number = 0
            name = anchor
            while name in made:
                number += 1
                name = f"{anchor}_{number}"
            made.add(name)
    return made


def slug(heading: str) -> str:
    """The anchor of a heading."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    words = re.sub(r"[^\w\s-]", "", plain).strip().lower()
    return re.sub(r"[-\s]+", "-", words)
