"""Texts that several reports share."""

from __future__ import annotations

from typing import Any

from namecheck.core.findings import Span


def locations(span: Span) -> dict[str, Any]:
    """A span as `location` and `end_location`, each with row and column from 1."""
    return {
        "location": {"row": span.line, "column": span.column},
        "end_location": {"row": span.end_line, "column": span.end_column},
    }


def counted(number: int, noun: str) -> str:
    """``1 file``, ``1,200 files``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
