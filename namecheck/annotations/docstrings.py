"""Reads which shapes a docstring claims for the parameters of its function.

People write them in the entry of a parameter, in whichever style the docstring has: ``x (Tensor of
shape `(batch, seq, dim)`)``, ``x: the image, :math:`(*, C, H, W)```, ``boxes (Tensor[N, 4])``,
``x : Tensor, shape (B, T)``, ``:param x: of shape [B, T]``. An entry with two different shapes
claims none of them, nor does one about several tensors.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from namecheck.core.trees import nodes

# Terms may have brackets of their own: ``(B, 2 * (H + W))``, ``(B, window_size[0])``.
_LIST: Final = r"[(\[](?P<terms>[^()\[\]]*(?:(?:\([^()\[\],]*\)|(?<=\w)\[\d+\])[^()\[\]]*)*)[)\]]"
_MARKUP: Final = r"(?:\s|:math:|:|``?|\\|\*\*|\b(?:of|is|as|be|in)\b|=)*"
# What every text with a shape has.
_LISTED: Final = r"[(\[][^()\[\]]*[,x]"
# A shape that is called so, and the type of torchvision's documentation: ``Tensor[N, 4]``.
_CALLED: Final = re.compile(rf"(?i)\bshaped?(?!\[){_MARKUP}\(?{_LIST}")
_TYPED: Final = re.compile(rf"\b\w*Tensor(?=\[){_LIST}")
_OR: Final = re.compile(
    rf"(?i)[`\s.:,/]*\b(?:or|and|if)\b{_MARKUP}(?:tensor\s+)?(?:shape\s+)?{_LIST}"
)
_ANY_LIST: Final = re.compile(_LIST)
# The words before a shape that is that of several tensors, of no tensor, or of an example.
_SEVERAL: Final = re.compile(
    r"(?i)\b(?:lists?|tuples?|dict\w*|sequences?|pairs?|iterables?|each|every|pil|ndarrays?|np|numpy"
    r"|arrays?|examples?|e\.g|such|like)\b"
)
_TYPE: Final = re.compile(r"[`*]*\s*(?::\s*)?\((?P<type>[^()]*(?:\([^()]*\)[^()]*)*)\)")
# A list of coordinates or of choices is no shape, unless it is called one.
_FIRST: Final = re.compile(r"(?:[A-Z]\w?|\w*batch[\w ]*|bs|bsz|num_\w+|\*|\.\.\.)(?:\s*[*/].*)?")
_WORD: Final = r"(?:[^\W\d]\w*(?:\.\w+|\[\d+\])*|\d+[A-Z]?)"
_TERM: Final = re.compile(rf"{_WORD}(?:\s*(?:\*|//?|\+|-)\s*{_WORD})*")
# What stands for any dims: ``*``, ``*batch``, ``...``, ``spatial_dims``.
_ANY: Final = re.compile(r"(?i)\*\w*|\.\.\.|…|\w*spatial_?dims|\w*feature\w*dims")
_NO_TENSOR: Final = re.compile(r"(?i)\w*(?:shape|size)\w*")
_NO_SIZE: Final = re.compile(r"(?:bool|float|int|long|double|half|str)\d*")
# What the section on shapes of a layer calls its only tensor: ``- Input: (N, C, H, W)``.
_INPUT: Final = "Input"
# What an entry is read of, and the most terms of a shape.
_LINES: Final = 20
_LONGEST: Final = 2000
_MOST: Final = 10
_WORDS: Final = 3
"""The greatest number of words in one term: ``batch size``."""


class Shape(NamedTuple):
    """The terms of a shape, each a word, a number, or a formula of them: ``H``, ``3``, ``2*dim``.

    Where `gap` is a number, any dims may stand before the term of that number.
    """

    terms: tuple[str, ...]
    gap: int | None = None


class Claim(NamedTuple):
    """What a docstring says of a parameter, and the line of it, from 0, where the entry begins."""

    shape: Shape
    line: int


class Documentation(NamedTuple):
    """A docstring, and the claims in it."""

    node: ast.Constant
    claims: Mapping[str, Claim]


def of_function(definition: ast.AST, around: ast.AST) -> Documentation | None:
    """The docstring of a function with claims about its parameters; None where it has none.

    The function is defined in the scope `around` it; what documents a class documents `forward`.
    """
    if not isinstance(definition, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return None
    spec = definition.args
    words = [each.arg for each in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs)]
    documented: list[ast.AST] = [definition]
    if definition.name == "forward" and isinstance(around, ast.ClassDef):
        documented.append(around)
    for each in documented:
        docstring_node = _listing(each)
        found = {} if docstring_node is None else claims(str(docstring_node.value), words)
        if docstring_node is not None and found:
            return Documentation(docstring_node, found)
    return None


def may_claim(definition: ast.AST) -> bool:
    """Whether a docstring in a definition has a list in brackets, as one about shapes has."""
    return any(_listing(node) is not None for node in nodes(definition))


def _listing(definition: ast.AST) -> ast.Constant | None:
    """The docstring of a function or class, if it has such a list."""
    if isinstance(definition, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        match definition.body[0]:
            case ast.Expr(ast.Constant(str(text)) as docstring_node) if re.search(_LISTED, text):
                return docstring_node
    return None


def claims(docstring: str, parameters: Collection[str]) -> Mapping[str, Claim]:
    """The claims about parameters; none of one that has two entries that differ."""
    claim_of: dict[str, Claim | None] = {}
    lines = docstring.splitlines()
    for line, word, text in _entries(lines, parameters):
        shape = _shape(text)
        if shape is None:
            continue
        known = claim_of.setdefault(word, Claim(shape, line))
        if known is not None and known.shape != shape:
            claim_of[word] = None
    return {word: claim for word, claim in claim_of.items() if claim is not None}


def _entries(lines: Sequence[str], parameters: Collection[str]) -> Iterator[tuple[int, str, str]]:
    """The entries of parameters: the line of each, its word, and its text without the word."""
    tensors = [word for word in parameters if not _NO_TENSOR.fullmatch(word)]
    if not tensors:
        return
    parameter_of = {word: word for word in tensors}
    arguments = [word for word in tensors if word not in ("self", "cls")]
    if "input" in arguments or len(arguments) == 1:
        parameter_of[_INPUT] = "input" if "input" in arguments else arguments[0]
    either = "|".join(map(re.escape, sorted(parameter_of)))
    begin = re.compile(
        rf"\s*(?:[-*+]\s+)?(?::param\s+(?:\w+\s+)?|@param\s+)?(?:\*\*|`+)?(?P<word>{either})"
        r"(?:\*\*|`+)?(?P<rest>\s*(?::|\(|\[|--?\s|—|–|,).*)"
    )
    for line, text in enumerate(lines):
        entry = begin.fullmatch(text)
        if entry is None:
            continue
        indentation = _indentation(text)
        body = [entry["rest"]]
        for further in lines[line + 1 :]:
            if not further.strip() or _indentation(further) <= indentation:
                break
            body.append(further.strip())
            if len(body) > _LINES:
                break
        yield line, parameter_of[entry["word"]], " ".join(body)[:_LONGEST]


def _indentation(line: str) -> int:
    return len(line) - len(line.lstrip())


def _shape(text: str) -> Shape | None:
    """The shape that an entry claims: that in its type, or the only one that it speaks of."""
    typed = _TYPE.match(text)
    in_type = _only(typed["type"]) if typed is not None else None
    return in_type or _only(text)


def _only(text: str) -> Shape | None:
    """The only shape of a text, if it is that of one tensor."""
    lists = sorted(_lists(text), key=lambda one: one.start())
    if not lists or _SEVERAL.search(text[: lists[0].start("terms")]):
        return None
    shapes = [_read(one["terms"]) for one in lists]
    is_other = any(_OR.match(text, one.end()) for one in lists)
    return None if is_other or any(shape != shapes[0] for shape in shapes) else shapes[0]


def _lists(text: str) -> Iterator[re.Match[str]]:
    """The lists of a text that may be shapes."""
    end_positions: set[int] = set()
    for pattern in (_CALLED, _TYPED, _ANY_LIST):
        for one in pattern.finditer(text):
            if one.end("terms") not in end_positions and (
                pattern is not _ANY_LIST or _looks_like_shape(text, one)
            ):
                end_positions.add(one.end("terms"))
                yield one


def _looks_like_shape(text: str, match: re.Match[str]) -> bool:
    """Whether a list that is not called a shape begins as one."""
    first, *others = (term.strip(" `\\$") for term in match["terms"].split(","))
    is_size = re.search(r"(?i)\bsizes?\W*$", text[: match.start()])
    return (
        not is_size
        and bool(_FIRST.fullmatch(first))
        and any(re.fullmatch(r"\w[\w ]*", term) for term in others)
    )


def _read(list_text: str) -> Shape | None:
    """The shape in a list; None where a term is no size."""
    shape_terms: list[str] = []
    gap: int | None = None
    parts = [part.strip() for part in _without_markup(list_text).split(",")]
    if len(parts) == 1:
        parts = re.split(r"\s+x\s+", parts[0])
    if not parts[-1]:
        del parts[-1]
    for part in parts:
        if _ANY.fullmatch(part):
            if gap is not None:
                return None
            gap = len(shape_terms)
        elif (term := _term(part, is_only=len(parts) == 1)) is not None:
            shape_terms.append(term)
        else:
            return None
    return Shape(tuple(shape_terms), gap) if 0 < len(shape_terms) <= _MOST else None


def _without_markup(list_text: str) -> str:
    """A list without what formulas of TeX and quotes add to it."""
    list_text = re.sub(r"\\(?:text|mathrm|textit|mathit)\{([^{}]*)\}", r"\1", list_text)
    list_text = re.sub(r"_\{(?:\\text\{)?(\w+)\}?\}", r"_\1", list_text)
    list_text = re.sub(r"\\(?:times|cdot)\b", "*", list_text)
    return re.sub(r"[`$]|\\[,; ]|\\(?=_)", "", list_text)


def _term(part: str, *, is_only: bool) -> str | None:
    """A term as one word, number or formula: ``batch size`` is ``batch_size``."""
    term_words = re.split(r"(?<=\w)\s+(?=\w)", part)
    if len(term_words) > (1 if is_only else _WORDS):
        return None
    term = re.sub(r"\s+", "", "_".join(term_words))
    return term if _TERM.fullmatch(term) and not _NO_SIZE.fullmatch(term) else None
