"""The register of codes, and the record of one finding."""

from __future__ import annotations

import enum
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from namecheck.core.dataclasses import dataclass, replace
from namecheck.core.discovery import modules_in


class Kind(enum.Enum):
    """The kind of thing that a code reports.

    A FINDING is a contradiction that torch, or the shim, raises at that expression; a LINT is a
    pattern that only reading ahead can see; a FILE code is about a file that could not be checked;
    a NOTE is no fault.
    """

    FINDING = "finding"
    LINT = "lint"
    FILE = "file"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Code:
    """One row of the register: `bad` and `good` are programs, each with its imports.

    Where a file declares no dims, a `doubtful` code is reported only if `select` names it: at most
    half of such findings were true in packages that were read for the first time.
    """

    code: str
    name: str
    kind: Kind
    summary: str
    explanation: str = ""
    bad: str = ""
    good: str = ""
    doubtful: bool = False

    @property
    def explained(self) -> str:
        """Its explanation, and when it is reported."""
        return f"{self.explanation}\n\n{_ON_REQUEST}" if self.doubtful else self.explanation


_ON_REQUEST: Final = """\
In a file that declares no dims it is reported only where `select` names it, `--select ALL,NC6`:
at most half of such findings were true in packages that were read for the first time."""

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
        """Its first position."""
        return self.line, self.column

    @property
    def end(self) -> Point:
        """Its end position."""
        return self.end_line, self.end_column

    def tail(self, count: int) -> Span:
        """The last `count` characters, all on its last line; for 0, the position after it."""
        return Span(self.end_line, self.end_column - count, *self.end)


@dataclass(frozen=True, slots=True)
class Place:
    """A stretch of a file with a message about it: where a name came from, a call."""

    filename: str
    span: Span
    message: str


@dataclass(frozen=True, slots=True)
class OperandFacts:
    """A tensor operand of an operator: its expression, and its known names and attributes.

    `names` are the names of its dims from left to right, None where not all are known. `labelled`
    says that they are labels, which torch itself uses, and not axes of annotations. `dtype` and
    `device` are empty where they are unknown.
    """

    span: Span
    names: tuple[str | None, ...] | None = None
    labelled: bool = False
    dtype: str = ""
    device: str = ""


@dataclass(frozen=True, slots=True)
class Facts:
    """The facts about a finding that a fix needs, so that it need not parse the message.

    `operator` is the key of the called operator. `words` are the names that the finding is about,
    the most telling first (for a suppression, the unused code; none where it is unused as a whole).
    `settled` says that the operands have these names on every path to this place: they were named
    at the top level of a file, or in the function that is being run.
    """

    operator: str = ""
    words: tuple[str, ...] = ()
    operands: tuple[OperandFacts, ...] = ()
    settled: bool = False


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding to report to the user.

    `marks` are places in the same expression, to be underlined under the source line (the operands,
    each with its names); `related` are other places (where each name came from, the call that
    passed the tensor); `error` is the type of the exception that torch raises. `by_axes` says that
    the finding depends on names from annotations, which no tensor has at run time. Fixes read the
    `facts`. `plain` says that the file whose analysis found it declares no dims. One that is
    `assured` is reported there although its code is doubtful: its kind was not false so far.
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
    plain: bool = False
    assured: bool = False

    def relocated(self, path_of: Callable[[str], str]) -> Finding:
        """The same finding with other paths: each file under the one that `path_of` returns."""

        def moved(related: Iterable[Place]) -> tuple[Place, ...]:
            return tuple(replace(place, filename=path_of(place.filename)) for place in related)

        filename = path_of(self.filename)
        marks, related = moved(self.marks), moved(self.related)
        return replace(self, filename=filename, marks=marks, related=related)


@dataclass(frozen=True, slots=True, order=True)
class Edit:
    """An edit: a stretch of a file's text (empty for an insertion), and its replacement.

    Lines in the replacement end with ``\n``, whatever line ends the file has.
    """

    span: Span
    text: str


@dataclass(frozen=True, slots=True)
class Fix:
    """A fix for a finding: edits of the file that the finding is in.

    It is `safe` if it has a single meaning and the unfixed code cannot run past this place, whoever
    calls it; if it does not change what the program computes; or if it only removes a comment. Any
    other fix guesses the intention, or changes what a running program computes.
    """

    message: str
    safe: bool
    edits: tuple[Edit, ...]

    @property
    def applicability(self) -> str:
        """``safe`` or ``unsafe``."""
        return "safe" if self.safe else "unsafe"


