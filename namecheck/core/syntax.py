"""Python source as the interpreter needs it: text, tree, spans, suppression comments.

Bytes are decoded as Python does it (PEP 263, byte order mark), lines end at ``\\n``, ``\\r`` or
``\\r\\n``. A file that cannot be read raises `Refused` with a finding: NC001 to NC004.
"""

from __future__ import annotations

import ast
import bisect
import codecs
import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import islice
from typing import Final, NamedTuple, TypeAlias

from namecheck.core import parsing
from namecheck.core.dataclasses import dataclass
from namecheck.core.findings import Finding, Span

Located: TypeAlias = ast.expr | ast.stmt | ast.pattern | ast.keyword | ast.arg | ast.alias


class Position(NamedTuple):
    """The position of an expression, as in `ast` and in the ``co_positions`` of code objects.

    Lines from 1, columns from 0 in bytes of UTF-8, the end exclusive. An operator of an augmented
    assignment has the position of the assignment, as in the code object.
    """

    line: int
    column: int
    end_line: int
    end_column: int


def position(located: Located) -> Position:
    """The position of a node."""
    assert located.end_lineno is not None
    assert located.end_col_offset is not None
    return Position(located.lineno, located.col_offset, located.end_lineno, located.end_col_offset)


class Refused(Exception):
    """A file that cannot be analysed; `finding` says why and where."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.message)
        self.finding = finding


@dataclass(frozen=True, slots=True)
class Suppression:
    """A comment that suppresses findings.

    `words` are the codes or names in its brackets; None where it has no brackets and applies to
    all. `line` is the line that it applies to: the next line of code for a comment on a line of its
    own, and 0 for the whole file.
    """

    span: Span
    line: int
    words: tuple[str, ...] | None


@dataclass(frozen=True)
class Source:
    """One file of Python: its name, its text with all line ends as ``\\n``, and its tree."""

    filename: str
    text: str
    tree: ast.Module

    @cached_property
    def lines(self) -> list[str]:
        """The physical lines without their ends; line 1 is the first."""
        return self.text.split("\n")

    @cached_property
    def nodes(self) -> int:
        """How many nodes its tree has, without contexts and operators."""
        from namecheck.core import trees  # only large projects need it

        return len(trees.nodes(self.tree))

    @cached_property
    def _ascii(self) -> bool:
        return self.text.isascii()

    @cached_property
    def _continuations(self) -> dict[int, tuple[int, Sequence[int]]]:
        """Of some lines, the number of bytes and the bytes that continue a character."""
        return {}

    def span(self, located: Located) -> Span:
        """The span of a node in characters (`ast` counts bytes of UTF-8)."""
        end_line = located.lineno if located.end_lineno is None else located.end_lineno
        end_column = (
            located.col_offset if located.end_col_offset is None else located.end_col_offset
        )
        return self.at(Position(located.lineno, located.col_offset, end_line, end_column))

    def at(self, position: Position) -> Span:
        """A position in characters."""
        line, column, end_line, end_column = position
        return Span(line, self._column(line, column), end_line, self._column(end_line, end_column))

    def _column(self, line: int, offset: int) -> int:
        if self._ascii or not 0 < line <= len(self.lines):
            return offset + 1
        if line not in self._continuations:
            data = self.lines[line - 1].encode()
            continuing = [at for at, byte in enumerate(data) if byte & 0xC0 == 0x80]
            self._continuations[line] = len(data), continuing
        size, continuations = self._continuations[line]
        offset = min(offset, size)
        return offset - bisect.bisect_left(continuations, offset) + 1

    def position(self, span: Span) -> Position:
        """The position of a span."""
        start, end = (
            self._offset(span.line, span.column),
            self._offset(span.end_line, span.end_column),
        )
        return Position(span.line, start, span.end_line, end)

    def _offset(self, line: int, column: int) -> int:
        if self._ascii or not 0 < line <= len(self.lines):
            return column - 1
        return len(self.lines[line - 1][: column - 1].encode())

    def segment(self, span: Span) -> str:
        """The text of a span."""
        return segment(self.lines, span)

    @cached_property
    def suppressions(self) -> tuple[Suppression, ...]:
        """The suppression comments, in order."""
        return tuple(_suppressions(self)) if "namecheck:" in self.text else ()

    def statement_lines(self, line: int) -> tuple[int, int]:
        """First and last line of the innermost statement that a line belongs to.

        For a statement with a body this is its head (``for x in (`` … ``):``).
        """
        return self._statements.get(line, (line, line))

    @cached_property
    def _statements(self) -> dict[int, tuple[int, int]]:
        extents: dict[int, tuple[int, int]] = {}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.stmt):
                first, last = _head(node)
                extents.update(dict.fromkeys(range(first, last + 1), (first, last)))
        return extents


def segment(lines: Sequence[str], span: Span) -> str:
    """The text of a span; empty where the lines end before it."""
    parts = [*lines[span.line - 1 : span.end_line]]
    if not parts:
        return ""
    parts[-1] = parts[-1][: span.end_column - 1]
    parts[0] = parts[0][span.column - 1 :]
    return "\n".join(parts)


def _head(statement: ast.stmt) -> tuple[int, int]:
    body = getattr(statement, "body", None) or getattr(statement, "cases", None)
    if not body:
        return statement.lineno, statement.end_lineno or statement.lineno
    inner = body[0]
    below = inner.pattern.lineno if isinstance(inner, ast.match_case) else inner.lineno
    return statement.lineno, max(statement.lineno, below - 1)


# Words of naming after a part that they share: most files are read through once for each part.
_NAMING: Final = (
    (b"names", (b"refine_names", b"reveal_names")),
    (b".align_", (b".align_to", b".align_as")),
    (b"typing", (b"jaxtyping", b"torchtyping")),
    (b"TensorType[", (b"TensorType[",)),
)
_CALLS: Final = (
    (b".unflatten(", rb"\.unflatten\(\s*(?:dim\s*=\s*)?[\"'A-Z]"),
    (b"Annotated[", rb"Annotated\[[^\]]{0,400}?Tensor"),
)
# The project may re-export words of jaxtyping from any module; those of typing are fixed.
_DECLARED: Final = (
    rb"\b(?!(?:Union|Tuple|Dict|Mapping|Generator)\[)[A-Z]\w*\[\s*[\w.]*Tensor,\s*[\"']"
)
_AFTER_TENSOR: Final = (b'Tensor, "', b"Tensor, '")
_RENAME: Final = rb"(?<!\bos)\.rename_?\b"
_NAMES: Final = rb"names\s*=|names[\"']"
_OPENED: Final = rb"[(,]\s*\Z"


_SHAPES: Final = (b".shape", b".size(")
# A size, or a whole shape, that is compared in the same line.
_TEST: Final = rb"\.(?:shape|size\()[^\n=!#]{0,40}+[=!]="
# No repetition gives back what it has matched, and only names in brackets reach over lines: a file
# costs no more than its length.
_UNPACKING: Final = (
    rb"(?m)^[ \t]*+(?:\(\s*+\*?+\w++(?>(?:\s*+,\s*+\*?+\w++)*)\s*+(?>(?:,\s*+)?)|"
    rb"\*?+\w++(?>(?:[ \t]*+,[ \t]*+\*?+\w++)*)[ \t]*+(?>(?:,[ \t]*+)?))\)?+[ \t]*+=\s*+"
    rb"\*?+[\w.\[\]()]+\.(?:shape|size\()"
)
_PATTERN: Final = rb"[\"'](?>[^\"'\n]*?->)[^\"'\n]*+[\"']"
_CHECKING: Final = (
    rb"(?:check|assert|ensure|validate|CHECK)_(?>(?:tensor_)?)(?:shape|SHAPE)"
    rb"\(\s*+[\w.]++\s*+,\s*+[\[(]"
)

LAYERS: Final = frozenset(
    {
        "BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "Bilinear", "Conv1d", "Conv2d", "Conv3d",
        "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d", "Embedding", "GRU", "GRUCell",
        "GroupNorm", "LSTM", "LSTMCell", "LayerNorm", "Linear", "RNN", "RNNCell",
    }
)  # fmt: skip
"""Layers of torch.nn whose sizes may contradict those of others."""
_LAYER: Final = rf"\b(?:{'|'.join(sorted(LAYERS))})\(".encode()


def _has_layers(data: bytes) -> bool:
    """Whether a file makes several layers that have sizes."""
    return b"nn" in data and next(islice(re.finditer(_LAYER, data), 1, None), None) is not None


def unpacks_sizes(data: bytes) -> bool:
    """Whether a file that imports torch reads or checks sizes, has patterns, or makes layers."""
    if not imports_torch(data):
        return False
    if _has_layers(data):
        return True
    if b"->" in data and b"ein" in data and re.search(_PATTERN, data) is not None:
        return True
    if (b"_shape(" in data or b"_SHAPE(" in data) and re.search(_CHECKING, data) is not None:
        return True
    if not any(word in data for word in _SHAPES):
        return False
    return re.search(_TEST, data) is not None or _has_line(_UNPACKING, data)


def names_something(data: bytes) -> bool:
    """Whether a file can give a name to a dimension; a file that cannot needs no analysis.

    Words in its bytes decide: ``refine_names``, ``reveal_names``, ``align_to``, ``align_as``,
    ``unflatten`` with a name, an annotation of dimensions, and, in a file that mentions torch,
    ``rename``, the keyword ``names=`` and an assignment to ``.names``.
    """
    # Plain searches decide nearly every file, at a tenth of the cost of one pattern for all words.
    if any(part in data and any(word in data for word in words) for part, words in _NAMING):
        return True
    if any(word in data and re.search(call, data) for word, call in _CALLS):
        return True
    if b"torch" not in data:
        return False
    if (
        b"Tensor, " in data
        and any(word in data for word in _AFTER_TENSOR)
        and re.search(_DECLARED, data)
    ):
        return True
    if b".rename" in data and re.search(_RENAME, data):
        return True
    return b"names" in data and any(_gives_names(data, m) for m in re.finditer(_NAMES, data))


_TORCH: Final = (
    rb"(?m)^[ \t]*+(?:from[ \t]++|import[ \t]++"
    rb"(?>(?:(?!torch\b)[\w.]++(?>(?:[ \t]++as[ \t]++\w++)?)[ \t]*+,[ \t]*+)*))torch\b"
)


def imports_torch(data: bytes) -> bool:
    """Whether a file imports torch; without it there are no tensors to report about."""
    return b"torch" in data and _has_line(_TORCH, data)


def _has_line(sought: bytes, data: bytes) -> bool:
    """Whether a line has what an expression seeks, whatever ends the lines."""
    lines = data.replace(b"\r", b"\n") if b"\r" in data else data
    return re.search(sought, lines) is not None


def _gives_names(data: bytes, occurrence: re.Match[bytes]) -> bool:
    """Whether the word is an argument, an attribute or a key; not a variable or a longer word."""
    before = data[max(occurrence.start() - 200, 0) : occurrence.start()]
    if not occurrence.group().endswith(b"="):
        return before.endswith((b"'", b'"'))
    if before[-1:].isalnum() or before.endswith(b"_"):
        return False
    closed_up = occurrence.group() == b"names=" or before.endswith(b".")
    return closed_up or re.search(_OPENED, before) is not None


def parse(data: bytes, filename: str) -> Source:
    """Parse one file; raises `Refused` where Python itself cannot read it."""
    text = decode(data, filename)
    return Source(filename, text, _tree(text, filename))


def decode(data: bytes, filename: str) -> str:
    """The text of a file with all line ends as ``\\n``; raises `Refused` NC003."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise Refused(_undecodable(filename, data, 0, "it looks like UTF-16"))
    if b"\0" in data:
        at = data.index(b"\0")
        raise Refused(_undecodable(filename, data, at, "it holds a NUL byte"))
    try:
        text = data.decode(encoding(data))
    except UnicodeDecodeError as error:
        byte = data[error.start]
        what = f"the byte 0x{byte:02x} is no {error.encoding} text: {error.reason}"
        raise Refused(_undecodable(filename, data, error.start, what)) from error
    except (LookupError, ValueError, SyntaxError) as error:
        raise Refused(_undecodable(filename, data, 0, str(error))) from error
    return text.replace("\r\n", "\n").replace("\r", "\n")


