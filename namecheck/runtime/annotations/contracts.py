"""The contract of a function: what its annotations declare, read from the live objects."""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import CodeType
from typing import Annotated, Any, Final

import torch

from namecheck.annotations import AnnotationError, parse
from namecheck.annotations import declarations as annotation_declarations
from namecheck.annotations.declarations import (
    ANYTHING,
    NO_TENSOR,
    NOTHING,
    Declared,
    Every,
    Items,
    declares_dims,
    tensor,
    union,
)


@dataclass(frozen=True, slots=True)
class Contract:
    """What a function declares about tensors: for its parameters by name, and for its result.

    `faults` are the strings outside of the annotation language, each as a pair of its parameter
    ("return" for the result) and the reason.
    """

    parameters: Mapping[str, Declared]
    result: Declared = ANYTHING
    faults: tuple[tuple[str, str], ...] = ()

    @property
    def declares_dims(self) -> bool:
        """Whether it declares any dimensions."""
        return bool(self.parameters) or declares_dims(self.result)


class Unresolved(Exception):
    """An annotation in a string uses a name that is not defined yet."""


def read_contract(
    annotations: Mapping[str, Any], outer: dict[str, Any], inner: Mapping[str, Any], *, final: bool
) -> Contract:
    """The contract of these annotations; strings are evaluated with `outer` and `inner` scope.

    Raises `Unresolved` if a name is not defined; if `final`, the string is read as source instead.
    """
    declarations: dict[str, Declared] = {}
    faults: list[tuple[str, str]] = []
    for name, annotation in annotations.items():
        reader = _Reader(outer, inner, final)
        declarations[name] = reader.read(annotation)
        faults += [(name, fault) for fault in reader.faults]
    result = declarations.pop("return", ANYTHING)
    parameters = {name: each for name, each in declarations.items() if declares_dims(each)}
    return Contract(parameters, result, tuple(faults))


_SEQUENCES: Final = (list, set, frozenset)
_FURTHER_SEQUENCES: Final = ("Sequence", "MutableSequence", "Iterable", "Collection")
_MAPPINGS: Final = ("dict", "OrderedDict", "defaultdict", "Mapping", "MutableMapping")
_TRANSPARENT: Final = (typing.Final, typing.ClassVar, typing.Required, typing.NotRequired)


class _Reader:
    def __init__(self, outer: dict[str, Any], inner: Mapping[str, Any], final: bool) -> None:
        self.outer = outer
        self.inner = inner
        self.final = final
        self.faults: list[str] = []

    def read(self, annotation: Any) -> Declared:
        """The declaration of one annotation."""
        if isinstance(annotation, str):
            return self._evaluated(annotation)
        if isinstance(annotation, typing.ForwardRef):
            return self._evaluated(annotation.__forward_arg__)
        if annotation is None or annotation is type(None):
            return NOTHING
        if isinstance(annotation, type) and hasattr(annotation, "dim_str"):
            return self._of_jaxtyping(annotation)
        origin = typing.get_origin(annotation)
        if origin is not None:
            return self._of_generic(annotation, origin)
        if isinstance(annotation, typing.NewType):
            return self.read(annotation.__supertype__)
        if hasattr(annotation, "__value__"):  # an alias made by `type X = ...`
            return self.read(annotation.__value__)
        return NO_TENSOR if _is_no_tensor(annotation) else ANYTHING

    def _evaluated(self, text: str) -> Declared:
        try:
            value = eval(_compiled(text), self.outer, self.inner)
        except NameError as error:
            if not self.final:
                raise Unresolved from error
        except Exception:  # an expression that fails declares nothing
            pass
        else:
            return self.read(value) if value != text else ANYTHING
        return annotation_declarations.read(text)

    def _of_generic(self, annotation: Any, origin: Any) -> Declared:
        arguments = typing.get_args(annotation)
        if origin is Annotated:
            return self._of_annotated(arguments[0], arguments[1:])
        if origin in (typing.Union, types.UnionType):
            return union([self.read(argument) for argument in arguments])
        if origin in _TRANSPARENT:
            return self.read(arguments[0])
        if origin is tuple:
            if len(arguments) == 2 and arguments[1] is ...:
                return Every(self.read(arguments[0]))
            return Items(tuple(self.read(argument) for argument in arguments))
        name = getattr(origin, "__name__", "")
        if len(arguments) == 1 and (origin in _SEQUENCES or name in _FURTHER_SEQUENCES):
            return Every(self.read(arguments[0]))
        if len(arguments) == 2 and name in _MAPPINGS:
            return Every(self.read(arguments[1]))
        return ANYTHING

    def _of_annotated(self, annotated_type: Any, metadata: Sequence[Any]) -> Declared:
        options = (
            typing.get_args(annotated_type) if _is_union(annotated_type) else (annotated_type,)
        )
        if not any(isinstance(each, type) and issubclass(each, torch.Tensor) for each in options):
            return self.read(annotated_type)
        texts = [item for item in metadata if isinstance(item, str)]
        text = next(filter(_is_pattern, texts), None)
        if text is None:
            self.faults += [_fault(item) for item in texts[:1]]
            return self.read(annotated_type)
        dtype = next((item for item in metadata if isinstance(item, torch.dtype)), None)
        device = next((str(item) for item in metadata if isinstance(item, torch.device)), None)
        dtypes = frozenset({str(dtype).removeprefix("torch.")}) if dtype else None
        declaration = tensor(text, dtypes, str(dtype) if dtype else "", device)
        return union([declaration, NO_TENSOR]) if len(options) > 1 else declaration

    def _of_jaxtyping(self, annotation: Any) -> Declared:
        """``Float[Tensor, "b d"]``: a class with the dtypes and the text as attributes."""
        dtypes, text = annotation.dtypes, annotation.dim_str
        if fault := _fault(text):
            self.faults.append(fault)
        listed = isinstance(dtypes, (list, tuple)) and all(isinstance(each, str) for each in dtypes)
        word = getattr(getattr(annotation, "dtype", None), "__name__", "")
        return tensor(text, frozenset(dtypes) if listed else None, word)


@cache
def _compiled(text: str) -> CodeType:
    return compile(text.strip(), "<annotation>", "eval")


def _is_union(annotation: Any) -> bool:
    return typing.get_origin(annotation) in (typing.Union, types.UnionType)


def _is_pattern(text: str) -> bool:
    return not _fault(text)


def _fault(text: str) -> str:
    """The reason why a string is not in the annotation language; empty if it is."""
    try:
        parse(text)
    except AnnotationError as error:
        return str(error)
    return ""


def _is_no_tensor(annotation: Any) -> bool:
    """Whether it is a class that no tensor is an instance of."""
    if not isinstance(annotation, type) or getattr(annotation, "_is_protocol", False):
        return False
    try:
        return not issubclass(torch.Tensor, annotation) and not issubclass(annotation, torch.Tensor)
    except TypeError:
        return False
