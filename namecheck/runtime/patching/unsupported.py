"""The operators without a row, in the semantics of torch 2.12: it refuses a named tensor in each.

torch 2.12 refuses names in its dispatcher, for every kernel that is not registered for them. All
kernels that are registered have a row. An operator that torch composes of others is refused by one
of these, and an operator with several overloads under the name of one: `_KERNELS` has those that
refuse every named tensor.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Set
from types import BuiltinFunctionType, MethodDescriptorType
from typing import Any, Final

import torch

from namecheck.rules import refusals
from namecheck.runtime.core import call_sites, reporting, tensor_names
from namecheck.runtime.core.patch_table import Patch

_COMPOSITE: Final = "CompositeImplicitAutograd"
_NORM: Final = "norm.ScalarOpt_dim"

# The kernel that refuses, of operators without a row that have several or no kernels themselves.
_KERNELS: Final[Mapping[Any, Mapping[str, str]]] = {
    torch: {
        "dequantize": "dequantize.self",
        "frobenius_norm": _NORM,
        "hinge_embedding_loss": "where.self",
        "lu": "linalg_lu_factor_ex",
        "native_channel_shuffle": "native_channel_shuffle",
        "norm_except_dim": "view",
        "nuclear_norm": "permute",
        "pca_lowrank": "linalg_qr",
        "svd_lowrank": "linalg_qr",
        "triplet_margin_loss": _NORM,
    },
    torch.Tensor: {
        "dense_dim": "dense_dim",
        "dequantize": "dequantize.self",
        "is_set_to": "is_set_to",
        "lu": "linalg_lu_factor_ex",
        "sparse_dim": "sparse_dim",
    },
    torch.nn.functional: {
        "grouped_mm": "_grouped_mm",
        "native_channel_shuffle": "native_channel_shuffle",
        "triplet_margin_with_distance_loss": _NORM,
    },
    torch.linalg: {"tensorinv": "view"},
}


def patches(replaced: Set[tuple[Any, Any]]) -> Iterator[Patch]:
    """A patch for each function or method of torch that is not among the replaced ones."""
    for owner, kind in ((torch, BuiltinFunctionType), (torch.Tensor, MethodDescriptorType)):
        for attribute in dir(owner):
            original = getattr(owner, attribute)
            public = not attribute.startswith("_") and (id(owner), attribute) not in replaced
            if public and isinstance(original, kind) and _is_kernel(attribute):
                yield Patch(owner, attribute, _refusing(original, attribute))
    for owner, kernels in _KERNELS.items():
        for attribute, kernel in kernels.items():
            if hasattr(owner, attribute):  # older torch has fewer
                yield Patch(owner, attribute, _refusing(getattr(owner, attribute), kernel))


def _is_kernel(attribute: str) -> bool:
    """Whether an operator has one overload, which takes and returns tensors and is no composite."""
    schemas = torch._C._jit_get_schemas_for_operator(f"aten::{attribute}")
    overloads = [schema for schema in schemas if "out" not in schema.overload_name]
    if len(overloads) != 1 or overloads[0].overload_name:
        return False
    tensors = all(
        any("Tensor" in str(each.type) for each in side)
        for side in (overloads[0].arguments, overloads[0].returns)
    )
    has_kernel = torch._C._dispatch_has_kernel_for_dispatch_key
    return tensors and not has_kernel(f"aten::{attribute}", _COMPOSITE)


def _refusing(original: Callable[..., Any], kernel: str) -> Callable[..., Any]:
    @functools.wraps(original, updated=())
    def refuse_named(*args: Any, **kwargs: Any) -> Any:
        values = (*args, *kwargs.values())
        if any(map(_is_named, values)) and not call_sites.inside_torch():
            reporting.report(refusals.not_supported(kernel), values)
        return original(*args, **kwargs)

    return refuse_named


def _is_named(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(map(_is_named, value))
    if not isinstance(value, torch.Tensor):
        return False
    return any(name is not None for name in tensor_names.names_of(value) or ())
