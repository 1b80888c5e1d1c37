"""Whether a value is an instance of a type: ``isinstance``, and the patterns of classes."""

from __future__ import annotations

from collections import abc
from typing import Final

from namecheck.interpreter.domain import candidates, class_lookup
from namecheck.interpreter.domain.cells import CandidatesOf
from namecheck.interpreter.domain.provenance import Item, UnmeantTensor
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.values import (
    ClassValue,
    Const,
    External,
    Instance,
    Key,
    Opaque,
    TensorValue,
    TorchModule,
    TupleValue,
    Union,
    Value,
)
from namecheck.interpreter.evaluation.interpreter import Interpreter


def is_instance(interpreter: Interpreter, value: Value, kind_value: Value) -> bool | None:
    """Whether a value is an instance of a type, or of one in a tuple; None where unknown."""
    if isinstance(kind_value, TupleValue):
        answers = [is_instance(interpreter, value, one) for one in kind_value.items]
        return True if True in answers else None if None in answers else False
    if isinstance(kind_value, External):
        return _is_of(interpreter, value, kind_value.path)
    if isinstance(value, Instance):
        is_open = _has_unknown_base(interpreter, value) or _is_protocol(kind_value)
        return kind_value in class_lookup.mro(value.cls) or (None if is_open else False)
    if isinstance(value, (Opaque, Union)) or isinstance(kind_value, Opaque):
        return None
    return False if isinstance(value, (Const, TensorValue, TorchModule)) else None


def is_candidate_instance(opaque: Opaque, kind_value: Value, store: Store) -> bool | None:
    """Whether all that an opaque value may be is of a type, or nothing; None where unknown."""
    among: tuple[candidates.Candidate, ...] | None = store.fact(CandidatesOf, opaque.key)
    return None if among is None else candidates.answer(among, kind_value)


def _has_unknown_base(interpreter: Interpreter, value: Instance) -> bool:
    return any(isinstance(b, Opaque) for b in class_lookup.mro(value.cls))


def _is_protocol(kind_value: Value) -> bool:
    """Whether a class of the program is a protocol, which is met by what has its methods."""
    return isinstance(kind_value, ClassValue) and class_lookup.derives(kind_value, "Protocol")


def _is_layer(interpreter: Interpreter, nn_module: TorchModule, key: str) -> bool | None:
    """Whether a layer of torch is an instance of a class; some classes derive from others."""
    if nn_module.key == key:
        return True
    is_class = key.startswith("nn.") and interpreter.torch.has(key, "c")
    return False if is_class and (nn_module.key, key) not in _DERIVED else None


# The layers that derive from other layers (torch.nn.modules).
_DERIVED = {
    ("nn.ReLU6", "nn.Hardtanh"),
    ("nn.CosineEmbeddingLoss", "nn.CosineSimilarity"),
    ("nn.Softmin", "nn.Softmax"),
}
_TYPES: Final = {
    "TensorValue": ("torch.Tensor",),
    "TupleValue": ("builtins.tuple",),
    "DictValue": ("builtins.dict",),
    "ListValue": ("builtins.list", "builtins.set"),
    "FunctionValue": (),
}
_BUILT_IN: Final[dict[str, type]] = {
    "TupleValue": tuple,
    "DictValue": dict,
    "FunctionValue": type(print),
}
# The modules whose classes say what an object can do.
_ABSTRACT: Final = ("collections.abc", "typing", "numbers")
# What a tensor can do of that.
_OF_TENSORS: Final = frozenset(
    {"Collection", "Container", "Hashable", "Iterable", "Reversible", "Sized"}
)


def _is_of(interpreter: Interpreter, value: Value, path: str) -> bool | None:
    module, _, name = path.rpartition(".")
    if module in _ABSTRACT and not isinstance(value, Instance | Opaque | TorchModule):
        return _is_abstractly(value, module, name)
    if isinstance(value, Opaque):
        if _is_unmeant_tensor(value):
            return _is_of_classes(path, _TYPES["TensorValue"])
        return None if value.kind is None else (f"builtins.{value.kind}" == path or None)
    if isinstance(value, Const):
        if path.startswith("builtins."):
            types = [cls.__name__ for cls in type(value.value).__mro__]
            return path.removeprefix("builtins.") in types
        return False
    if path == "torch.nn.Module" and interpreter.torch_nn.is_module(value):
        return True
    if isinstance(value, TorchModule):
        return _is_layer(interpreter, value, path.removeprefix("torch."))
    if isinstance(value, Instance):
        derived = path == "builtins.object" or class_lookup.derives(value.cls, name)
        # Its methods decide whether it has a class that says what an object can do.
        is_open = module in _ABSTRACT or _has_unknown_base(interpreter, value)
        return derived or (None if is_open else False)
    classes = _TYPES.get(type(value).__name__)
    return None if classes is None else _is_of_classes(path, classes)


def _is_unmeant_tensor(opaque: Opaque) -> bool:
    provenance = opaque.key.provenance
    while isinstance(provenance, Item) and isinstance(provenance.container, Key):
        provenance = provenance.container.provenance  # a row of a tensor is a tensor
    return isinstance(provenance, UnmeantTensor)


# Libraries of which no class has tensors as its instances, and such classes of torch.
_WITHOUT_TENSORS: Final = frozenset(
    {"PIL", "collections", "cupy", "datetime", "jax", "numpy", "pandas", "pathlib", "scipy"}
)
_OTHERS_OF_TORCH: Final = frozenset(
    {
        *("torch.Generator", "torch.Size", "torch.device", "torch.dtype"),
        *("torch.distributions.Distribution", "torch.nn.utils.rnn.PackedSequence"),
        *(f"torch.nn.{name}" for name in ("Module", "ModuleDict", "ModuleList", "Sequential")),
    }
)


def _is_of_classes(path: str, classes: tuple[str, ...]) -> bool | None:
    if path in classes:
        return True
    if path in _OTHERS_OF_TORCH or path.partition(".")[0] in _WITHOUT_TENSORS:
        return False if classes == _TYPES["TensorValue"] else None
    has_types = path.startswith("builtins.") or path == "torch.Tensor"
    return False if has_types and path != "builtins.object" else None


def _is_abstractly(value: Value, module: str, name: str) -> bool | None:
    """Whether a value has a class of `collections.abc` or `numbers`; None where that is unknown."""
    if module == "numbers":
        import numbers  # for a rare test

        abstract = getattr(numbers, name, None)
    else:
        abstract = getattr(abc, name, None)
    if not isinstance(abstract, type):
        return None
    if isinstance(value, TensorValue):
        return name in _OF_TENSORS
    if isinstance(value, Const):
        return isinstance(value.value, abstract)
    built_in = _BUILT_IN.get(type(value).__name__)
    return None if built_in is None else issubclass(built_in, abstract)
