"""Linear algebra: the rows and columns of matrices, batch by batch (torch.linalg).

A dim that a decomposition makes, such as that of eigenvalues, is the axis that the matrix has
twice; for other matrices it is unnamed.
"""

from __future__ import annotations

from typing import TypeAlias

from namecheck.core import names as naming
from namecheck.core.dataclasses import replace
from namecheck.core.dims import ANY_DIM, OPEN, Dim, Dims, Size, join_dims, new_dim
from namecheck.core.names import UNKNOWN, Axis, Contradiction, Unknown
from namecheck.core.tensors import Tensor
from namecheck.rules.arguments import DimArgument, DimArguments, Flag
from namecheck.rules.broadcasting import broadcast, check_one, diagonal_dim
from namecheck.rules.dim_map import joined, show_rank, without_right
from namecheck.rules.permutations import transposes_last_two
from namecheck.rules.reductions import check_square, removes_dimensions
from namecheck.rules.registry import rule

Two: TypeAlias = tuple[Dims, Dims]
Three: TypeAlias = tuple[Dims, Dims, Dims]


def _matrix(dims: Dims, operator: str) -> tuple[Dims, Dim, Dim]:
    """The batch, the rows and the columns."""
    if dims.rank is not None and dims.rank < 2:
        raise Contradiction(
            "NC207",
            f"{operator}: The input tensor A must have at least 2 dimensions.",
            help=f"The dims of the tensor are {dims.show()}.",
        )
    rows, columns = dims.from_right(2) or ANY_DIM, dims.from_right(1) or ANY_DIM
    return without_right(dims, 2), rows, columns


def _made(batch: Dims, *made: Dim) -> Dims:
    """New matrices, or vectors, for each element of the batch."""
    result = joined(batch, Dims(made))
    naming.check_distinct(result.names)
    return result


def _twin(dim: Dim) -> Dim:
    """A new dim of the same size as another: the same axis, but no label."""
    if isinstance(dim.name, Axis):
        return Dim(replace(dim.name, occurrence=0), dim.size)
    return Dim(UNKNOWN if dim.name is UNKNOWN else None, dim.size)


def _square(A: Tensor, operator: str) -> Dims:
    check_square(A.dims, operator)
    return A.dims


@rule(memory="unknown", square=True)
def keeps_square(input: Tensor) -> Dims:
    """The dims of a square matrix, unchanged (torch.linalg.cholesky)."""
    return _square(input, "linalg.cholesky")


@rule(memory="unknown", square=True)
def cholesky(input: Tensor) -> Dims:
    """As `keeps_square`; a tensor that may have no elements may have any shape (torch.cholesky)."""
    may_be_empty = any(size == 0 or size is UNKNOWN for size in input.dims.sizes)
    return input.dims if may_be_empty else keeps_square(input)


@rule(memory="unknown", square=True)
def matrix_power(input: Tensor, n: int | Unknown = UNKNOWN) -> Dims:
    """The dims of a square matrix (recorded: matrix_power); a negative power is of its inverse."""
    dims = _square(input, "linalg.matrix_power")
    if isinstance(n, int):
        return dims if n >= 0 else _inverted(dims)
    return join_dims(dims, _inverted(dims))


@rule(memory="unknown", square=True)
def keeps_square_with_info(input: Tensor) -> Two:
    """As `keeps_square`, and a number for each matrix (torch.linalg.cholesky_ex)."""
    return _square(input, "linalg.cholesky"), without_right(input.dims, 2)


@rule(memory="unknown", square=True)
def inverts(A: Tensor) -> Dims:
    """Rows become columns, and columns rows (torch.linalg.inv)."""
    return _inverted(_square(A, "linalg.inv"))


def _inverted(dims: Dims) -> Dims:
    """Rows and columns swapped; an axis that occurs twice has an unknown occurrence."""
    turned = _turned(dims)
    return turned.rename(map(naming.either, turned.names))


def _turned(dims: Dims) -> Dims:
    return transposes_last_two(Tensor(dims)) if dims.min_rank > 1 or dims.rank is None else dims


@rule(memory="unknown", square=True)
def inverts_with_info(A: Tensor) -> Two:
    """As `inverts`, and a number for each matrix (torch.linalg.inv_ex)."""
    return inverts(A), without_right(A.dims, 2)


@rule(memory="unknown")
def inverts_any(input: Tensor) -> Dims:
    """As `inverts`, for a matrix that need not be square (torch.linalg.pinv)."""
    _matrix(input.dims, "linalg.pinv")
    return _inverted(input.dims)


