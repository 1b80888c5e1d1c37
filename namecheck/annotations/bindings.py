"""Binds the axes of one signature to the dims of one call.

The axes of a function bind to the dimensions that its caller passes, consistently over all
arguments and the result (docs/semantics.md, "Two kinds of name"). The caller's names may differ
from those of the annotation, but:

- one axis is one size and one name of the caller's throughout the call;
- a label that the annotation has at another position of the same tensor is a contradiction: a
  tensor named ``('N', 'C')`` does not fit ``"C N"``.

An axis that occurs twice in one annotation (``"t t"``) declares two equal sizes. Labels cannot
repeat in a tensor, so they are not compared there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set

from namecheck.annotations import wording
from namecheck.annotations.patterns import Dimension, Pattern, Several
from namecheck.annotations.wording import Site
from namecheck.core import names as naming
from namecheck.core.dataclasses import dataclass, field, replace
from namecheck.core.dims import ANY_DIM, Dim, Dims, Size, agree, clash, is_whole, named_by
from namecheck.core.names import UNKNOWN, Answer, Axis, Contradiction, Name, Unknown
from namecheck.core.sizes import Expression, symbol


@dataclass(frozen=True, slots=True)
class Bound:
    """The dim that one axis is bound to, and the places where its size and its name were read."""

    size: Size = UNKNOWN
    name: Name = UNKNOWN
    sized: Site | None = None
    named: Site | None = None


@dataclass(frozen=True, slots=True)
class Run:
    """The dims that ``*name`` is bound to; `broadcast` if only ``*#name`` has occurred so far."""

    dims: tuple[Dim, ...]
    broadcast: bool
    site: Site


@dataclass(frozen=True, slots=True)
class Pending:
    """A dimension whose size is computed from axes that are not bound yet."""

    item: Dimension
    size: int
    site: Site


@dataclass(frozen=True, slots=True)
class Bindings:
    """The bindings made so far in one call of `function`.

    `answer` is YES as long as every check had a definite answer, else MAYBE; NO is a
    `Contradiction`. The axes in `numbers` are sizes that the caller passed as arguments. Without a
    name of the caller's they have no name, since two of them may be the same dim.
    """

    function: str
    axes: Mapping[str, Bound] = field(default_factory=dict)
    runs: Mapping[str, Run] = field(default_factory=dict)
    pending: tuple[Pending, ...] = ()
    answer: Answer = Answer.YES
    numbers: frozenset[str] = frozenset()
    for_result: bool = False

    @property
    def sizes(self) -> dict[str, int]:
        """The known sizes, by axis."""
        return {
            axis: bound.size for axis, bound in self.axes.items() if isinstance(bound.size, int)
        }

    def dims_of(self, pattern: Pattern, scope: int | None = None) -> Dims:
        """The dims of a tensor declared with this pattern in this call, under the caller's names.

        An unbound axis is an axis of this scope; without a scope it keeps its own name. An axis
        that is bound to an unnamed dim gives this dim its name, unless these dims are `for_result`.
        """
        axes = {axis: self.dim(axis, scope) for axis in pattern.axes}
        run = self.runs.get(pattern.several.name or "") if pattern.several else None
        return pattern.dims(axes, None if run is None or run.broadcast else run.dims)

    def dim(self, axis: str, scope: int | None = None) -> Dim:
        """One axis as a dim of this call, under the caller's name."""
        bound = self.axes.get(axis, Bound())
        if bound.name is None and not self.for_result:
            bound = replace(bound, name=UNKNOWN)
        if axis in self.numbers and bound.name is UNKNOWN:
            return Dim(None if isinstance(bound.size, int) else UNKNOWN, bound.size)
        own = naming.scoped(axis, scope) if scope is not None else axis
        name = Axis(own) if bound.name is UNKNOWN else bound.name
        fresh = bound.name is UNKNOWN and bound.size is UNKNOWN
        return Dim(name, symbol(own) if fresh else bound.size)

    def outside(self, dims: Dims) -> Dims:
        """The dims of a result as the caller has them: an axis that it passed once is one axis.

        The body may have made a square of such an axis, and the result may have one of its two
        dims. The caller has no such square: to it neither is the first, or the second.
        """
        axes = [name for name in dims.names if isinstance(name, Axis)]
        if not any(axis.occurrence for axis in axes):
            return dims
        once = {
            bound.name.name
            for bound in self.axes.values()
            if isinstance(bound.name, Axis) and not bound.name.occurrence
        }
        single = once.difference(naming.repeated([axis.name for axis in axes]))
        return dims.mapped(lambda dim: _as_only_one(dim, single))

    def bound(self, axis: str, bound: Bound) -> Bindings:
        """A copy with another binding for one axis."""
        return replace(self, axes={**self.axes, axis: bound})

    def unsure(self) -> Bindings:
        """A copy that records a check without a definite answer."""
        return replace(self, answer=Answer.MAYBE)


