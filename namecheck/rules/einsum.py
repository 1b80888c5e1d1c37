"""``einsum``: every letter of the equation stands for one dimension in all operands."""

from __future__ import annotations

import string
from collections.abc import Iterator, Sequence
from functools import reduce
from itertools import combinations
from typing import Any, Final

from namecheck.core import names as naming
from namecheck.core.dataclasses import dataclass, field, replace
from namecheck.core.dims import (
    OPEN,
    SCALAR,
    Dim,
    Dims,
    agree,
    are_apart,
    clash,
    of_rank,
)
from namecheck.core.names import UNKNOWN, Answer, Axis, Contradiction, Unknown
from namecheck.core.sizes import Expression
from namecheck.core.tensors import Many, Tensor
from namecheck.rules import dim_map
from namecheck.rules.arguments import Tensors
from namecheck.rules.broadcasting import are_swapped, are_turned, broadcast, diagonal_dim, unify_dim
from namecheck.rules.refusals import refuse_named
from namecheck.rules.registry import rule

Subscripts = tuple[str, ...]


@rule(memory="unknown")
def einsum(
    equation: str | Unknown = UNKNOWN,
    tensors: Tensors = (),
    leading: Tensor | None = None,
    sublist: Any = UNKNOWN,
    sublists: Sequence[Any] = (),
) -> Dims:
    """The dims of the output's letters (torch.einsum).

    A letter of the output has one name in all operands. As in every contraction, labels that are
    summed over are not compared, but axes are. Instead of the equation each operand may be followed
    by its letters as numbers; `sublists` are those after the first operand, and the output's.
    """
    if leading is not None:
        equation, tensors = _interleaved(leading, sublist, *sublists)
    if not isinstance(equation, str):
        return OPEN
    terms, output = _read(equation)
    if isinstance(tensors, (Many, Unknown)):
        return OPEN
    return contracted(terms, output, list(tensors))


def contracted(terms: Sequence[Subscripts], output: Subscripts, tensors: list[Tensor]) -> Dims:
    """The dims of the output's letters, from the letters of every operand."""
    _check_count(terms, tensors)
    letters = _Letters(set(output))
    for index, (term, tensor) in enumerate(zip(terms, tensors, strict=True)):
        letters.bind(term, tensor.dims, index)
    result = letters.dims_of(output)
    naming.check_distinct(result.names)
    return result


@rule
def einsum_natively(
    equation: str | Unknown = UNKNOWN,
    tensors: Tensors = (),
    leading: Tensor | None = None,
    sublist: Any = UNKNOWN,
    sublists: Sequence[Any] = (),
) -> Unknown | Dims:
    """As `einsum`; torch 2.12 permutes every operand to all letters (recorded: einsum).

    It does so after it has taken diagonals, and that of a matrix has no names.
    """
    if leading is not None:
        equation, tensors = _interleaved(leading, sublist, *sublists)
    if isinstance(equation, str) and isinstance(tensors, (tuple, list)):
        inputs = equation.replace(" ", "").partition("->")[0].split(",")
        letters = set("".join(inputs)) - {"."}
        if len(inputs) == len(tensors):
            tensors = list(map(_after_diagonal, inputs, tensors))
        for subscripts, tensor in zip(inputs, tensors, strict=False):
            refuse_named("unsqueeze" if set(subscripts) < letters else "permute", [tensor])
    return einsum(equation, tensors)


def _after_diagonal(subscripts: str, tensor: Tensor) -> Tensor:
    """The operand, without names if it is a matrix of which the diagonal is taken."""
    letters = subscripts.replace("...", "")
    if len(letters) != 2 or letters[0] != letters[1] or tensor.dims.rank != 2:
        return tensor
    return replace(tensor, dims=tensor.dims.rename([None, None]))


def _interleaved(*operands_and_sublists: Any) -> tuple[str | Unknown, Tensors]:
    """The equation of operands that are each followed by their letters, perhaps the output's last.

    It is unknown where an argument is.
    """
    tensors = operands_and_sublists[:-1:2]
    sublists = operands_and_sublists[1::2]
    if has_output := len(operands_and_sublists) % 2 == 1:
        sublists = (*sublists, operands_and_sublists[-1])
    terms = list(map(_lettered, sublists))
    if not all(isinstance(tensor, (Tensor, Unknown)) for tensor in tensors):
        raise _malformed("each operand must be a tensor, followed by its subscripts list")
    if not all(isinstance(term, str) for term in terms) or UNKNOWN in tensors:
        return UNKNOWN, UNKNOWN
    output = f"->{terms.pop()}" if has_output else ""
    return ",".join(map(str, terms)) + output, list(tensors)


