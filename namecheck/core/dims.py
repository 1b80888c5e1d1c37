"""The dimensions of a tensor: each has a name and a size, and the middle of them may be unknown.

`Dims` is a list of dimensions of which the middle may be unknown: an unannotated tensor is open
and empty; ``refine_names('N', ..., 'C')`` of it has the prefix ``(N,)`` and the suffix ``(C,)``.

A position in it is a Python index: from the left (0, 1, …) into the prefix, from the right
(-1, -2, …) into the suffix; of a closed list always from the left.
"""

from __future__ import annotations

import enum
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import ClassVar, Final, TypeAlias

from namecheck.core import names as naming
from namecheck.core.dataclasses import dataclass, replace
from namecheck.core.names import UNKNOWN, Answer, Axis, Contradiction, Name, Unknown
from namecheck.core.sizes import Expression, Known, Quotient, computed, same, symbol, symbols

Size: TypeAlias = int | Expression | Unknown


@dataclass(frozen=True, slots=True)
class Dim:
    """One dimension: its name, its size, and whether a size of 1 was made on purpose.

    Purposeful are ``x[:, None]``, ``unsqueeze``, ``keepdim=True`` and ``view(1, …)``, also after
    they were expanded (docs/semantics.md, "Two kinds of name").
    """

    name: Name = UNKNOWN
    size: Size = UNKNOWN
    purposeful: bool = False


ANY_DIM: Final = Dim()


class Elsewhere(enum.Enum):
    """The place of a dimension whose position is unknown.

    MIDDLE: certainly in the open middle; ANYWHERE: in the middle or at a known position.
    """

    MIDDLE = "middle"
    ANYWHERE = "anywhere"


MIDDLE: Final = Elsewhere.MIDDLE
ANYWHERE: Final = Elsewhere.ANYWHERE
Position: TypeAlias = int | Elsewhere