def _as_only_one(dim: Dim, once: Set[str]) -> Dim:
    """A dim whose axis is the only one of its tensor, if it is among these."""
    if not isinstance(dim.name, Axis) or dim.name.name not in once:
        return dim
    return replace(dim, name=replace(dim.name, occurrence=0))


Pair = tuple[Dimension, Dim, int]


def bind(
    pattern: Pattern, dims: Dims, bindings: Bindings, spelling: str, *, returned: bool = False
) -> Bindings:
    """Bind the dims of a tensor to the pattern that declares it, and return the new bindings.

    `spelling` is the tensor as a reader would write it (``x``, ``pair[0]``); `returned` if it is
    the result or a part of it, whose labels may come from the annotation. Raises `Contradiction`.
    """
    site = Site(spelling, returned, pattern, dims)
    _check_rank(bindings.function, site)
    pairs, middle = _aligned(pattern, dims)
    _check_order(bindings, site, pairs, middle)
    _check_places(bindings, site, pairs)
    repeated = _repeated(pattern)
    for item, dim, position in pairs:
        bindings = _bind_name(bindings, item, dim, site.at(position), item.name in repeated)
    for item, dim, position in pairs:
        bindings = _bind_size(bindings, item, dim, site.at(position))
    if pattern.several is not None and pattern.several.name is not None:
        bindings = _bind_run(bindings, pattern.several, middle, site)
    return bindings


def settle(bindings: Bindings) -> Bindings:
    """Check every computed size against the sizes known by now, and return the new bindings.

    Called once all arguments are bound, and again for the result. A computed size with one unbound
    axis, in which it is linear, binds that axis. Raises `Contradiction`.
    """
    progress = True
    while progress:
        progress, waiting = False, bindings.pending
        bindings = replace(bindings, pending=())
        for pending in waiting:
            settled = _settled(bindings, pending)
            if settled is None:
                bindings = replace(bindings, pending=(*bindings.pending, pending))
            else:
                bindings, progress = settled, True
    return bindings.unsure() if bindings.pending else bindings


def _settled(bindings: Bindings, pending: Pending) -> Bindings | None:
    """The bindings after checking a pending size; None if one of its axes is still unbound."""
    expression = pending.item.size
    assert expression is not None
    sizes = bindings.sizes
    missing = expression.axes - sizes.keys()
    if not missing:
        computed = expression.value(sizes)
        if computed is None:
            return bindings.unsure()
        if computed != pending.size:
            raise wording.computed_size(
                bindings.function,
                pending.site,
                expression,
                computed,
                {
                    axis: (bindings.axes[axis].size, bindings.axes[axis].sized)
                    for axis in sorted(expression.axes)
                },
            )
        return bindings
    if len(missing) > 1:
        return None
    [axis] = missing
    solution = expression.solution(axis, pending.size, sizes)
    if solution is None:
        return None
    if solution.size is None:
        raise wording.no_solution(bindings.function, pending.site, expression, axis)
    bound = replace(bindings.axes.get(axis, Bound()), size=solution.size, sized=pending.site)
    return bindings.bound(axis, bound)


def _check_rank(function: str, site: Site) -> None:
    pattern, dims = site.pattern, site.dims
    if dims.rank is None:
        fits = pattern.several is not None or dims.min_rank <= pattern.min_rank
    elif pattern.several is None:
        fits = dims.rank == pattern.min_rank
    else:
        fits = dims.rank >= pattern.min_rank
    if not fits:
        raise wording.rank(function, site)


def _aligned(pattern: Pattern, dims: Dims) -> tuple[list[Pair], tuple[Dim, ...] | None]:
    """Pair each single dimension of the pattern with its dim; also the dims of ``*name``."""
    front, back = len(pattern.before), len(pattern.after)
    if dims.open and pattern.several is None:
        gap = (ANY_DIM,) * (pattern.min_rank - dims.min_rank)
        dims = Dims(dims.prefix + gap + dims.suffix)
    left = [(item, dims[n], n) for n, item in enumerate(pattern.before)]
    if dims.rank is None:
        right = [(item, dims[n - back], n - back) for n, item in enumerate(pattern.after)]
        return left + right, None
    start = dims.rank - back
    right = [(item, dims[start + n], start + n) for n, item in enumerate(pattern.after)]
    return left + right, dims.prefix[front:start]