def _lettered(sublist: Any) -> str | Unknown:
    """The letters of a list of numbers."""
    if not isinstance(sublist, (list, tuple)):
        if not isinstance(sublist, Unknown):
            raise _malformed("each operand must be followed by its subscripts list")
        return UNKNOWN
    letters = []
    for number in sublist:
        if number is ...:
            letters.append("...")
        elif isinstance(number, (Unknown, Expression)):
            return UNKNOWN
        elif isinstance(number, int) and 0 <= number < len(_LETTERS):
            letters.append(_LETTERS[number])
        else:
            raise Contradiction(
                "NC114",
                "einsum(): subscript in subscript list is not within the valid range [0, 52)",
                error="ValueError",
                help="Each number stands for a letter.",
            )
    return "".join(letters)


_LETTERS: Final = string.ascii_uppercase + string.ascii_lowercase


def _read(equation: str) -> tuple[list[Subscripts], Subscripts]:
    """The subscripts of every operand and of the output, including ``...``."""
    inputs, arrow, output = equation.replace(" ", "").partition("->")
    terms = [tuple(_subscripts(term)) for term in inputs.split(",")]
    if arrow:
        return terms, _checked(tuple(_subscripts(output)), terms)
    every = [letter for term in terms for letter in term]
    once = sorted(letter for letter in set(every) if every.count(letter) == 1 and letter != "...")
    return terms, (("...",) if "..." in every else ()) + tuple(once)


def _subscripts(term: str) -> Iterator[str]:
    index = 0
    while index < len(term):
        letter = "..." if term.startswith("...", index) else term[index]
        if letter != "..." and not (letter.isascii() and letter.isalpha()):
            raise _malformed(
                f"invalid subscript given at index {index} in the equation string, subscripts must "
                "be in [a-zA-Z]"
            )
        yield letter
        index += len(letter)


def _checked(output: Subscripts, terms: Sequence[Subscripts]) -> Subscripts:
    for letter in output:
        if output.count(letter) > 1:
            raise _malformed(f"output subscript {letter} appears more than once in the output")
        if letter != "..." and not any(letter in term for term in terms):
            raise _malformed(
                f"output subscript {letter} does not appear in the equation for any input operand"
            )
    return output


def _malformed(reason: str) -> Contradiction:
    return Contradiction(
        "NC114",
        f"einsum(): {reason}",
        help="Every operand has its letters, separated by commas, and the output those after '->'.",
    )


def _check_count(terms: Sequence[Subscripts], tensors: list[Tensor]) -> None:
    if len(terms) != len(tensors):
        relation = "fewer" if len(tensors) < len(terms) else "more"
        raise _malformed(f"{relation} operands were provided than specified in the equation")


def diagonals(equation: str, lowered_operands: Sequence[Any]) -> list[tuple[Dim, Dim]]:
    """The dims of which one operand is the diagonal: those of a letter that it has twice."""
    pairs = []
    try:
        terms, _ = _read(equation)
        for term, tensor in zip(terms, lowered_operands, strict=False):
            if len(set(term)) < len(term) and isinstance(tensor, Tensor):
                _check_rank(term, tensor.dims, 0)
                lettered = list(_with_dims(term, tensor.dims))
                pairs += [(a, b) for (i, a), (j, b) in combinations(lettered, 2) if i == j]
    except Contradiction:
        return []
    return pairs


def _with_dims(term: Subscripts, dims: Dims) -> Iterator[tuple[str, Dim]]:
    """The letters of an operand of the right rank, each with its dim."""
    front, back = _around_ellipsis(term)
    if "..." in term:
        first, last = dim_map.first(dims, len(front)), dim_map.last(dims, len(back))
    else:
        closed = of_rank(dims, len(term))
        assert closed is not None, "the rank has been checked"
        first, last = closed, SCALAR
    return zip((*front, *back), (*first.prefix, *last.prefix), strict=True)


