"""Compares the sizes of a run with those inferred, which may be expressions: ``C // n_head``.

In one activation each size that the code reads has one value. The first dim that is inferred to
have just this size binds it, and all other dims must have what their expressions come to. Only
activations are compared that the analysis has followed from the top level of the program: what else
calls a function may pass other sizes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import TYPE_CHECKING, TypeAlias

from namecheck.core import names as naming
from namecheck.core.dataclasses import dataclass, field
from namecheck.core.dims import Dim, Dims
from namecheck.core.names import UNKNOWN
from namecheck.core.sizes import Known, substituted, symbol, symbols
from namecheck.core.syntax import Position
from namecheck.core.tensors import Tensor
from namecheck.interpreter.workspace.analysis import Observation, Observations

if TYPE_CHECKING:
    from namecheck.runtime.programs.activations import Activation, Shape, Shapes


# An expression: its file and its position.
Place: TypeAlias = tuple[str, Position]


@dataclass(frozen=True, slots=True)
class WrongSize:
    """An expression whose shape in a run is none of those inferred, given what sizes are bound."""

    shape: Shape
    by_symbol: Mapping[str, int] = field(hash=False)

    @property
    def text(self) -> str:
        """The shape, and what sizes are bound, for a reader."""
        text = ", ".join(f"{naming.bare(word)} = {size}" for word, size in self.by_symbol.items())
        return f"{self.shape}, where {text}" if text else str(self.shape)


def followed(activations: Iterable[Activation], static: Observations) -> set[Activation]:
    """The activations that the analysis has followed from the top level of the program."""
    analysed: set[Activation] = set()
    for activation in activations:  # a caller is before what it calls
        if _is_followed(activation, static, analysed):
            analysed.add(activation)
    return analysed


def by_file(activations: Iterable[Activation]) -> dict[str, list[Shapes]]:
    """The shapes of some activations, by file."""
    shapes: dict[str, list[Shapes]] = {}
    for activation in activations:
        shapes.setdefault(activation.filename, []).append(activation.shapes)
    return shapes


def places(activations: Iterable[Activation]) -> set[Place]:
    """The expressions that ran in some activations."""
    return {(one.filename, position) for one in activations for position in one.shapes}


def _is_followed(activation: Activation, static: Observations, analysed: Set[Activation]) -> bool:
    """Whether the analysis has followed the call that began an activation."""
    caller, site = activation.caller, activation.site
    if caller is None or site is None:
        return activation.is_top_level
    observation = static.get(caller.filename, {}).get(site)
    return observation is not None and observation.followed and caller in analysed


def wrong_sizes(
    activations: Iterable[Shapes], static: Mapping[Position, Observation]
) -> dict[Position, WrongSize]:
    """The expressions of a file whose sizes contradict those inferred, each with the first case.

    The `activations` are those that what is inferred covers.
    """
    wrong: dict[Position, WrongSize] = {}
    for shapes in activations:
        for position, wrong_size in _wrong_in(shapes, static):
            wrong.setdefault(position, wrong_size)
    return wrong


def _wrong_in(
    activation: Shapes, static: Mapping[Position, Observation]
) -> Iterator[tuple[Position, WrongSize]]:
    """The expressions of one activation that are wrong.

    One that has several shapes is in a loop, where sizes may change: it binds nothing, and nothing
    is bound for it. One that may be one of several tensors binds nothing, and must be one of them.
    """
    by_symbol: dict[str, int] = {}
    claims: list[tuple[Position, Shape, list[Tensor]]] = []
    for position, shapes in activation.items():
        tensors = _tensors(static.get(position))
        if len(shapes) == 1 and tensors:
            claims.append((position, shapes[0], tensors))
        for shape in shapes if len(shapes) > 1 and tensors else ():
            if not any(_fits(tensor.dims, shape, {}) for tensor in tensors):
                yield position, WrongSize(shape, {})
    refuted: set[Position] = set()
    for position, shape, tensors in claims:
        if len(tensors) == 1 and not _fits(tensors[0].dims, shape, by_symbol):
            refuted.add(position)
            yield position, WrongSize(shape, dict(by_symbol))
    for position, shape, tensors in claims:
        fits = any(_fits(tensor.dims, shape, dict(by_symbol)) for tensor in tensors)
        if not fits and position not in refuted:
            yield position, WrongSize(shape, by_symbol)


def _tensors(observation: Observation | None) -> list[Tensor]:
    """The tensors of which an expression is one; none if it may be something else."""
    values = () if observation is None else observation.values
    tensors = [value for value in values if isinstance(value, Tensor)]
    return tensors if len(tensors) == len(values) else []


def _pairs(dims: Dims, shape: Shape) -> Sequence[tuple[Dim, int]] | None:
    """The dims whose place is known, with their sizes; None where the rank differs."""
    known = len(dims.prefix) + len(dims.suffix)
    if len(shape) < known or (len(shape) > known and not dims.open):
        return None
    front = zip(dims.prefix, shape, strict=False)
    return [*front, *zip(dims.suffix[::-1], shape[::-1], strict=False)]


def _fits(dims: Dims, shape: Shape, by_symbol: dict[str, int]) -> bool:
    """Whether dims may have a shape; binds the sizes that are not bound yet."""
    pairs = _pairs(dims, shape)
    if pairs is None:
        return False
    sizes = [(dim.size, number) for dim, number in pairs if dim.size is not UNKNOWN]
    for size, number in sizes:
        word = _plain_symbol(size)
        if word is not None:
            by_symbol.setdefault(word, number)
    return all(
        _is_open(size, by_symbol) or _value(size, by_symbol) == number for size, number in sizes
    )


def _plain_symbol(size: Known) -> str | None:
    """The symbol that a size is, if it is nothing else; None for those that are declared.

    What is declared is what its author says, which a run may not keep to.
    """
    match symbols(size):
        case found if len(found) == 1:
            [word] = found
            return word if size == symbol(word) and naming.is_undeclared(word) else None
    return None


def _is_open(size: Known, by_symbol: Mapping[str, int]) -> bool:
    """Whether a size depends on one that is not bound."""
    return not symbols(size) <= by_symbol.keys()


def _value(size: Known, by_symbol: Mapping[str, int]) -> Known | None:
    try:
        return substituted(size, by_symbol)
    except ZeroDivisionError:
        return None
