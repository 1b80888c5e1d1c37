"""Sizes that are equal on a path: ``assert a.shape[0] == b.shape[1]`` equates two axes.

Axes with different names have one length on such a path, so they do not contradict each other
there. Before rules and annotations are applied, one symbol is replaced by the other. All axes are
scoped on such a path: their dims may reach a path without the equation, where it is unknown which
axis they are.

Where paths meet, an equation of one of them holds no more for certain, but a later test of the same
flag may follow that path alone. So it remains possible: what contradicts only without it is not
reported.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Final, TypeAlias

from namecheck.annotations.bindings import Bindings, Bound
from namecheck.core import names as naming
from namecheck.core.dataclasses import dataclass, replace
from namecheck.core.dims import Dim, Dims, Size, named_by, with_occurrences
from namecheck.core.names import UNKNOWN, Axis, Name
from namecheck.core.sizes import Expression, Known, substituted, symbol, symbols
from namecheck.core.tensors import Tensor
from namecheck.interpreter.domain.cells import EQUAL_SIZES, UNEQUAL_SIZES
from namecheck.interpreter.domain.provenance import Attribute, Item, Operation, Parameter, SizeOf
from namecheck.interpreter.domain.store import Both, Store
from namecheck.interpreter.domain.values import Const, Key, TupleValue, size_of

Solved: TypeAlias = Mapping[str, Known]

# How many equations are kept that hold on some paths only.
_MOST: Final = 64


@dataclass(frozen=True, slots=True)
class Equations:
    """The equations that hold on a path.

    `solved` maps a symbol to its replacement; no replacement contains a solved symbol. The axes on
    the path have the last of the `scopes`. `possible` has the equations of some of the paths that
    met before.
    """

    solved: tuple[tuple[str, Known], ...]
    scopes: tuple[int, ...]
    possible: tuple[tuple[str, Known], ...] = ()

    def size(self, quantity: Known, *, scoped: bool = True) -> Known:
        """A size under the equations."""
        solved: Solved = dict(self.solved)
        plain = {word: self._plain(word) for word in symbols(quantity)}
        own = {word: solved.get(unscoped, symbol(unscoped)) for word, unscoped in plain.items()}
        size = substituted(quantity, own)
        if not scoped:
            return size
        scope = self.scopes[-1]
        return substituted(size, {w: symbol(naming.scoped(w, scope)) for w in symbols(size)})

    def _plain(self, word: str) -> str:
        for scope in self.scopes:
            word = naming.unscoped(word, scope)
        return word

    def name(self, name: Name) -> Name:
        """The replacement of an axis, with an unknown occurrence."""
        if not isinstance(name, Axis) or not all(part.isidentifier() for part in name.factors):
            return name
        names = [self._axis(factor) for factor in name.factors]
        axes = [replaced for replaced in names if isinstance(replaced, Axis)]
        if len(axes) < len(names):
            return UNKNOWN
        whole = replace(name, name="*".join(axis.name for axis in axes))
        ordered = name.ordered and all(axis.ordered for axis in axes)
        solved = {word for word, _ in self.solved}
        changed = not solved.isdisjoint(map(self._plain, name.factors))
        replaced = whole if ordered else naming.unordered(whole.factors)
        return naming.either(replaced) if changed else replace(replaced, occurrence=name.occurrence)

    def joined(self, equations: Equations) -> Equations:
        """The equations that hold on both paths."""
        scopes = tuple(dict.fromkeys((*self.scopes, *equations.scopes)))
        possible = tuple(dict.fromkeys((*self.possible, *equations.possible)))
        joined = Equations(self.solved, scopes, possible)
        for name, size in equations.solved:
            joined = joined.with_equal(symbol(name), size, scopes)
        return joined

    def with_equal(self, left_size: Known, right_size: Known, scopes: tuple[int, ...]) -> Equations:
        """These equations and one more, in the last of the scopes; unchanged if it is implied."""
        solution = _solved(self.size(left_size, scoped=False), self.size(right_size, scoped=False))
        if solution is None:
            return self
        rest = ((name, substituted(size, dict([solution]))) for name, size in self.solved)
        return Equations((*rest, solution), scopes, self.possible)

    def about(self, is_met: Callable[[str], bool], scopes_met: Collection[int]) -> Equations | None:
        """The equations with a symbol that is met; None if nothing of them concerns a path.

        If any equation holds, all axes have its scope, also those that no equation has.
        """

        def concerns(equation: tuple[str, Known]) -> bool:
            word, size = equation
            return is_met(word) or any(map(is_met, symbols(size)))

        solved = tuple(filter(concerns, self.solved))
        possible = tuple(filter(concerns, self.possible))
        if not self.solved:
            return Equations((), (), possible) if possible else None
        scopes = [scope for scope in self.scopes[:-1] if scope in scopes_met]
        return Equations(solved, (*scopes, self.scopes[-1]), possible)

    def _axis(self, factor: str) -> Name:
        size = self.size(symbol(factor))
        if isinstance(size, int):
            return Axis(naming.scoped(self._plain(factor), self.scopes[-1]))
        return named_by(size)

    def dim(self, dim: Dim) -> Dim:
        """A dim under the equations."""
        length: Size = self.size(dim.size) if isinstance(dim.size, Expression) else dim.size
        return replace(dim, name=self.name(dim.name), size=length)


_NO_EQUATIONS: Final = Equations((), ())


def of(store: Store) -> Equations | None:
    """The equations of a path; None where there are none for certain."""
    equations = _kept(store)
    return equations if equations is not None and equations.solved else None


def _kept(store: Store) -> Equations | None:
    if not store.may_assume(EQUAL_SIZES):
        return None
    if isinstance(store, Both):
        return met(None, [_kept(part) for part in store.stores])
    equations: Equations | None = store.get(EQUAL_SIZES)
    return equations


def met(parting: Equations | None, equations_met: Sequence[Equations | None]) -> Equations | None:
    """The equations where paths meet: those from before they parted; the others are possible."""
    if all(equations == equations_met[0] for equations in equations_met):
        return equations_met[0]
    base = parting or _NO_EQUATIONS
    further = [
        pair
        for equations in equations_met
        if equations is not None
        for pair in (*equations.solved, *equations.possible)
        if pair not in base.solved
    ]
    return replace(base, possible=tuple(dict.fromkeys((*base.possible, *further)))[:_MOST])


def supposed(store: Store) -> Store | None:
    """A layer in which all equations hold that are possible; None where there are none."""
    equations = _kept(store)
    if equations is None or not equations.possible:
        return None
    scopes = (*equations.scopes, store.ledger.new())
    for word, size in equations.possible:
        equations = equations.with_equal(symbol(word), size, scopes)
    layer = store.fork()
    layer.set(EQUAL_SIZES, equations)
    return layer


def learn(left_key: object, right_key: object, store: Store) -> None:
    """Add the equation of two values, given by their identities; of tuples, item by item."""
    if isinstance(left_key, TupleValue) and isinstance(right_key, TupleValue):
        for one, other in zip(left_key.items, right_key.items, strict=False):
            learn(_identity(one), _identity(other), store)
        return
    sizes = _size(left_key), _size(right_key)
    if sizes[0] is not None and sizes[1] is not None:
        equate(sizes[0], sizes[1], store)


def learn_unequal(left_key: object, right_key: object, store: Store) -> None:
    """Note that a test has told two sizes to differ: ``if w.shape[0] != x.shape[1]:``."""
    left, right = _size(left_key), _size(right_key)
    if isinstance(left, Expression) and isinstance(right, Expression):
        pair = frozenset(map(naming.bare, symbols(left) | symbols(right)))
        told: frozenset[frozenset[str]] = store.get(UNEQUAL_SIZES) or frozenset()
        store.set(UNEQUAL_SIZES, told | {pair})


def are_adapted(words: Iterable[str], store: Store) -> bool:
    """Whether a path adapts tensors of which one size has been told to differ from another.

    Where one of two words that contradict was compared with a third, ``w = w.T`` may have been
    done for those that fit; what is not transposed there has the two sizes equal.
    """
    told: frozenset[frozenset[str]] | None = store.get(UNEQUAL_SIZES)
    return told is not None and any(len(pair.intersection(words)) == 1 for pair in told)


def equate(left_size: Known, right_size: Known, store: Store) -> None:
    """Add the equation of two sizes."""
    equations = _kept(store) or _NO_EQUATIONS
    extended = equations.with_equal(left_size, right_size, (*equations.scopes, store.ledger.new()))
    if extended is not equations:
        store.set(EQUAL_SIZES, extended)


def equate_dims(dims: Dims, other_dims: Dims, store: Store) -> None:
    """Add the equations of two tensors of one shape, as far as the sizes of both are known."""
    if dims.open or other_dims.open or dims.rank != other_dims.rank:
        return
    for size, other_size in zip(dims.sizes, other_dims.sizes, strict=True):
        if size is not UNKNOWN and other_size is not UNKNOWN:
            equate(size, other_size, store)


def allow(left_size: Known, right_size: Known, store: Store) -> None:
    """Note that two sizes may be equal: what contradicts only if they are not is not reported."""
    equations = _kept(store) or _NO_EQUATIONS
    equation = _solved(left_size, right_size)
    if equation is not None and equation not in (*equations.solved, *equations.possible):
        store.set(EQUAL_SIZES, replace(equations, possible=(*equations.possible, equation)[:_MOST]))


def added(old_content: object, new_content: object) -> Equations | None:
    """The equations that a run has added to those of its path.

    None if it is unknown: where others held before, or where there are as many as are kept.
    """
    old = old_content if isinstance(old_content, Equations) else _NO_EQUATIONS
    new = new_content if isinstance(new_content, Equations) else _NO_EQUATIONS
    if new == old:
        return _NO_EQUATIONS
    count = len(old.possible)
    held = (old.solved, old.scopes)
    if held not in {(new.solved, new.scopes), ((), ())} or new.possible[:count] != old.possible:
        return None
    solved, scopes = ((), ()) if held == (new.solved, new.scopes) else (new.solved, new.scopes)
    possible = new.possible[count:]
    return Equations(solved, scopes, possible) if len(new.possible) < _MOST else None


def add(equations: Equations, store: Store) -> None:
    """Add equations to a path; some that hold for certain only where none does before."""
    if equations == _NO_EQUATIONS:
        return
    old = _kept(store) or _NO_EQUATIONS
    possible = tuple(dict.fromkeys((*old.possible, *equations.possible)))[:_MOST]
    store.set(EQUAL_SIZES, replace(equations if equations.solved else old, possible=possible))


def _identity(fact: Hashable) -> object:
    return getattr(fact, "key", fact)


def _size(identity: object) -> Known | None:
    if isinstance(identity, Key):
        provenance = identity.provenance
        if isinstance(provenance, SizeOf):
            return provenance.size
        if isinstance(provenance, (Attribute, Item, Operation, Parameter)):
            from namecheck.interpreter.domain import size_symbols  # not where dims are declared

            return size_symbols.of_key(identity)
        return None
    return size_of(identity) if isinstance(identity, Const) else None


def _solved(left_size: Known, right_size: Known) -> tuple[str, Known] | None:
    """The symbol on one side, and the other side.

    A number other than 1 is no solution: it does not relate two axes, while 1 allows broadcasting.
    """
    match left_size - right_size:
        case Expression(((one_monomial, one_count), (other_monomial, other_count))) if (
            one_count == -other_count
        ):
            # What both are multiplied with says nothing: ``n*d == m*d`` of two numbers of elements.
            factors = (Counter(one_monomial), Counter(other_monomial))
            alone = [*(factors[0] - factors[1]).elements()], [*(factors[1] - factors[0]).elements()]
            match alone:
                case ([str(one_word)], [str(other_word)]):
                    left_size, right_size = symbol(one_word), symbol(other_word)
    substitution: dict[str, Known] = {}
    for one, other in ((left_size, right_size), (right_size, left_size)):
        name = min(symbols(one), default="")
        relates = isinstance(other, Expression) or other == 1
        if relates and one == symbol(name) and name not in symbols(other):
            substitution[name] = other
    # The order of the sides in the program must not matter. Of a number and a dim the dim stays.
    return max(
        substitution.items(), key=lambda pair: (naming.is_number(pair[0]), pair[0]), default=None
    )


def equated(tensor: Tensor, store: Store) -> Tensor:
    """A tensor under the equations of a path."""
    dims, likely_dims = tensor.dims, tensor.likely
    if not (_is_renamed(dims) or (likely_dims is not None and _is_renamed(likely_dims))):
        return tensor
    equations = of(store)
    if equations is None:
        return tensor
    likely = None if tensor.likely is None else _equated(tensor.likely, equations)
    return replace(tensor, dims=_equated(tensor.dims, equations), likely=likely)


def under_both(
    tensor: Tensor, other_tensor: Tensor, store: Store, other_store: Store
) -> tuple[Tensor, Tensor]:
    """Two tensors, each from its path, under the equations that both paths have.

    A result has the axes as they are under the equations; an earlier tensor may not. Where only one
    path has an equation, its tensor has the dims of the other one that are the same by it.
    """
    if tensor == other_tensor:
        return tensor, other_tensor
    equations, other_equations = of(store), of(other_store)
    if equations != other_equations:
        turned = _turned_into(other_tensor, tensor, equations)
        return turned, _turned_into(turned, other_tensor, other_equations)
    if equations is None:
        return tensor, other_tensor
    return equated(tensor, store), equated(other_tensor, other_store)


def _turned_into(target: Tensor, tensor: Tensor, equations: Equations | None) -> Tensor:
    """A tensor with those dims of another one of its rank that are the same by the equations."""
    dims, target_dims = tensor.dims, target.dims
    if equations is None or dims.open or target_dims.open or dims.rank != target_dims.rank:
        return tensor
    for position, (own, other) in enumerate(zip(dims.prefix, target_dims.prefix, strict=True)):
        if own != other and _are_equal(own.size, other.size, equations):
            dims = dims.replace(position, other)
    return tensor if dims is tensor.dims else replace(tensor, dims=dims)


def _are_equal(one_size: Size, other_size: Size, equations: Equations) -> bool:
    if not isinstance(one_size, Expression) or not isinstance(other_size, Expression):
        return False
    return equations.size(one_size, scoped=False) == equations.size(other_size, scoped=False)


def _is_renamed(dims: Dims) -> bool:
    """Whether equations may change some dims: whether they have an axis or a symbol."""
    return bool(
        [d for d in dims.known if d.name.__class__ is Axis or d.size.__class__ is Expression]
    )


@lru_cache(maxsize=1024)
def _equated(dims: Dims, equations: Equations) -> Dims:
    return with_occurrences(dims.mapped(equations.dim))


def size(quantity: Known, store: Store) -> Known:
    """A size under the equations of a path."""
    if isinstance(quantity, int):
        return quantity
    equations = of(store)
    return quantity if equations is None else equations.size(quantity)


def bindings(bindings: Bindings, store: Store) -> Bindings:
    """The bindings of axes under the equations of a path."""
    if not bindings.axes and not bindings.runs:
        return bindings
    equations = of(store)
    if equations is None:
        return bindings
    axes = {a: _bound(bound, equations) for a, bound in bindings.axes.items()}
    runs = {
        name: replace(run, dims=tuple(map(equations.dim, run.dims)))
        for name, run in bindings.runs.items()
    }
    return replace(bindings, axes=axes, runs=runs)


def _bound(bound: Bound, equations: Equations) -> Bound:
    dim = equations.dim(Dim(bound.name, bound.size))
    return replace(bound, name=dim.name, size=dim.size)
