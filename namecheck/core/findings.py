"""The register of codes, and the record of one finding."""

from __future__ import annotations

import enum
import os
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Final, TypeAlias

from namecheck.core.discovery import modules_in


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


Point: TypeAlias = tuple[int, int]
"""A place in source: its line and its column, from 1."""


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A stretch of source: lines from 1, columns in characters from 1, the end exclusive."""

    line: int
    column: int
    end_line: int
    end_column: int

    @property
    def start(self) -> Point:
        """Where it begins."""
        return self.line, self.column

    @property
    def end(self) -> Point:
        """Where it ends."""
        return self.end_line, self.end_column

    def tail(self, count: int) -> Span:
        """The last characters of it, which are on its last line; of none, the place behind it."""
        return Span(self.end_line, self.end_column - count, *self.end)


@dataclass(frozen=True, slots=True)
class Place:
    """A stretch of a file with what is to be said of it: where a name came from, a call."""

    filename: str
    span: Span
    message: str


@dataclass(frozen=True, slots=True)
class Given:
    """A tensor that an operator was given: where it is written, and what is known of it.

    `names` are its dims' names from left to right, None where not all are known; `labelled` tells
    that they are labels, by which torch itself goes, and not what annotations say. `dtype` and
    `device` are empty where they are not known.
    """

    span: Span
    names: tuple[str | None, ...] | None = None
    labelled: bool = False
    dtype: str = ""
    device: str = ""


@dataclass(frozen=True, slots=True)
class Facts:
    """What a fix of a finding has to know, so that it need not read it out of the message.

    `operator` is the key of what was called, `words` are the names that the finding is about, the
    most telling first (of a suppression the idle word, none where it is idle as a whole). `settled`
    tells that the operands have the names that they are `given` with however one comes there: they
    were named at the top level of a file, or in the function that is being run.
    """

    operator: str = ""
    words: tuple[str, ...] = ()
    given: tuple[Given, ...] = ()
    settled: bool = False


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing to tell the user.

    `marks` are places in the same expression, to be underlined under the source line (the
    operands, each with its names); `related` are other places (where each name came from, the
    call that brought the tensor); `error` is the type of the exception that torch raises. One
    `by_axes` rests on the names that annotations give, which no tensor has at run time. The
    `facts` are for what puts it right.
    """

    code: str
    message: str
    filename: str
    span: Span
    help: str | None = None
    marks: tuple[Place, ...] = ()
    related: tuple[Place, ...] = ()
    error: str | None = None
    by_axes: bool = False
    facts: Facts | None = None


@dataclass(frozen=True, slots=True, order=True)
class Edit:
    """A stretch of a file's text (empty: an insertion), and the text in place of it.

    Lines in it end with ``\\n``, whatever ends them in the file.
    """

    span: Span
    text: str


@dataclass(frozen=True, slots=True)
class Fix:
    """What puts a finding right: edits of the file that it stands in.

    It is `safe` where it can mean nothing else and the code as it stands cannot run past this
    place, whoever calls it; where it changes nothing of what runs; or a comment goes. Others guess
    what was meant, or change what a program computes that runs.
    """

    message: str
    safe: bool
    edits: tuple[Edit, ...]

    @property
    def applicability(self) -> str:
        """``safe`` or ``unsafe``."""
        return "safe" if self.safe else "unsafe"


def is_of_sizes(code: str) -> bool:
    """Whether a code is about sizes, ranks and values, and not about names."""
    return code.startswith("NC2")


def is_of_dtypes(code: str) -> bool:
    """Whether a code is about dtypes."""
    return code.startswith("NC3")


def is_of_devices(code: str) -> bool:
    """Whether a code is about devices."""
    return code.startswith("NC4")


def is_of_attributes(code: str) -> bool:
    """Whether a code is about an attribute: the dtype, the device, or how a tensor lies."""
    return code.startswith(("NC3", "NC4", "NC5"))


