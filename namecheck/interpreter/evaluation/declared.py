"""The declarations of a file: parsed annotations of functions, classes and variables.

Nothing here depends on the evaluation of the code. Source of the language: `namecheck.annotations`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

from namecheck.annotations import declarations
from namecheck.annotations.declarations import (
    ANYTHING,
    Declaration,
    Declared,
    Every,
    Items,
    OneOf,
    declares_dims,
)
from namecheck.core.dataclasses import dataclass, field
from namecheck.core.trees import last_word, nodes
from namecheck.interpreter.domain.scopes import decorators, defaults, parameters, statements

Function = ast.FunctionDef | ast.AsyncFunctionDef
# The modules that export the words of annotations, under any alias.
_LIBRARIES: Final = frozenset({"jaxtyping", "torch", "torch.nn", "typing", "typing_extensions"})

# Types of too many values to list.
_SINGLE: Final = frozenset({"int", "float", "bool", "str", "Tensor", "Any", "Callable", "Path"})


@dataclass(frozen=True, slots=True)
class Parameter:
    """One annotated parameter: its declaration and its place."""

    declared: Declared
    annotation: ast.expr


@dataclass(frozen=True, slots=True)
class Signature:
    """The declarations of a function: its parameters, its result, its axes, and its sizes.

    `axes` are the names of all dims in it and in its body; `numbers` are the int parameters with
    the name of an axis, whose size they are; `choices` are the annotations of parameters that may
    list all their values (`evaluation.declared_candidates`).
    """

    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    result: Declared = ANYTHING
    axes: frozenset[str] = frozenset()
    numbers: frozenset[str] = frozenset()
    choices: Mapping[str, ast.expr] = field(default_factory=dict)

    @property
    def optional(self) -> tuple[str, ...]:
        """The parameters that are declared as a tensor or None."""
        return tuple(
            name
            for name, parameter in self.parameters.items()
            if isinstance(parameter.declared, OneOf) and parameter.declared.optional
        )

    @property
    def declares_dims(self) -> bool:
        """Whether it declares any dims."""
        return bool(self.numbers) or any(
            declares_dims(declared)
            for declared in (self.result, *(p.declared for p in self.parameters.values()))
        )


class Import(NamedTuple):
    """The target of an import: a module, with so many leading dots, and a member of it or all."""

    level: int
    module: str
    member: str


Imported: TypeAlias = Callable[[Import, str], ast.expr | None]
"""The expression that an imported name is an alias for."""


class Annotations:
    """The annotations of one file."""

    def __init__(self, tree: ast.Module, imported: Imported) -> None:
        self._aliases = dict(_aliases(tree))
        self._imports = dict(_imports(tree))
        self._imported = imported
        self._read: dict[ast.expr, Declared] = {}
        self._signatures: dict[ast.AST, Signature] = {}
        self._classes = {
            method: node
            for node in statements(tree)
            if isinstance(node, ast.ClassDef)
            for method in node.body
            if isinstance(method, Function)
        }
        self._class_axes: dict[ast.ClassDef, frozenset[str]] = {}
        self._overloads: dict[ast.AST, dict[str, list[ast.FunctionDef]]] = {}

    def read(self, annotation: ast.expr) -> Declared:
        """The declaration in an annotation."""
        declared = self._read.get(annotation)
        if declared is None:
            declared = declarations.read(self._filled(annotation), self.resolved)
            self._read[annotation] = declared
        return declared

    def _filled(self, annotation: ast.expr) -> ast.expr:
        """An annotation with axes instead of the sizes that the object of a method fills in."""
        texts = (part.value for part in nodes(annotation) if isinstance(part, ast.Constant))
        if not any(isinstance(text, str) and "{" in text and "self." in text for text in texts):
            return annotation
        from namecheck.interpreter.evaluation import filled_sizes  # few annotations have them

        for class_node in dict.fromkeys(self._classes.values()):
            if any(each is annotation for each in _annotations(class_node)):
                annotation = filled_sizes.named(annotation, class_node)
        return annotation

    def resolved(self, name: str) -> ast.expr | None:
        """The expression that a dotted name is an alias for, in this file or in one it imports."""
        if name in self._aliases:
            return self._aliases[name]
        head, _, rest = name.partition(".")
        imported = self._imports.get(head)
        if imported is not None and imported.module in _LIBRARIES and imported.member:
            return ast.Name(imported.member) if imported.member != name else None
        return None if imported is None else self._imported(imported, rest)

    def overloads(self, node: ast.AST, name: str) -> Sequence[ast.FunctionDef]:
        """The overloads of a function in the body of a module, class or function."""
        by_name = self._overloads.get(node)
        if by_name is None:
            by_name = self._overloads[node] = {}
            body = () if isinstance(node, ast.Lambda) else getattr(node, "body", ())
            for statement in body:
                if isinstance(statement, ast.FunctionDef) and "overload" in decorators(statement):
                    by_name.setdefault(statement.name, []).append(statement)
        return by_name.get(name, ())

    def signature(self, node: ast.AST) -> Signature:
        """The declarations of a function; empty for a lambda."""
        signature = self._signatures.get(node)
        if signature is None:
            signature = self._signature(node) if isinstance(node, Function) else Signature()
            self._signatures[node] = signature
        return signature

    def _signature(self, function_node: Function) -> Signature:
        spec = function_node.args
        every = [*spec.posonlyargs, *spec.args, *spec.kwonlyargs]
        parameters = {
            argument.arg: Parameter(self.read(argument.annotation), argument.annotation)
            for argument in every
            if argument.annotation is not None
        }
        if spec.vararg is not None and spec.vararg.annotation is not None:
            each = self.read(spec.vararg.annotation)
            parameters[spec.vararg.arg] = Parameter(Every(each), spec.vararg.annotation)
        if spec.kwarg is not None and spec.kwarg.annotation is not None:
            each = self.read(spec.kwarg.annotation)
            parameters[spec.kwarg.arg] = Parameter(Every(each, "mapping"), spec.kwarg.annotation)
        result = ANYTHING if function_node.returns is None else self.read(function_node.returns)
        axes = self.axes(function_node)
        numbers = {a.arg for a in every if _is_int(a.annotation) and a.arg in axes}
        cls = self._classes.get(function_node)
        if cls is not None:
            around = self._axes_of_class(cls)
            ints = {a.arg for a in every if _is_int(a.annotation)}
            # If a constructor takes the size of every feature axis as an int, all its ints with the
            # name of an axis are the size of that axis; otherwise such an int may have another
            # meaning.
            takes_sizes = (
                function_node.name == "__init__" and ints & around and self._features(cls) <= ints
            )
            numbers |= ints if takes_sizes else ints & around
            axes |= around
        declaring = {name: p for name, p in parameters.items() if declares_dims(p.declared)}
        optional = {name for name, default in defaults(spec) if _is_none(default)}
        choices = {
            argument.arg: or_none(argument.annotation)
            if argument.arg in optional
            else argument.annotation
            for argument in every
            if argument.annotation is not None
            and argument.arg not in declaring
            and last_word(argument.annotation) not in _SINGLE
        }
        return Signature(declaring, result, axes | numbers, frozenset(numbers), choices)

    def _axes_of_class(self, class_node: ast.ClassDef) -> frozenset[str]:
        axes = self._class_axes.get(class_node)
        if axes is None:
            axes = self._class_axes[class_node] = self.axes(class_node)
        return axes

    def axes(self, node: ast.AST) -> frozenset[str]:
        """The names of all dims in the annotations of a definition and its body."""
        return frozenset().union(*map(axes_of, self._declared_in(node)))

    def _features(self, class_node: ast.ClassDef) -> frozenset[str]:
        """The names of the dims in a class that layers most often produce or consume."""
        return frozenset().union(*map(features_of, self._declared_in(class_node)))

    def _declared_in(self, node: ast.AST) -> Iterator[Declared]:
        for annotation in _annotations(node):
            yield self.read(annotation)


def _annotations(definition: ast.AST) -> Iterator[ast.expr]:
    """The annotations of a definition and of all statements below it."""
    for statement in (definition, *statements(definition)):
        if isinstance(statement, Function):
            for argument in parameters(statement.args):
                if argument.annotation is not None:
                    yield argument.annotation
            if statement.returns is not None:
                yield statement.returns
        elif isinstance(statement, ast.AnnAssign):
            yield statement.annotation


def fields(class_node: ast.ClassDef) -> Mapping[str, ast.expr]:
    """The annotated names in the body of a class."""
    return {
        statement.target.id: statement.annotation
        for statement in class_node.body
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name)
    }


def words_of(function_node: Function) -> Iterator[ast.expr]:
    """The torch metadata in a function's annotations, beside tensors."""
    spec = function_node.args
    every = [*spec.posonlyargs, *spec.args, *spec.kwonlyargs, spec.vararg, spec.kwarg]
    for annotation in (*(each and each.annotation for each in every), function_node.returns):
        if isinstance(annotation, (ast.Subscript, ast.BinOp)):
            yield from declarations.words(annotation)


