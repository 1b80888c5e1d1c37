"""Losses: how far a prediction is from a target, one number or one for each of them (torch.nn)."""

from __future__ import annotations

from typing import Final

from namecheck.core.dims import OPEN, SCALAR, Dims
from namecheck.core.names import UNKNOWN, Answer, Contradiction, Unknown
from namecheck.core.tensors import Tensor
from namecheck.rules.arguments import TensorOrNumber, Word
from namecheck.rules.broadcasting import broadcast, check_one, unify_dim
from namecheck.rules.dim_map import same_shape, show_sizes, without_right
from namecheck.rules.refusals import refuse_named
from namecheck.rules.registry import rule


@rule(memory="loses")
def unifies_names_of_inputs_to_scalar(
    input: Tensor,
    target: Tensor,
    reduction: Word = "mean",
    size_average: bool | Unknown | None = None,
    reduce: bool | Unknown | None = None,
) -> Dims:
    """Both inputs unify; the result is their mean or sum (recorded: l1_loss)."""
    return _reduced(broadcast(input.dims, target.dims), reduction, size_average, reduce)


@rule(memory="loses")
def compares_alike(
    input: Tensor,
    target: Tensor,
    reduction: Word = "mean",
    size_average: bool | Unknown | None = None,
    reduce: bool | Unknown | None = None,
) -> Dims:
    """The same of two tensors of one shape (nn.functional.binary_cross_entropy)."""
    unified = broadcast(input.dims, target.dims)
    if same_shape(input.dims, target.dims) is Answer.NO:
        raise Contradiction(
            "NC201",
            f"Target size ({show_sizes(target.dims)}) must be the same as input size "
            f"({show_sizes(input.dims)})",
            error="ValueError",
            help="Nothing is broadcast here: give both the same dims.",
        )
    return _reduced(unified, reduction, size_average, reduce)


def _reduced(
    unified: Dims,
    reduction: Word,
    size_average: bool | Unknown | None,
    reduce: bool | Unknown | None,
) -> Dims:
    if isinstance(size_average, Unknown) or isinstance(reduce, Unknown):
        return OPEN
    if size_average is not None or reduce is not None:
        return unified if reduce is False else SCALAR  # the older way to say it
    if isinstance(reduction, Unknown):
        return OPEN
    return unified if reduction == "none" else SCALAR


@rule(memory="unknown")
def unifies_three_to_scalar(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    reduction: Word = "mean",
    size_average: bool | Unknown | None = None,
    reduce: bool | Unknown | None = None,
) -> Dims:
    """All inputs unify; the result is their mean or sum (nn.functional.margin_ranking_loss)."""
    unified = broadcast(broadcast(input1.dims, input2.dims), target.dims)
    return _reduced(unified, reduction, size_average, reduce)


@rule(memory="unknown")
def gaussian_nll_loss(
    input: Tensor, target: Tensor, var: TensorOrNumber | Unknown = UNKNOWN, reduction: Word = "mean"
) -> Dims:
    """Input and target unify; the variance may lack the last dim (nn.functional)."""
    return _reduced(broadcast(input.dims, target.dims), reduction, None, None)


@rule(memory="unknown")
def compares_vectors(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    reduction: Word = "mean",
    size_average: bool | Unknown | None = None,
    reduce: bool | Unknown | None = None,
) -> Dims:
    """All inputs unify, and lose the last dim (nn.functional.triplet_margin_loss)."""
    unified = broadcast(broadcast(anchor.dims, positive.dims), negative.dims)
    return _reduced(without_right(unified, 1), reduction, size_average, reduce)


@rule(memory="unknown")
def compares_pairs(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    reduction: Word = "mean",
    size_average: bool | Unknown | None = None,
    reduce: bool | Unknown | None = None,
) -> Dims:
    """Two batches of vectors and a verdict for each pair (nn.functional.cosine_embedding_loss)."""
    unified = without_right(broadcast(input1.dims, input2.dims), 1)
    return _reduced(broadcast(unified, target.dims), reduction, size_average, reduce)


@rule(memory="unknown")
def classifies(
    input: Tensor,
    target: Tensor,
    weight: Tensor | Unknown | None = None,
    reduction: Word = "mean",
    size_average: bool | Unknown | None = None,
    reduce: bool | Unknown | None = None,
) -> Dims:
    """The input's dims without the classes, dim 1, are the target's (nn.functional.nll_loss)."""
    left = _without_classes("nll_loss", input.dims, target.dims, weight)
    return _reduced(left, reduction, size_average, reduce)


@rule(memory="unknown")
def classifies_rows(
    input: Tensor,
    target: Tensor,
    weight: Tensor | Unknown | None = None,
    reduction: Word = "mean",
    size_average: bool | Unknown | None = None,
    reduce: bool | Unknown | None = None,
) -> Dims:
    """As `classifies`; of one row the target may have a dim, too (multi_margin_loss)."""
    if input.dims.rank is not None and input.dims.rank < 2:
        return _reduced(target.dims, reduction, size_average, reduce)
    return classifies(input, target, weight, reduction, size_average, reduce)


