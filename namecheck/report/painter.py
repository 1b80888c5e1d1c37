"""Colours of texts, by their role, and the width of the terminal that shows them."""

from __future__ import annotations

from typing import Final

from namecheck.core.findings import Kind

_COLORS: Final = {
    "gutter": "1;34",
    "primary": "1;31",
    "secondary": "1;34",
    "help": "1;36",
    "bold": "1",
    "dim": "2",
    "finding": "1;31",
    "file": "1;31",
    "lint": "1;33",
    "note": "1;36",
    "good": "1;32",
    "removed": "31",
    "added": "32",
}


class Painter:
    """Colours texts, or leaves them plain; `columns` is None where nothing need fit."""

    def __init__(self, colored: bool, columns: int | None = None) -> None:
        self.colored = colored
        self.columns = columns

    def __call__(self, role: str, text: str) -> str:
        if not self.colored or not text:
            return text
        return f"\x1b[{_COLORS[role]}m{text}\x1b[0m"

    def seen_as(self, code_kind: Kind) -> Painter:
        """A painter that colours the primary labels by the kind of a code."""
        return _KindPainter(self.colored, self.columns, code_kind)


class _KindPainter(Painter):
    def __init__(self, colored: bool, columns: int | None, code_kind: Kind) -> None:
        super().__init__(colored, columns)
        self._code_kind = code_kind

    def __call__(self, role: str, text: str) -> str:
        return super().__call__(self._code_kind.value if role == "primary" else role, text)
