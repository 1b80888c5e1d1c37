"""Contracts away dims (name_inference.rst, the section of this name).

The labels of the contracted dims are not compared: ``(N, D) @ (in, out)`` is ``(N, out)``. Axes,
which come from annotations, must be the same (docs/semantics.md, "Two kinds of name").
"""

from __future__ import annotations

from namecheck.core import names as naming
from namecheck.core.dims import (
    ANY_DIM,
    OPEN,
    SCALAR,
    Dim,
    Dims,
    Size,
    agree,
    are_apart,
    clash,
    locate_index,
    of_rank,
    product,
)
from namecheck.core.names import UNKNOWN, Answer, Axis, Contradiction, Name, Unknown
from namecheck.core.sizes import Expression, symbols
from namecheck.core.tensors import Tensor
from namecheck.rules import dim_map
from namecheck.rules.broadcasting import are_swapped, broadcast, is_misplaced, unify, unify_dim
from namecheck.rules.registry import rule


@rule(memory="fresh", overlaps="refused")
def mm(input: Tensor, mat2: Tensor) -> Dims:
    """The rows of the first matrix and the columns of the second (recorded: mm)."""
    for tensor, role in ((input, "self"), (mat2, "mat2")):
        check_rank(tensor.dims, 2, f"{role} must be a matrix")
    return _product_of_matrices(input.dims, mat2.dims)


def _product_of_matrices(left: Dims, right: Dims) -> Dims:
    """The product of two dims lists that are certainly matrices."""
    one, other = closed(left, 2), closed(right, 2)
    _check_shapes(one, other)
    check_sides(one, other)
    return matrix_product(one, other)


def closed(dims: Dims, rank: int) -> Dims:
    """The dims as a closed list of `rank`, which has been checked."""
    closed_dims = of_rank(dims, rank)
    assert closed_dims is not None, "the rank has been checked"
    return closed_dims


def check_rank(dims: Dims, rank: int, message: str) -> None:
    """Refuse dims that certainly have another rank."""
    if of_rank(dims, rank) is None:
        raise Contradiction(
            "NC207", message, help=f"The tensor has {dim_map.show_rank(dims)} dims: {dims.show()}."
        )


def _check_shapes(left: Dims, right: Dims) -> None:
    if differ(left[-1], right[0]):
        raise Contradiction(
            "NC202",
            f"mat1 and mat2 shapes cannot be multiplied ({_times(left)} and {_times(right)})",
            names=words(left[-1], right[0]),
            help="The last dim of the left matrix is contracted with the first of the right one.",
        )
    check_axes(left[-1], right[0], left, right)


def differ(a: Dim, b: Dim) -> bool:
    """Whether two sizes certainly differ.

    A layer of 0 inputs is made on purpose, for an input that is empty: an axis may have size 0.
    """
    if 0 in (a.size, b.size) and not (isinstance(a.size, int) and isinstance(b.size, int)):
        return False
    return agree(a.size, b.size) is Answer.NO


def _times(dims: Dims) -> str:
    return dim_map.show_sizes(dims)[1:-1].replace(", ", "x")


def words(*contracted: Dim) -> list[str]:
    """The labels of these dims."""
    return naming.words([dim.name for dim in contracted])


def check_axes(a: Dim, b: Dim, of_a: Dims = SCALAR, of_b: Dims = SCALAR) -> None:
    """Refuse to contract two different axes; labels are not compared.

    `of_a` and `of_b` are their tensors, whose other dims could have been meant instead.
    """
    both = isinstance(a.name, Axis) and isinstance(b.name, Axis)
    if both and clash(a, b):
        raise Contradiction(
            "NC101",
            f"Dim {naming.show_name(a.name)} is contracted with dim "
            f"{naming.show_name(b.name)}, but they are different axes.",
            names=words(a, b),
            help="Transpose one of the operands, so that each axis is contracted with itself.",
        )
    if are_apart(a.size, b.size) or are_swapped(a, b, of_a, of_b):
        raise _not_one(a, b)


def _not_one(a: Dim, b: Dim) -> Contradiction:
    return Contradiction(
        "NC101",
        f"A dim of size {a.size} is contracted with a dim of size {b.size}: it is right only if "
        f"{a.size} = {b.size}.",
        names=words(a, b),
        help="Transpose one of the operands, so that each axis is contracted with itself.",
    )


