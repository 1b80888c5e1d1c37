"""The operators without a row, in the semantics of torch 2.12: it refuses a named tensor in each.

torch 2.12 refuses names in its dispatcher, for every kernel that is not registered for them. All
kernels that are registered have a row. An operator that torch composes of others is refused by one
of these, and an operator with several overloads under the name of one: `_KERNELS` has those that
refuse every named tensor, `_CHOICES` those where the arguments of a call decide.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Set
from importlib import import_module
from types import BuiltinFunctionType, MethodDescriptorType
from typing import Any, Final, TypeAlias, cast

import torch

from namecheck.core.names import Contradiction
from namecheck.rules import refusals
from namecheck.runtime.core import reporting
from namecheck.runtime.core.name_propagation import has_label
from namecheck.runtime.core.patch_table import Patch

_COMPOSITE: Final = "CompositeImplicitAutograd"
_NORM: Final = "norm.ScalarOpt_dim"
_SPARSE: Final = "sspaddmm.out"

# The kernel that refuses, of operators without a row that have several or no kernels themselves.
_KERNELS: Final[Mapping[Any, Mapping[str, str]]] = {
    torch: {
        "dequantize": "dequantize.self",
        "frobenius_norm": _NORM,
        "hinge_embedding_loss": "where.self",
        "hsmm": "hspmm",
        "lu": "linalg_lu_factor_ex",
        "native_channel_shuffle": "native_channel_shuffle",
        "norm_except_dim": "view",
        "nuclear_norm": "permute",
        "pca_lowrank": "linalg_qr",
        "saddmm": _SPARSE,
        "smm": _SPARSE,
        "sspaddmm": _SPARSE,
        "svd_lowrank": "linalg_qr",
        "triplet_margin_loss": _NORM,
    },
    torch.Tensor: {
        "dense_dim": "dense_dim",
        "dequantize": "dequantize.self",
        "is_set_to": "is_set_to",
        "lu": "linalg_lu_factor_ex",
        "smm": _SPARSE,
        "sparse_dim": "sparse_dim",
        "sspaddmm": _SPARSE,
    },
    torch.nn.functional: {
        "grouped_mm": "_grouped_mm",
        "native_channel_shuffle": "native_channel_shuffle",
        "triplet_margin_with_distance_loss": _NORM,
    },
    torch.linalg: {"tensorinv": "view"},
    torch._VF: {"_pack_padded_sequence": "_pack_padded_sequence"},
    import_module("torch.nn.utils.weight_norm"): {"norm_except_dim": "view"},
    cast(Any, torch._C)._nested: {"nested_tensor": "_nested_tensor_from_tensor_list"},
}

# The private operators with a kernel for names in torch 2.12.
_NAMED_KERNELS: Final = frozenset(
    {"_add_relu.Tensor", "_add_relu_.Tensor", "_fused_dropout", "_make_dual"}
)

Choice: TypeAlias = Callable[[tuple[Any, ...], Mapping[str, Any]], str]
"""The kernel that refuses a call, chosen by its arguments; empty where none refuses it."""

Refusal: TypeAlias = Callable[[tuple[Any, ...], Mapping[str, Any]], Contradiction | None]
"""The error of a call with names, from its arguments; None where it is not refused."""

# What converts its arguments to values of TorchScript.
_CONVERTING: Final[tuple[Any, ...]] = (
    cast(Any, torch._C).ScriptMethod,
    torch._ops.OpOverload,
    torch._ops.OpOverloadPacket,
)


def _argument(args: tuple[Any, ...], kwargs: Mapping[str, Any], position: int, name: str) -> Any:
    return args[position] if len(args) > position else kwargs.get(name)


def _of_eigenpairs(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str:
    names = enumerate(("A", "k", "B", "X"))
    matrices = [_argument(args, kwargs, position, name) for position, name in names if name != "k"]
    return "linalg_vector_norm" if _is_named(matrices) else ""


def _of_source(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str:
    source = _argument(args, kwargs, 1, "source")
    if source is None:
        return "set_"
    is_tensor = isinstance(source, torch.Tensor)
    if len(args) + len(kwargs) > 2:  # a place in the storage is given
        is_named = _is_named(args[0]) or not is_tensor
        return "set_.source_Storage_storage_offset" if is_named else ""
    return f"set_.source_{'Tensor' if is_tensor else 'Storage'}"


def _of_blocks(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str:
    has_size = _argument(args, kwargs, 3, "size") is not None
    return f"sparse_compressed_tensor.comp_plain_value{'_size' if has_size else ''}"


_CHOICES: Final[Mapping[Any, Mapping[str, Choice]]] = {
    torch: {
        "lobpcg": _of_eigenpairs,
        "sparse_bsc_tensor": _of_blocks,
        "sparse_bsr_tensor": _of_blocks,
    },
    torch.Tensor: {"set_": _of_source},
}


def patches(replaced: Set[tuple[Any, Any]]) -> Iterator[Patch]:
    """A patch for each function or method of torch that is not among the replaced ones."""
    for owner, kind in ((torch, BuiltinFunctionType), (torch.Tensor, MethodDescriptorType)):
        for attribute in dir(owner):
            original = getattr(owner, attribute)
            public = not attribute.startswith("_") and (id(owner), attribute) not in replaced
            if public and isinstance(original, kind) and _is_kernel(attribute):
                yield Patch(owner, attribute, _refusing_kernel(original, _always(attribute)))
    yield from _private_patches()
    yield Patch(torch.Tensor, "new", _refusing(torch.Tensor.new, _of_new))
    for owner in _CONVERTING:
        yield Patch(owner, "__call__", _refusing(owner.__call__, _of_scripts))
    for owner, kernels in _KERNELS.items():
        choices = {attribute: _always(kernel) for attribute, kernel in kernels.items()}
        for attribute, choice in (choices | dict(_CHOICES.get(owner, {}))).items():
            if hasattr(owner, attribute):  # older torch has fewer
                yield Patch(owner, attribute, _refusing_kernel(getattr(owner, attribute), choice))


def _private_patches() -> Iterator[Patch]:
    """A patch for each kernel that torch's own Python code calls by a private name."""
    for attribute in dir(torch):
        original = getattr(torch, attribute)
        is_private = attribute.startswith("_") and isinstance(original, BuiltinFunctionType)
        overloads = _kernels(attribute) if is_private else frozenset()
        if overloads:
            yield Patch(
                torch, attribute, _refusing_kernel(original, _resolving(attribute, overloads))
            )


