"""einx: the notation of einops with brackets around the dims that an operation is about.

What it has beyond einops (``c...``, ``+``, several results) is unknown.
"""

from __future__ import annotations

import re
from typing import Final

from namecheck.interpreter.domain.values import TRUE, Const, Value
from namecheck.interpreter.evaluation.frames import Call
from namecheck.interpreter.evaluation.interpreter import Interpreter
from namecheck.interpreter.models import primitives
from namecheck.interpreter.models.registry import model

_PLAIN: Final = r"(?:[A-Za-z_]\w*|\d+|\(|\)|\.\.\.(?!\s*[\w(])|\s)*"
_ONE: Final = re.compile(rf"{_PLAIN}")
_WORDS: Final = re.compile(r"[A-Za-z_]\w*")
_BRACKETS: Final = re.compile(r"\[([^\[\]]*)\]")
# The options of all functions; other keywords are sizes.
_OPTIONS: Final = frozenset({"keepdims", "backend", "graph", "cse"})
_REDUCTIONS: Final = {
    **{f"einx.{name}": name for name in ("sum", "mean", "max", "min", "prod", "any", "all")},
    **{f"einx.{name}": "mean" for name in ("std", "var", "logsumexp")},
}


def _pattern(call: Call) -> str | None:
    """The pattern of a call; None where it is unknown."""
    pattern = call.argument(0, "description")
    text = pattern.value if isinstance(pattern, Const) else None
    return text if isinstance(text, str) else None


def _sizes(call: Call) -> dict[str, Value]:
    return {word: size for word, size in call.kwargs.items() if word not in _OPTIONS}


def _is_plain(*terms: str) -> bool:
    """Whether einops reads these terms as einx does."""
    return all(_ONE.fullmatch(term) and "..." not in term for term in terms)


@model("einx.rearrange", "einx.id")
def rearrange(interpreter: Interpreter, call: Call) -> Value:
    """``einx.rearrange("a b -> b a", x)``; new dims are repeated."""
    left, arrow, right = (_pattern(call) or "").partition("->")
    if not arrow or not _is_plain(left, right) or len(call.args) != 2:
        return interpreter.fresh("rearranged")
    before, after = set(_WORDS.findall(left)), set(_WORDS.findall(right))
    if before - after:
        return interpreter.fresh("rearranged")
    operator = "einops.repeat" if after - before else "einops.rearrange"
    args = [call.args[1], Const(f"{left}->{right}")]
    return primitives.operate(interpreter, operator, args, call, _sizes(call))


@model(*_REDUCTIONS)
def reduce(interpreter: Interpreter, call: Call) -> Value:
    """``einx.sum("a [b]", x)`` reduces the dims in brackets, or those that the result lacks."""
    left, arrow, right = (_pattern(call) or "").partition("->")
    keeps = call.kwargs.get("keepdims") == TRUE
    if not arrow:
        right = _BRACKETS.sub("1" if keeps else "", left)
    left = _BRACKETS.sub(r"\1", left)
    if not left or not _is_plain(left, right) or len(call.args) != 2 or (arrow and keeps):
        return interpreter.fresh("reduced")
    args = [call.args[1], Const(f"{left}->{right}"), Const("mean")]
    return primitives.operate(interpreter, "einops.reduce", args, call, _sizes(call))


@model("einx.dot")
def dot(interpreter: Interpreter, call: Call) -> Value:
    """``einx.dot("a [b], [b] c -> a c", x, y)``."""
    left, arrow, right = (_pattern(call) or "").partition("->")
    if not arrow or "[" in right or "," not in left:
        return interpreter.fresh("contracted")
    return _contracted(interpreter, _BRACKETS.sub(r"\1", left), right, call)


@model(
    "einx.add",
    "einx.subtract",
    "einx.multiply",
    "einx.divide",
    "einx.true_divide",
    "einx.maximum",
    "einx.minimum",
    "einx.where",
)
def combine(interpreter: Interpreter, call: Call) -> Value:
    """``einx.add("a b, b", x, y)`` has the dims of the operand with all dims, or those given."""
    left, arrow, right = (_pattern(call) or "").partition("->")
    terms = left.split(",")
    if not arrow:
        if len(terms) == 1:
            terms.append(" ".join(_BRACKETS.findall(left)))
            terms[0] = _BRACKETS.sub(r"\1", left)
        words = [set(_WORDS.findall(term)) for term in terms]
        whole = [term for term, own in zip(terms, words, strict=True) if own == set().union(*words)]
        if len(whole) != 1:
            return interpreter.fresh("combined")
        right = whole[0]
    return _contracted(interpreter, ",".join(terms), right, call)


def _contracted(interpreter: Interpreter, terms_text: str, result_text: str, call: Call) -> Value:
    """The dims of the result, from those of all operands."""
    terms = [*terms_text.split(","), result_text]
    plain = _is_plain(*terms) and not any(re.search(r"[()]|\b\d", term) for term in terms)
    if not plain or len(call.args) != len(terms) or call.kwargs:
        return interpreter.fresh("contracted")
    pattern = Const(f"{terms_text}->{result_text}")
    return primitives.operate(interpreter, "einops.einsum", [*call.args[1:], pattern], call)


@model("einx.softmax")
def softmax(interpreter: Interpreter, call: Call) -> Value:
    """``einx.softmax("a [b]", x)``."""
    return _along(interpreter, "softmax", call)


@model("einx.log_softmax")
def log_softmax(interpreter: Interpreter, call: Call) -> Value:
    """``einx.log_softmax("a [b]", x)``."""
    return _along(interpreter, "log_softmax", call)


def _along(interpreter: Interpreter, operator: str, call: Call) -> Value:
    """An operator along the one dim in brackets."""
    text = _pattern(call) or ""
    dims = re.findall(r"\[? ?\w+ ?\]?", " ".join(text.split()))
    chosen = [index for index, dim in enumerate(dims) if "[" in dim]
    plain = _is_plain(_BRACKETS.sub(r"\1", text)) and "(" not in text
    if not plain or len(chosen) != 1 or len(call.args) != 2 or call.kwargs:
        return interpreter.fresh("normalised")
    args = [call.args[1], Const(chosen[0])]
    return primitives.operate(interpreter, operator, args, call)