@dataclass(frozen=True, slots=True)
class Dims:
    """The dimensions of a tensor; `open` where unknown dims may stand between prefix and suffix."""

    keeps_hash: ClassVar[bool] = True
    prefix: tuple[Dim, ...] = ()
    suffix: tuple[Dim, ...] = ()
    open: bool = False

    def __post_init__(self) -> None:
        assert self.open or not self.suffix, "a closed list keeps all its dims in the prefix"

    @staticmethod
    def of(*dim_names: Name, sizes: Sequence[Size] | None = None) -> Dims:
        """A closed list with these names and sizes."""
        if sizes is None:
            return Dims(tuple(Dim(name) for name in dim_names))
        return Dims(tuple(Dim(name, size) for name, size in zip(dim_names, sizes, strict=True)))

    @property
    def rank(self) -> int | None:
        """The number of dims, None where it is unknown."""
        return None if self.open else len(self.prefix)

    @property
    def min_rank(self) -> int:
        """The least possible number of dims."""
        return len(self.prefix) + len(self.suffix)

    @property
    def known(self) -> tuple[Dim, ...]:
        """All known dims, in order."""
        return self.prefix + self.suffix

    @property
    def names(self) -> tuple[Name, ...]:
        """The names of all known dims, in order."""
        return tuple([dim.name for dim in self.prefix + self.suffix])

    @property
    def sizes(self) -> tuple[Size, ...]:
        """The sizes of all known dims, in order."""
        return tuple([dim.size for dim in self.prefix + self.suffix])

    @property
    def complete(self) -> bool:
        """Whether the rank and all names are known."""
        return not self.open and not [dim for dim in self.prefix if dim.name is UNKNOWN]

    def named(self) -> Answer:
        """Whether any dim has a name."""
        if any(naming.word(dim.name) is not None for dim in self.known):
            return Answer.YES
        if self.open or any(dim.name is UNKNOWN for dim in self.known):
            return Answer.MAYBE
        return Answer.NO

    def has(self, name: str) -> Answer:
        """Whether a dim is called `name`."""
        if any(naming.word(dim.name) == name for dim in self.known):
            return Answer.YES
        if self.open or any(dim.name is UNKNOWN for dim in self.known):
            return Answer.MAYBE
        return Answer.NO

    def __getitem__(self, position: Position) -> Dim:
        """The dim at a position; a wholly unknown dim where the position is unknown."""
        if isinstance(position, Elsewhere):
            return ANY_DIM
        part = self.suffix if self.open and position < 0 else self.prefix
        inside = -len(part) <= position < len(part)
        return part[position] if inside else ANY_DIM

    def from_right(self, offset: int) -> Dim | None:
        """The dim `offset` steps (from 1) from the right; None beyond the rank of a closed list."""
        part = self.suffix if self.open else self.prefix
        if offset <= len(part):
            return part[-offset]
        return ANY_DIM if self.open else None

    def walk(self) -> Iterator[tuple[int, Dim]]:
        """Every known dim with its position."""
        yield from enumerate(self.prefix)
        yield from zip(range(-len(self.suffix), 0), self.suffix, strict=True)

    def rename(self, dim_names: Iterable[Name]) -> Dims:
        """The same dims with other names, one for every known dim."""
        fresh = tuple(
            replace(dim, name=name) for dim, name in zip(self.known, dim_names, strict=True)
        )
        cut = len(self.prefix)
        return Dims(fresh[:cut], fresh[cut:], self.open)

    def unnamed(self) -> Dims:
        """The same dims without names; an open middle stays unknown."""
        return self.rename([None] * self.min_rank)

    def without_labels(self) -> Dims:
        """The same dims with the names of annotations alone, which need no tensor that has them."""
        return self.rename([None if isinstance(name, str) else name for name in self.names])

    def sizeless(self) -> Dims:
        """The same dims with unknown sizes."""
        return self.mapped(lambda dim: Dim(dim.name))

    def replace(self, position: Position, dim: Dim) -> Dims:
        """The same dims with one replaced; for an unknown position all dims are weakened."""
        position = self._settled(position)
        if position is MIDDLE or not self.known:
            return self
        if position is ANYWHERE:
            return self.mapped(lambda old: join_dim(old, dim))
        prefix, suffix = list(self.prefix), list(self.suffix)
        (suffix if self.open and position < 0 else prefix)[position] = dim
        return Dims(tuple(prefix), tuple(suffix), self.open)

    def changed(self, position: Position, change: Callable[[Dim], Dim]) -> Dims:
        """The dims with a function applied to one; for an unknown position to each, perhaps."""
        position = self._settled(position)
        if isinstance(position, int):
            return self.replace(position, change(self[position])) if self.known else self
        if position is MIDDLE:
            return self
        return self.mapped(lambda dim: join_dim(dim, change(dim)))

    def without(self, position: Position) -> Dims:
        """The dims without the one at a position."""
        position = self._settled(position)
        if position is MIDDLE:
            return self
        if position is ANYWHERE:
            prefix = tuple(
                join_dim(a, b) for a, b in zip(self.prefix, self.prefix[1:], strict=False)
            )
            suffix = tuple(
                join_dim(a, b) for a, b in zip(self.suffix, self.suffix[1:], strict=False)
            )
            if not self.open:
                return Dims(prefix)
            return Dims(prefix, suffix, True)
        if not self.known:
            return self  # a 0-d tensor takes the index 0 or -1, and stays as it is
        prefix_list, suffix_list = list(self.prefix), list(self.suffix)
        del (suffix_list if self.open and position < 0 else prefix_list)[position]
        return Dims(tuple(prefix_list), tuple(suffix_list), self.open)

    def _settled(self, position: Position) -> Position:
        """A position at which an open list has no known dim is anywhere in it."""
        if isinstance(position, Elsewhere) or not self.open:
            return position
        part = self.suffix if position < 0 else self.prefix
        return position if -len(part) <= position < len(part) else ANYWHERE

    def mapped(self, change: Callable[[Dim], Dim]) -> Dims:
        """The dims with a function applied to each."""
        return Dims(
            tuple(change(dim) for dim in self.prefix),
            tuple(change(dim) for dim in self.suffix),
            self.open,
        )

    def show(self) -> str:
        """The names as torch prints them, an open middle as ``...``: ``['N', ..., 'C']``."""
        words = [naming.show_name(dim.name) for dim in self.prefix]
        if self.open:
            words.append("...")
        words += [naming.show_name(dim.name) for dim in self.suffix]
        return "[" + ", ".join(words) + "]"

    def brief(self) -> str:
        """The dims for a reader: ``N C=3 ... _``, where ``_`` has no name and ``?`` is unknown."""
        words = [_brief(dim) for dim in self.prefix]
        if self.open:
            words.append("...")
        words += [_brief(dim) for dim in self.suffix]
        return " ".join(words)


