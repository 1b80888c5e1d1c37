"""Classes that override torch's functions and look the called function up in a table."""

from __future__ import annotations

from typing import Any

import torch


def table() -> dict[Any, str]:
    """torch's current functions, by the names that the tests use."""
    return {
        torch.add: "torch.add",
        torch.relu: "torch.relu",
        torch.cat: "torch.cat",
        torch.mean: "torch.mean",
        torch.stack: "torch.stack",
        torch.Tensor.add: "Tensor.add",
        torch.Tensor.clone: "Tensor.clone",
        torch.Tensor.sum: "Tensor.sum",
        torch.Tensor.size: "Tensor.size",
        torch.Tensor.__getitem__: "Tensor.__getitem__",
        torch.nn.functional.linear: "F.linear",
        torch.nn.functional.relu: "F.relu",
    }


def tensor_class() -> Any:
    """A class of tensors that records the functions it is called with."""
    known = table()

    class Noting(torch.Tensor):
        heard: list[str] = []  # noqa: RUF012

        @classmethod
        def __torch_function__(
            cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            cls.heard.append(known.get(func, "something else"))
            dispatch: Any = super().__torch_function__
            return dispatch(func, types, args, kwargs or {})

    return Noting


def scalar_class() -> Any:
    """A class that is no tensor and overrides torch functions."""
    known = table()

    class Scalar:
        @classmethod
        def __torch_function__(
            cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            return known.get(func, NotImplemented)

    return Scalar


def comparing_class() -> Any:
    """A class that is no tensor and compares a function with what torch has now."""

    class Comparing:
        @classmethod
        def __torch_function__(
            cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            if func is torch.matmul:
                return "torch.matmul"
            if func is torch.Tensor.add:
                return "Tensor.add"
            raise NotImplementedError(func.__name__)

    return Comparing


class Holder:
    """An object that hands the tensor it holds to the function that it is passed to."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self.tensor = tensor

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        opened = [arg.tensor if isinstance(arg, Holder) else arg for arg in args]
        return func(*opened, **(kwargs or {}))


CALLS: dict[str, Any] = {
    "torch.add": lambda x: torch.add(x, x),
    "torch.relu": lambda x: torch.relu(x),
    "torch.cat": lambda x: torch.cat([x, x]),
    "torch.stack": lambda x: torch.stack([torch.rand(2, 3), x]),
    "Tensor.add": lambda x: x.add(x),
    "Tensor.clone": lambda x: x.clone(),
    "Tensor.sum": lambda x: x.sum(0),
    "Tensor.size": lambda x: x.size(),
    "Tensor.__getitem__": lambda x: x[0],
    "F.linear": lambda x: torch.nn.functional.linear(torch.rand(4, 3), x),
    "F.relu": lambda x: torch.nn.functional.relu(x),
}

# Made before anything is patched: the tests import this file first.
EARLIER = tensor_class()
EARLIER_SCALAR = scalar_class()
EARLIER_COMPARING = comparing_class()
