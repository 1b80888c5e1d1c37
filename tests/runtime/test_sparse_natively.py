"""What torch 2.12 does with names beside sparse tensors, by the layout (measured on 2.12.1)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest
import torch

import namecheck
from namecheck.core.semantics import Semantics
from namecheck.runtime import runtime
from tests.runtime.tensors import named, names

LAYOUTS: Final[dict[str, Callable[[torch.Tensor], Any]]] = {
    "sparse_coo": lambda dense: dense.to_sparse(),
    "sparse_csr": lambda dense: dense.to_sparse_csr(),
    "sparse_csc": lambda dense: dense.to_sparse_csc(),
    "sparse_bsr": lambda dense: dense.to_sparse_bsr((1, 1)),
    "sparse_bsc": lambda dense: dense.to_sparse_bsc((1, 1)),
}
COMPRESSED: Final = [layout for layout in LAYOUTS if layout != "sparse_coo"]


@pytest.fixture(autouse=True)
def native() -> Iterator[None]:
    with runtime(semantics=Semantics.NATIVE):
        yield


@pytest.fixture
def dense() -> Any:
    return named("A", "B", sizes=(3, 3))


def sparse(layout: str) -> Any:
    return LAYOUTS[layout](torch.eye(3))


def not_supported(kernel: str) -> Any:
    text = f"aten::{kernel} is not yet supported with named tensors"
    return pytest.raises(namecheck.NameMismatch, match=text)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_sparse_tensor_took_no_names(layout: str) -> None:
    tensor = sparse(layout)
    with pytest.raises(namecheck.NameMismatch, match="only support strided layout"):
        tensor.rename_("A", "B")
    with pytest.raises(namecheck.NameMismatch, match="only support strided layout"):
        tensor.names = "A", "B"
    assert tensor.names == (None, None)


@pytest.mark.parametrize("layout", COMPRESSED)
@pytest.mark.parametrize(
    "call",
    [
        lambda tensor: tensor.rename("A", "B"),
        lambda tensor: tensor.rename(None),
        lambda tensor: tensor.refine_names("A", "B"),
        lambda tensor: tensor.refine_names(...),
        lambda tensor: tensor.align_to("A", "B"),
        lambda tensor: tensor.align_as(named("A", "B")),
    ],
)
def test_a_compressed_tensor_had_no_view(layout: str, call: Callable[[Any], Any]) -> None:
    kind = layout.removeprefix("sparse_").upper()
    text = f"Sparse {kind} tensors do not have strides"
    with pytest.raises(namecheck.NameMismatch, match=text):
        call(sparse(layout))


@pytest.mark.parametrize(
    "call", [lambda tensor: tensor.rename("A", "B"), lambda tensor: tensor.refine_names(None, None)]
)
def test_a_sparse_coordinate_tensor_had_no_storage(call: Callable[[Any], Any]) -> None:
    text = "Cannot access storage of SparseTensorImpl"
    with pytest.raises(NotImplementedError, match=text) as raised:
        call(sparse("sparse_coo"))
    assert isinstance(raised.value, namecheck.NameMismatch)


@pytest.mark.parametrize(
    ("tensor", "text"),
    [
        (torch.ones(2, 3).to_mkldnn(), "storage of OpaqueTensorImpl"),
        (
            torch.nested.nested_tensor([torch.ones(2, 3)], layout=torch.jagged),
            "aten.alias.default",
        ),
    ],
    ids=["mkldnn", "jagged"],
)
def test_other_layouts_took_no_names(tensor: Any, text: str) -> None:
    labels = "ABC"[: tensor.dim()]
    with pytest.raises(namecheck.NameMismatch, match="only support strided layout"):
        tensor.rename_(*labels)
    with pytest.raises(namecheck.NameNotImplementedError, match=text):
        tensor.refine_names(*labels)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(
    "call",
    [
        lambda tensor, x: torch.sparse.mm(tensor, x),
        lambda tensor, x: torch.sparse.mm(x, tensor),
        lambda tensor, x: torch.sparse.addmm(x.rename(None), tensor, x),
        lambda tensor, x: torch.sparse.addmm(x, tensor, x.rename(None)),
    ],
)
def test_products_of_sparse_tensors_were_not_supported(
    layout: str, call: Callable[[Any, Any], Any], dense: Any
) -> None:
    with not_supported("_sparse_addmm"):
        call(sparse(layout), dense)


@pytest.mark.parametrize(
    ("layout", "kernel", "call"),
    [
        ("sparse_coo", "_sparse_addmm", lambda tensor, x: tensor.mm(x)),
        ("sparse_coo", "_sparse_addmm", lambda tensor, x: x.mm(tensor)),
        ("sparse_csr", "mT", lambda tensor, x: x.mm(tensor)),
        ("sparse_csc", "mT", lambda tensor, x: torch.addmm(x.rename(None), x, tensor)),
        ("sparse_csr", "_sparse_mm_reduce_impl", lambda s, x: torch.sparse.mm(s, x, "sum")),
        ("sparse_csr", "sparse_sampled_addmm", lambda s, x: torch.sparse.sampled_addmm(s, x, x)),
        ("sparse_coo", "unsqueeze", lambda tensor, x: tensor.mv(x.select("A", 0))),
        ("sparse_coo", "index.Tensor", lambda tensor, x: tensor * x),
        ("sparse_coo", "index.Tensor", lambda tensor, x: tensor.mul_(x)),
        ("sparse_coo", "index.Tensor", lambda tensor, x: torch.multiply(x, tensor)),
        ("sparse_csr", "sparse_mask", lambda tensor, x: x * tensor),
        ("sparse_csr", "view", lambda tensor, x: tensor + x),
        ("sparse_csc", "view", lambda tensor, x: x.add_(tensor)),
    ],
)
def test_a_named_operand_beside_a_sparse_one(
    layout: str, kernel: str, call: Callable[[Any, Any], Any], dense: Any
) -> None:
    with not_supported(kernel):
        call(sparse(layout), dense)


def test_the_layout_counts_in_each_call(dense: Any) -> None:
    eye = torch.eye(3)
    for _ in range(2):
        assert names(eye.mm(dense)) == (None, "B")
        with not_supported("_sparse_addmm"):
            eye.to_sparse().mm(dense)
        assert names(dense + eye.to_sparse()) == ("A", "B")
        with not_supported("view"):
            dense + eye.to_sparse_csr()