def _brief(dim: Dim) -> str:
    name = "_" if dim.name is None else "?" if dim.name is UNKNOWN else str(naming.word(dim.name))
    if isinstance(dim.name, Axis) and isinstance(dim.size, Expression):
        return name if dim.size == own_size(dim.name) else naming.bare(str(dim.size))
    return name if dim.size is UNKNOWN else naming.bare(f"{name}={dim.size}")


OPEN: Final = Dims(open=True)
SCALAR: Final = Dims()


def agree(size: Size, other_size: Size) -> Answer:
    """Whether two sizes are equal."""
    if isinstance(size, Unknown) or isinstance(other_size, Unknown):
        return Answer.MAYBE
    equal = same(size, other_size)
    if equal is None or (equal is False and _may_be_empty(size, other_size)):
        return Answer.MAYBE
    return Answer.YES if equal else Answer.NO


def _may_be_empty(size: Known, other_size: Known) -> bool:
    """Whether one size is 0, and only the code itself names the other one, which may be 0, too.

    Two lists that one loop fills have no item where it never ran.
    """
    if 0 not in (size, other_size):
        return False
    words = symbols(size) | symbols(other_size)
    return bool(words) and all(map(naming.is_undeclared, words))


def are_apart(size: Size, other_size: Size) -> bool:
    """Whether two sizes are those of different dims of one tensor, whose sizes were read together.

    They may be equal in a run, but nothing in the program says so (docs/evidence.md).
    """
    if not isinstance(size, Expression) or not isinstance(other_size, Expression):
        return False
    one, other = observed(size), observed(other_size)
    if naming.may_be_square(one | other) or _is_rest(size) or _is_rest(other_size):
        return False
    scopes = {naming.scopes(word) for word in one | other}
    return bool(one) and bool(other) and len(scopes) == 1 and one.isdisjoint(other)


def observed(size: Size) -> frozenset[str]:
    """The observed axes whose sizes a size is made of."""
    if not isinstance(size, Expression):
        return frozenset()
    return frozenset(word for word in symbols(size) if naming.is_observed(word))


def _is_rest(expression: Expression) -> bool:
    """Whether a size is what dims that the code reads leave of a number from elsewhere.

    As ``heads*window**4//(n*n)``: it is ``heads`` where ``n`` is ``window**2``, as it may well be.
    """
    atoms = [atom for monomial, _ in expression.terms for atom in monomial]
    numerators = [atom.numerator for atom in atoms if isinstance(atom, Quotient)]
    words = {atom for atom in atoms if isinstance(atom, str)}.union(*map(symbols, numerators))
    return bool(numerators) and not any(map(naming.is_observed, words))


def is_whole(dim: Dim) -> bool:
    """Whether a dim is an axis of its own size, up to a constant: ``seq-1``."""
    return _excess(dim) is not None


def _excess(dim: Dim) -> int | None:
    """The size of a dim minus that of its axis: -1 for ``seq-1``; None if unknown."""
    if not isinstance(dim.name, Axis) or isinstance(dim.size, Unknown):
        return None
    if isinstance(dim.size, int):
        return 0 if dim.size == dim.name.size != 1 else None
    own = own_size(dim.name)
    excess = UNKNOWN if isinstance(own, Unknown) else dim.size - own
    return excess if isinstance(excess, int) else None


def clash(a: Dim, b: Dim, of_a: Dims = SCALAR, of_b: Dims = SCALAR) -> bool:
    """Whether two dims certainly have different names, and no size explains it.

    A part of an axis need not differ from another axis: a slice of unknown extent, or ``edges``
    without the first, may well be called ``bins`` elsewhere. But it differs if this axis stands at
    another place of the other tensor (`of_a` has `a`, `of_b` has `b`).
    """
    if naming.match(a.name, b.name) is not Answer.NO:
        return False
    if not isinstance(a.name, Axis) or not isinstance(b.name, Axis):
        return True
    if naming.may_be_square((a.name.name, b.name.name)):
        return False
    one, other = _excess(a), _excess(b)
    if one is None or other is None:
        return are_apart(a.size, b.size)
    return one == other or a in of_b.known or b in of_a.known


@cache
def own_size(axis: Axis) -> Size:
    """The size of a whole axis: its symbol, for a merged axis the product; unknown for a sum."""
    plain = all(factor.isidentifier() for factor in axis.factors)
    return product(map(symbol, axis.factors)) if plain else UNKNOWN


def axis(name: str) -> Dim:
    """The whole dimension that an annotation calls `name`."""
    return Dim(Axis(name), symbol(name))