# Their time grows with the square of a text.
_OF_HOST_NAMES: Final = frozenset({"punycode", "idna"})


def encoding(data: bytes) -> str:
    """The encoding in which Python reads a file (PEP 263); raises LookupError, SyntaxError."""
    if b"coding" not in b"".join(data.split(b"\n", 2)[:2]):
        return "utf-8-sig" if data.startswith(codecs.BOM_UTF8) else "utf-8"
    import io
    import tokenize

    name = tokenize.detect_encoding(io.BytesIO(data).readline)[0]
    if codecs.lookup(name).name in _OF_HOST_NAMES:
        raise LookupError(f"{name} is an encoding of host names")
    return name


def _undecodable(filename: str, data: bytes, at: int, what: str) -> Finding:
    before = re.split(rb"\r\n|\r|\n", data[:at])
    column = len(before[-1].decode("utf-8", "replace")) + 1
    line = len(before)
    return Finding(
        "NC003",
        f"The file cannot be decoded: {what}.",
        filename,
        Span(line, column, line, column + 1),
        help="Save the file as UTF-8, or name its encoding in a comment on the first line.",
    )


_TOO_DEEP: Final = ("too many nested", "too many levels of", "nested too deeply")


def _tree(text: str, filename: str) -> ast.Module:
    try:
        return _with_type_comments(text) or parsing.module(text)
    except parsing.TooCostly as error:
        help = "Split it, or leave it out with `exclude`."
        message = f"It is not read: {error.msg}."
        finding = Finding("NC002", message, filename, Span(1, 1, 1, 1), help=help)
        raise Refused(finding) from error
    except SyntaxError as error:
        span = _error_span(error, text)
        if any(words in str(error.msg) for words in _TOO_DEEP):
            raise Refused(too_deep(filename, span, str(error.msg))) from error
        raise Refused(Finding("NC001", _sentence(error), filename, span)) from error
    except (RecursionError, MemoryError) as error:
        raise Refused(too_deep(filename, Span(1, 1, 1, 1), "Python's parser gives up")) from error
    except ValueError as error:
        raise Refused(_undecodable(filename, b"", 0, str(error))) from error


