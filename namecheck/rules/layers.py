"""Operators of torch.nn: linear layers, pooling, dropout, normalisation, losses."""

from __future__ import annotations

from collections.abc import Sequence

from namecheck.names import UNKNOWN, Answer, Contradiction, Unknown
from namecheck.rules.meetings import broadcast
from namecheck.rules.products import linear
from namecheck.rules.refusals import not_supported, refuse_named
from namecheck.rules.registry import rule
from namecheck.values import OPEN, SCALAR, Dims, Tensor

Word = str | Unknown


@rule
def linear_module(
    input: Tensor, in_features: int | Unknown = UNKNOWN, out_features: int | Unknown = UNKNOWN
) -> Dims:
    """The input's names but the last, which has none (nn.Linear)."""
    sizes = [out_features, in_features]
    known = [size if isinstance(size, int) else UNKNOWN for size in sizes]
    return linear(input, Tensor(Dims.of(None, None, sizes=known)))


@rule
def linear_module_natively(
    input: Tensor,
    in_features: int | Unknown = UNKNOWN,
    out_features: int | Unknown = UNKNOWN,
    bias: bool | Unknown = True,
) -> Dims:
    """torch 2.12 adds a bias only to a matrix (recorded: nn.Linear)."""
    if bias is True and input.dims.rank is not None and input.dims.rank != 2:
        refuse_named("view", [input])
    return linear_module(input, in_features, out_features)


def _adaptive(input: Tensor, size: int | Sequence[int | None] | Unknown, aten: str) -> Dims:
    many = isinstance(size, (tuple, list)) and bool(size) and all(each == 1 for each in size)
    ones = size == 1 or many
    if not ones and not isinstance(size, Unknown):
        refuse_named(aten, [input])
    return input.dims.sizeless()


@rule
def adaptive_avg_pool2d_natively(
    input: Tensor, output_size: int | Sequence[int | None] | Unknown
) -> Dims:
    """torch 2.12 takes a mean where the result is of size 1 (recorded: adaptive_avg_pool2d)."""
    return _adaptive(input, output_size, "_adaptive_avg_pool2d")


@rule
def adaptive_avg_pool3d_natively(
    input: Tensor, output_size: int | Sequence[int | None] | Unknown
) -> Dims:
    """torch 2.12 takes a mean where the result is of size 1 (adaptive_avg_pool3d)."""
    return _adaptive(input, output_size, "_adaptive_avg_pool3d")


@rule
def interpolate_natively(input: Tensor, mode: Word = "nearest") -> Dims:
    """torch 2.12 refuses names under the name of the method (nn.functional.interpolate)."""
    if input.dims.named() is Answer.YES and isinstance(mode, str) and input.dims.rank is not None:
        word = {"nearest-exact": "_upsample_nearest_exact"}.get(mode, f"upsample_{mode}")
        dims = {"linear": "1d", "bilinear": "2d", "bicubic": "2d", "trilinear": "3d"}
        raise not_supported(word + dims.get(mode, f"{input.dims.rank - 2}d"))
    return input.dims.sizeless()


@rule
def dropout1d(input: Tensor) -> Dims:
    """The input's dims: channels, perhaps of a batch, and one more (nn.functional.dropout1d)."""
    if input.dims.rank is not None and input.dims.rank not in (2, 3):
        raise Contradiction(
            "NC207",
            f"dropout1d: Expected 2D or 3D input, but received a {input.dims.rank}D input. Note "
            "that dropout1d exists to provide channel-wise dropout on inputs with 1 spatial "
            "dimension, a channel dimension, and an optional batch dimension (i.e. 2D or 3D "
            "inputs).",
            help="Use `dropout2d` or `dropout3d` for images and volumes.",
        )
    return input.dims


@rule
def dropout1d_natively(
    input: Tensor, p: float | Unknown = 0.5, training: bool | Unknown = True
) -> Dims:
    """torch 2.12 drops channels with what it does not support (nn.functional.dropout1d)."""
    return _drops_channels(input, p, training, 1)