def check_sides(left: Dims, right: Dims) -> None:
    """Refuse to contract a dim with one side of a matrix whose other side has its size.

    Such a matrix is made with two numbers of the code, so that it is no square. What is read of a
    tensor, or declared in two places, may well be the sides of one, and a layer may have as many
    features as it takes.
    """
    rows, columns = left.from_right(1), right.from_right(2)
    if rows is None or columns is None:
        return
    for one, matrix, offset, other in ((rows, right, 1, columns), (columns, left, 2, rows)):
        beside = matrix.from_right(offset) if matrix.min_rank > 1 else None
        if beside is not None and beside.size == one.size and _are_numbers(one.size, other.size):
            raise _not_one(rows, columns)


def _are_numbers(size: Size, other_size: Size) -> bool:
    """Whether two sizes are different numbers of the code, of which none is computed of another."""
    if not isinstance(size, Expression) or isinstance(other_size, Unknown) or other_size == 1:
        return False
    words = symbols(size), symbols(other_size)
    return words[0].isdisjoint(words[1]) and all(map(naming.is_number, words[0] | words[1]))


@rule(memory="fresh", overlaps="refused")
def matmul(input: Tensor, other: Tensor) -> Dims:
    """The batch dims unified, then rows and columns; no name occurs twice (recorded: matmul)."""
    product = _matmul(input.dims, other.dims)
    labels = [name for name in product.names if isinstance(name, str)]
    if len(set(labels)) < len(labels):
        raise _duplicates(input.dims, other.dims, product)
    return product


@rule
def matmul_natively(input: Tensor, other: Tensor) -> Dims:
    """As `matmul`, but torch 2.12 accepts a batch name that is also a row's (recorded)."""
    return _matmul(input.dims, other.dims)


def _matmul(left: Dims, right: Dims) -> Dims:
    if left.rank == 0 or right.rank == 0:
        raise Contradiction(
            "NC207",
            f"both arguments to matmul need to be at least 1D, but they are "
            f"{dim_map.show_rank(left)}D and {dim_map.show_rank(right)}D",
            help="Multiply by a scalar with `*`.",
        )
    product = matrix_product(left, right)
    broadcast(_batch(left).unnamed(), _batch(right).unnamed())
    check_contracted(left, right)
    check_sides(left, right)
    return product


def _batch(dims: Dims) -> Dims:
    return dim_map.without_right(dims, 2)


def matrix_product(left: Dims, right: Dims) -> Dims:
    """The dims of a product: the batch dims unified, then those of either not contracted."""
    rows, columns = _features(left), _features(right)
    if rows is None or columns is None:
        return _product_of_unknown_rank(left, right)
    batch = _unify_batch(left, right, "matmul")
    result = dim_map.joined(
        batch, Dims((left.from_right(2) or ANY_DIM,) * rows), Dims((last_dim(right),) * columns)
    )
    if rows and columns:
        row, column = naming.word(result.known[-2].name), naming.word(result.known[-1].name)
        if row is not None and row == column and isinstance(result.known[-1].name, str):
            raise _duplicates(left, right, result)
    return result


def _features(dims: Dims) -> int | None:
    """How many dims a factor keeps: one for a matrix, none for a vector; unknown without a rank."""
    if dims.min_rank >= 2:
        return 1
    return None if dims.open else 0


def last_dim(dims: Dims) -> Dim:
    """The last dim; a wholly unknown dim where the list is open."""
    return dims.from_right(1) or ANY_DIM


def _product_of_unknown_rank(left: Dims, right: Dims) -> Dims:
    if _features(right) == 1:
        return Dims((), (last_dim(right),), True)
    if _features(left) == 1 and right.rank == 1:
        return dim_map.without_right(left, 1)
    return OPEN


def _duplicates(left: Dims, right: Dims, product: Dims) -> Contradiction:
    names = [name for name in product.names if isinstance(name, str)]
    doubled = naming.repeated(names)
    return Contradiction(
        "NC104",
        f"Matrix multiplying Tensor{left.show()} with Tensor{right.show()} would produce output "
        f"tensor with duplicate names {product.show()}. Please rename the input tensors with "
        "`Tensor.rename` to prevent this.",
        names=doubled or [str(naming.word(product.known[-1].name))],
        help=f"Rename the dim '{doubled[0]}' of one of them." if doubled else None,
    )


