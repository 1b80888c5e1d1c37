"""Two sides that meet both ways round: ``[W, H]`` opposite ``[H, W]``.

A tensor and its transpose do so where it is a square. A tensor whose sizes were read, and another
one that was made with these sizes, are no transposes of each other: one has them in a wrong order.

The sizes that a product contracts are equal.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any, Final

from namecheck.core import names as naming
from namecheck.core.dims import Dim, Dims, are_apart
from namecheck.core.findings import Place
from namecheck.core.names import Contradiction
from namecheck.core.sizes import Expression
from namecheck.core.tensors import Tensor
from namecheck.interpreter.domain import equalities, joins
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.values import TensorValue
from namecheck.interpreter.evaluation.interpreter import Interpreter
from namecheck.interpreter.models import observed_squares
from namecheck.interpreter.models.torch.operands import OperatorCall
from namecheck.operators.row import Operator
from namecheck.rules.broadcasting import has_words
from namecheck.rules.registry import traits_of

# The rules of matrix products.
_PRODUCTS: Final = frozenset({"matmul", "bmm", "mm"})


def contradiction(
    interpreter: Interpreter, operator_call: OperatorCall, lowered: Sequence[Any]
) -> Contradiction | None:
    """What contradicts a broadcast of two tensors, of which neither comes from the other.

    Where one does, its sides are equal from now on.
    """
    store = operator_call.store
    operands = [
        (value, tensor.dims)
        for value, tensor in zip(operator_call.every, lowered, strict=True)
        if isinstance(value, TensorValue) and isinstance(tensor, Tensor)
    ]
    if len(operands) != 2:
        return None
    (one, dims), (other, other_dims) = operands
    sides = _sides(dims, other_dims)
    if sides is None:
        return None
    words = naming.words([side.name for side in sides])
    origins = [_origins(value, words, store) for value in (one, other)]
    if None in (*origins[0], *origins[1]) or not set(origins[0]).isdisjoint(origins[1]):
        observed_squares.equate(interpreter, sides, store)
        return None
    first, second = words
    return Contradiction(
        "NC101",
        f"Dims {dims.show()} and {other_dims.show()} have '{first}' and '{second}' in two orders: "
        f"it is right only if {first} = {second}.",
        names=words,
        help="Bring the dims of both tensors into one order.",
    )


def learn_contracted(row: Operator | None, lowered: Sequence[Any], store: Store) -> None:
    """Learn that the two sizes which a matrix product contracts are equal, as nothing refuses it.

    One of them is a number, or was read of a tensor; the other one has been given another word.
    """
    if row is None or row.names not in _PRODUCTS or row.flow != "contracts" or len(lowered) < 2:
        return
    one, other = lowered[:2]
    if not isinstance(one, Tensor) or not isinstance(other, Tensor):
        return
    if one.dims.min_rank < 2 or other.dims.min_rank < 2:
        return
    last, met = one.dims.from_right(1), other.dims.from_right(2)
    if last is not None and met is not None and last.size != met.size:
        _equate((last, met), store)


def allow_broadcast(row: Operator | None, lowered: Sequence[Any], store: Store) -> None:
    """Note that the words of two tensors may stand for one dim, as they have been broadcast."""
    if row is None or traits_of(row.names).aligns != "broadcast":
        return
    operands = [each.dims for each in lowered if isinstance(each, Tensor) and not each.dims.open]
    if len(operands) != 2:
        return
    for one, met in zip(*(reversed(dims.prefix) for dims in operands), strict=False):
        if one.size != met.size and has_words(one) and has_words(met):
            _allow((one, met), store)


def _allow(met_dims: tuple[Dim, Dim], store: Store) -> None:
    one, two = (dim.size for dim in met_dims)
    if isinstance(one, Expression) and isinstance(two, Expression):
        equalities.allow(one, two, store)


def _equate(sides: tuple[Dim, Dim], store: Store) -> None:
    """Learn that two dims have one size."""
    one, two = (side.size for side in sides)
    if isinstance(one, Expression) and isinstance(two, Expression):
        equalities.equate(one, two, store)


def _sides(dims: Dims, other_dims: Dims) -> tuple[Dim, Dim] | None:
    """Two dims of one tensor that meet each other in another one."""
    if dims.open or other_dims.open:
        return None
    pairs = list(zip(reversed(dims.prefix), reversed(other_dims.prefix), strict=False))
    for (one, met), (two, met_by_two) in combinations(pairs, 2):
        if (one.size, two.size) != (met_by_two.size, met.size) or one.size == two.size:
            continue
        if has_words(one) and has_words(two) and are_apart(one.size, two.size):
            return one, two
    return None


def _origins(tensor_value: TensorValue, words: Sequence[str], store: Store) -> list[Place | None]:
    """The places where two words of a tensor were read, or its dims were named."""
    content = joins.held(tensor_value, store)
    return [content.origins.get(word) for word in words]
