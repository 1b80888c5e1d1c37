"""Broadcasting: unifies two dims in one position, and two lists of dims aligned from the right.

Labels follow native torch; axes, which come from annotations, follow the laws of docs/semantics.md,
"Two kinds of name"; a label and an axis are compared as strings. A part of an axis, such as a slice
of unknown size, need not differ from another axis: no contradiction is raised there.
"""

from __future__ import annotations

from typing import Final

from namecheck.core import names as naming
from namecheck.core.dims import (
    ANY_DIM,
    SCALAR,
    Dim,
    Dims,
    Size,
    agree,
    are_apart,
    clash,
    is_whole,
    observed,
)
from namecheck.core.names import UNKNOWN, Answer, Axis, Contradiction, Name, Unknown
from namecheck.core.sizes import Atom, Expression, Quotient, same, symbol, symbols


def unify_dim(a: Dim | None, b: Dim | None) -> Dim:
    """The dim that two dims broadcast to; None is a missing dim."""
    if a is None or b is None:
        return a or b or ANY_DIM
    return Dim(_unified_name(a, b), _unified_size(a, b), a.purposeful and b.purposeful)


def _unified_name(a: Dim, b: Dim) -> Name:
    one, two = a.name, b.name
    if not isinstance(one, Axis) and not isinstance(two, Axis):
        return naming.unify(one, two)
    if one is None or two is None:
        return one or two
    if one is UNKNOWN or two is UNKNOWN:
        certain = b if one is UNKNOWN else a
        return naming.either(certain.name) if is_whole(certain) else UNKNOWN
    if naming.match(one, two) is not Answer.NO:
        return naming.unify(one, two)
    return _of_different_axes(a, b)


def _of_different_axes(a: Dim, b: Dim) -> Name:
    """The name of the axis that is not expanded; unknown where that is uncertain."""
    for one, other in ((a, b), (b, a)):
        if is_whole(one) or (other.size == 1 and one.size not in (1, UNKNOWN)):
            return one.name
    return None if a.size == b.size == 1 else UNKNOWN


def _unified_size(a: Dim, b: Dim) -> Size:
    if a.size == 1:
        return b.size
    if b.size == 1 or a.size == b.size or b.size is UNKNOWN:
        return a.size
    if a.size is UNKNOWN or (isinstance(a.size, int) and isinstance(b.size, int)):
        return b.size
    return min(a, b, key=_vaguely_sized).size


def _vaguely_sized(dim: Dim) -> tuple[bool, bool, bool, str]:
    """The preference between two sizes that may be equal: the size of an axis first."""
    size = str(dim.size)
    return not is_whole(dim), isinstance(dim.size, int), naming.is_wordless(size), size


def broadcast(left: Dims, right: Dims, action: str = "broadcast") -> Dims:
    """Unify two lists of dims position by position from the right.

    Raises NC101 where two names at one position differ, NC102 where one name has two positions,
    NC201 where two sizes cannot be broadcast.
    """
    result = unify(left, right, action)
    reach = _reach(left, right)
    for offset in range(1, reach + 1):
        _check_size(left, right, offset, reach)
    return result


def unify(left: Dims, right: Dims, action: str = "broadcast") -> Dims:
    """Unify as `broadcast` does, by names alone, whatever the sizes."""
    reach = _reach(left, right)
    unified: list[Dim] = []
    for offset in range(1, reach + 1):
        a, b = left.from_right(offset), right.from_right(offset)
        _check_position(a, b, left, right, action)
        unified.append(unify_dim(a, b))
    result = tuple(reversed(unified))
    if left.open or right.open:
        return Dims(_outer_prefix(left, right), result, True)
    return Dims(result)


def _reach(left: Dims, right: Dims) -> int:
    if left.open or right.open:
        return max(_right_part(left), _right_part(right))
    return max(left.min_rank, right.min_rank)


def _right_part(dims: Dims) -> int:
    return len(dims.suffix if dims.open else dims.prefix)


