"""Products and distances that torch 2.12 refuses, or supports without saying so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from namecheck.names import UNKNOWN, Contradiction, Unknown, show_name
from namecheck.rules.dim_map import joined, product, without_right
from namecheck.rules.pointwise import broadcast
from namecheck.rules.reductions import Axis, reduce
from namecheck.rules.refusals import refuse_named
from namecheck.rules.registry import rule
from namecheck.values import OPEN, Dim, Dims, Many, Tensor, locate


@rule
def cross(input: Tensor, other: Tensor, dim: Axis | None = -1) -> Dims:
    """The names of both inputs, unified (torch.cross)."""
    unified = broadcast(input.dims, other.dims)
    if dim is not None:
        locate(unified, dim)
    return unified


@rule
def vecdot(x: Tensor, y: Tensor, dim: Axis | None = -1) -> Dims:
    """Both inputs unified, without the dim summed over (linalg.vecdot)."""
    unified = broadcast(x.dims, y.dims)
    return reduce(unified, [locate(unified, dim)], False)


@rule
def cosine_similarity(x1: Tensor, x2: Tensor, dim: Axis | None = 1) -> Dims:
    """Both inputs unified, without the dim compared (nn.functional.cosine_similarity)."""
    unified = broadcast(x1.dims, x2.dims)
    return reduce(unified, [locate(unified, dim)], False)


@rule
def pairwise_distance(x1: Tensor, x2: Tensor, keepdim: bool | Unknown = False) -> Dims:
    """Both inputs unified, without the last dim (nn.functional.pairwise_distance)."""
    unified = broadcast(x1.dims, x2.dims)
    return reduce(unified, [locate(unified, -1)], keepdim)


@rule
def einsum_natively(
    equation: str | Unknown, operands: Sequence[Tensor] | Many | Unknown
) -> Unknown:
    """torch 2.12 gives every operand all letters, then puts them in order (recorded: einsum)."""
    if isinstance(equation, str) and isinstance(operands, (tuple, list)):
        inputs = equation.replace(" ", "").partition("->")[0].split(",")
        letters = set("".join(inputs)) - {"."}
        for subscripts, operand in zip(inputs, operands, strict=False):
            refuse_named("unsqueeze" if set(subscripts) < letters else "permute", [operand])
    return UNKNOWN


@rule
def chain_matmul(tensors: Sequence[Tensor] | Many | Unknown) -> Dims:
    """The first dim of the first matrix and the last of the last (torch.chain_matmul)."""
    if isinstance(tensors, (Many, Unknown)) or any(t.dims.rank != 2 for t in tensors):
        return OPEN
    return Dims((tensors[0].dims.prefix[0], tensors[-1].dims.prefix[1])) if tensors else OPEN


@rule
def kron(input: Tensor, other: Tensor) -> Dims:
    """Both inputs unified, the sizes multiplied (torch.kron)."""
    bare = [
        tensor.dims if tensor.dims.open else Dims(tuple(Dim(name) for name in tensor.names))
        for tensor in (input, other)
    ]
    unified = broadcast(*bare)
    if unified.open or input.dims.rank != other.dims.rank:
        return unified
    pairs = zip(unified.prefix, input.dims.prefix, other.dims.prefix, strict=True)
    return Dims(tuple(replace(dim, size=product((a.size, b.size))) for dim, a, b in pairs))


@rule
def cdist(x1: Tensor, x2: Tensor) -> Dims:
    """Batch dims unify; a row of the one, a row of the other (recorded: cdist)."""
    for dims, word in ((x1.dims, "X1"), (x2.dims, "X2")):
        if dims.rank is not None and dims.rank < 2:
            raise Contradiction(
                "NC207",
                f"cdist only supports at least 2D tensors, {word} got: {dims.rank}D",
                help="Each input is a list of points: two dimensions at least.",
            )
    one, two = x1.dims.from_right(2) or Dim(), x2.dims.from_right(2) or Dim()
    batch = broadcast(without_right(x1.dims, 2), without_right(x2.dims, 2), "cdist")
    if isinstance(one.name, str) and one.name == two.name:
        raise Contradiction(
            "NC104",
            f"cdist: Attempted to propagate dims {show_name(one.name)} (index -2 of "
            f"{x1.dims.show()}) and {show_name(two.name)} (index -2 of {x2.dims.show()}) to the "
            "output, but that would create a tensor with duplicate names "
            f"[{show_name(one.name)} {show_name(two.name)}]. Please rename your inputs with "
            "Tensor.rename to prevent this.",
            names=[one.name],
            help=f"Give '{one.name}' another name in one of the inputs with `rename`.",
        )
    return joined(batch, Dims((one, two)))
