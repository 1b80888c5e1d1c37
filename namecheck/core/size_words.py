"""The words that the code has for the sizes of dims, where two dims meet that are to be one.

Two observed axes of different tensors may be one dim under two words. They are taken to be two
where the words of their tensors say so.
"""

from __future__ import annotations

from typing import Final

from namecheck.core import names as naming
from namecheck.core.dims import Dim, Dims, observed
from namecheck.core.sizes import Expression, same, symbol, symbols


def are_swapped(a: Dim, b: Dim, of_a: Dims, of_b: Dims) -> bool:
    """Whether two dims differ, and their tensors have each other's size at another place.

    `of_a` and `of_b` are their tensors. Where one of the sizes is that of an observed axis and the
    other one that of a number, it is enough that one of the tensors has both, if neither is a
    matrix: that of a layer may be a square. Two observed axes of different tensors may be one dim
    under two words, unless one is the rest of a view and has none, or one of the tensors has both
    words: ``q @ k`` of ``b h n d`` twice. Only sizes that the code itself names are compared so.
    """
    if not isinstance(a.size, Expression) or not isinstance(b.size, Expression):
        return False
    if same(a.size, b.size) is not None:
        return False
    turned = a.size in of_b.sizes, b.size in of_a.sizes
    one, other = observed(a.size), observed(b.size)
    has_rest = any(naming.bare(word) == "_" for word in one ^ other)
    if bool(one) is not bool(other) or has_rest:
        return any(turned) and min(of_a.min_rank, of_b.min_rank) > 2
    if one and other:
        crossed = are_turned(a, b, of_a, of_b) or _are_crossed(a, b, of_a, of_b)
        return crossed and min(of_a.min_rank, of_b.min_rank) > 2
    words = symbols(a.size) | symbols(b.size)
    return all(turned) and all(map(naming.is_number, words))


# Letters for the two sides of pairs, which are often of one size.
_PAIRS: Final = (frozenset("ijk"), frozenset("xy"), frozenset("hw"))


def are_turned(a: Dim, b: Dim, of_a: Dims, of_b: Dims) -> bool:
    """Whether both tensors have the words of both dims, which are two words."""
    one, other = _word_of_size(a), _word_of_size(b)
    if one is None or other is None or _may_be_equal(one, other):
        return False
    return other in map(_word_of_size, of_a.known) and one in map(_word_of_size, of_b.known)


def _are_crossed(a: Dim, b: Dim, of_a: Dims, of_b: Dims) -> bool:
    """Whether two dims have two words, and one tensor has both, given at the same time.

    A word that it has from another tensor may well be a second word for the same dim.
    """
    one, other = _word_of_size(a), _word_of_size(b)
    if one is None or other is None or _may_be_equal(one, other):
        return False
    return _has_sibling(a, other, of_a) or _has_sibling(b, one, of_b)


def _may_be_equal(one_word: str, other_word: str) -> bool:
    """Whether two words are one, or letters for the two sides of a pair."""
    return one_word == other_word or any({one_word, other_word} <= pair for pair in _PAIRS)


def _has_sibling(dim: Dim, word: str, dims: Dims) -> bool:
    """Whether another dim of a tensor has a word that was given at once with that of a dim."""
    own = _symbol_of_size(dim)
    symbols_there = map(_symbol_of_size, dims.known)
    return own is not None and any(
        other is not None and naming.bare(other) == word and naming.are_siblings(own, other)
        for other in symbols_there
    )


def has_words(dim: Dim) -> bool:
    """Whether a dim is a whole observed axis, or merged of such, with words of its own: ``h*w``."""
    if not isinstance(dim.size, Expression) or len(dim.size.terms) != 1:
        return False
    [(monomial, number)] = dim.size.terms
    return number == 1 and all(
        isinstance(atom, str)
        and naming.is_observed(atom)
        and not naming.is_inline(atom)
        and naming.bare(atom) != "_"
        for atom in monomial
    )


def _word_of_size(dim: Dim) -> str | None:
    """The variable or letter whose size a dim has, as a whole."""
    name = _symbol_of_size(dim)
    return None if name is None else naming.bare(name)


def _symbol_of_size(dim: Dim) -> str | None:
    """The observed axis with a word of its own whose size a dim has, as a whole."""
    for name in observed(dim.size):
        if dim.size == symbol(name) and not naming.is_inline(name):
            return name
    return None