def _check_order(
    bindings: Bindings, site: Site, pairs: Sequence[Pair], middle: tuple[Dim, ...] | None
) -> None:
    """Refuse a label that the pattern has at another position."""
    declared = {item.name: position for item, _, position in pairs if item.name is not None}
    front = len(site.pattern.before)
    inside = [(None, dim, front + n) for n, dim in enumerate(middle or ())]
    pairs_in_order = [(item.name, dim, position) for item, dim, position in pairs]
    for axis, dim, position in [*pairs_in_order, *inside]:
        label = dim.name
        if not isinstance(label, str) or label == axis or label not in declared:
            continue
        if axis is not None and axis in bindings.axes and bindings.axes[axis].name == label:
            continue
        raise wording.order(bindings.function, site, label, position, declared[label])


def _check_places(bindings: Bindings, site: Site, pairs: Sequence[Pair]) -> None:
    """Refuse a result that has an axis where a number is declared, and a number for the axis."""
    named = [
        (item.name, position) for item, dim, position in pairs if item.name and dim.name is None
    ]
    for item, dim, position in pairs if site.returned else ():
        if item.fixed is None or not isinstance(dim.name, Axis):
            continue
        for axis, place in named:
            if naming.match(bindings.dim(axis).name, dim.name) is Answer.YES:
                raise wording.order(bindings.function, site, axis, position, place)


def bind_number(bindings: Bindings, axis: str, size: Size, spelling: str) -> Bindings:
    """Bind an axis to an int argument with the name of the axis.

    Raises `Contradiction`.
    """
    site = Site(spelling, False, Pattern(), Dims(), number=size)
    name = named_by(size)
    if name is not None and bindings.axes.get(axis, Bound()).name is UNKNOWN:
        bound = bindings.axes.get(axis, Bound())
        bindings = bindings.bound(axis, replace(bound, name=name, named=site))
    return bindings if size is UNKNOWN else _bind_axis_size(bindings, axis, size, site)


def with_number(bindings: Bindings, axis: str, size: Size) -> Bindings:
    """Bind an axis to an int argument beside the tensors; they are right where it has another size.

    Then the int is no size of theirs: how many to take, or the size that they are to get.
    """
    try:
        return bind_number(bindings, axis, size, axis)
    except Contradiction:
        return bindings.unsure()


def _bind_name(
    bindings: Bindings, dimension: Dimension, dim: Dim, site: Site, is_repeated: bool
) -> Bindings:
    axis, name = dimension.name, dim.name
    if axis is None:
        return (
            bindings
            if dimension.fixed is not None
            else _bind_computed(bindings, dimension, dim, site)
        )
    is_single = name is None and dim.size == 1 and dim.purposeful
    if is_single and site.returned and _is_stretched(bindings, dimension):
        raise wording.lost(bindings.function, site, axis)
    if dimension.broadcast and dim.size in (1, UNKNOWN):
        return bindings
    if name is None:
        return _bind_nameless(bindings, axis)
    if name is UNKNOWN:
        return bindings.unsure()
    if is_repeated and not isinstance(name, Axis):
        return bindings
    if site.returned and name == axis:
        return bindings
    bound = bindings.axes.get(axis, Bound())
    if bound.named is not None and clash(Dim(bound.name, bound.size), dim):
        raise wording.axis_name(bindings.function, axis, site, name, bound.named, bound.name)
    if bound.name not in (UNKNOWN, None):
        same = naming.match(bound.name, name) is Answer.YES
        return bindings if same else bindings.unsure()
    if bound.size is UNKNOWN and isinstance(dim.size, Expression):
        bound = replace(bound, size=dim.size, sized=site)
    return bindings.bound(axis, replace(bound, name=name, named=site))


def _repeated(pattern: Pattern) -> set[str | None]:
    """The names that several dims of a pattern have."""
    seen: set[str | None] = set()
    repeated: set[str | None] = set()
    for dimension in (*pattern.before, *pattern.after):
        (repeated if dimension.name in seen else seen).add(dimension.name)
    return repeated


def _bind_nameless(bindings: Bindings, axis: str) -> Bindings:
    """Bind an axis to a dim that is certainly unnamed; a name bound elsewhere is kept."""
    bound = bindings.axes.get(axis, Bound())
    if bound.name is not UNKNOWN:
        return bindings
    return bindings.bound(axis, replace(bound, name=None))


def _is_stretched(bindings: Bindings, dimension: Dimension) -> bool:
    """Whether a declared dimension is an axis whose size is certainly greater than 1."""
    bound = bindings.axes.get(dimension.name or "", Bound())
    return not dimension.broadcast and is_whole(Dim(bound.name, bound.size))