def _outer_prefix(left: Dims, right: Dims) -> tuple[Dim, ...]:
    """The prefix that survives: the part of an open list left of all dims of the other."""
    for one, other in ((left, right), (right, left)):
        if one.open and not other.open and len(other.prefix) <= len(one.suffix):
            return one.prefix
    return ()


def _check_position(a: Dim | None, b: Dim | None, left: Dims, right: Dims, action: str) -> None:
    if a is not None and b is not None and clash(a, b, left, right):
        if _are_mirrored(a, b, left, right):
            return
        raise Contradiction(
            "NC101",
            f"Error when attempting to {action} dims {left.show()} and dims {right.show()}: dim "
            f"{naming.show_name(a.name)} and dim {naming.show_name(b.name)} are at the same "
            "position from the right but do not match.",
            names=naming.words((a.name, b.name)),
            help=_alignment_help(left, right),
        )
    _check_misaligned(a, b, left, right, action)
    _check_misaligned(b, a, right, left, action)


def _are_mirrored(a: Dim, b: Dim, left: Dims, right: Dims) -> bool:
    """Whether two axes meet both ways round, as in ``x + x.transpose(-2, -1)``: one size, if right.

    Two that the code has read of one tensor may be the sides of a square.
    """
    if not isinstance(a.name, Axis) or not naming.is_observed(a.name.name) or a.size == b.size:
        return False  # the factors of one merged dim may be in two orders: ``h*w`` and ``w*h``
    return _may_be_sides(a, b, left, right)


def _may_be_sides(a: Dim, b: Dim, left: Dims, right: Dims) -> bool:
    """Whether two sizes meet both ways round, and are neither a batch nor merged of two dims."""
    words = [d.name for d in (a, b) if isinstance(d.name, Axis)]
    if any(len(word.factors) > 1 or naming.is_batch(word.name) for word in words):
        return False
    for offset in range(1, _reach(left, right) + 1):
        one, other = left.from_right(offset), right.from_right(offset)
        if one is not None and other is not None and (one.size, other.size) == (b.size, a.size):
            return a.size is not UNKNOWN and b.size is not UNKNOWN
    return False


def _are_of_square(a: Dim, b: Dim, left: Dims, right: Dims) -> bool:
    """Whether two sizes are the sides of a square, or a tensor with one of them twice is one.

    Where the other tensor has that size, it stands opposite it: ``[b, n, _]`` and ``[b, n, n]``.
    """
    pairs = (a, left, right), (b, right, left)
    twice = any(
        own.sizes.count(d.size) > 1 and _faces_itself(d.size, own, others)
        for d, own, others in pairs
    )
    return twice or _may_be_sides(a, b, left, right)


def _faces_itself(length: Size, dims: Dims, others: Dims) -> bool:
    """Whether each dim of such a size in other dims stands opposite one of that size."""
    offsets = range(1, _right_part(others) + 1)
    met = [n for n in offsets if (there := others.from_right(n)) and there.size == length]
    facing = [dims.from_right(n) for n in met]
    return bool(met) and all(own is not None and own.size == length for own in facing)


def _check_misaligned(
    lone: Dim | None, dim: Dim | None, others: Dims, dims: Dims, action: str
) -> None:
    """Refuse a named dim opposite an unnamed one if the other tensor has the name elsewhere."""
    name = None if dim is None else dim.name
    if dim is not None and isinstance(name, Axis):
        misaligned = lone is not None and is_misplaced(lone, dim, name, others, dims)
    else:
        unnamed = lone is None or lone.name is None
        misaligned = unnamed and isinstance(name, str) and others.has(name) is Answer.YES
    if misaligned:
        word = str(naming.word(name))
        raise Contradiction(
            "NC102",
            f"Misaligned dims when attempting to {action} dims {dims.show()} and dims "
            f"{others.show()}: dim '{word}' appears in a different position from the right across "
            "both lists.",
            names=[word],
            help=_alignment_help(dims, others),
        )


