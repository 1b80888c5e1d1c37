"""The tensors that unknown values turn out to be: their content lies under the value's own key."""

from __future__ import annotations

from typing import Final

from namecheck.core.tensors import Tensor
from namecheck.interpreter.domain.addresses import OpaqueTensor
from namecheck.interpreter.domain.cells import TensorTest
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.values import Address, Held, Opaque, TensorValue, Value

_ANY: Final = Held(Tensor())


def tensor_address(opaque: Opaque) -> Address:
    """The address of the tensor that an unknown value is, if it is one."""
    return OpaqueTensor(opaque.key) if opaque.link is None else opaque.link


def known_tensor(value: Value, store: Store) -> TensorValue | None:
    """A tensor, or the one that an unknown value has turned out to be; None for other values."""
    if not isinstance(value, Opaque):
        return value if isinstance(value, TensorValue) else None
    address = tensor_address(value)
    has_content = isinstance(store.written_content(address), Held)
    return TensorValue(address, _ANY) if has_content else None


def is_tensor(opaque: Opaque, store: Store) -> bool:
    """Whether an unknown value was tested to be a tensor, or was changed in place as one."""
    return known_tensor(opaque, store) is not None or store.fact(TensorTest, opaque.key) is True