@rule(memory="unknown", square=True)
def eigenvalues(input: Tensor) -> Dims:
    """A vector for each matrix (torch.linalg.eigvalsh)."""
    batch, rows, columns = _matrix(_square(input, "linalg.eigh"), "linalg.eigh")
    return _made(batch, diagonal_dim(rows, columns))


@rule(memory="unknown", square=True)
def eigenvectors(input: Tensor) -> Two:
    """Values, and vectors that are columns (torch.linalg.eigh)."""
    batch, rows, columns = _matrix(_square(input, "linalg.eigh"), "linalg.eigh")
    each = diagonal_dim(rows, columns)
    return _made(batch, each), _made(batch, rows, _twin(each))


@rule(memory="unknown")
def singular_values(A: Tensor) -> Dims:
    """As many for each matrix as its smaller side (torch.linalg.svdvals)."""
    batch, rows, columns = _matrix(A.dims, "linalg.svd")
    return _made(batch, diagonal_dim(rows, columns))


@rule(memory="unknown")
def singular_vectors(A: Tensor, full_matrices: Flag = True) -> Three:
    """Vectors of the rows, values, vectors of the columns (torch.linalg.svd)."""
    batch, rows, columns = _matrix(A.dims, "linalg.svd")
    least = diagonal_dim(rows, columns)
    left, right = (
        _either(_twin(rows), least, full_matrices),
        _either(_twin(columns), least, full_matrices),
    )
    return _made(batch, rows, left), _made(batch, least), _made(batch, right, columns)


@rule(memory="unknown")
def singular_vectors_of_old(input: Tensor, some: Flag = True, compute_uv: Flag = True) -> Three:
    """Vectors of the rows, values, vectors of the columns as columns (torch.svd).

    Without `compute_uv` the vectors are zeros, as many as there can be.
    """
    decided = not isinstance(some, Unknown) and not isinstance(compute_uv, Unknown)
    full: Flag = not (some and compute_uv) if decided else UNKNOWN
    left, values, right = singular_vectors(input, full)
    return left, values, _turned(right)


def _either(full: Dim, least: Dim, square: Flag) -> Dim:
    if isinstance(square, Unknown):
        return ANY_DIM
    return full if square else least


@rule(memory="unknown")
def factors_orthogonally(A: Tensor, mode: str | Unknown = "reduced") -> Two | Unknown:
    """An orthogonal factor and a triangular one (torch.linalg.qr)."""
    if isinstance(mode, Unknown) or mode == "r":
        return UNKNOWN  # with mode "r" the first is empty
    batch, rows, columns = _matrix(A.dims, "linalg.qr")
    inner = diagonal_dim(rows, columns) if mode == "reduced" else _twin(rows)
    return _made(batch, rows, inner), _made(batch, inner, columns)


@rule(memory="unknown")
def factors_orthogonally_of_old(input: Tensor, some: Flag = True) -> Two | Unknown:
    """As `factors_orthogonally`, where `some` is the mode (torch.qr)."""
    if isinstance(some, Unknown):
        return UNKNOWN
    return factors_orthogonally(input, "reduced" if some else "complete")


@rule(memory="unknown")
def factors_triangularly(A: Tensor) -> Three:
    """A permutation, a lower and an upper triangle (torch.linalg.lu)."""
    batch, rows, columns = _matrix(A.dims, "linalg.lu")
    inner = diagonal_dim(rows, columns)
    return _made(batch, rows, _twin(rows)), _made(batch, rows, inner), _made(batch, inner, columns)


@rule(memory="unknown")
def factors_in_one(A: Tensor) -> Two:
    """Both triangles in one matrix, and the pivots (torch.linalg.lu_factor, ldl_factor)."""
    batch, rows, columns = _matrix(A.dims, "linalg.lu_factor")
    return A.dims, _made(batch, diagonal_dim(rows, columns))


@rule(memory="unknown")
def factors_in_one_with_info(A: Tensor) -> Three:
    """As `factors_in_one`, and a number for each matrix (torch.linalg.lu_factor_ex)."""
    return *factors_in_one(A), without_right(A.dims, 2)


@rule(memory="unknown")
def numbers_of_matrices(input: Tensor) -> Dims:
    """A number for each matrix (torch.linalg.matrix_rank, cond)."""
    return _matrix(input.dims, "linalg.matrix_rank")[0]


@rule(memory="unknown", square=True)
def sign_and_logdet(A: Tensor) -> Two:
    """Two numbers for each matrix (torch.linalg.slogdet)."""
    batch = without_right(_square(A, "linalg.slogdet"), 2)
    return batch, batch