@rule(memory="fresh")
def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | Unknown | None = None,
    reduction: Word = "mean",
    size_average: bool | Unknown | None = None,
    reduce: bool | Unknown | None = None,
) -> Dims:
    """As `classifies`; a target of the input's shape has probabilities (nn.functional)."""
    one, other = input.dims, target.dims
    if one.rank is None or other.rank is None:
        left = OPEN
    elif one.rank == other.rank:
        for position in range(one.rank):
            pair = one[position], other[position]
            check_one("cross_entropy", _TARGET, *pair, of_a=one, of_b=other)
        left = one.without(_class_place(one))
    else:
        left = _without_classes("cross_entropy", one, other, weight)
    return _reduced(left, reduction, size_average, reduce)


_TARGET: Final = "the dims of input and target"


def _class_place(dims: Dims) -> int:
    return 0 if dims.rank == 1 else 1


def _without_classes(call: str, dims: Dims, classes: Dims, weight: Tensor | Unknown | None) -> Dims:
    """What is left without the classes, under the names of both, position by position."""
    if dims.rank is None or classes.rank is None:
        return classes
    if dims.rank != classes.rank + 1:
        raise Contradiction(
            "NC207",
            f"{call}: a target of dims {classes.show()} has no place in an input of dims "
            f"{dims.show()}: it has all of them but the classes, dim 1",
            help="Dim 1 of the input is the classes; the target has the other dims.",
        )
    place = _class_place(dims)
    if isinstance(weight, Tensor):
        what = "the classes and the weights"
        check_one(call, what, dims[place], weight.dims.from_right(1), by_label=False)
    left = dims.without(place)
    for own, other in zip(left.prefix, classes.prefix, strict=True):
        check_one(call, _TARGET, own, other, of_a=dims, of_b=classes)
    return Dims(tuple(map(unify_dim, left.prefix, classes.prefix)))


@rule(memory="unknown")
def classifies_several(
    input: Tensor,
    target: Tensor,
    reduction: Word = "mean",
    size_average: bool | Unknown | None = None,
    reduce: bool | Unknown | None = None,
) -> Dims:
    """Input and target unify, and lose the classes, the last dim (multilabel_margin_loss)."""
    unified = broadcast(input.dims, target.dims)
    return _reduced(without_right(unified, 1), reduction, size_average, reduce)


@rule(memory="unknown")
def ctc_loss(log_probs: Tensor, targets: Tensor, reduction: Word = "mean") -> Dims:
    """One number; unreduced, one for each of the batch, dim 1 (nn.functional.ctc_loss)."""
    dims = log_probs.dims
    if dims.rank is None:
        return _reduced(OPEN, reduction, None, None)
    return _reduced(Dims(dims.prefix[1:-1]), reduction, None, None)


@rule
def cross_entropy_natively(
    input: Tensor,
    target: Tensor,
    reduction: Word = "mean",
    size_average: bool | Unknown | None = None,
    reduce: bool | Unknown | None = None,
) -> Dims:
    """torch 2.12 supports probabilities, and refuses classes (recorded: cross_entropy)."""
    one, other = input.dims.rank, target.dims.rank
    if one is not None and other is not None and one != other:
        refuse_named("nll_loss_forward" if one <= 2 else "view", [input, target])
    bare = Tensor(input.dims.unnamed()), Tensor(target.dims.unnamed())
    left = cross_entropy(*bare, None, "none")
    if one == other and one is not None:
        left = broadcast(input.dims, target.dims).without(_class_place(input.dims))
    return _reduced(left, reduction, size_average, reduce)


@rule
def kl_div_natively(
    input: Tensor,
    target: Tensor,
    reduction: Word = "mean",
    size_average: bool | Unknown | None = None,
    reduce: bool | Unknown | None = None,
    log_target: bool | Unknown = False,
) -> Dims:
    """torch 2.12 takes logarithms with what it does not support (recorded: kl_div)."""
    if log_target is False:
        refuse_named("xlogy.Tensor", [target])
    return _reduced(broadcast(target.dims, input.dims), reduction, size_average, reduce)


@rule
def poisson_nll_loss_natively(
    input: Tensor,
    target: Tensor,
    full: bool | Unknown = False,
    reduction: Word = "mean",
    size_average: bool | Unknown | None = None,
    reduce: bool | Unknown | None = None,
) -> Dims:
    """torch 2.12 multiplies target and input first (recorded: poisson_nll_loss)."""
    unified = broadcast(input.dims, broadcast(target.dims, input.dims))
    if full is True:
        refuse_named("mul.Scalar", [target])
    return _reduced(unified, reduction, size_average, reduce)