@dataclass
class _Letters:
    """The dims that the letters are bound to so far; `kept` are the letters of the output.

    `operands` has the dims of the operand that bound each letter last.
    """

    kept: set[str]
    dims: dict[str, Dim] = field(default_factory=dict)
    operands: dict[str, Dims] = field(default_factory=dict)
    batches: list[Dims] = field(default_factory=list)

    def bind(self, term: Subscripts, dims: Dims, index: int) -> None:
        """Bind the letters of one operand."""
        _check_rank(term, dims, index)
        if "..." in term:
            front, back = _around_ellipsis(term)
            self.batches.append(
                dim_map.without_left(dim_map.without_right(dims, len(back)), len(front))
            )
        letter_dims: dict[str, Dim] = {}
        for letter, dim in _with_dims(term, dims):
            if letter in letter_dims:
                _check_diagonal(letter, letter_dims[letter], dim, index)
                dim = diagonal_dim(letter_dims[letter], dim)
            letter_dims[letter] = dim
        for letter, dim in letter_dims.items():
            self._meet(letter, dim, dims, index)
            self.operands[letter] = dims

    def _meet(self, letter: str, dim: Dim, operand: Dims, index: int) -> None:
        old = self.dims.get(letter)
        if old is None:
            self.dims[letter] = dim
            return
        if clash(old, dim):
            if letter not in self.kept and isinstance(dim.name, str):
                return
            raise _two_names(letter, old, dim, index)
        differ = are_turned if letter in self.kept else are_swapped
        if are_apart(old.size, dim.size) or differ(old, dim, self.operands[letter], operand):
            raise _two_sizes(letter, old, dim, index)
        if 1 not in (old.size, dim.size) and agree(old.size, dim.size) is Answer.NO:
            raise Contradiction(
                "NC202",
                f"einsum(): subscript {letter} has size {dim.size} for operand {index} which does "
                f"not broadcast with previously seen size {old.size}",
                help="A letter has one size.",
            )
        self.dims[letter] = unify_dim(old, dim)

    def dims_of(self, output: Subscripts) -> Dims:
        """The dims of the output."""
        front, back = _around_ellipsis(output)
        batch = reduce(broadcast, self.batches, Dims()) if "..." in output else SCALAR
        return dim_map.joined(
            Dims(tuple(self.dims[letter] for letter in front)),
            batch,
            Dims(tuple(self.dims[letter] for letter in back)),
        )


def _around_ellipsis(term: Subscripts) -> tuple[Subscripts, Subscripts]:
    if "..." not in term:
        return term, ()
    place = term.index("...")
    return term[:place], term[place + 1 :]


def _check_rank(term: Subscripts, dims: Dims, index: int) -> None:
    count = len(term) - ("..." in term)
    if "..." not in term and of_rank(dims, count) is None:
        raise Contradiction(
            "NC207",
            f"einsum(): the number of subscripts in the equation ({count}) does not match the "
            f"number of dimensions ({dim_map.show_rank(dims)}) for operand {index} and no "
            "ellipsis was given",
            help=f"The dims of the operand are {dims.show()}.",
        )
    if dims.rank is not None and count > dims.rank:
        raise Contradiction(
            "NC207",
            f"einsum(): the number of subscripts in the equation ({count}) is more than the "
            f"number of dimensions ({dims.rank}) for operand {index}",
            help=f"The dims of the operand are {dims.show()}.",
        )


def _two_names(letter: str, a: Dim, b: Dim, index: int) -> Contradiction:
    return Contradiction(
        "NC101",
        f"einsum(): subscript {letter} stands for dim {naming.show_name(a.name)} and, in operand "
        f"{index}, for dim {naming.show_name(b.name)}.",
        names=naming.words((a.name, b.name)),
        help="Give each dimension a letter of its own, the same in all operands.",
    )


def _two_sizes(letter: str, a: Dim, b: Dim, index: int) -> Contradiction:
    return Contradiction(
        "NC101",
        f"einsum(): subscript {letter} stands for a dim of size {a.size} and, in operand {index}, "
        f"for one of size {b.size}: it is right only if {a.size} = {b.size}.",
        names=naming.words((a.name, b.name)),
        help="Write the letters of each operand in the order of its dims.",
    )


def _check_diagonal(letter: str, a: Dim, b: Dim, index: int) -> None:
    if isinstance(a.name, Axis) and clash(a, b):
        raise _two_names(letter, a, b, index)
    if agree(a.size, b.size) is Answer.NO:
        raise Contradiction(
            "NC202",
            f"einsum(): subscript {letter} is repeated for operand {index} but the sizes don't "
            f"match, {b.size} != {a.size}",
            help="A letter has one size.",
        )
