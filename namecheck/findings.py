"""The register of codes, and the record of one finding."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class Kind(enum.Enum):
    """What a code reports.

    A FINDING is a contradiction that torch, or the shim, raises at that expression; a LINT is a
    pattern that only reading ahead can see; a FILE code is about a file that could not be
    checked; a NOTE is no fault.
    """

    FINDING = "finding"
    LINT = "lint"
    FILE = "file"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Code:
    """One row of the register: `bad` and `good` are programs, each with its imports."""

    code: str
    name: str
    kind: Kind
    summary: str
    explanation: str = ""
    bad: str = ""
    good: str = ""


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A stretch of source: lines from 1, columns in characters from 1, the end exclusive."""

    line: int
    column: int
    end_line: int
    end_column: int


@dataclass(frozen=True, slots=True)
class Place:
    """A stretch of a file with what is to be said of it: where a name came from, a call."""

    filename: str
    span: Span
    message: str


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing to tell the user.

    `marks` are places in the same expression, to be underlined under the source line (the
    operands, each with its names); `related` are other places (where each name came from, the
    call that brought the tensor).
    """

    code: str
    message: str
    filename: str
    span: Span
    help: str | None = None
    marks: tuple[Place, ...] = ()
    related: tuple[Place, ...] = ()