def is_misplaced(lone: Dim, dim: Dim, axis: Axis, others: Dims, dims: Dims) -> bool:
    """Whether `lone`, opposite `dim` of `dims`, is misaligned: `others` has its axis elsewhere.

    A deliberate size of 1 is there to be expanded. Where the axis in `others` is opposite a dim of
    size 1, both may be expanded. Neither is misaligned, and neither is a dim of an axis that has
    another size in `others`, as after ``x.repeat(2, 1)``. A dim of which nothing is known is
    misaligned where `others` begins with all of `dims`.
    """
    nameless = lone.name is None or (isinstance(lone.name, Axis) and lone.size == 1)
    if lone.size is UNKNOWN and not isinstance(lone.name, Axis):
        return _begins_with(others, dims)
    if not nameless or lone.purposeful or lone.size is UNKNOWN:
        return False
    for offset in range(1, _right_part(others) + 1):
        there = others.from_right(offset)
        if there is None or agree(there.size, dim.size) is Answer.NO:
            continue
        if isinstance(there.name, Axis) and there.name.name == axis.name:
            facing = dims.from_right(offset)
            is_number = isinstance(lone.size, int) and lone.size == there.size
            if is_number and naming.is_observed(axis.name):
                return False  # the sides of a square, of which the code has a word for one
            if isinstance(lone.size, Expression) and facing == lone:
                return False  # the sides of a square, of which one is a part of a size: ``c//side``
            if facing is None or (facing.name is None and facing.size not in (1, UNKNOWN)):
                return True
    return False


def _begins_with(larger_dims: Dims, dims: Dims) -> bool:
    """Whether a tensor has all dims of another one first, which are axes, and further ones."""
    if larger_dims.open or dims.open or not 2 <= len(dims.prefix) < len(larger_dims.prefix):
        return False
    pairs = zip(dims.prefix, larger_dims.prefix, strict=False)
    return all(isinstance(one.name, Axis) and one == other for one, other in pairs)


def _alignment_help(left: Dims, right: Dims) -> str:
    """The help for two layouts that do not fit."""
    if any(isinstance(name, Axis) for name in (*left.names, *right.names)):
        return "Transpose one of the operands, or put a dim of size 1 where it has none."
    for one, other in ((right, left), (left, right)):
        words = [naming.word(name) for name in one.names]
        if (
            one.complete
            and None not in words
            and all(other.has(str(w)) is Answer.YES for w in words)
        ):
            return f"To broadcast by name, align {one.show()} to the other tensor with `align_as`."
    return (
        "Align the operands with `align_to` or `align_as`, or `rename` a dim if both mean the same."
    )


def _check_size(left: Dims, right: Dims, offset: int, rank: int) -> None:
    a, b = left.from_right(offset), right.from_right(offset)
    if a is None or b is None or 1 in (a.size, b.size):
        return
    differ = agree(a.size, b.size) is Answer.NO
    crossed = are_swapped(a, b, left, right) and not _are_of_square(a, b, left, right)
    apart = crossed or are_apart(a.size, b.size)
    if not (differ or apart) or _are_mirrored(a, b, left, right):
        return
    if differ:
        raise Contradiction(
            "NC201",
            f"The size of tensor a ({a.size}) must match the size of tensor b ({b.size}) "
            f"at non-singleton dimension {rank - offset}",
            help="Only dims of equal size, or of size 1, can be broadcast together.",
        )
    raise Contradiction(
        "NC101",
        f"A dim of size {a.size} is broadcast with a dim of size {b.size}, at dimension "
        f"{rank - offset}: it is right only if {a.size} = {b.size}.",
        names=naming.words((a.name, b.name)),
        help="Transpose one of the operands, or put a dim of size 1 where it has none.",
    )