def axes_of(declared: Declared) -> frozenset[str]:
    """The names of all declared dims."""
    if isinstance(declared, Declaration):
        several = declared.pattern.several
        run = {several.name} if several is not None and several.name else set[str]()
        return declared.pattern.axes | run
    if isinstance(declared, OneOf):
        return frozenset().union(*map(axes_of, declared.options))
    if isinstance(declared, Items):
        return frozenset().union(*map(axes_of, declared.each))
    return axes_of(declared.each) if isinstance(declared, Every) else frozenset()


def features_of(declared: Declared) -> frozenset[str]:
    """The names of last dims, and for images those of the channels, the second dim.

    Indices and masks have no features.
    """
    if isinstance(declared, Declaration):
        dtypes = declared.dtypes
        if dtypes and all(dtype.startswith(("int", "uint", "bool")) for dtype in dtypes):
            return frozenset()
        before, after = declared.pattern.before, declared.pattern.after
        dims = before + after
        if len(dims) < 2:
            return frozenset()
        image = len(dims) == 4 and declared.pattern.several is None
        features = (dims[1],) if image else dims[-1:]
        return frozenset(dim.name for dim in features if dim.name)
    if isinstance(declared, OneOf):
        return frozenset().union(*map(features_of, declared.options))
    if isinstance(declared, Items):
        return frozenset().union(*map(features_of, declared.each))
    return features_of(declared.each) if isinstance(declared, Every) else frozenset()


