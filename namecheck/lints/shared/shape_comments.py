"""Reads which shape a comment claims for the value of its line.

People write it as the whole comment, at its start (``# (B, T, C): the tokens``), or at its end
(``# shape (B, T, C)``, ``# x: (B, T, C)``, ``# (B, C, T) -> (B, T, C)``). Any other shape in a
comment is a part of a sentence, about whatever tensor.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Final, NamedTuple

from namecheck.core import names as naming

# A list in brackets, with terms in brackets of their own: ``[B, H, W, (H + W)]``.
_LIST: Final = r"[(\[](?P<words>(?:[^()\[\]]|\([^()\[\],]*\))*)(?P<end>[)\]])"
_SHAPE: Final = re.compile(rf"(?P<lead>[^()\[\]`]*)`?{_LIST}`?(?P<rest>[^()\[\]`]*)")
_ARROW: Final = r"[-=]>|→"
_WORD: Final = r"[A-Za-z_]\w*|\d+"
# Words that say that the shape is that of something else, of a part, or of some other time.
_ELSEWHERE: Final = (
    r"(?i)\b(was|had|given|before|originally|from|input|instead|unlike|expects?|e\.g|or|if|when|not"
    r"|than|todo|cf|see|each|per|every)\b"
)
# What may stand before a shape that ends its comment, but for a word for the tensor.
_MARK: Final = r"|<-|[:=~]|[—–-]|(?:BUG|FIXME|NOTE|XXX):?"
_CALLED_SHAPE: Final = r"(?i)(?<![^\W_])shape(?:\s+(?:is|of|becomes))?\s*[:=]?$"
_CALLED_SIZE: Final = r"(?i)(?<!\w)sized?(?:\s+(?:is|of|becomes))?\s*[:=]?$"
# What a line may do to a tensor of the shape.
_TAKING: Final = (
    r"swaps?|exchanges?|reduces?|averages?|pools?|sums?|mean|max|min|flattens?|squeezes?|drops?"
    r"|collapses?|merges?|splits?|selects?|slices?"
)
# The end of what has a shape and is no tensor, or not all of it: ``over the axes: (H, W)``.
_PART: Final = (
    r"(?i)\b(axis|axes|dims?|dimensions?|ranges?|order|over|of|in|to|into|as|for|at|on|against|like|by|and)$"
    r"|\b(spatial|kernel|window|eq|equation|fig|figure|sec|section|table|step|line)\b"
    rf"|\b({_TAKING})\b"
)
# Words for the value of a line, whatever variables the code has.
_RESULTS: Final = frozenset({"now", "out", "output", "outputs", "result", "returns"})
# What may stand behind a shape that begins its comment: a mark, or words for the tensor.
_REMARK: Final = r"\.?|(?:[:;,.]|\s+[—–]|\s+--?(?=\s+[A-Za-z]{2})|\s+[^\W\d][\w-]+).*"
# What makes a sentence of it: ``(B, T) of x``, ``(T, C) x2``, ``(H, W) maps``, ``: sum over T``.
_SENTENCE: Final = (
    r"(?i)\s+(x\d*|of|in|to|into|at|by|with|and|for(?!\s+\w+ing\b)|times|is|are|has|have|without|except|minus|plus|like)\b.*"
    r"|\s+(\w+\s+)?(tensors|images|maps|matrices|samples|frames|patches|slices|blocks|chunks|heads"
    r"|rows|columns|vectors|masks|crops|windows|tiles|batches|copies)\b.*"
    rf"|.*\b(over|along|{_TAKING}|averaged|summed|reduced|pooled|collapsed|dropped|selected)\b.*"
)


class Claim(NamedTuple):
    """The words of a shape, and how many dims the one before an arrow has, if there is one."""

    words: Sequence[str]
    dims_before: int | None


def claim(comment: str, target_name: str | None, variable_names: Collection[str]) -> Claim | None:
    """The shape that a comment claims for the value of its line; None where that is not certain.

    The value is assigned to the target; other variables of the code are other tensors.
    """
    parts = [part for part in comment.split("#") if re.search(r"[(\[]", part)]
    if len(parts) != 1 or re.search(_ELSEWHERE, comment):
        return None
    *before, last = re.split(_ARROW, parts[0].strip())
    found = _SHAPE.fullmatch(last.strip())
    words = _words(found["words"]) if found is not None else None
    if found is None or words is None:
        return None
    lead, rest = found["lead"].strip(), found["rest"].rstrip()
    if not _is_lead(lead, words[0], target_name, variable_names) or not _is_remark(rest):
        return None
    if not {*words}.isdisjoint(re.findall(_WORD, rest)):
        return None  # what becomes of a dim: ``(B, T, C), T is averaged``
    if (lead or rest.strip(".")) and "," not in found["words"] and found["end"] == ")":
        return None  # a word in brackets: ``(optional)``
    earlier = _SHAPE.fullmatch(before[-1].strip()) if before else None
    shape_before = _words(earlier["words"]) if earlier is not None else None
    return Claim(words, None if shape_before is None else len(shape_before))


def _words(listed: str) -> Sequence[str] | None:
    """The words of a list that may be a shape."""
    words = [word.strip() for word in listed.split(",")]
    if words and not words[-1]:
        del words[-1]
    words = [re.sub(r"\s+", "", word) if word.startswith("(") else word for word in words]
    if not words or any(not re.search(_WORD, word) for word in words):
        return None
    return words if all(re.fullmatch(r"[\w*/+()-]+", word) for word in words) else None


def _is_lead(
    lead: str, first_word: str, target_name: str | None, variable_names: Collection[str]
) -> bool:
    """Whether what stands before a shape says that it is that of the line's value."""
    if re.fullmatch(_MARK, lead):
        return True
    called = re.search(_CALLED_SHAPE, lead)
    if called is None and naming.is_batch(first_word):
        called = re.search(_CALLED_SIZE, lead)  # the size of an image has no batch
    if called is not None:
        about = re.sub(r"(?i)\b(of|is|has|with|in)$", "", lead[: called.start()].rstrip(" ._:"))
        return not about or _is_about_value(about.rstrip(), target_name, variable_names)
    if lead.endswith(":"):
        return _is_about_value(lead[:-1].strip(), target_name, variable_names)
    return lead.rstrip("= ").lower() in {*_RESULTS, (target_name or "now").lower()}


def _is_about_value(about: str, target_name: str | None, variable_names: Collection[str]) -> bool:
    """Whether words before a shape stand for the value: for no part, and no other variable."""
    if re.search(_PART, about):
        return False
    words = re.findall(r"[\w.]+", about)
    others = {*variable_names} - {target_name, *_RESULTS}
    return not any(word.split(".")[0] in others for word in words)


def _is_remark(rest: str) -> bool:
    """Whether what stands behind a shape is a remark about the value."""
    return bool(re.fullmatch(_REMARK, rest)) and not re.fullmatch(_SENTENCE, rest)
