"""Linear algebra, grids and sets: rows, columns, and the results of decompositions."""

from __future__ import annotations

from typing import Any

import pytest

from namecheck.core.dims import Dims
from namecheck.core.names import UNKNOWN
from namecheck.core.sizes import symbol
from namecheck.core.tensors import Tensor
from namecheck.operators import infer
from tests.annotated import annotated, run

B, H, W, N, K = map(symbol, "bhwnk")


@pytest.mark.parametrize(
    ("operator", "args", "result"),
    [
        ("linalg.inv", (":b n n",), "b n n"),
        ("linalg.inv", (":b n m",), "NC201"),
        ("linalg.inv", (":b n 3",), "b _=3 n"),
        ("linalg.inv", (":n",), "NC207"),
        ("linalg.pinv", (":n m",), "m n"),
        ("linalg.cholesky", (":b n n",), "b n n"),
        ("linalg.cholesky_ex", (":b n n",), "b n n | b"),
        ("linalg.eigh", (":b n n",), "b n | b n n"),
        ("linalg.eigvalsh", (":b n n",), "b n"),
        ("linalg.svd", (":b n m",), "b n n | b _ | b m m"),
        ("linalg.svd", (":n n", False), "n n | n | n n"),
        ("linalg.svd", (":5 3", False), "_=5 _=3 | _=3 | _=3 _=3"),
        ("svd", (":5 3",), "_=5 _=3 | _=3 | _=3 _=3"),
        ("linalg.svdvals", (":5 3",), "_=3"),
        ("linalg.qr", (":5 3",), "_=5 _=3 | _=3 _=3"),
        ("linalg.qr", (":5 3", "complete"), "_=5 _=5 | _=5 _=3"),
        ("qr", (":n n",), "n n | n n"),
        ("linalg.lu", (":n m",), "n n | n _ | _ m"),
        ("linalg.lu_factor", (":n n",), "n n | n"),
        ("linalg.slogdet", (":b n n",), "b | b"),
        ("linalg.matrix_rank", (":b n m",), "b"),
        ("linalg.matrix_norm", (":b n m",), "b"),
        ("linalg.matrix_norm", (":b n m", "fro", (0, 1)), "m"),
        ("linalg.cond", (":b n n",), "b"),
        ("matrix_power", (":b n n", 3), "b n n"),
        ("matrix_power", (":n m", 3), "NC201"),
        ("linalg.diagonal", (":b n n",), "b n"),
        ("linalg.solve", (":n n", ":n"), "n"),
        ("linalg.solve", (":n n", ":m"), "NC101"),
        ("linalg.solve", (":b n n", ":b n k"), "b n k"),
        ("linalg.solve", (":b n n", ":b k n"), "NC101"),
        ("linalg.solve", (":b n n", ":c n k"), "NC101"),
        ("det", (":n m",), "NC201"),
        ("cov", (":d n",), "d d"),
        ("cov", (":n",), ""),
        ("corrcoef", (":b d n",), "NC207"),
        ("vander", (":n",), "n n"),
        ("vander", (":n", 3), "n _=3"),
        ("diag", (":n",), "n n"),
        ("diag", (":n n",), "n"),
        ("diag", (":3", 1), "_=4 _=4"),
        ("diagflat", (":n m",), "n*m n*m"),
        ("diag_embed", (":b n",), "b n n"),
        ("diag_embed", (":b n", 1, 0, 2), "n+1 b n+1"),
        ("diag_embed", (":b n", 0, 1, 1), "NC203"),
        ("block_diag", (":n m", ":k d"), "k+n d+m"),
        ("block_diag", (":n", ":3 d"), "_=4 d+n"),
        ("block_diag", (":n", ":b n m"), "NC207"),
        ("cartesian_prod", (), "NC114"),
        ("cartesian_prod", (":n", ":n m"), "NC207"),
        ("combinations", (":n m",), "NC207"),
        ("meshgrid", (":h", ":w"), "h w | h w"),
        ("meshgrid", (":h w", ":w"), "NC207"),
        ("cartesian_prod", (":n", ":m"), "n*m _=2"),
        ("cartesian_prod", (":n",), "n"),
        ("combinations", (":4",), "_=6 _=2"),
        ("combinations", (":4", 2, True), "_=10 _=2"),
        ("unique", (":b t",), "_"),
        ("unique", (":b t", True, True), "_ | b t"),
        ("unique_consecutive", (":b t", True, True), "_ | b t | _"),
        ("unique_consecutive", (":", True, True, -1), "NC203"),
        ("histc", (":b t", 5), "_=5"),
        ("histogram", (":n", 5), "_=5 | _=6"),
        ("histogram", (":n", ":6"), "_=5 | _=6"),
        ("nn.functional.pdist", (":4 d",), "_=6"),
        ("cumulative_trapezoid", (":b t",), "b t-1"),
        ("cumulative_trapezoid", (":b 4", ":b 2"), "b _"),
        ("gradient", (":b t",), "b t | b t"),
        ("stft", (":b n", 4, None, None, None, True, "reflect", False, False, True), "b _=4 _"),
        ("istft", (":b 3 t", 4), "b _"),
        ("istft", (":b 3 t 2", 4), "b _"),
        ("fft.rfft", (":b n",), "b n//2+1"),
        ("fft.fftshift", (":b n",), "b n"),
    ],
)
def test_axes(operator: str, args: tuple[Any, ...], result: str) -> None:
    assert run(operator, *args) == result


