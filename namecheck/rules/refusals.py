"""The errors of torch 2.12 for calls that do not support names.

The table says which operators it refuses (`operators/table/`); this module has the texts of the
errors, and the refusals that depend on more than the overload. In every semantics a result must
have names that a tensor can have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from namecheck.core import names as naming
from namecheck.core.layouts import SPARSE
from namecheck.core.names import Answer, Contradiction
from namecheck.core.semantics import Semantics
from namecheck.core.tensors import Many, Tensor
from namecheck.rules import dim_map

_DIMNAME = "(dimname)"
_DENSE_ALONE: Final = "torch 2.12 gives names to dense tensors alone: name what `to_dense` returns."


def not_supported(aten: str) -> Contradiction:
    """The error for an operator, by its dispatcher name (recorded: sgn, unsqueeze, …)."""
    return Contradiction(
        "NC120",
        f"aten::{aten} is not yet supported with named tensors. Please drop names via `tensor = "
        "tensor.rename(None)`, call the op with an unnamed tensor, and set names on the result of "
        "the operation.",
        help="torch 2.12 has no rule for this operator: drop the names and set them on the result.",
    )


def no_dimname(operator: str) -> Contradiction:
    """The error for a name where the operator takes only an index (recorded: sort, gather)."""
    return Contradiction(
        "NC120",
        f"{operator}: You passed a dimname (string) to this op in place of a dimension index but "
        "it does not yet support this behavior. Please pass a dimension index to work around this.",
        help="Pass the index of the dimension.",
    )


def not_scripted() -> Contradiction:
    """The error for a named tensor that reaches TorchScript, or an operator of ``torch.ops``."""
    return Contradiction(
        "NC120",
        "NYI: Named tensors are currently unsupported in TorchScript. As a  workaround please drop "
        "names via `tensor = tensor.rename(None)`.",
        help="Drop the names before the call, and set them on its result.",
    )


def not_stored() -> Contradiction:
    """The error for a named tensor that is copied, pickled, saved or sent to another process."""
    return Contradiction(
        "NC120",
        "NYI: Named tensors don't support serialization. Please drop names via `tensor = "
        "tensor.rename(None)` before serialization.",
        help="torch 2.12 stores no names: drop them, and set them on the tensor that is loaded.",
    )


def refuse_named(aten: str, values: Iterable[Any]) -> None:
    """Raise where an operator refused under the name `aten` certainly has a named tensor.

    An empty name refuses nothing; ``x(dimname)`` refuses every call.
    """
    if aten.endswith(_DIMNAME):
        raise no_dimname(aten.removesuffix(_DIMNAME))
    if aten and any(has_named(value) is Answer.YES for value in values):
        raise not_supported(aten)


def has_named(value: Any) -> Answer:
    """Whether a value is, or contains, a named tensor."""
    if isinstance(value, Tensor):
        return value.dims.named()
    if isinstance(value, Many):
        return Answer.MAYBE if value.each.dims.named() is not Answer.NO else Answer.NO
    if isinstance(value, (tuple, list)):
        return max(map(has_named, value), key=lambda answer: answer.value, default=Answer.NO)
    return Answer.NO


def variant(aten: str, inplace: bool, out: bool) -> str:
    """The dispatcher's name of a variant: ``x_.Tensor`` in place, ``x.Tensor_out`` for ``out=``."""
    if not aten or aten.endswith(_DIMNAME):
        return aten
    base, dot, overload = aten.partition(".")
    if out:
        return f"{base}.{overload}_out" if dot else f"{base}.out"
    if inplace and base.startswith("__"):
        return f"__i{base[2:]}{dot}{overload}"
    if inplace and not base.endswith("_"):
        return f"{base}_{dot}{overload}"
    return aten


def not_implemented(operator: str) -> Contradiction:
    """The error for a function that torch declares but does not implement (align_tensors)."""
    return Contradiction(
        "NC120",
        f"`{operator}` not yet implemented.",
        help="Align the tensors one by one with `align_as`.",
    )


def no_device() -> Contradiction:
    """The error of a kernel that fails on names by accident (recorded: new_tensor, resize)."""
    return Contradiction(
        "NC120",
        "DispatchKey Named doesn't correspond to a device",
        help="torch 2.12 has no rule for this operator: drop the names first.",
    )


def no_meta() -> Contradiction:
    """The error for names on the meta device (recorded: to, zeros_like, empty)."""
    return Contradiction(
        "NC120",
        "NYI: named tensors only support CPU, CUDA, XPU or privateuseone tensors.",
        help="Drop the names with `rename(None)` before moving to the meta device.",
    )


def only_strided() -> Contradiction:
    """The error for names on a tensor of another layout (recorded: rename_, empty)."""
    return Contradiction(
        "NC120",
        "NYI: named tensors only support strided layout",
        help=_DENSE_ALONE,
    )


def no_view(tensor: Tensor) -> Contradiction:
    """The error of a view of a tensor that has none (recorded: rename, refine_names, align_to)."""
    layout = str(tensor.layout)
    if layout in _WITHOUT_STORAGE:
        error, message = "NotImplementedError", _WITHOUT_STORAGE[layout]
    else:
        kind = layout.removeprefix("sparse_").upper()
        error, message = "RuntimeError", f"Sparse {kind} tensors do not have strides"
    return Contradiction("NC120", message, error=error, help=_DENSE_ALONE)


_WITHOUT_STORAGE: Final[Mapping[str, str]] = {
    SPARSE: "Cannot access storage of SparseTensorImpl",
    "_mkldnn": "Cannot access storage of OpaqueTensorImpl",
    "jagged": "aten.alias.default",
}

# The errors that name no kernel, by the word in the row; each function takes the operator and the
# arguments of the call.
TEXTS: Final[Mapping[str, Callable[[str, Mapping[str, Any]], Contradiction]]] = {
    "not_implemented": lambda operator, _: not_implemented(operator),
    "no_device": lambda *_: no_device(),
    "no_meta": lambda *_: no_meta(),
    "only_strided": lambda *_: only_strided(),
    "no_view": lambda _, arguments: no_view(arguments["input"]),
}


def check_results(results: Iterable[Any], semantics: Semantics) -> None:
    """Refuse names that no tensor can have: a label twice; natively names of too many dims.

    Native torch has tensors with a name twice, the products of some batches (recorded: matmul).
    """
    for tensor in _tensors(results):
        if semantics is Semantics.NAMECHECK:
            naming.check_distinct(tensor.names)
        elif has_named(tensor) is Answer.YES:
            dim_map.check_name_count(tensor.dims, tensor.names)


def _tensors(values: Iterable[Any]) -> Iterator[Tensor]:
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, Many):
            yield value.each
        elif isinstance(value, (tuple, list)):
            yield from _tensors(value)