@rule
def dropout2d_natively(
    input: Tensor, p: float | Unknown = 0.5, training: bool | Unknown = True
) -> Dims:
    """torch 2.12 drops channels with what it does not support (nn.functional.dropout2d)."""
    return _drops_channels(input, p, training, 2)


@rule
def dropout3d_natively(
    input: Tensor, p: float | Unknown = 0.5, training: bool | Unknown = True
) -> Dims:
    """torch 2.12 drops channels with what it does not support (nn.functional.dropout3d)."""
    return _drops_channels(input, p, training, 3)


def _drops(p: float | Unknown, training: bool | Unknown) -> bool:
    """Whether a dropout certainly drops some elements and keeps others."""
    return training is True and not isinstance(p, Unknown) and 0 < p < 1


def _drops_channels(
    input: Tensor, p: float | Unknown, training: bool | Unknown, spatial: int
) -> Dims:
    if spatial == 1:
        dropout1d(input)
    if spatial != 2 and input.dims.rank == spatial + 1:
        refuse_named("unsqueeze", [input])
    if _drops(p, training):
        refuse_named("new_empty", [input])
    return input.dims


@rule
def alpha_dropout_natively(
    input: Tensor, p: float | Unknown = 0.5, training: bool | Unknown = False
) -> Dims:
    """torch 2.12 scales by a number, which it does not support (nn.functional.alpha_dropout)."""
    if _drops(p, training):
        refuse_named("mul_.Scalar", [input])
    return input.dims


@rule
def feature_dropout_natively(
    input: Tensor, p: float | Unknown = 0.5, training: bool | Unknown = False
) -> Dims:
    """torch 2.12 drops channels with what it does not support (feature_alpha_dropout)."""
    if _drops(p, training):
        refuse_named("new_empty", [input])
    return input.dims


@rule
def native_dropout_natively(
    input: Tensor, train: bool | Unknown | None = None
) -> tuple[Dims, Dims]:
    """torch 2.12 scales by a number, which it does not support (recorded: native_dropout)."""
    if train is not False and not isinstance(train, Unknown):
        refuse_named("mul_.Scalar", [input])
    return input.dims, input.dims


@rule
def rms_norm_natively(input: Tensor, weight: Tensor | None = None) -> Dims:
    """torch 2.12 multiplies by the weight, whose names must unify (recorded: rms_norm)."""
    return input.dims if weight is None else broadcast(input.dims, weight.dims)


@rule
def prelu_natively(input: Tensor, weight: Tensor) -> Dims:
    """torch 2.12 lays the weights out along the channels (recorded: prelu)."""
    if input.dims.min_rank > 1 and weight.dims.rank == 1:
        refuse_named("view", [weight])
    refuse_named("_prelu_kernel", [input, weight])
    return input.dims


@rule
def embedding_bag_natively(input: Tensor, weight: Tensor) -> Unknown:
    """torch 2.12 refuses names under the name of what it calls (recorded: embedding_bag)."""
    if input.dims.rank == 2:
        refuse_named("view", [input])
    refuse_named("_embedding_bag_forward_only", [input, weight])
    return UNKNOWN


@rule
def unifies_names_of_inputs_to_scalar(
    input: Tensor,
    target: Tensor,
    reduction: Word = "mean",
    size_average: bool | Unknown | None = None,
    reduce: bool | Unknown | None = None,
) -> Dims:
    """Both inputs unify; the result is their mean or sum (recorded: l1_loss)."""
    return _reduced(broadcast(input.dims, target.dims), reduction, size_average, reduce)


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


@rule
def reduced_loss(
    input: Tensor,
    target: Tensor,
    reduction: Word = "mean",
    size_average: bool | Unknown | None = None,
    reduce: bool | Unknown | None = None,
) -> Dims:
    """One number; unreduced, one for each target (nn.functional.cross_entropy)."""
    return _reduced(target.dims, reduction, size_average, reduce)


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
    return reduced_loss(input, target, reduction, size_average, reduce)


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