def _unify_batch(left: Dims, right: Dims, call: str) -> Dims:
    """The batch dims of two factors, unified from the right (recorded: matmul, bmm, cdist)."""
    one, other = _batch(left), _batch(right)
    bounded = not one.open and not other.open
    if bounded:
        reach = min(len(one.prefix), len(other.prefix))
    else:
        reach = max(len(dims.suffix if dims.open else dims.prefix) for dims in (one, other))
    for offset in range(reach, 0, -1):
        a, b = one.from_right(offset), other.from_right(offset)
        if a is not None and b is not None:
            _check_batch(a, b, (left, offset + 2), (right, offset + 2), call)
    unified = [
        unify_dim(one.from_right(offset), other.from_right(offset))
        for offset in range(reach, 0, -1)
    ]
    if bounded:
        longer = one if len(one.prefix) > len(other.prefix) else other
        return Dims(dim_map.without_right(longer, reach).prefix + tuple(unified))
    return Dims((), tuple(unified), True)


_Origin = tuple[Dims, int]


def _check_batch(a: Dim, b: Dim, origin: _Origin, facing: _Origin, call: str) -> None:
    if clash(a, b):
        raise Contradiction(
            "NC101",
            f"{call}: Expected {_origin(a.name, origin)} to match {_origin(b.name, facing)} "
            "but they do not match.",
            names=words(a, b),
            help="Bring the batch dims into one order with `align_to`, or `rename` one of them.",
        )
    _check_absent(a, b, origin, facing, call)
    _check_absent(b, a, facing, origin, call)


def _check_absent(dim: Dim, opposite: Dim, origin: _Origin, facing: _Origin, call: str) -> None:
    name = dim.name
    if isinstance(name, Axis):
        misaligned = is_misplaced(opposite, dim, name, _batch(facing[0]), _batch(origin[0]))
    else:
        unnamed = opposite.name is None and isinstance(name, str)
        misaligned = unnamed and facing[0].has(str(name)) is Answer.YES
    if misaligned:
        raise Contradiction(
            "NC102",
            f"{call}: Cannot match {_origin(name, origin)} with {_origin(None, facing)} because "
            f"the latter names already have {naming.show_name(name)}. Are your tensors misaligned?",
            names=words(dim),
            help="Bring the dims into one order with `align_to`.",
        )


def _origin(name: Name, origin: _Origin) -> str:
    dims, offset = origin
    index = -offset if dims.open else len(dims.prefix) - offset
    return f"{naming.show_name(name)} (index {index} of {dims.show()})"


def check_contracted(left: Dims, right: Dims) -> None:
    """Refuse sizes that do not fit, in the words of the kernel that torch calls for these ranks."""
    ranks = (left.rank, right.rank)
    inner = left.from_right(1)
    outer = right.from_right(1 if right.rank == 1 else 2)
    if inner is None or outer is None or (None in ranks and _features(right) is None):
        return
    if ranks == (1, 1):
        _check_vectors(left, right)
    elif ranks == (2, 1):
        _check_vector(left, right, left[0])
    elif ranks == (2, 2):
        _check_shapes(left, right)
    elif differ(inner, outer):
        raise Contradiction(
            "NC202",
            _batched_message(left, right),
            names=words(inner, outer),
            help="The last dim of the left is contracted with the last but one of the right.",
        )
    else:
        check_axes(inner, outer, left, right)


def _check_vectors(left: Dims, right: Dims) -> None:
    one, other = left[0], right[0]
    if differ(one, other):
        raise Contradiction(
            "NC202",
            f"inconsistent tensor size, expected tensor [{one.size}] and src [{other.size}] to "
            f"have the same number of elements, but got {one.size} and {other.size} elements "
            "respectively",
            names=words(one, other),
        )
    check_axes(one, other)


def _check_vector(matrix: Dims, vector: Dims, bias: Dim) -> None:
    rows, columns, inner = matrix[0].size, matrix[1], vector[0]
    fits = bias.size == 1 or not differ(bias, matrix[0])
    if differ(columns, inner) or not fits:
        raise Contradiction(
            "NC202",
            f"size mismatch, got input ({bias.size}), mat ({rows}x{columns.size}), "
            f"vec ({inner.size})",
            names=words(columns, inner),
        )
    check_axes(columns, inner)


def _folded(left: Dims) -> str:
    """The number of rows of the left operand, which torch makes a matrix."""
    rows = UNKNOWN if left.open else product(dim.size for dim in left.known[:-1])
    return "?" if isinstance(rows, Unknown) else str(rows)


def _batched_message(left: Dims, right: Dims) -> str:
    if right.rank == 2 or (left.rank == 1 and right.rank == 2):
        folded = _folded(left)
        rows = f"{1 if left.rank == 1 else folded}x{last_dim(left).size}"
        return f"mat1 and mat2 shapes cannot be multiplied ({rows} and {_times(right)})"
    if right.rank == 1:
        folded = _folded(left)
        return (
            f"size mismatch, got input ({folded}), mat ({folded}x{last_dim(left).size}), "
            f"vec ({last_dim(right).size})"
        )
    batch = product(
        dim.size for dim in broadcast(_batch(left).unnamed(), _batch(right).unnamed()).known
    )
    got = right.from_right(2) or ANY_DIM
    return (
        f"Expected size for first two dimensions of batch2 tensor to be: [{batch}, "
        f"{last_dim(left).size}] but got: [{batch}, {got.size}]."
    )