def check_one(
    call: str,
    what: str,
    a: Dim | None,
    b: Dim | None,
    *,
    by_label: bool = True,
    of_a: Dims = SCALAR,
    of_b: Dims = SCALAR,
) -> None:
    """Refuse two dims that `call` requires to be one dim: their names or sizes differ.

    Unless `by_label`, as in a contraction, only axes are compared. `of_a` and `of_b` are their
    tensors, whose other dims could have been meant instead.
    """
    if a is None or b is None:
        return
    axes = isinstance(a.name, Axis) and isinstance(b.name, Axis)
    if (by_label or axes) and clash(a, b, of_a, of_b):
        raise Contradiction(
            "NC101",
            f"{call}: {what} must be the same dimension, but they are "
            f"{naming.show_name(a.name)} and {naming.show_name(b.name)}.",
            names=naming.words((a.name, b.name)),
            help="Transpose one of the tensors, or give another one.",
        )
    if agree(a.size, b.size) is Answer.NO:
        raise Contradiction(
            "NC202",
            f"{call}: {what} must have the same size, but have sizes {a.size} and {b.size}.",
            names=naming.words((a.name, b.name)),
            help="The sizes must be equal.",
        )
    if are_apart(a.size, b.size) or are_swapped(a, b, of_a, of_b):
        raise Contradiction(
            "NC101",
            f"{call}: {what} have the sizes {a.size} and {b.size}: it is right only if {a.size} = "
            f"{b.size}.",
            names=naming.words((a.name, b.name)),
            help="Transpose one of the tensors, or give another one.",
        )


def check_place(call: str, what: str, own: Dim | None, wanted: Size, of: Dims) -> None:
    """Refuse a dim of the code that a layer takes, where another dim has the size that it wants.

    `of` is the tensor of the dim.
    """
    if own is not None and _stands_elsewhere(own, wanted, of):
        size = naming.show_name(own.name) if isinstance(own.size, Unknown) else own.size
        raise Contradiction(
            "NC101",
            f"{call}: {what} have the sizes {size} and {wanted}, which is that of another dim: it "
            f"is right only if {size} = {wanted}.",
            names=naming.words([own.name]),
            help="Move the dim that the layer takes to its place.",
        )


def _stands_elsewhere(own: Dim, wanted: Size, of: Dims) -> bool:
    """Whether a dim is named by the code, and another one of its tensor has a layer's size.

    In a tensor of three dims the two may well be equal by design: as many units as nodes of a
    graph. In a larger one, of images, they are not.
    """
    if not isinstance(wanted, Expression) or observed(wanted) or of.open:
        return False
    if len(of.prefix) < _LEAST_RANK or wanted not in of.sizes:
        return False
    if isinstance(own.size, Expression):
        return bool(observed(own.size)) and same(own.size, wanted) is None
    is_axis = isinstance(own.name, Axis) and naming.is_observed(own.name.name)
    return own.size is UNKNOWN and is_axis


_LEAST_RANK: Final = 4


def diagonal_dim(row_dim: Dim, column_dim: Dim, offset: int | Unknown = 0) -> Dim:
    """The diagonal of a square: the axis that both sides are; else an unnamed dim."""
    names, size = (
        (row_dim.name, column_dim.name),
        _diagonal_size(row_dim.size, column_dim.size, offset),
    )
    if any(name is None or isinstance(name, str) for name in names):
        return Dim(None, size)
    if UNKNOWN in names:
        return Dim(UNKNOWN, size)
    same = naming.match(*names) is Answer.YES
    return Dim(naming.join(*names) if same else None, size)


def _diagonal_size(height: Size, width: Size, offset: int | Unknown) -> Size:
    if height == width and offset == 0:
        return height
    if not isinstance(height, int) or not isinstance(width, int) or isinstance(offset, Unknown):
        return UNKNOWN
    if offset >= 0:
        return max(min(height, width - offset), 0)
    return max(min(height + offset, width), 0)


# The words that the code has for the sizes of dims


