"""A file as bytes on the disk and as text, converted without loss both ways."""

from __future__ import annotations

import codecs
import re
from functools import cached_property
from typing import Final

from namecheck.core import regular_files, syntax
from namecheck.core.dataclasses import dataclass
from namecheck.core.file_replacement import CannotWrite, change
from namecheck.core.findings import Finding, Span
from namecheck.core.syntax import Refused, Source

_LINE_END: Final = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True)
class Document:
    """One file: its bytes, and its text with all line ends as ``\\n``.

    `ends` are the line ends as they are in the file, one for every ``\\n`` of the text.
    """

    location: str
    data: bytes
    encoding: str
    text: str
    ends: tuple[str, ...]

    @staticmethod
    def of(data: bytes, location: str) -> Document:
        """Read a file; raises `Refused` where it cannot be decoded without loss."""
        text = syntax.decode(data, location)
        encoding = syntax.encoding(data)
        whole = data.decode(encoding)
        document = Document(location, data, encoding, text, tuple(_LINE_END.findall(whole)))
        if document.encoded(text, document.ends) != data:
            raise Refused(_not_restored(location, encoding))
        return document

    @cached_property
    def source(self) -> Source:
        """The text with its tree; raises `Refused` where Python cannot parse it."""
        return syntax.parse(self.data, self.location)

    @property
    def newline(self) -> str:
        """The most frequent line end; the first of several, ``\n`` if there is none."""
        return max(dict.fromkeys(self.ends), key=self.ends.count, default="\n")

    def encoded(self, text: str, ends: tuple[str, ...]) -> bytes:
        """The bytes of another text with these line ends; raises `CannotWrite`."""
        lines = text.split("\n")
        assert len(lines) == len(ends) + 1, "a line end for every line but the last"
        whole = "".join(line + end for line, end in zip(lines, (*ends, ""), strict=True))
        mark = codecs.BOM_UTF8 if self.data.startswith(codecs.BOM_UTF8) else b""
        encoding = "utf-8" if mark else self.encoding
        try:
            return mark + whole.encode(encoding)
        except UnicodeEncodeError as error:
            character = whole[error.start]
            raise CannotWrite(
                f"{self.location}: its encoding {self.encoding} has no {character!r}"
            ) from error

    def write(self, data: bytes, *, linked: bool = False) -> str:
        """Replace the contents of the file, as `namecheck.core.file_replacement.change` does."""
        return change(self.location, self.data, data, linked=linked)


def read(path: str) -> Document:
    """The file at a path; raises `Refused` and OSError."""
    return Document.of(regular_files.contents(path), path)


def _not_restored(location: str, encoding: str) -> Finding:
    return Finding(
        "NC003",
        f"The file cannot be rewritten: its {encoding} is not restored byte by byte.",
        location,
        Span(1, 1, 1, 1),
        help="Save the file as UTF-8.",
    )