@rule(memory="unknown")
def matrix_norm(
    input: Tensor, dim: DimArgument | DimArguments = (-2, -1), keepdim: Flag = False
) -> Dims:
    """The input's dims without the two of the matrices (torch.linalg.matrix_norm)."""
    _matrix(input.dims, "linalg.matrix_norm")
    return removes_dimensions(input, dim, keepdim)


@rule(memory="unknown", aligns="matched", square=True)
def solves(A: Tensor, B: Tensor, from_left: Flag = True) -> Dims:
    """The dims of X in A X = B, or in X A = B (torch.linalg.solve)."""
    matrix, right_side = _square(A, "linalg.solve"), B.dims
    if matrix.rank is None or right_side.rank is None or isinstance(from_left, Unknown):
        return OPEN
    what = "the rows of A and of B" if from_left else "the columns of A and of B"
    if right_side.rank == 1:
        check_one("linalg.solve", what, matrix[-2], right_side[0], by_label=False)
        return _made(Dims(matrix.prefix[:-2]), matrix[-1])
    if right_side.rank < matrix.rank:
        return OPEN  # vectors, or one matrix for all
    own, other, place = (matrix[-2], matrix[-1], -2) if from_left else (matrix[-1], matrix[-2], -1)
    check_one("linalg.solve", what, own, right_side[place], by_label=False)
    batch = broadcast(without_right(matrix, 2), without_right(right_side, 2))
    return _made(batch, *((other, right_side[-1]) if from_left else (right_side[-2], other)))


@rule(memory="unknown", aligns="matched", square=True)
def solves_with_info(A: Tensor, B: Tensor, from_left: Flag = True) -> tuple[Dims, Dims | Unknown]:
    """As `solves`, and a number for each matrix (torch.linalg.solve_ex)."""
    return solves(A, B, from_left), without_right(A.dims, 2)


@rule(memory="unknown", aligns="matched")
def solves_least_squares(input: Tensor, other: Tensor) -> tuple[Dims, Unknown, Unknown, Unknown]:
    """The dims of the solution; the other results are unknown (torch.linalg.lstsq)."""
    _, rows, columns = _matrix(input.dims, "linalg.lstsq")
    if input.dims.rank is None or other.dims.rank != input.dims.rank:
        return OPEN, UNKNOWN, UNKNOWN, UNKNOWN
    check_one("linalg.lstsq", "the rows of A and of B", rows, other.dims[-2], by_label=False)
    batch = broadcast(without_right(input.dims, 2), without_right(other.dims, 2))
    return _made(batch, columns, other.dims[-1]), UNKNOWN, UNKNOWN, UNKNOWN


@rule(memory="unknown", aligns="matched")
def solves_by_factors(B: Tensor, decomposition: Tensor) -> Dims:
    """The dims of B, its batch broadcast with the decomposition's (torch.cholesky_solve)."""
    if B.dims.rank is None or decomposition.dims.rank is None:
        return OPEN
    batch = broadcast(without_right(B.dims, 2), without_right(decomposition.dims, 2))
    return joined(batch, Dims(B.dims.prefix[-2:]))


@rule(memory="unknown", aligns="matched")
def solves_by_triangle(input: Tensor, A: Tensor) -> Two:
    """The solution and the triangle, each for all batches (torch.triangular_solve)."""
    if input.dims.rank == A.dims.rank == 2:
        return input.dims, A.dims
    if input.dims.rank is None or A.dims.rank is None:
        return OPEN, OPEN
    batch = broadcast(without_right(input.dims, 2), without_right(A.dims, 2))
    columns, rows = (Dims(dims.prefix[-2:]) for dims in (input.dims, A.dims))
    return joined(batch, columns), joined(batch, rows)


@rule(memory="unknown")
def covariances(input: Tensor) -> Dims:
    """A square of the rows, which are the variables; a single row gives a number (torch.cov)."""
    if input.dims.rank is None:
        return OPEN
    if input.dims.rank > 2:
        raise Contradiction(
            "NC207",
            "cov(): expected input to have two or fewer dimensions but got an input with "
            f"{show_rank(input.dims)} dimensions",
            help="The rows are the variables, the columns the observations.",
        )
    if input.dims.rank < 2:
        return Dims()
    each = _twin(input.dims.prefix[0])
    if each.size == 1:
        return Dims()
    return OPEN if each.size is UNKNOWN else Dims((each, each))


@rule(memory="unknown")
def powers(x: Tensor, N: Size | None = None) -> Dims:
    """A row of powers for each element (torch.vander)."""
    elements = Dims((Dim(None, 1),)) if x.dims.rank == 0 else x.dims
    if N is None:
        return joined(elements, Dims((_twin(elements.from_right(1) or ANY_DIM),)))
    return joined(elements, Dims((Dim() if isinstance(N, Unknown) else new_dim(N),)))