def are_swapped(a: Dim, b: Dim, of_a: Dims, of_b: Dims) -> bool:
    """Whether two dims differ, and their tensors have each other's size at another place.

    `of_a` and `of_b` are their tensors. A letter is one size, as the author calls it so. Where one
    of the sizes is that of an observed axis and the other one that of a number, it is enough that
    one of the tensors has both, if neither is a matrix: that of a layer may be a square. Two
    observed axes of different tensors may be one dim under two words, unless one is the rest of a
    view and has none, or one of the tensors has both words: ``q @ k`` of ``b h n d`` twice. Only
    sizes that the code itself names are compared so.
    """
    if not isinstance(a.size, Expression) or not isinstance(b.size, Expression):
        return False
    if same(a.size, b.size) is not None:
        return False
    turned = _stands_in(a, of_b), _stands_in(b, of_a)
    one, other = observed(a.size), observed(b.size)
    has_rest = any(naming.bare(word) == "_" for word in one ^ other)
    if bool(one) is not bool(other) or has_rest:
        return any(turned) and min(of_a.min_rank, of_b.min_rank) > 2
    if one and other:
        crossed = are_turned(a, b, of_a, of_b) or _are_crossed(a, b, of_a, of_b)
        return crossed and min(of_a.min_rank, of_b.min_rank) > 2
    words = symbols(a.size) | symbols(b.size)
    return all(turned) and all(map(naming.is_number, words))


def _stands_in(dim: Dim, dims: Dims) -> bool:
    """Whether a tensor has the size of a dim, or its word where a letter of a pattern is one."""
    if dim.size in dims.sizes:
        return True
    own = _symbol_of_size(dim)
    return own is not None and any(
        there is not None
        and naming.bare(there) == naming.bare(own)
        and (naming.is_letter(there) or naming.is_letter(own))
        for there in map(_symbol_of_size, dims.known)
    )


# Letters for the two sides of pairs, which are often of one size.
_PAIRS: Final = (naming.OF_PAIRS, frozenset("xy"), frozenset("hw"))


def are_turned(a: Dim, b: Dim, of_a: Dims, of_b: Dims) -> bool:
    """Whether both tensors have the words of both dims, which are two words."""
    words = _different_words(a, b)
    if words is None:
        return False
    one, other = words
    return other in map(_word_of_size, of_a.known) and one in map(_word_of_size, of_b.known)


def _are_crossed(a: Dim, b: Dim, of_a: Dims, of_b: Dims) -> bool:
    """Whether two dims have two words, and one tensor has both, given at the same time.

    A word that it has from another tensor may well be a second word for the same dim.
    """
    words = _different_words(a, b)
    if words is None:
        return False
    one, other = words
    return _has_sibling(a, other, of_a) or _has_sibling(b, one, of_b)


def _different_words(a: Dim, b: Dim) -> tuple[str, str] | None:
    """The words of two dims; None where one has none, or where they may be one dimension."""
    one, other = _word_of_size(a), _word_of_size(b)
    if one is None or other is None or _may_be_equal(one, other):
        return None
    return one, other


def _may_be_equal(one_word: str, other_word: str) -> bool:
    """Whether two words are one, or letters for the two sides of a pair.

    One letter with two indices, ``r_p`` and ``r_k``, is a number of one kind: such ranks of a chain
    of matrices meet where it is multiplied.
    """
    if one_word[1:2] == "_" and one_word[:2] == other_word[:2]:
        return True
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
    """Whether a dim is a whole observed axis, or merged of such, with words of its own: ``h*w``.

    So is a part of one, or several of them: ``h//size*w//size``.
    """
    if not isinstance(dim.size, Expression) or len(dim.size.terms) != 1:
        return False
    [(monomial, number)] = dim.size.terms
    return number == 1 and all(map(_has_word, monomial))


def _has_word(atom: Atom) -> bool:
    if isinstance(atom, Quotient):
        return any(map(_is_word, symbols(atom.numerator)))
    return _is_word(atom)


def _is_word(symbol_name: str) -> bool:
    """Whether a symbol is an observed axis that has a word."""
    if not naming.is_observed(symbol_name) or naming.is_inline(symbol_name):
        return False
    return naming.bare(symbol_name) != "_"


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