@rule(memory="fresh")
def bmm(input: Tensor, mat2: Tensor) -> Dims:
    """The batch unified, the rows of the first, the columns of the second (recorded: bmm)."""
    return _bmm(input.dims, mat2.dims)


@rule
def bmm_natively(input: Tensor, mat2: Tensor, out: Tensor | None = None) -> Dims:
    """As `bmm`; torch 2.12 resizes ``out`` before it checks the names (recorded: bmm)."""
    if out is not None:
        one, other = _batches(input.dims, mat2.dims)
        dim_map.check_resize(out.dims, Dims((one[0], one[1], other[2])))
    return _bmm(input.dims, mat2.dims)


def _bmm(left: Dims, right: Dims) -> Dims:
    return matrix_product(*_batches(left, right))


def _batches(left: Dims, right: Dims) -> tuple[Dims, Dims]:
    """Both factors as closed lists of three dims, whose sizes fit."""
    for dims, role in ((left, "batch1"), (right, "batch2")):
        check_rank(dims, 3, f"{role} must be a 3D tensor")
    one, other = closed(left, 3), closed(right, 3)
    if differ(one[0], other[0]) or differ(one[2], other[1]):
        raise Contradiction(
            "NC202",
            f"Expected size for first two dimensions of batch2 tensor to be: [{one[0].size}, "
            f"{one[2].size}] but got: [{other[0].size}, {other[1].size}].",
            names=words(one[2], other[1]),
        )
    check_axes(one[2], other[1], one, other)
    check_sides(one, other)
    return one, other


@rule(memory="fresh")
def mv(input: Tensor, vec: Tensor) -> Dims:
    """The rows of the matrix (recorded: mv)."""
    if input.dims.rank == 0:
        raise _no_dims()
    rows = Dims(input.dims.prefix[:1]) if input.dims.prefix else Dims((ANY_DIM,))
    return _mv(input.dims, vec.dims, rows)


def _no_dims() -> Contradiction:
    return Contradiction(
        "NC207", "Dimension specified as 0 but tensor has no dimensions", error="IndexError"
    )


def _mv(matrix: Dims, vector: Dims, bias: Dims) -> Dims:
    ranks = [dim_map.show_rank(dims) for dims in (bias, matrix, vector)]
    message = f"vector + matrix @ vector expected, got {', '.join(ranks)}"
    if bias.min_rank > 1:
        raise Contradiction("NC207", message)
    check_rank(matrix, 2, message)
    check_rank(vector, 1, message)
    one, other = closed(matrix, 2), closed(vector, 1)
    if bias.rank == 0 and differ(one[1], other[0]):
        raise _no_dims()  # torch raises another error while it formats the sizes
    _check_vector(one, other, last_dim(bias) if bias.rank == 1 else Dim(None, 1))
    return matrix_product(one, other)


@rule(memory="fresh")
def dot(input: Tensor, tensor: Tensor) -> Dims:
    """No dims: the one dim of both vectors is contracted (recorded: dot)."""
    return _dot(input.dims, tensor.dims)


@rule
def dot_natively(input: Tensor, tensor: Tensor, out: Tensor | None = None) -> Dims:
    """As `dot`; torch 2.12 resizes ``out`` before it checks the vectors (recorded: dot)."""
    if out is not None:
        dim_map.check_resize(out.dims, SCALAR)
    return _dot(input.dims, tensor.dims)


@rule(memory="fresh")
def vdot(input: Tensor, other: Tensor) -> Dims:
    """No dims: the one dim of both vectors is contracted, as in `dot` (torch.vdot)."""
    return _dot(input.dims, other.dims)


def _dot(left: Dims, right: Dims) -> Dims:
    message = (
        f"1D tensors expected, but got {dim_map.show_rank(left)}D and "
        f"{dim_map.show_rank(right)}D tensors"
    )
    check_rank(left, 1, message)
    check_rank(right, 1, message)
    _check_vectors(closed(left, 1), closed(right, 1))
    return SCALAR


@rule(memory="unknown", overlaps="refused", aligns="matched")
def addmm(input: Tensor, mat1: Tensor, mat2: Tensor) -> Dims:
    """As `mm`, unified with the bias, which broadcasts to the product (recorded: addmm)."""
    return add_product(input.dims, mat1.dims, mat2.dims)


