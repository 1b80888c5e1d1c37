"""Values of annotated types: instances, containers, plain tensors, of which no more is known."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Final

from namecheck.core import parsing
from namecheck.core.tensors import Tensor
from namecheck.interpreter.domain import joins
from namecheck.interpreter.domain.addresses import ParameterTensor
from namecheck.interpreter.domain.provenance import Parameter
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.values import (
    NONE,
    Alternative,
    ClassValue,
    External,
    Held,
    Instance,
    ListValue,
    Opaque,
    Repeated,
    TensorValue,
    TupleValue,
    Value,
)
from namecheck.interpreter.evaluation.frames import Frame
from namecheck.interpreter.evaluation.interpreter import Interpreter

NUMBERS: Final = ("int", "float", "bool")
"""The types of numbers: their values have no items."""
PLAIN: Final = (*NUMBERS, "str")
"""The types of which a value, if it is not known, is known by its type alone."""

# Some of its methods never return.
_PARSER: Final = "argparse.ArgumentParser"
_LISTS: Final = frozenset({"list", "List"})
_TUPLES: Final = frozenset({"tuple", "Tuple"})
_ITERATORS: Final = frozenset({"Generator", "Iterator"})

MakeInstance = Callable[[ClassValue, Store, Frame], Instance]


class TypedValues:
    """Makes values from annotations; `make_instance` makes an instance as unknown code would."""

    def __init__(self, interpreter: Interpreter, make_instance: MakeInstance) -> None:
        self.interpreter = interpreter
        self._make_instance = make_instance

    def of(self, annotation: ast.expr, store: Store, frame: Frame) -> Value:
        """A value of the type in an annotation, whose names are looked up in a frame."""
        if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
            try:
                annotation = parsing.expression(annotation.value)
            except SyntaxError:
                return self.interpreter.fresh("parameter")
        if isinstance(annotation, ast.BinOp) and isinstance(annotation.op, ast.BitOr):
            return self._of_union([annotation.left, annotation.right], store, frame)
        if isinstance(annotation, ast.Subscript):
            return self._of_generic(annotation, store, frame)
        if isinstance(annotation, ast.Constant) and annotation.value is None:
            return NONE
        if not isinstance(annotation, (ast.Name, ast.Attribute)):
            return self.interpreter.fresh("parameter")
        kind = self.interpreter.evaluate(annotation, store, frame)
        if isinstance(kind, External):
            if kind.path in ("torch.Tensor", "torch.nn.Parameter"):
                address = ParameterTensor(self.interpreter.new_address())
                return TensorValue(address, Held(Tensor()))
            name = kind.path.removeprefix("builtins.")
            if name in (*PLAIN, _PARSER):
                return self.interpreter.fresh("parameter", name)
        if isinstance(kind, ClassValue) and kind.style == "typeddict":
            return self.interpreter.declarations.entries(kind, store)
        if isinstance(kind, ClassValue) and kind.style == "namedtuple":
            return self.interpreter.declarations.named_tuple(kind, store)
        if isinstance(kind, ClassValue) and kind.style in ("plain", "dataclass", "foreign"):
            return self._make_instance(kind, store, frame)
        return Opaque(Parameter(self.interpreter.new_address()))

    def _of_union(self, members: list[ast.expr], store: Store, frame: Frame) -> Value:
        """A value for ``X | None``; for a union of several types an unknown one."""
        made = [self.of(option, store, frame) for option in members]
        if NONE in made and not any(isinstance(value, Opaque) for value in made):
            return joins.union(
                [Alternative(value) for value in made], self.interpreter.context.ledger
            )
        return self.interpreter.fresh("parameter")

    def _of_generic(self, generic: ast.Subscript, store: Store, frame: Frame) -> Value:
        """A value for ``list[Sample]``, ``tuple[Sample, ...]`` or ``Optional[Sample]``."""
        word = ast.unparse(generic.value).rpartition(".")[2]
        parts = generic.slice.elts if isinstance(generic.slice, ast.Tuple) else []
        if word == "Optional":
            return self._of_union([generic.slice, ast.Constant(None)], store, frame)
        several = len(parts) == 2 and ast.unparse(parts[1]) == "..."
        if word in _TUPLES and parts and not several:
            items = [self.of(part, store, frame) for part in parts]
            return TupleValue(tuple(items))
        if word in _LISTS or word in _ITERATORS or (word in _TUPLES and several):
            each = self.of(parts[0] if parts else generic.slice, store, frame)
            if not isinstance(each, Opaque):
                all_ = Repeated(each)
                return ListValue(self.interpreter.new_address(), all_) if word in _LISTS else all_
        return self.interpreter.fresh("parameter")
