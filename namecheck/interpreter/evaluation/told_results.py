"""Results that a declaration tells: far from the code that is judged, their calls are not followed.

A function is judged by itself, and its calls by its declaration. What following adds, the sizes and
dtypes of one call, matters less and less the further the call is from the function that is judged;
but its cost multiplies.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import suppress
from typing import Final

from namecheck.annotations.declarations import declares_dims
from namecheck.core import parsing
from namecheck.core.trees import nodes
from namecheck.interpreter.domain import class_lookup
from namecheck.interpreter.domain.scopes import decorators
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.values import (
    ClassValue,
    Environment,
    External,
    FunctionValue,
    Opaque,
    Value,
)
from namecheck.interpreter.evaluation import circumstances
from namecheck.interpreter.evaluation.frames import Call, Frame
from namecheck.interpreter.evaluation.interpreter import Interpreter

# A function with so many frames below it is far from the one that is judged: it was called by a
# function that this one calls. The top level is the first frame.
_FAR: Final = 3
_TORCH: Final = "torch."
_TENSORS: Final = frozenset({"Tensor", "Parameter"})


class ToldResults:
    """Decides which calls their declarations tell, and makes the results of these."""

    def __init__(self, interpreter: Interpreter) -> None:
        self.interpreter = interpreter
        self._telling: dict[ast.AST, bool] = {}

    def is_told(self, function: FunctionValue, call: Call) -> bool:
        """Whether a call is far from the code that is judged, and its declaration tells it."""
        if not isinstance(function.environment.scope, (ast.Module, ast.ClassDef)):
            return False
        return self._tells(function, call.store) and self._is_far(function, call.frame)

    def of(self, function: FunctionValue, call: Call) -> Value:
        """The result of a call that is told; unknown where the declared dims will be filled in."""
        interpreter, node = self.interpreter, function.node
        annotation = node.returns if isinstance(node, ast.FunctionDef) else None
        if annotation is None or interpreter.declarations.declares_result(function):
            return interpreter.fresh("result")
        environment = function.environment
        frame = Frame(environment, call.frame, call.node, None, function.name)
        source = interpreter.context.source_of(environment)
        with interpreter.file.switched(source), interpreter.findings.silenced():
            return interpreter.value_of_type(annotation, call.store, frame)

    def _is_far(self, function: FunctionValue, frame: Frame) -> bool:
        """Whether a function is far from the function that is judged.

        Between two other files each call is: both functions are judged with their files.
        """
        context = self.interpreter.context
        *_, outermost = frame.stack()
        judged = context.source_of(outermost.environment)
        if judged not in (
            context.source_of(function.environment),
            context.source_of(frame.environment),
        ):
            return True
        if circumstances.depth(frame) < _FAR:
            return False
        around = self.interpreter.progress.around
        if around is not None:
            around.is_cut = True
        return True

    def _tells(self, function: FunctionValue, store: Store) -> bool:
        """Whether a declared result tells what a call gives: dims, or a class that declares any."""
        tells = self._telling.get(function.node)
        if tells is None:
            tells = self._telling[function.node] = self._declares(function, store)
        return tells

    def _declares(self, function: FunctionValue, store: Store) -> bool:
        interpreter = self.interpreter
        if interpreter.scope(function.node).generator and decorators(function.node):
            return False
        if interpreter.declarations.declares_result(function):
            return True
        returns = getattr(function.node, "returns", None)
        if returns is None:
            return False
        types = list(_types(returns, function.environment.module, store))
        classes = [each for each in types if isinstance(each, ClassValue)]
        return any(map(self._has_dims, classes)) and not any(map(_may_be_tensor, types))

    def _has_dims(self, cls: ClassValue) -> bool:
        """Whether the fields of a class declare dims."""
        for base in class_lookup.mro(cls):
            node = base.node if isinstance(base, ClassValue) else None
            if not isinstance(base, ClassValue) or node is None or base.environment is None:
                continue
            annotations = self.interpreter.declarations.of(base.environment)
            fields = self.interpreter.declarations.fields(node).values()
            if any(declares_dims(annotations.read(annotation)) for annotation in fields):
                return True
        return False


def _types(annotation: ast.expr, environment: Environment, store: Store) -> Iterator[Value | None]:
    """The values of the names in an annotation; None for a builtin, and for an unknown name."""
    for node in nodes(annotation):
        if isinstance(node, ast.Name):
            yield store.get((environment.number, node.id))
        elif isinstance(node, ast.Attribute):
            yield External(f"{_TORCH}{node.attr}") if node.attr in _TENSORS else None
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            with suppress(SyntaxError, ValueError):
                yield from _types(parsing.expression(node.value), environment, store)


def _may_be_tensor(value: Value | None) -> bool:
    """Whether values of a type may be tensors whose dims it does not tell."""
    return isinstance(value, Opaque) or (
        isinstance(value, External) and value.path.startswith(_TORCH)
    )