def new_dim(size: Size) -> Dim:
    """A new dimension of some size: the size of an axis gives it this axis, any other no name."""
    return Dim(named_by(size), size)


def named_by(size: Size) -> Name:
    """The axis that a size implies: ``t`` for ``t-1``, ``h*w`` in any order, ``s+t`` for a sum.

    A sum of products has none: the name of an axis is a product of its factors.
    """
    if not isinstance(size, Expression):
        return None
    words = symbols(size)
    terms = [(monomial, coefficient) for monomial, coefficient in size.terms if monomial]
    if any(not isinstance(atom, str) for monomial, _ in terms for atom in monomial):
        return Axis(min(words)) if len(words) == 1 else None
    if len(terms) > 1:
        text = str(Expression(tuple(terms)))
        return Axis(text) if len(words) > 1 and "*" not in text else None
    return naming.unordered([str(atom) for atom in terms[0][0]])


def merged(dims: Sequence[Dim]) -> Dim:
    """The dimension that several adjacent ones are merged into, the first of them outermost.

    Axes become an axis that lists its factors; with a label among them the result has no name.
    """
    labelled = any(isinstance(dim.name, str) for dim in dims)
    factors = [dim for dim in dims if dim.size != 1] or list(dims[:1])
    if len(factors) == 1 and not labelled:
        return factors[0]
    return Dim(None if labelled else _merged_name(factors), product(dim.size for dim in factors))


def _merged_name(dims: Sequence[Dim]) -> Name:
    """The merged axis of the dims, in their order; literal sizes between them do not count."""
    named = any(dim.name is not None for dim in dims)
    if named and any(dim.name is UNKNOWN or dim.size is UNKNOWN for dim in dims):
        return UNKNOWN
    axes = [dim.name for dim in dims if isinstance(dim.name, Axis)]
    if not axes or any(dim.name is None and isinstance(dim.size, Expression) for dim in dims):
        return None
    words = [name.name if "+" not in name.name else f"({name.name})" for name in axes]
    whole = Axis("*".join(words))
    return whole if all(name.ordered for name in axes) else naming.unordered(whole.factors)


def product(multiplied: Iterable[Size]) -> Size:
    """The product of sizes, unknown where one of them is, or where it is too large."""
    return _folded(operator.mul, 1, multiplied)


def added(summands: Iterable[Size]) -> Size:
    """The sum of sizes, unknown where one of them is, or where it is too large."""
    return _folded(operator.add, 0, summands)


def _folded(
    combine: Callable[[Known, Known], Known], start: int, operand_sizes: Iterable[Size]
) -> Size:
    total: Known = start
    for size in operand_sizes:
        if isinstance(size, Unknown):
            return UNKNOWN
        result = computed(combine, total, size)
        if result is None:
            return UNKNOWN
        total = result
    return total


def with_occurrences(dims: Dims) -> Dims:
    """The dims of one tensor, with occurrences for an axis that it has twice."""
    if sum(isinstance(dim.name, Axis) for dim in dims.known) < 2:
        return dims
    names = naming.with_occurrences(dims.names)
    return dims if names == dims.names else dims.rename(names)


def locate(dims: Dims, reference: int | str | Expression | Unknown | None) -> Position:
    """The position of a dimension, by name or index (recorded: cumsum, sum, select).

    The index may be a size that is not known, or what a layer was given for one, and torch refuses:
    a tensor, a list. Raises `Contradiction` where there is certainly none, and for None, which is
    the wildcard.
    """
    if reference is None:
        raise naming.nameless(f"Give the name or the index of one of the dimensions {dims.show()}.")
    if isinstance(reference, str):
        return locate_name(dims, reference)
    return locate_index(dims, reference) if isinstance(reference, int) else ANYWHERE


def locate_name(dims: Dims, name: str) -> Position:
    """The position of the first dim called `name`: the only one whose name is unknown, if need be.

    A tensor without such a dim is refused.
    """
    hidden: list[int] = []  # where dims of an axis that the tensor has twice may be before
    for position, dim in dims.walk():
        if naming.word(dim.name) == name:
            may_be_second = hidden or position < 0
            return ANYWHERE if may_be_second and _is_one_of_several(dim.name) else position
        if dim.name is UNKNOWN:
            hidden.append(position)
    if hidden:
        return ANYWHERE if dims.open or len(hidden) > 1 else hidden[0]
    if dims.open:
        return MIDDLE
    raise Contradiction(
        "NC103",
        f"Name '{name}' not found in Tensor{dims.show()}.",
        names=(name,),
        help=_nearest(dims, name),
    )


