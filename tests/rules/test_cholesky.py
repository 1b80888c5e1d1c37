"""`torch.cholesky` takes a tensor without elements whatever its shape, but on the meta device."""

from __future__ import annotations

import pytest

from namecheck.core.dims import Dim, Dims, Size
from namecheck.core.names import UNKNOWN, Contradiction
from namecheck.core.tensors import Tensor
from namecheck.rules.matrices import cholesky


@pytest.mark.parametrize("size", [0, UNKNOWN])
def test_what_may_have_no_elements_is_taken(size: Size) -> None:
    dims = Dims((Dim("N", size),))
    assert cholesky(Tensor(dims)) == dims


def test_a_vector_with_elements_is_refused() -> None:
    with pytest.raises(Contradiction):
        cholesky(Tensor(Dims((Dim("N", 3),))))
