"""Python's parser for the texts of strangers: a short text can cost it much time and memory.

All texts of a checked project, and the annotations and comments in them, are parsed here.
"""

from __future__ import annotations

import ast
import itertools
import re
import sys
import warnings
from typing import Final

from namecheck.core.regular_files import largest


class TooCostly(SyntaxError):
    """A text that is not parsed, as that would take too much time or memory; `msg` says why."""


# A syntax tree takes up to 900 bytes a token. Shorter texts are not counted.
_MOST_TOKENS: Final = 400_000
_BYTES_OF_TOKEN: Final = 25
_UNCOUNTED: Final = 200_000
# The words of strings and comments count too: to find the ends of f-strings takes a parser.
# Quotes do not, but around nothing.
_TOKEN: Final = r"\w++|\n\s*+|[^\w\s\"']|\"\s*+\"|'\s*+'"

# Before Python 3.12, the parser searches an f-string from its start for each of its fields: some
# 0.3 ns a character.
_SEARCHES: Final = sys.version_info < (3, 12)
_MOST_SEARCHED: Final = 5 * 10**9
_STRING: Final = re.compile(
    r"#[^\n]*+|\\.|(?:\b(?P<prefix>[A-Za-z]{1,2}+))?(?P<text>"
    r"'''(?>(?:[^'\\]|\\.|'(?!''))*)(?:'''|\Z)|"
    r"\"\"\"(?>(?:[^\"\\]|\\.|\"(?!\"\"))*)(?:\"\"\"|\Z)|"
    r"'(?>(?:[^'\\\n]|\\.)*)'?|\"(?>(?:[^\"\\\n]|\\.)*)\"?)",
    re.DOTALL,
)


def module(text: str, *, type_comments: bool = False) -> ast.Module:
    """The tree of a program; raises as `ast.parse` does, and `TooCostly`, which is SyntaxError."""
    require_cheap(text)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text, type_comments=type_comments)


def expression(text: str) -> ast.expr:
    """The tree of an expression; raises as `ast.parse` does, and `TooCostly`."""
    require_cheap(text)
    return ast.parse(text, mode="eval").body


def require_cheap(text: str) -> None:
    """Raise `TooCostly` for a text that would take too much to parse, although it is not long."""
    if len(text) > _UNCOUNTED:
        limit = max(_MOST_TOKENS, largest() // _BYTES_OF_TOKEN)
        if next(itertools.islice(re.finditer(_TOKEN, text), limit, None), None) is not None:
            raise TooCostly(
                f"it has over {limit:,} words, numbers, operators and lines, with those in "
                "comments and strings, and its syntax tree may take too much memory"
            )
    if text.count("{") * len(text) > _MOST_SEARCHED and _searched(text) > _MOST_SEARCHED:
        raise TooCostly(
            "its f-strings have so many fields that Python before 3.12 takes long to parse them"
        )


def count_tokens(text: str) -> int:
    """The number of words, numbers, operators and lines, with those in comments and strings."""
    return sum(1 for _ in re.finditer(_TOKEN, text))


def _searched(text: str) -> int:
    """How many characters Python's parser searches for the fields of f-strings."""
    total = 0
    if not _SEARCHES:
        return total
    for found in _STRING.finditer(text):
        if "f" in (found["prefix"] or "").lower():
            total += found["text"].count("{") * len(found["text"])
    return total