def _kernels(attribute: str) -> frozenset[str]:
    """The overloads of a private function that torch 2.12 refuses every named tensor in."""
    schemas = torch._C._jit_get_schemas_for_operator(f"aten::{attribute}")
    overloads = {f".{schema.overload_name}".rstrip(".") for schema in schemas}
    return frozenset(
        overload
        for overload in overloads
        if attribute + overload not in _NAMED_KERNELS
        and torch._C._dispatch_has_kernel(f"aten::{attribute}{overload}")
        and not _is_composite(attribute + overload)
    )


def _is_composite(kernel: str) -> bool:
    return torch._C._dispatch_has_kernel_for_dispatch_key(f"aten::{kernel}", _COMPOSITE)


def _resolving(attribute: str, refused: Set[str]) -> Choice:
    """The kernel that torch resolves the arguments to, if it is one of the refused overloads."""

    def choose(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str:
        try:
            overload = torch._C._jit_resolve_packet(f"aten::{attribute}", *args, **kwargs)
        except RuntimeError:
            return ""  # torch itself refuses the call
        suffix = "" if overload in ("", "default") else f".{overload}"
        return attribute + suffix if suffix in refused else ""

    return choose


def _always(kernel: str) -> Choice:
    return lambda _args, _kwargs: kernel


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
    return tensors and not _is_composite(attribute)


def _refusing_kernel(original: Callable[..., Any], choose: Choice) -> Callable[..., Any]:
    """A wrapper that refuses a call with names under the kernel that refuses it, if any does."""

    def refuse(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Contradiction | None:
        kernel = choose(args, kwargs)
        return refusals.not_supported(kernel) if kernel else None

    return _refusing(original, refuse)


def _refusing(original: Callable[..., Any], refuse: Refusal) -> Callable[..., Any]:
    @functools.wraps(original, updated=())
    def refuse_named(*args: Any, **kwargs: Any) -> Any:
        values = (*args, *kwargs.values())
        if any(map(_is_named, values)) and not reporting.is_ignored():
            contradiction = refuse(args, kwargs)
            if contradiction is not None:
                reporting.report(contradiction, values)
        return original(*args, **kwargs)

    return refuse_named


def _of_new(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Contradiction | None:
    """The refusal of a named tensor that makes another one; it may be made of a named one."""
    return refusals.no_device() if _is_named(args[0]) else None


def _of_scripts(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Contradiction | None:
    return refusals.not_scripted()


def _is_named(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(map(_is_named, value))
    return has_label(value)
