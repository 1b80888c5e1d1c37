"""Losses: the distance of a prediction from a target, one number or one for each (torch.nn).

A rule returns the dims of the single losses; `reduced` takes their mean or sum.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, Final

from namecheck.core.dims import OPEN, SCALAR, Dims
from namecheck.core.names import Answer, Contradiction, Unknown
from namecheck.core.tensors import Tensor
from namecheck.rules.arguments import Word
from namecheck.rules.broadcasting import broadcast, check_one, unify_dim
from namecheck.rules.dim_map import same_shape, show_sizes, without_right
from namecheck.rules.refusals import refuse_named
from namecheck.rules.registry import rule

_REDUCTION: Final = tuple(
    inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default)
    for name, default in (("reduction", "mean"), ("size_average", None), ("reduce", None))
)


def reduced(losses: Callable[..., Dims]) -> Callable[..., Dims]:
    """A rule for the mean or sum of losses: one number, unless the call asks for no reduction.

    It takes the parameters of `losses`, which returns the dims of the single losses, and those of
    `_REDUCTION` (torch.nn.L1Loss; `size_average` and `reduce` are the older way to ask). A function
    of torch itself takes a number in place of the word: 1 for the mean, 2 for the sum, any other
    for none (torch.kl_div, whose default is 0).
    """

    @wraps(losses)
    def reduces(
        reduction: Word | int = "mean",
        size_average: Any = None,
        reduce: Any = None,
        **loss_arguments: Any,
    ) -> Dims:
        single = losses(**loss_arguments)
        if isinstance(size_average, Unknown) or isinstance(reduce, Unknown):
            return OPEN
        if size_average is not None or reduce is not None:
            return SCALAR if reduce or reduce is None else single
        if isinstance(reduction, Unknown):
            return OPEN
        if isinstance(reduction, int):
            return SCALAR if reduction in (1, 2) else single
        return single if reduction == "none" else SCALAR

    own = inspect.signature(losses)
    both = own.replace(parameters=[*own.parameters.values(), *_REDUCTION])
    reduces.__dict__["__signature__"] = both
    return reduces


@rule(memory="loses", aligns="matched")
@reduced
def unifies_names_of_inputs_to_scalar(input: Tensor, target: Tensor) -> Dims:
    """Both inputs unify; the result is their mean or sum (recorded: l1_loss)."""
    return broadcast(input.dims, target.dims)


@rule(memory="loses", aligns="matched")
@reduced
def unifies_names_of_target_and_input(input: Tensor, target: Tensor) -> Dims:
    """As `unifies_names_of_inputs_to_scalar`; torch has the target first (recorded: kl_div)."""
    return broadcast(target.dims, input.dims)


@rule(memory="loses", aligns="matched")
@reduced
def compares_alike(input: Tensor, target: Tensor) -> Dims:
    """As `unifies_names_of_inputs_to_scalar`, for equal shapes (binary_cross_entropy)."""
    unified = broadcast(input.dims, target.dims)
    if same_shape(input.dims, target.dims) is Answer.NO:
        raise Contradiction(
            "NC201",
            f"Target size ({show_sizes(target.dims)}) must be the same as input size "
            f"({show_sizes(input.dims)})",
            error="ValueError",
            help="Nothing is broadcast here: give both the same dims.",
        )
    return unified


@rule(memory="unknown", aligns="matched")
@reduced
def unifies_three_to_scalar(input1: Tensor, input2: Tensor, target: Tensor) -> Dims:
    """All inputs unify; the result is their mean or sum (nn.functional.margin_ranking_loss)."""
    return broadcast(broadcast(input1.dims, input2.dims), target.dims)


@rule(memory="unknown", aligns="matched")
@reduced
def compares_vectors(anchor: Tensor, positive: Tensor, negative: Tensor) -> Dims:
    """All inputs unify, and drop the last dim (nn.functional.triplet_margin_loss)."""
    unified = broadcast(broadcast(anchor.dims, positive.dims), negative.dims)
    return without_right(unified, 1)


@rule(memory="unknown", aligns="matched")
@reduced
def compares_pairs(input1: Tensor, input2: Tensor, target: Tensor) -> Dims:
    """Two batches of vectors and a label for each pair (nn.functional.cosine_embedding_loss)."""
    unified = without_right(broadcast(input1.dims, input2.dims), 1)
    return broadcast(unified, target.dims)


@rule(memory="unknown")
@reduced
def classifies(input: Tensor, target: Tensor, weight: Tensor | Unknown | None = None) -> Dims:
    """The input without the classes, dim 1, unifies with the target (nn.functional.nll_loss)."""
    return _without_classes("nll_loss", input.dims, target.dims, weight)


@rule(memory="unknown")
@reduced
def classifies_rows(input: Tensor, target: Tensor, weight: Tensor | Unknown | None = None) -> Dims:
    """As `classifies`; for a single row the target may have a dim (multi_margin_loss)."""
    if input.dims.rank is not None and input.dims.rank < 2:
        return target.dims
    return _without_classes("nll_loss", input.dims, target.dims, weight)


@rule(memory="fresh")
@reduced
def cross_entropy(input: Tensor, target: Tensor, weight: Tensor | Unknown | None = None) -> Dims:
    """As `classifies`; a target with the input's shape holds probabilities (nn.functional)."""
    return _entropies(input.dims, target.dims, weight)


