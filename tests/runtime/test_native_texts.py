"""Errors and warnings of torch 2.12 that the recording of single calls does not have."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any, Final

import pytest
import torch

import namecheck
from namecheck.core.semantics import Semantics
from namecheck.runtime import NameMismatch, runtime
from tests.runtime.tensors import named, names

TORCH: Any = torch  # with names, which type checkers do not know
LABELS: Final = ["A" * length for length in range(1, 66)]
UNSUPPORTED: Final = "aten::{} is not yet supported with named tensors"


@pytest.fixture(params=Semantics, ids=lambda semantics: semantics.value)
def semantics(request: pytest.FixtureRequest) -> Iterator[Semantics]:
    with runtime(semantics=request.param):
        yield request.param


@pytest.fixture
def native() -> Iterator[None]:
    with runtime(semantics=Semantics.NATIVE):
        yield


@pytest.mark.usefixtures("native")
def test_operators_that_were_not_supported() -> None:
    matrix: Any = named("N", "C", sizes=(3, 3))
    with pytest.raises(namecheck.NameMismatch, match=UNSUPPORTED.format("_pdist_forward")):
        torch.pdist(matrix)
    with pytest.raises(namecheck.NameMismatch, match=UNSUPPORTED.format("as_strided_")):
        matrix.as_strided_((3, 3), (3, 1))
    with pytest.raises(namecheck.NameMismatch, match=UNSUPPORTED.format("as_strided_")):
        TORCH.as_strided_(matrix, (3, 3), (3, 1))
    assert names(matrix) == ("N", "C")


@pytest.mark.parametrize(
    ("kernel", "call"),
    [
        ("native_layer_norm", lambda x: torch.native_layer_norm(x, (3,), None, None, 1e-5)),
        ("embedding", lambda x: torch.embedding(x, torch.tensor([0, 1]))),
        ("segment_reduce", lambda x: torch.segment_reduce(x, "sum", lengths=torch.tensor([3]))),
        ("nonzero_static", lambda x: x.nonzero_static(size=2)),
        ("sparse_mask", lambda x: x.sparse_mask(torch.eye(3).to_sparse())),
        ("dequantize.self", lambda x: x.dequantize()),
        ("linalg_lu_factor_ex", lambda x: torch.lu(x)),
        ("linalg_qr", lambda x: torch.pca_lowrank(x, 1)),
        ("linalg_qr", lambda x: torch.svd_lowrank(x, 1)),
        ("norm.ScalarOpt_dim", lambda x: torch.frobenius_norm(x, dim=1)),
        ("permute", lambda x: torch.nuclear_norm(x)),
        ("view", lambda x: torch.norm_except_dim(x)),
        ("where.self", lambda x: torch.hinge_embedding_loss(x, x, reduction=0)),
        ("norm.ScalarOpt_dim", lambda x: torch.triplet_margin_loss(x, x, x, reduction=0)),
    ],
)
def test_operators_without_a_rule_were_not_supported(kernel: str, call: Any) -> None:
    with runtime(semantics=Semantics.NATIVE):
        matrix: Any = named("N", "C", sizes=(3, 3))
        with pytest.raises(namecheck.NameMismatch, match=UNSUPPORTED.format(kernel)) as raised:
            call(matrix)
        assert raised.value.finding.code == "NC120"
        call(matrix.rename(None))
    with runtime():
        call(matrix)


VECTOR: Any = torch.ones(2)
STORAGE: Any = torch.ones(3).untyped_storage()
SPARSE: Final = torch.eye(3).to_sparse()
PLACES: Final = torch.tensor([[0, 1], [1, 2]])
ROWS: Any = torch.tensor([0, 1, 2])
COLUMNS: Final = torch.tensor([0, 1])


@pytest.mark.parametrize(
    ("kernel", "call"),
    [
        ("xlogy.Tensor", lambda x: torch.kl_div(x.rename(None), x)),
        ("linalg_vector_norm", lambda x: torch.lobpcg(x @ x.rename(None).T, 1)),
        ("set_", lambda x: x.set_()),
        ("set_.source_Tensor", lambda x: torch.ones(2).set_(x)),
        ("set_.source_Tensor", lambda x: x.set_(VECTOR)),
        ("set_.source_Storage", lambda x: x.set_(STORAGE)),
        ("set_.source_Storage_storage_offset", lambda x: x.set_(STORAGE, 0, (3,), (1,))),
        ("set_.source_Storage_storage_offset", lambda x: x.set_(VECTOR, 0, (2,), (1,))),
        ("_sparse_addmm", lambda x: torch.dsmm(SPARSE, x[:3])),
        ("_sparse_addmm", lambda x: torch.spmm(SPARSE, x[:3])),
        ("sspaddmm.out", lambda x: torch.smm(SPARSE, x[:3])),
        ("sspaddmm.out", lambda x: SPARSE.smm(x[:3])),
        ("sspaddmm.out", lambda x: torch.saddmm(SPARSE, SPARSE, x[:3])),
        ("sspaddmm.out", lambda x: torch.sspaddmm(SPARSE, SPARSE, x[:3])),
        ("sspaddmm.out", lambda x: SPARSE.sspaddmm(SPARSE, x[:3])),
    ],
)
def test_the_arguments_select_the_kernel_that_was_not_supported(kernel: str, call: Any) -> None:
    with runtime(semantics=Semantics.NATIVE):
        matrix: Any = named("N", "C", sizes=(9, 3)) + 1
        with pytest.raises(namecheck.NameMismatch, match=UNSUPPORTED.format(kernel)):
            call(matrix)
        call(matrix.rename(None))
    with runtime():
        call(matrix)


@pytest.mark.usefixtures("native")
def test_arguments_with_names_that_were_supported() -> None:
    matrix: Any = named("N", "C", sizes=(9, 3)) + 1
    torch.kl_div(matrix, matrix.rename(None))
    torch.kl_div(matrix, matrix, log_target=True)
    torch.dsmm(matrix.rename(None).T, matrix)
    torch.lobpcg(torch.eye(9), 1, iK=named("N", "C", sizes=(9, 9)))
    TORCH.ones(2).set_(named("N", sizes=(2,)), 0, (2,), (1,))
    assert names(torch.cartesian_prod(named("N", sizes=(2,)))) == ("N",)
    assert names(torch.combinations(named("N", sizes=(2,)), r=0)) == (None,)


@pytest.mark.parametrize("sizes", [(), ((2, 2),)], ids=["sizes inferred", "sizes given"])
@pytest.mark.usefixtures("native")
def test_sparse_tensors_of_named_tensors_were_not_supported(sizes: Any) -> None:
    parts: Any = named("N", sizes=(2,))
    blocks: Any = named("N", "H", "W", sizes=(2, 1, 1))
    kernel = "_sparse_coo_tensor_with_dims_and_tensors"
    with pytest.raises(namecheck.NameMismatch, match=UNSUPPORTED.format(kernel)):
        torch.sparse_coo_tensor(PLACES % 2, parts, *sizes)
    kernel = "sparse_compressed_tensor.comp_plain_value" + ("_size" if sizes else "")
    for make, values in (
        (torch.sparse_csr_tensor, parts),
        (torch.sparse_csc_tensor, parts),
        (torch.sparse_bsr_tensor, blocks),
        (torch.sparse_bsc_tensor, blocks),
    ):
        make(ROWS, COLUMNS, values.rename(None), *sizes)
        for given in ((ROWS, COLUMNS, values), (ROWS.rename("R"), COLUMNS, values.rename(None))):
            with pytest.raises(namecheck.NameMismatch, match=UNSUPPORTED.format(kernel)):
                make(*given, *sizes)


@pytest.mark.parametrize(
    ("kernel", "call"),
    [
        ("view_as_real", lambda x: torch.abs(x)),
        ("view_as_real", lambda x: torch.angle(x)),
        ("view_as_real", lambda x: torch.isfinite(x)),
        ("view_as_real", lambda x: torch.rand_like(x)),
        ("view_as_real", lambda x: x.real),
        ("view_as_real", lambda x: x.std("C")),
        ("view_as_real", lambda x: TORCH.var_mean(x, "C")[0]),
        ("view_as_real", lambda x: x.normal_()),
        ("view_as_real", lambda x: torch.nn.functional.softsign(x)),
        ("view_as_real", lambda x: torch.nn.functional.l1_loss(x, x)),
        ("_conj", lambda x: torch.conj(x)),
        ("_conj", lambda x: torch.adjoint(x)),
        ("_conj", lambda x: x.mH),
        ("_conj", lambda x: torch.linalg.vecdot(x, x)),
        ("_conj_physical", lambda x: torch.conj_physical(x)),
    ],
)
def test_complex_tensors_were_not_supported(kernel: str, call: Any) -> None:
    with runtime(semantics=Semantics.NATIVE):
        matrix: Any = named("N", "C", sizes=(3, 3)) + 1
        plain: Any = matrix.to(torch.complex64)
        for _ in range(2):  # that the call with floats is remembered does not matter
            call(matrix)
            with pytest.raises(namecheck.NameMismatch, match=UNSUPPORTED.format(kernel)):
                call(plain)
    with runtime():
        call(plain)


@pytest.mark.usefixtures("native")
def test_other_dims_are_views() -> None:
    cube: Any = named("B", "N", "C", sizes=(2, 3, 3))
    matrix: Any = named("N", "C", sizes=(3, 3))
    assert names(torch.trapezoid(matrix, matrix)) == ("N",)
    for function in (torch.trapezoid, torch.cumulative_trapezoid):
        for y, x in ((cube, matrix), (cube, matrix[0]), (matrix[0], matrix[0])):
            with pytest.raises(namecheck.NameMismatch, match=UNSUPPORTED.format("view")):
                function(y, x)
    assert names(matrix.sum_to_size(1, 3)) == ("N", "C")
    assert names(matrix.sum_to_size(())) == ()
    with pytest.raises(namecheck.NameMismatch, match=UNSUPPORTED.format("view")):
        matrix.sum_to_size(3)


@pytest.mark.usefixtures("native")
def test_the_numbers_of_a_call_that_is_remembered_matter() -> None:
    images: Any = named("N", "C", "H", "W", sizes=(2, 3, 4, 5))
    for probability in (0.0, 0.5, 1.0, 0.25):
        if probability in (0.0, 1.0):
            assert names(torch.nn.functional.dropout2d(images, probability)) == images.names
        else:
            with pytest.raises(namecheck.NameMismatch, match=UNSUPPORTED.format("new_empty")):
                torch.nn.functional.dropout2d(images, probability)


def test_other_strides_in_place_leave_no_names() -> None:
    with runtime():
        matrix: Any = named("N", "C", sizes=(2, 3))
        assert names(matrix.as_strided_((3, 2), (1, 3))) == (None, None)
        assert names(matrix) == (None, None)


def test_names_for_more_than_64_dims_are_refused(semantics: Semantics) -> None:
    message = "Named tensors only support up to 64 dims: Attempted to create a tensor with dim 65"
    assert names(TORCH.empty([1] * 64, names=LABELS[:64])) == tuple(LABELS[:64])
    for labels in (LABELS, LABELS[:64]):
        with pytest.raises(namecheck.NameMismatch, match=message):
            TORCH.empty([1] * 65, names=labels)
    unnamed: Any = torch.empty([1] * 65)
    with pytest.raises(namecheck.NameMismatch, match=message):
        unnamed.names = LABELS
    row = named("N", sizes=(2,))
    if semantics is Semantics.NATIVE:
        with pytest.raises(namecheck.NameMismatch, match=message):
            unnamed + row
    else:
        assert names(unnamed + row) == (*[None] * 64, "N")


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ((0, -1), "the unspecified dimension size -1 can be any value and is ambiguous"),
        ((-1, -1), "only one dimension can be inferred"),
        ((-2, 0), r"invalid shape dimension -2 at index 0 of shape \[-2, 0\]"),
        ((1, 2), r"Provided sizes \[1, 2\] don't multiply up to the size of dim 1 \('B': 0\)"),
    ],
)
@pytest.mark.usefixtures("semantics")
def test_sizes_that_an_empty_dim_cannot_have(sizes: tuple[int, int], message: str) -> None:
    empty: Any = named("A", "B", sizes=(2, 0))
    with pytest.raises(namecheck.NameMismatch, match=message):
        empty.unflatten("B", (("B1", sizes[0]), ("B2", sizes[1])))
    parts = empty.unflatten("B", (("B1", 3), ("B2", -1), ("B3", 4)))
    assert (names(parts), parts.shape) == (("A", "B1", "B2", "B3"), (2, 3, 0, 4))


@pytest.mark.parametrize(
    ("last", "message"),
    [(1, "'int' object is not iterable"), (None, "'NoneType' object is not iterable")],
)
@pytest.mark.usefixtures("semantics")
def test_a_size_without_a_name_among_pairs(last: int | None, message: str) -> None:
    matrix: Any = named("A", "B", sizes=(2, 3))
    with pytest.raises(namecheck.NameTypeError, match=message):
        matrix.unflatten("B", (("B1", 3), last))


def passed_gradients() -> list[warnings.WarningMessage]:
    """The warnings of three passes with a gradient: two named ones, and an unnamed one."""
    leaf: Any = named("N", "C").requires_grad_()
    gradient: Any = named("N", "C")
    with warnings.catch_warnings(record=True) as issued:
        warnings.simplefilter("always")
        (leaf * 2).backward(gradient)
        torch.autograd.grad(leaf * 2, leaf, gradient)
        (leaf * 2).backward(gradient.rename(None))
    return issued


def test_a_gradient_with_names_is_warned_of(semantics: Semantics) -> None:
    issued = passed_gradients()
    if semantics is Semantics.NAMECHECK:
        assert not issued
        return
    assert [str(warning.message).split(". ")[0] for warning in issued] == [
        "Autograd was passed a named grad tensor with dims ['N', 'C']"
    ] * 2
    assert {(warning.category, warning.filename) for warning in issued} == {(UserWarning, __file__)}


def test_code_without_a_module_is_warned_too() -> None:
    leaf = torch.ones(2, 3, requires_grad=True)
    with (
        runtime(semantics=Semantics.NATIVE),
        warnings.catch_warnings(record=True) as issued,
    ):
        warnings.simplefilter("always")
        code = compile("(leaf * 2).backward(gradient)", "nameless.py", "exec")
        exec(code, {"leaf": leaf, "gradient": named("N", "C")})
    assert [warning.filename for warning in issued] == ["nameless.py"]


def first_names(**settings: Any) -> list[str]:
    with warnings.catch_warnings(record=True) as issued, runtime(**settings):
        warnings.simplefilter("always")
        torch.zeros(2, 3) + 1
        for _ in range(2):
            TORCH.zeros(2, 3, names=("N", "C")).sum("N")
    assert {warning.filename for warning in issued} <= {__file__}
    return [str(warning.message) for warning in issued]


@pytest.mark.parametrize("semantics", Semantics)
def test_the_experimental_warning_is_issued_once_where_it_is_wanted(semantics: Semantics) -> None:
    assert first_names(semantics=semantics) == []
    [text] = first_names(semantics=semantics, experimental_warning=True)
    assert text.startswith("Named tensors and all their associated APIs are an experimental")


@pytest.mark.parametrize("mask", [[True, False, True], True])
def test_what_torch_2_12_refuses_in_place_is_not_written(mask: Any) -> None:
    with runtime(semantics=Semantics.NATIVE):
        x = named("N", "C", sizes=(2, 3))
        written = x.clone()
        with pytest.raises(NameMismatch, match="masked_fill_: attempted to broadcast"):
            written.masked_fill_(torch.tensor(mask), 9)
        assert written.tolist() == x.tolist()