def is_of_names(code: str) -> bool:
    """Whether a code is about names."""
    return code.startswith("NC1")


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
    """Whether a code is about an attribute: the dtype, the device, or the memory order."""
    return code.startswith(("NC3", "NC4", "NC5"))


class RegisterError(ImportError):
    """Two entries for one code, or an unreadable lint text: the installation is damaged."""


@cache
def register() -> Mapping[str, Code]:
    """Every code, in order; raises `RegisterError`.

    The texts are in ``codes.toml``, those of the lints in their files. These are not imported for
    that, because a lint imports the interpreter.
    """
    import tomllib

    here = os.path.dirname(__file__)
    with open(os.path.join(here, "codes.toml"), "rb") as file:
        rows = tomllib.load(file)
    contradictions = (_code(code, row) for code, row in rows.items())
    return ordered((*contradictions, *lint_codes(os.path.join(here, os.pardir, "lints"))))


def ordered(codes: Iterable[Code]) -> Mapping[str, Code]:
    """Codes ordered by number; raises `RegisterError` where two share a number or a name."""
    entered: dict[str, Code] = {}
    for code in codes:
        for key in (code.code, code.name):
            other = entered.setdefault(key, code)
            if other is not code:
                raise RegisterError(f"{key} is entered twice: as {other.name} and as {code.name}")
    return MappingProxyType({c.code: c for c in sorted(entered.values(), key=lambda c: c.code)})


def lint_codes(folder: str) -> Iterator[Code]:
    """The codes of the lints in a folder, one a file, named after it; raises `RegisterError`.

    The docstring of the file has the texts, the constant ``CODE`` the number; `DOUBTFUL` says that
    the code is so (`Code`).
    """
    for name in modules_in([folder]):
        filename = f"{name}.py"
        with open(os.path.join(folder, filename), encoding="utf-8") as file:
            text = file.read()
        lint = re.match(_LINT, text)
        if lint is None:
            raise RegisterError(
                f"{filename}: a lint begins with a docstring of a sentence, an explanation, "
                "'Bad:' with a program and 'Good:' with a program, and says 'CODE: Final = \"NC…\"'"
            )
        bad, good = (_dedented(lint[group]) for group in ("bad", "good"))
        explanation = lint["explanation"]
        code, readable = lint["code"], name.replace("_", "-")
        doubtful = re.search(_DOUBTFUL, text) is not None
        yield Code(code, readable, Kind.LINT, lint["summary"], explanation, bad, good, doubtful)


_LINT: Final = (
    r'''(?sm)"""(?P<summary>[^\n]+)\n\n(?P<explanation>.+?)\n\n'''
    r'''Bad:\n\n(?P<bad> .+?)\n\nGood:\n\n(?P<good> .+?)\n"""\n'''
    r""".*?^CODE: Final = "(?P<code>NC\d{3})"$"""
)
_DOUBTFUL: Final = r"(?m)^DOUBTFUL: Final = True$"


def _dedented(program: str) -> str:
    """A program without the four spaces by which its docstring indents it."""
    return "\n".join(line[4:] for line in program.splitlines())


def _code(code: str, code_row: Mapping[str, Any]) -> Code:
    return Code(
        code,
        code_row["name"],
        Kind(code_row["kind"]),
        code_row["summary"],
        code_row["explanation"].strip(),
        code_row.get("bad", "").strip("\n"),
        code_row.get("good", "").strip("\n"),
        code_row.get("doubtful", False),
    )


def resolve(word: str) -> str | None:
    """The code with this number or readable name; None where there is none."""
    codes = register()
    if word.upper() in codes:
        return word.upper()
    return next((code for code, row in codes.items() if row.name == word), None)


def matching(selectors: Iterable[str]) -> frozenset[str]:
    """The codes that match numbers, names, prefixes (``NC1``) and ``ALL``.

    Raises `KeyError` with the first word that matches none.
    """
    chosen: set[str] = set()
    for word in selectors:
        exact = resolve(word)
        codes = {exact} if exact else _prefixed(word.upper())
        if not codes:
            raise KeyError(word)
        chosen |= codes
    return frozenset(chosen)


def _prefixed(prefix: str) -> set[str]:
    if prefix == "ALL":
        return set(register())
    return {code for code in register() if prefix.startswith("NC") and code.startswith(prefix)}
