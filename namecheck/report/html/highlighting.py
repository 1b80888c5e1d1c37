"""The words of Python source by what they are: keywords, strings, comments, …"""

from __future__ import annotations

from functools import cache
from typing import Final, TypeAlias

from pygments.lexers.python import PythonLexer
from pygments.token import Token, _TokenType

Piece: TypeAlias = tuple[str, str]
"""A part of a line, and the class of its words, which is empty for plain ones."""

# The first kind of token that another one is of decides its class; kinds are tuples of words.
_CLASSES: Final = (
    (Token.Comment, "c"),
    (Token.Literal.String.Doc, "c"),
    (Token.Literal.String, "s"),
    (Token.Literal.Number, "u"),
    (Token.Keyword, "k"),
    (Token.Operator.Word, "k"),
    (Token.Name.Function, "f"),
    (Token.Name.Class, "f"),
    (Token.Name.Decorator, "d"),
    (Token.Name.Builtin, "b"),
)


def pieces_by_line(text: str) -> list[list[Piece]]:
    """Every line of a program in pieces; together they are the line."""
    piece_lists: list[list[Piece]] = [[]]
    for _, token_kind, value in PythonLexer().get_tokens_unprocessed(text):
        name = _class_of(token_kind)
        first, *rest = value.split("\n") if "\n" in value else (value,)
        _add(piece_lists[-1], first, name)
        for part in rest:
            piece_lists.append([])
            _add(piece_lists[-1], part, name)
    return piece_lists


def _add(line_pieces: list[Piece], part: str, name: str) -> None:
    if not part:
        return
    if line_pieces and line_pieces[-1][1] == name:
        part = line_pieces.pop()[0] + part
    line_pieces.append((part, name))


@cache
def _class_of(token_kind: _TokenType) -> str:
    return next((name for outer, name in _CLASSES if token_kind[: len(outer)] == outer), "")