def _is_one_of_several(name: Name) -> bool:
    return isinstance(name, Axis) and name.occurrence != 0


def _nearest(dims: Dims, name: str) -> str:
    present = [str(naming.word(n)) for n in dims.names if naming.word(n) is not None]
    if not present:
        return "The tensor has no names; give it names with `refine_names`, or use an index."
    for other in present:
        if other.lower() == name.lower():
            return f"The tensor has '{other}', written otherwise."
    listed = ", ".join(f"'{other}'" for other in present)
    return f"The tensor's names are {listed}."


def locate_index(dims: Dims, index: int, *, extra: int = 0) -> Position:
    """The position of a (possibly negative) index among rank + `extra` positions.

    Raises `Contradiction`, an IndexError, where it is out of range.
    """
    rank = dims.rank
    if rank is None:
        part = dims.suffix if index < 0 else dims.prefix
        return index if -len(part) <= index < len(part) else ANYWHERE
    places = max(rank + extra, 1)
    if not -places <= index < places:
        raise Contradiction(
            "NC203",
            f"Dimension out of range (expected to be in range of [{-places}, {places - 1}], "
            f"but got {index})",
            error="IndexError",
            help=f"The tensor has {rank} dimension{'' if rank == 1 else 's'}: {dims.show()}.",
        )
    return index + places if index < 0 else index


def join_dim(dim: Dim, other_dim: Dim) -> Dim:
    """The least upper bound of both dims."""
    return Dim(
        naming.join(dim.name, other_dim.name),
        dim.size if dim.size == other_dim.size else UNKNOWN,
        dim.purposeful and other_dim.purposeful,
    )


def join_dims(left: Dims, right: Dims) -> Dims:
    """The least upper bound of both lists, as far as this form can express it."""
    if left == right:
        return left
    if not left.open and left.rank == right.rank:
        return Dims(tuple(map(join_dim, left.prefix, right.prefix)))
    room = min(left.min_rank, right.min_rank)
    prefix = _common(left.prefix, right.prefix, room)
    back_left = (left.suffix if left.open else left.prefix)[::-1]
    back_right = (right.suffix if right.open else right.prefix)[::-1]
    suffix = _common(back_left, back_right, room - len(prefix))
    return Dims(prefix, suffix[::-1], True)


def _common(dims: Sequence[Dim], other_dims: Sequence[Dim], room: int) -> tuple[Dim, ...]:
    shared: list[Dim] = []
    for a, b in zip(dims, other_dims, strict=False):
        either = join_dim(a, b)
        if len(shared) == room or (a.name != b.name and either.name is UNKNOWN):
            break
        shared.append(either)
    return tuple(shared)


def covers_dim(general_dim: Dim, specific_dim: Dim) -> bool:
    """Whether `general_dim` covers `specific_dim`."""
    return naming.covers(general_dim.name, specific_dim.name) and covers_size(
        general_dim.size, specific_dim.size
    )


def covers_size(general_size: Size, specific_size: Size) -> bool:
    """Whether `general_size` covers `specific_size`.

    A symbol covers every size.
    """
    if general_size is UNKNOWN:
        return True
    return specific_size is not UNKNOWN and agree(general_size, specific_size) is not Answer.NO


def covers_dims(general_dims: Dims, specific_dims: Dims) -> bool:
    """Whether `general_dims` covers `specific_dims`."""
    if not general_dims.open:
        return specific_dims.rank == general_dims.rank and all(
            map(covers_dim, general_dims.prefix, specific_dims.prefix)
        )
    if specific_dims.min_rank < general_dims.min_rank:
        return False
    front = specific_dims.prefix
    back = specific_dims.suffix if specific_dims.open else specific_dims.prefix
    if len(front) < len(general_dims.prefix) or len(back) < len(general_dims.suffix):
        return False
    return all(map(covers_dim, general_dims.prefix, front)) and all(
        map(covers_dim, general_dims.suffix[::-1], back[::-1])
    )


def of_rank(dims: Dims, rank: int) -> Dims | None:
    """The dims as a closed list of `rank`; None where the rank certainly differs."""
    if not dims.open:
        return dims if len(dims.prefix) == rank else None
    if dims.min_rank > rank:
        return None
    return Dims(dims.prefix + (ANY_DIM,) * (rank - dims.min_rank) + dims.suffix)
