"""What the annotations of a function declare, read from the objects of a running program."""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import CodeType
from typing import Annotated, Any, Final

import torch

from namecheck.annotations import AnnotationError, declarations, parse
from namecheck.annotations.declarations import (
    ANYTHING,
    NO_TENSOR,
    NOTHING,
    Declared,
    Every,
    Items,
    speaks,
    tensor,
    union,
)


@dataclass(frozen=True, slots=True)
class Contract:
    """What a function declares of tensors: of its parameters by name, and of its result."""

    parameters: Mapping[str, Declared]
    result: Declared = ANYTHING

    @property
    def speaks(self) -> bool:
        """Whether it says anything of dimensions."""
        return bool(self.parameters) or speaks(self.result)


class Unresolved(Exception):
    """An annotation in a string with a name that is not defined yet."""


def contract(
    annotations: Mapping[str, Any], outer: dict[str, Any], inner: Mapping[str, Any], *, final: bool
) -> Contract:
    """What annotations declare; those in strings are evaluated in the globals and locals given.

    Raises `Unresolved` where a name is not defined yet; if `final`, it is read as source instead.
    """
    reader = _Reader(outer, inner, final)
    found = {name: reader.read(annotation) for name, annotation in annotations.items()}
    result = found.pop("return", ANYTHING)
    return Contract({name: told for name, told in found.items() if speaks(told)}, result)


_SEQUENCES: Final = (list, set, frozenset)
_FURTHER_SEQUENCES: Final = ("Sequence", "MutableSequence", "Iterable", "Collection")
_MAPPINGS: Final = ("dict", "OrderedDict", "defaultdict", "Mapping", "MutableMapping")
_TRANSPARENT: Final = (typing.Final, typing.ClassVar, typing.Required, typing.NotRequired)


class _Reader:
    def __init__(self, outer: dict[str, Any], inner: Mapping[str, Any], final: bool) -> None:
        self.outer = outer
        self.inner = inner
        self.final = final

    def read(self, annotation: Any) -> Declared:
        """What one annotation declares."""
        if isinstance(annotation, str):
            return self._evaluated(annotation)
        if isinstance(annotation, typing.ForwardRef):
            return self._evaluated(annotation.__forward_arg__)
        if annotation is None or annotation is type(None):
            return NOTHING
        if isinstance(annotation, type) and hasattr(annotation, "dim_str"):
            return _of_jaxtyping(annotation)
        origin = typing.get_origin(annotation)
        if origin is not None:
            return self._of_generic(annotation, origin)
        if isinstance(annotation, typing.NewType):
            return self.read(annotation.__supertype__)
        if hasattr(annotation, "__value__"):  # what `type X = ...` defines
            return self.read(annotation.__value__)
        return NO_TENSOR if _is_no_tensor(annotation) else ANYTHING

    def _evaluated(self, text: str) -> Declared:
        try:
            value = eval(_compiled(text), self.outer, self.inner)
        except NameError as error:
            if not self.final:
                raise Unresolved from error
        except Exception:  # whatever the expression does: it says nothing then
            pass
        else:
            return self.read(value) if value != text else ANYTHING
        return declarations.read(text)

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

    def _of_annotated(self, inner: Any, metadata: Sequence[Any]) -> Declared:
        text = next((item for item in metadata if _is_pattern(item)), None)
        if text is None:
            return self.read(inner)
        options = typing.get_args(inner) if _is_union(inner) else (inner,)
        if not any(isinstance(each, type) and issubclass(each, torch.Tensor) for each in options):
            return self.read(inner)
        dtype = next((item for item in metadata if isinstance(item, torch.dtype)), None)
        name = str(dtype).removeprefix("torch.")
        told = tensor(text, frozenset({name}), str(dtype)) if dtype else tensor(text)
        return union([told, NO_TENSOR]) if len(options) > 1 else told


@cache
def _compiled(text: str) -> CodeType:
    return compile(text.strip(), "<annotation>", "eval")


def _is_union(annotation: Any) -> bool:
    return typing.get_origin(annotation) in (typing.Union, types.UnionType)


def _is_pattern(item: Any) -> bool:
    if not isinstance(item, str):
        return False
    try:
        parse(item)
    except AnnotationError:
        return False
    return True


def _of_jaxtyping(annotation: Any) -> Declared:
    """``Float[Tensor, "b d"]``, which at run time is a class that tells what it was made of."""
    dtypes = annotation.dtypes
    listed = isinstance(dtypes, (list, tuple)) and all(isinstance(each, str) for each in dtypes)
    word = getattr(getattr(annotation, "dtype", None), "__name__", "")
    return tensor(annotation.dim_str, frozenset(dtypes) if listed else None, word)


def _is_no_tensor(annotation: Any) -> bool:
    """Whether it is a class of which no tensor is an instance."""
    if not isinstance(annotation, type) or getattr(annotation, "_is_protocol", False):
        return False
    try:
        return not issubclass(torch.Tensor, annotation) and not issubclass(annotation, torch.Tensor)
    except TypeError:
        return False