def _with_type_comments(text: str) -> ast.Module | None:
    if "# type:" not in text:
        return None
    from namecheck.core import type_comments  # few files have any

    return type_comments.parsed(text)


def _sentence(syntax_error: SyntaxError) -> str:
    message = str(syntax_error.msg or "invalid syntax")
    return f"{message[0].upper()}{message[1:]}"


def too_deep(filename: str, span: Span, what: str) -> Finding:
    """The finding NC004, for code nested too deeply for Python or for the analysis."""
    return Finding(
        "NC004",
        f"The code is nested too deeply: {what}.",
        filename,
        span,
        help="Write it as a loop or as several statements, or leave the file out with `exclude`.",
    )


def _error_span(syntax_error: SyntaxError, text: str) -> Span:
    """The span of Python's syntax error, clipped to the text, which the parser may exceed."""
    lines = text.split("\n")
    line = min(max(syntax_error.lineno or 1, 1), len(lines))
    column = min(max(syntax_error.offset or 1, 1), len(lines[line - 1]) + 1)
    end_line = min(max(syntax_error.end_lineno or line, line), len(lines))
    end_column = min(max(syntax_error.end_offset or 0, 1), len(lines[end_line - 1]) + 1)
    if (end_line, end_column) <= (line, column):
        return Span(line, column, line, column + 1)
    return Span(line, column, end_line, end_column)


_COMMENT: Final = r"#\s*namecheck:\s*ignore(?P<file>-file)?\b\s*(?:\[(?P<words>[^\[\]]*+)\])?"


def _suppressions(source: Source) -> Iterator[Suppression]:
    following = 0
    for line, column, comment in _comments(source.text):
        for match in re.finditer(_COMMENT, comment):
            start = column + match.start() + 1
            span = Span(line, start, line, start + len(match.group().rstrip()))
            own_line = not source.lines[line - 1][:column].strip()
            if own_line and following <= line:  # else it is one of the comments before that line
                following = _next_code(source.lines, line)
            target = following if own_line else line
            yield Suppression(span, 0 if match["file"] else target, _words(match["words"]))


def _words(listed: str | None) -> tuple[str, ...] | None:
    if listed is None:
        return None
    return tuple(word.strip() for word in listed.split(",") if word.strip())


def _comments(text: str) -> Iterator[tuple[int, int, str]]:
    import io
    import tokenize

    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT and "namecheck:" in token.string:
                yield *token.start, token.string
    except (tokenize.TokenError, SyntaxError):
        return


def _next_code(lines: list[str], line: int) -> int:
    while line < len(lines) and lines[line].lstrip().startswith("#"):
        line += 1
    return line + 1
