"""The words of Python source by what they are: keywords, strings, comments, …"""

from __future__ import annotations

from functools import cache
from keyword import kwlist, softkwlist
from typing import Any, ClassVar, Final, TypeAlias

from pygments.lexer import inherit, words
from pygments.lexers.python import PythonLexer
from pygments.regexopt import regex_opt
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


# Words that may be more than a name; pygments decides about these.
_SPECIAL: Final = {
    *("self", "cls", "Ellipsis", "NotImplemented"),
    *kwlist,
    *softkwlist,
    *(
        word
        for state in ("keywords", "expr-keywords", "soft-keywords", "builtins", "magicfuncs")
        for pattern, *_ in PythonLexer.tokens[state]
        if isinstance(pattern, words)
        for word in pattern.words
    ),
}


class _Lexer(PythonLexer):
    """The lexer of pygments, which tries first what is most frequent: it takes half of the time."""

    tokens: ClassVar[dict[str, Any]] = {
        "root": [
            (rf"(?!{regex_opt(_SPECIAL)}\b)(?!__)[A-Za-z_]\w*+(?![\"'])", Token.Name),
            (r"[()\[\]]|[:,] ?|\.(?!\d)", Token.Punctuation),
            (r" [-=+*/<>] ", Token.Operator),
            (r"\d+(?![\w.])", Token.Literal.Number),
            inherit,
        ]
    }


def pieces_by_line(text: str) -> list[list[Piece]]:
    """Every line of a program in pieces; together they are the line."""
    piece_lists: list[list[Piece]] = [[]]
    for _, token_kind, value in _Lexer().get_tokens_unprocessed(text):
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