def _entropies(dims: Dims, classes: Dims, weight: Tensor | Unknown | None) -> Dims:
    if dims.rank is None or classes.rank is None:
        return OPEN
    if dims.rank != classes.rank:
        return _without_classes("cross_entropy", dims, classes, weight)
    for own, other in zip(dims.prefix, classes.prefix, strict=True):
        check_one("cross_entropy", _TARGET, own, other, of_a=dims, of_b=classes)
    return dims.without(_class_place(dims))


_TARGET: Final = "the dims of input and target"


def _class_place(dims: Dims) -> int:
    return 0 if dims.rank == 1 else 1


def _without_classes(call: str, dims: Dims, classes: Dims, weight: Tensor | Unknown | None) -> Dims:
    """The dims without the classes, unified with the target's, position by position."""
    if dims.rank is None or classes.rank is None:
        return classes
    if dims.rank != classes.rank + 1:
        raise Contradiction(
            "NC207",
            f"{call}: a target of dims {classes.show()} does not fit an input of dims "
            f"{dims.show()}: it needs all of them except the classes, dim 1",
            help="Dim 1 of the input is the classes; the target has the other dims.",
        )
    place = _class_place(dims)
    if isinstance(weight, Tensor):
        what = "the classes and the weights"
        check_one(call, what, dims[place], weight.dims.from_right(1), by_label=False)
    others = dims.without(place)
    for own, other in zip(others.prefix, classes.prefix, strict=True):
        check_one(call, _TARGET, own, other, of_a=dims, of_b=classes)
    return Dims(tuple(map(unify_dim, others.prefix, classes.prefix)))


@rule(memory="unknown", aligns="matched")
@reduced
def classifies_several(input: Tensor, target: Any) -> Dims:
    """Input and target, maybe a number, unify, and drop the classes (multilabel_margin_loss)."""
    unified = broadcast(input.dims, target.dims) if isinstance(target, Tensor) else input.dims
    return without_right(unified, 1)


@rule(memory="unknown")
@reduced
def ctc_loss(log_probs: Tensor, targets: Tensor) -> Dims:
    """One number; without reduction, one for each of the batch, dim 1 (nn.functional.ctc_loss)."""
    dims = log_probs.dims
    return OPEN if dims.rank is None else Dims(dims.prefix[1:-1])


@rule
@reduced
def cross_entropy_natively(
    input: Tensor,
    target: Tensor,
    weight: Tensor | Unknown | None = None,
    label_smoothing: float | Unknown = 0.0,
) -> Dims:
    """As `cross_entropy`; torch 2.12 refuses classes with names (recorded: cross_entropy)."""
    one, other = input.dims.rank, target.dims.rank
    if one is not None and other is not None and one != other:
        _refuse_classification(input, target, weight)
    if one is not None and one == other:
        if isinstance(label_smoothing, (int, float)) and label_smoothing > 0:
            refuse_named("mul.Scalar", [target])
        if one > 1:
            refuse_named("view", [weight])
    unnamed = _entropies(input.dims.unnamed(), target.dims.unnamed(), None)
    if one is None or one != other:
        return unnamed
    return broadcast(input.dims, target.dims).without(_class_place(input.dims))


@rule
@reduced
def classifies_natively(
    input: Tensor, target: Tensor, weight: Tensor | Unknown | None = None
) -> Dims:
    """As `classifies`, without names: torch 2.12 refuses all (recorded: nll_loss)."""
    _refuse_classification(input, target, weight)
    return _without_classes("nll_loss", input.dims, target.dims, weight)


def _refuse_classification(input: Tensor, target: Tensor, weight: Tensor | Unknown | None) -> None:
    """Refuse names in the kernel that torch 2.12 chooses by the rank; the images of one have 4."""
    rank = input.dims.rank
    if rank is None or rank <= 2:
        refuse_named("nll_loss_forward", [input, target, weight])
    elif rank == 4:
        refuse_named("nll_loss2d_forward", [input, target, weight])
    else:  # all other dims are merged into one first
        refuse_named("view", [input, target])
        refuse_named("nll_loss2d_forward", [weight])