def _is_none(expression: ast.expr) -> bool:
    return isinstance(expression, ast.Constant) and expression.value is None


def or_none(annotation: ast.expr) -> ast.expr:
    """An annotation and None, which a default may be, whatever the annotation says."""
    return ast.BinOp(annotation, ast.BitOr(), ast.Constant(None))


def _is_int(annotation: ast.expr | None) -> bool:
    return isinstance(annotation, ast.Name) and annotation.id == "int"


def _imports(tree: ast.Module) -> Iterator[tuple[str, Import]]:
    for node in statements(tree):
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                origin = Import(node.level, node.module or "", alias.name)
                yield alias.asname or alias.name, origin
        elif isinstance(node, ast.Import):
            for alias in node.names:
                path = alias.name if alias.asname else alias.name.partition(".")[0]
                yield alias.asname or path, Import(0, path, "")


_ALIASED: Final = (ast.Subscript, ast.Name, ast.Attribute)


def _is_union(expression: ast.expr) -> bool:
    return isinstance(expression, ast.BinOp) and isinstance(expression.op, ast.BitOr)


def _defining(body: Sequence[ast.stmt], prefix: str = "") -> Iterator[tuple[ast.stmt, str]]:
    """The statements of a module that may define aliases, in its classes and branches, too."""
    for statement in body:
        if isinstance(statement, ast.If):
            yield from _defining([*statement.orelse, *statement.body], prefix)
        elif isinstance(statement, ast.Try):
            yield from _defining([*statement.body, *statement.orelse], prefix)
        elif isinstance(statement, ast.ClassDef):
            yield from _defining(statement.body, f"{prefix}{statement.name}.")
        else:
            yield statement, prefix


def _aliases(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    """The aliases that a module defines for annotations: ``Image = Float[Tensor, "h w"]``.

    Those of a class have its name before their own.
    """
    for statement, prefix in _defining(tree.body):
        if isinstance(statement, ast.Assign) and prefix:
            if isinstance(statement.value, ast.Subscript):
                for target in statement.targets:
                    if isinstance(target, ast.Name):
                        yield prefix + target.id, statement.value
        elif isinstance(statement, ast.Assign) and (
            isinstance(statement.value, _ALIASED) or _is_union(statement.value)
        ):
            for target in statement.targets:
                if isinstance(target, ast.Name):
                    yield target.id, statement.value
        elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            if isinstance(statement.value, (ast.Subscript, ast.BinOp)):
                yield statement.target.id, statement.value
        elif hasattr(ast, "TypeAlias") and isinstance(statement, ast.TypeAlias):
            yield statement.name.id, statement.value