def add_product(bias: Dims, left: Dims, right: Dims) -> Dims:
    """The names of a product of matrices unified with those of a bias."""
    for dims, role in ((left, "mat1"), (right, "mat2")):
        check_rank(dims, 2, f"{role} must be a matrix, got {dim_map.show_rank(dims)}-D tensor")
    return with_bias(_product_of_matrices(left, right), bias)


def with_bias(product: Dims, bias: Dims) -> Dims:
    """The names of a product unified with those of a bias that is broadcast to it."""
    unified = unify(product, bias)
    dim_map.check_expandable(bias, product)
    return dim_map.of_rank_as(unified.sizeless(), product)


@rule(memory="unknown")
def addmv(input: Tensor, mat: Tensor, vec: Tensor) -> Dims:
    """As `mv`, unified with the bias (recorded: addmv)."""
    return with_bias(_mv(mat.dims, vec.dims, input.dims), input.dims)


@rule(memory="unknown")
def baddbmm(input: Tensor, batch1: Tensor, batch2: Tensor) -> Dims:
    """As `bmm`, unified with the bias, which broadcasts to the product (torch.baddbmm)."""
    _check_reach(batch1.dims, batch2.dims)
    return with_bias(_bmm(batch1.dims, batch2.dims), input.dims)


@rule(memory="unknown", overlaps="refused")
def addbmm(input: Tensor, batch1: Tensor, batch2: Tensor) -> Dims:
    """As `bmm` without the batch, unified with the bias (torch.addbmm)."""
    _check_reach(batch1.dims, batch2.dims)
    return with_bias(dim_map.without_left(_bmm(batch1.dims, batch2.dims), 1), input.dims)


def _check_reach(*factors: Dims) -> None:
    """Refuse a factor without a third dim, which torch reads first (recorded: addbmm)."""
    for dims in factors:
        locate_index(dims, 2)


@rule(memory="unknown")
def cdist(x1: Tensor, x2: Tensor) -> Dims:
    """The batch dims unified, then the rows of either input (recorded: cdist)."""
    left, right = x1.dims, x2.dims
    for dims, role in ((left, "X1"), (right, "X2")):
        if dims.rank is not None and dims.rank < 2:
            raise Contradiction(
                "NC207", f"cdist only supports at least 2D tensors, {role} got: {dims.rank}D"
            )
    if differ(last_dim(left), last_dim(right)):
        raise Contradiction(
            "NC202",
            f"X1 and X2 must have the same number of columns. X1: {last_dim(left).size} "
            f"X2: {last_dim(right).size}",
            names=words(last_dim(left), last_dim(right)),
        )
    check_axes(last_dim(left), last_dim(right))
    rows = (left.from_right(2) or ANY_DIM, right.from_right(2) or ANY_DIM)
    result = dim_map.joined(_unify_batch(left, right, "cdist"), Dims(rows))
    _check_unique(left, right, result)
    return result


def _check_unique(left: Dims, right: Dims, result: Dims) -> None:
    """Refuse a name that would occur twice; the message says where both come from."""
    origins = [*_batch_origins(left, right, result), (left, 2), (right, 2)]
    for index, (dim, origin) in enumerate(zip(result.known, origins, strict=True)):
        for other, where in zip(result.known[index + 1 :], origins[index + 1 :], strict=True):
            if isinstance(dim.name, str) and dim.name == other.name:
                listed = " ".join(naming.show_name(name) for name in result.names)
                raise Contradiction(
                    "NC104",
                    f"cdist: Attempted to propagate dims {_placed(dim.name, origin)} and "
                    f"{_placed(dim.name, where)} to the output, but that would create a tensor "
                    f"with duplicate names [{listed}]. Please rename your inputs with "
                    "Tensor.rename to prevent this.",
                    names=[dim.name],
                    help=f"Rename the dim '{dim.name}' of one of them.",
                )


def _batch_origins(left: Dims, right: Dims, result: Dims) -> list[_Origin]:
    origins: list[_Origin] = []
    for offset in range(len(result.known), 2, -1):
        own = left.from_right(offset)
        origins.append((left if own is not None and own.name is not None else right, offset))
    return origins


def _placed(name: Name, origin: _Origin) -> str:
    """The position as torch prints it: of a row from the right, of a batch dim from the left."""
    dims, offset = origin
    if offset == 2:
        return f"{naming.show_name(name)} (index -2 of {dims.show()})"
    return _origin(name, origin)
