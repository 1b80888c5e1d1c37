"""Products and distances that torch 2.12 refuses, or supports without documenting it."""

from __future__ import annotations

from namecheck.core.dataclasses import replace
from namecheck.core.dims import ANY_DIM, Dim, Dims, agree, locate, merged, product
from namecheck.core.names import Answer, Axis, Contradiction, Unknown
from namecheck.core.tensors import Tensor
from namecheck.rules.arguments import DimArgument
from namecheck.rules.broadcasting import broadcast, unify
from namecheck.rules.reductions import reduce
from namecheck.rules.registry import rule


@rule(memory="unknown", aligns="matched")
def cross(input: Tensor, other: Tensor, dim: DimArgument = -1) -> Dims:
    """The names of both inputs, unified; `dim` is of size 3 (torch.cross)."""
    unified = broadcast(input.dims, other.dims)
    if dim is not None and agree(unified[locate(unified, dim)].size, 3) is Answer.NO:
        sizes = [one.dims[locate(one.dims, dim)].size for one in (input, other)]
        raise Contradiction(
            "NC201",
            f"linalg.cross: inputs dimension {dim} must have length 3. Got {sizes[0]} and "
            f"{sizes[1]}",
            help="Each vector has three elements.",
        )
    return unified


@rule(memory="unknown", aligns="matched")
def vecdot(x: Tensor, y: Tensor, dim: DimArgument = -1) -> Dims:
    """The names of both inputs, unified, without the dim summed over (linalg.vecdot)."""
    unified = broadcast(x.dims, y.dims)
    return reduce(unified, [locate(unified, dim)], False)


@rule(memory="unknown", aligns="matched")
def cosine_similarity(x1: Tensor, x2: Tensor, dim: DimArgument = 1) -> Dims:
    """Both inputs unified, without the compared dim (nn.functional.cosine_similarity)."""
    unified = broadcast(x1.dims, x2.dims)
    return reduce(unified, [locate(unified, dim)], False)


@rule(memory="unknown", aligns="matched")
def pairwise_distance(x1: Tensor, x2: Tensor, keepdim: bool | Unknown = False) -> Dims:
    """The names of both inputs, unified, without the last dim (nn.functional.pairwise_distance)."""
    unified = broadcast(x1.dims, x2.dims)
    return reduce(unified, [locate(unified, -1)], keepdim)


@rule(memory="unknown", aligns="matched")
def kron(input: Tensor, other: Tensor) -> Dims:
    """Labels of both inputs unified, axes merged; the sizes are multiplied (torch.kron).

    A tensor of fewer dims has further dims of size 1 in front.
    """
    unified = unify(input.dims.sizeless(), other.dims.sizeless())
    rank = unified.rank
    if rank is None or input.dims.rank is None or other.dims.rank is None:
        return unified.mapped(lambda dim: ANY_DIM if isinstance(dim.name, Axis) else dim)
    outer, inner = (_filled(tensor.dims, rank) for tensor in (input, other))
    pairs = zip(unified.prefix, outer, inner, strict=True)
    return Dims(tuple(_multiplied(*each) for each in pairs))


def _filled(dims: Dims, rank: int) -> tuple[Dim, ...]:
    """The dims, behind as many of size 1 as are missing."""
    return (*[Dim(None, 1)] * (rank - len(dims.prefix)), *dims.prefix)


def _multiplied(unified: Dim, outer: Dim, inner: Dim) -> Dim:
    if isinstance(unified.name, str):
        return replace(unified, size=product((outer.size, inner.size)))
    return merged([outer, inner])