def _bind_computed(bindings: Bindings, dimension: Dimension, dim: Dim, site: Site) -> Bindings:
    """Bind a dimension with a computed size: ``heads*dim``, ``t+s``, ``seq-1``."""
    expression, name = dimension.size, dim.name
    if expression is None or dimension.broadcast:
        return bindings
    factors = expression.factors
    if isinstance(name, Axis) and name.ordered and len(name.factors) == len(factors) > 1:
        for factor, part in zip(factors, name.factors, strict=True):
            if factor not in bindings.axes and part.isidentifier():
                bindings = bindings.bound(factor, Bound(symbol(part), Axis(part), site, site))
    if not expression.axes <= bindings.axes.keys():
        return bindings.unsure()
    declared = bindings.dims_of(Pattern((dimension,)))[0]
    if clash(declared, dim):
        raise wording.computed_name(bindings.function, site, expression, name, declared.name)
    if agree(declared.size, dim.size) is Answer.NO and not isinstance(declared.size, int):
        raise wording.computed_axis(bindings.function, site, expression, declared.size)
    return bindings


def _bind_size(bindings: Bindings, dimension: Dimension, dim: Dim, site: Site) -> Bindings:
    if dimension.name is None and dimension.size is None:
        return bindings
    size = dim.size
    if isinstance(size, Unknown) or (dimension.broadcast and not isinstance(size, int)):
        return bindings.unsure()
    if dimension.broadcast and size == 1:
        return bindings
    if dimension.fixed is not None:
        if agree(dimension.fixed, size) is Answer.NO:
            raise wording.fixed_size(bindings.function, site, dimension, size)
        if dimension.fixed != size:
            bindings = bindings.unsure()
    if dimension.name is not None:
        bindings = _bind_axis_size(bindings, dimension.name, size, site)
    if dimension.size is None or dimension.fixed is not None:
        return bindings
    if not isinstance(size, int):
        return bindings.unsure()
    return replace(bindings, pending=(*bindings.pending, Pending(dimension, size, site)))


def _bind_axis_size(bindings: Bindings, axis: str, size: Size, site: Site) -> Bindings:
    bound = bindings.axes.get(axis, Bound())
    if bound.size is UNKNOWN:
        return bindings.bound(axis, replace(bound, size=size, sized=site))
    if agree(bound.size, size) is Answer.NO:
        assert bound.sized is not None
        raise wording.axis_size(bindings.function, axis, site, size, bound.sized, bound.size)
    return bindings if bound.size == size else bindings.unsure()


def _bind_run(
    bindings: Bindings, several: Several, run_dims: tuple[Dim, ...] | None, site: Site
) -> Bindings:
    """Bind the dims of a ``*name``; returns None where the dims are unknown."""
    assert several.name is not None
    if run_dims is None:
        return bindings.unsure()
    run = bindings.runs.get(several.name)
    candidate = Run(run_dims, several.broadcast, site)
    if run is None:
        return replace(bindings, runs={**bindings.runs, several.name: candidate})
    joint = _joint(run, candidate)
    if joint is None:
        raise wording.run(bindings.function, several.name, site, run_dims, run.site, run.dims)
    unsure = any(UNKNOWN in (dim.name, dim.size) for dim in (*run_dims, *run.dims))
    bindings = replace(bindings, runs={**bindings.runs, several.name: joint})
    return bindings.unsure() if unsure else bindings


def _joint(first_run: Run, second_run: Run) -> Run | None:
    """The dims that fit two occurrences of one ``*name``; None where the two contradict.

    Two that may broadcast are broadcast together; one that may broadcast is broadcast to one that
    may not; two that may not must be equal.
    """
    if first_run.broadcast and second_run.broadcast:
        longer, shorter = sorted(
            (first_run, second_run), key=lambda run: len(run.dims), reverse=True
        )
    elif first_run.broadcast or second_run.broadcast:
        longer, shorter = (
            (second_run, first_run) if first_run.broadcast else (first_run, second_run)
        )
        if len(shorter.dims) > len(longer.dims):
            return None
    else:
        longer, shorter = first_run, second_run
        if len(longer.dims) != len(shorter.dims):
            return None
    extra = len(longer.dims) - len(shorter.dims)
    joint = list(_met(longer, shorter, extra))
    if None in joint:
        return None
    dims = longer.dims[:extra] + tuple(dim for dim in joint if dim is not None)
    return Run(dims, first_run.broadcast and second_run.broadcast, longer.site)


def _met(longer: Run, shorter: Run, extra: int) -> Iterator[Dim | None]:
    for a, b in zip(longer.dims[extra:], shorter.dims, strict=True):
        if shorter.broadcast and b.size == 1:
            yield a
        elif longer.broadcast and a.size == 1:
            yield b
        elif clash(a, b) or agree(a.size, b.size) is Answer.NO:
            yield None
        else:
            size = b.size if isinstance(a.size, Unknown) else a.size
            yield Dim(naming.unify(a.name, b.name), size)