class RegisterError(ImportError):
    """A code that is entered twice, or a lint whose text cannot be read: a damaged installation."""


@cache
def register() -> Mapping[str, Code]:
    """Every code there is, in order; raises `RegisterError`.

    The texts are read from ``codes.toml``, those of the lints from their files, which are not
    imported for that: a lint imports the interpreter.
    """
    here = os.path.dirname(__file__)
    with open(os.path.join(here, "codes.toml"), "rb") as file:
        rows = tomllib.load(file)
    contradictions = (_code(code, row) for code, row in rows.items())
    return ordered((*contradictions, *lint_codes(os.path.join(here, os.pardir, "lints"))))


def ordered(codes: Iterable[Code]) -> Mapping[str, Code]:
    """Codes by their numbers, in order; raises `RegisterError` where two share number or name."""
    entered: dict[str, Code] = {}
    for code in codes:
        for key in (code.code, code.name):
            other = entered.setdefault(key, code)
            if other is not code:
                raise RegisterError(f"{key} is entered twice: as {other.name} and as {code.name}")
    return MappingProxyType({c.code: c for c in sorted(entered.values(), key=lambda c: c.code)})


def lint_codes(folder: str) -> Iterator[Code]:
    """The codes of the lints in a folder, one a file, named after it; raises `RegisterError`.

    The docstring of the file has the texts, and the constant ``CODE`` the number.
    """
    for name in modules_in([folder]):
        filename = f"{name}.py"
        with open(os.path.join(folder, filename), encoding="utf-8") as file:
            lint = _LINT.match(file.read())
        if lint is None:
            raise RegisterError(
                f"{filename}: a lint begins with a docstring of a sentence, an explanation, "
                "'Bad:' with a program and 'Good:' with a program, and says 'CODE: Final = \"NC…\"'"
            )
        bad, good = (_dedented(lint[group]) for group in ("bad", "good"))
        explanation = lint["explanation"]
        code, readable = lint["code"], name.replace("_", "-")
        yield Code(code, readable, Kind.LINT, lint["summary"], explanation, bad, good)


_LINT: Final = re.compile(
    r'''"""(?P<summary>[^\n]+)\n\n(?P<explanation>.+?)\n\n'''
    r'''Bad:\n\n(?P<bad> .+?)\n\nGood:\n\n(?P<good> .+?)\n"""\n'''
    r""".*?^CODE: Final = "(?P<code>NC\d{3})"$""",
    re.DOTALL | re.MULTILINE,
)


def _dedented(program: str) -> str:
    """A program without the four spaces before each line that it has in a docstring."""
    return "\n".join(line[4:] for line in program.splitlines())


def _code(code: str, code_row: Mapping[str, str]) -> Code:
    return Code(
        code,
        code_row["name"],
        Kind(code_row["kind"]),
        code_row["summary"],
        code_row["explanation"].strip(),
        code_row.get("bad", "").strip("\n"),
        code_row.get("good", "").strip("\n"),
    )


def resolve(word: str) -> str | None:
    """The code that is meant by a code or by its readable name; None where there is none."""
    codes = register()
    if word.upper() in codes:
        return word.upper()
    return next((code for code, row in codes.items() if row.name == word), None)


def matching(selectors: Iterable[str]) -> frozenset[str]:
    """The codes that are meant by codes, their names, their prefixes (``NC1``) and ``ALL``.

    Raises `KeyError` with the first word that means none.
    """
    chosen: set[str] = set()
    for word in selectors:
        exact = resolve(word)
        found = {exact} if exact else _prefixed(word.upper())
        if not found:
            raise KeyError(word)
        chosen |= found
    return frozenset(chosen)


def _prefixed(prefix: str) -> set[str]:
    if prefix == "ALL":
        return set(register())
    return {code for code in register() if prefix.startswith("NC") and code.startswith(prefix)}