def test_sizes_tell_what_is_made() -> None:
    assert run("vander", ":n", K) == "n k"
    assert run("histc", ":n", K) == "k"
    assert run("fft.irfft", ":b n", K) == "b k"
    assert run("istft", ":b 3 t", 4, length=N) == "b n"
    assert run("sum_to_size", ":b n", 1, N) == "_=1 n"
    assert run("sum_to_size", ":b 3", 1, 4) == "NC201"
    assert run("nn.functional.affine_grid", ":b 2 3", (B, 3, H, W)) == "b h w _=2"
    assert run("nn.functional.affine_grid", ":n 2 3", (B, 3, H, W)) == "NC101"
    assert run("nn.functional.affine_grid", ":b 2 3", (B, 3)) == "NC114"


def test_grids_of_images_begin_with_the_columns() -> None:
    assert run("meshgrid", ":w", ":h", indexing="xy") == "h w | h w"
    assert run("meshgrid", ":w", ":h", indexing=UNKNOWN) == "? ? | ? ?"
    assert run("meshgrid", [annotated("h"), annotated("w")], indexing="ij") == "h w | h w"


def test_labels_of_what_is_new_are_none() -> None:
    matrix = Tensor(Dims.of("R", "C", sizes=(5, 3)))
    assert run("linalg.svd", matrix, False) == "R=5 _=3 | _=3 | _=3 C=3"
    assert run("linalg.pinv", matrix) == "C=3 R=5"
    assert run("cov", matrix) == "_=5 _=5"
    assert run("diag", matrix) == "_=3"
    vector = Tensor(Dims.of("N", sizes=(4,)))
    assert run("meshgrid", vector, Tensor(Dims.of("M", sizes=(2,)))) == "N=4 M=2 | N=4 M=2"
    assert run("meshgrid", vector, vector) == "NC104"


def test_what_is_not_known_is_not_claimed() -> None:
    assert run("linalg.solve", Tensor(), annotated("n k")) == "..."
    assert run("linalg.svd", Tensor(Dims(annotated("n m").dims.prefix)), UNKNOWN) == (
        "n ? | _ | ? m"
    )
    assert infer("linalg.qr", annotated("n m"), "r").result is UNKNOWN
    assert run("unique_consecutive", ":b t", dim=UNKNOWN) == "..."
    assert run("combinations", ":4", UNKNOWN) == "_ ..."
    assert infer("nonzero", Tensor(), as_tuple=True, out=UNKNOWN).contradiction is None


def test_what_has_no_dims_has_no_slices() -> None:
    assert run("unique", ":", dim=0, return_inverse=True) == "NC203"
    assert run("unique", ":", return_inverse=True) == "_ | "
