"""The values that an annotation allows, where it tells each of them, or the type of each."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Final

from namecheck.core import parsing
from namecheck.core.trees import last_word, nodes
from namecheck.interpreter.domain import class_lookup
from namecheck.interpreter.domain.candidates import AnyOf, Candidate
from namecheck.interpreter.domain.cells import MOST_CANDIDATES, CandidatesOf
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.values import (
    FALSE,
    NONE,
    TRUE,
    ClassValue,
    Const,
    Environment,
    External,
    FunctionValue,
    Instance,
    Opaque,
    Value,
)
from namecheck.interpreter.evaluation.declared import Signature, or_none
from namecheck.interpreter.evaluation.frames import Frame, PathEnds
from namecheck.interpreter.evaluation.interpreter import Interpreter

# How many aliases are followed.
_CHAIN: Final = 8
# What stands in `Literal`, beside members of enums.
_LITERALS: Final = (str, int, bytes, type(None))
# The forms whose first part is the type.
_AROUND: Final = frozenset({"Annotated", "ClassVar", "Final", "NotRequired", "Required"})
# An int is a float to a type checker.
_NUMBERS: Final = {"float": ("float", "int"), "complex": ("complex", "float", "int")}

Alias = Callable[[str], ast.expr | None]


class _Unlisted(Exception):
    """An annotation that allows other values than can be listed."""


def note_all(
    interpreter: Interpreter,
    signature: Signature,
    function: FunctionValue,
    environment: Environment,
    store: Store,
) -> None:
    """Note of the unknown arguments in an environment what their parameters allow."""
    for name, annotation in signature.choices.items():
        given: Value | None = store.get((environment.number, name))
        if isinstance(given, Opaque):
            by_type = _asks_types(function.node)
            note(interpreter, annotation, given, function.environment, store, by_type=by_type)


def note(
    interpreter: Interpreter,
    annotation: ast.expr,
    value: Value,
    environment: Environment,
    store: Store,
    *,
    by_type: bool = False,
) -> None:
    """Note of an unknown value what its annotation, in a scope, allows, perhaps any of a type."""
    if not isinstance(value, Opaque) or store.fact(CandidatesOf, value.key) is not None:
        return
    listed = _Reader(interpreter, environment, store).candidates(annotation)
    if listed and (by_type or not any(isinstance(each, AnyOf) for each in listed)):
        store.set(CandidatesOf(value.key), listed)


def note_field(
    interpreter: Interpreter, cls: ClassValue, name: str, value: Value, store: Store
) -> None:
    """Note of an unknown attribute of an instance what its class declares that it may be."""
    for base in class_lookup.mro(cls) if isinstance(value, Opaque) else ():
        if not isinstance(base, ClassValue) or base.node is None or base.environment is None:
            continue
        annotation = interpreter.declarations.fields(base.node).get(name)
        if annotation is not None:
            if store.get((base.address, name)) == NONE:  # its default, whatever is declared
                annotation = or_none(annotation)
            note(interpreter, annotation, value, base.environment, store)
            return


@lru_cache(maxsize=1024)
def _asks_types(definition: ast.AST) -> bool:
    """Whether a function asks for the type of a value."""
    return any(
        isinstance(part, ast.Match) or (isinstance(part, ast.Name) and part.id == "isinstance")
        for part in nodes(definition)
    )


class _Reader:
    """Reads the annotations of a scope."""

    def __init__(self, interpreter: Interpreter, environment: Environment, store: Store) -> None:
        self._interpreter, self._store = interpreter, store
        self._environment = environment
        self._alias: Alias = interpreter.declarations.of(environment).resolved

    def candidates(self, annotation: ast.expr) -> tuple[Candidate, ...]:
        """The values that an annotation allows; none where they cannot be listed."""
        try:
            listed = tuple(dict.fromkeys(self._listed(annotation, _CHAIN)))
        except _Unlisted:
            return ()
        is_one_type = listed == (TRUE, FALSE) or (len(listed) == 1 and isinstance(listed[0], AnyOf))
        return () if is_one_type or len(listed) > MOST_CANDIDATES else listed

    def _listed(self, annotation: ast.expr, aliases_left: int) -> Iterator[Candidate]:
        if aliases_left < 0:
            raise _Unlisted
        if isinstance(annotation, ast.Constant):
            if annotation.value is None:
                yield NONE
            elif isinstance(annotation.value, str):
                yield from self._listed(_parsed(annotation.value), aliases_left - 1)
            else:
                raise _Unlisted
        elif isinstance(annotation, ast.BinOp):
            yield from self._of_all((annotation.left, annotation.right), aliases_left)
        elif isinstance(annotation, ast.Subscript):
            yield from self._of_generic(annotation, aliases_left)
        elif isinstance(annotation, (ast.Name, ast.Attribute)):
            aliased = self._alias(ast.unparse(annotation))
            if aliased is not None:
                yield from self._listed(aliased, aliases_left - 1)
            else:
                yield from self._of_type(annotation)
        else:
            raise _Unlisted

    def _of_all(self, union_members: Sequence[ast.expr], aliases_left: int) -> Iterator[Candidate]:
        for option in union_members:
            yield from self._listed(option, aliases_left)

    def _of_generic(self, generic: ast.Subscript, aliases_left: int) -> Iterator[Candidate]:
        word = last_word(generic.value)
        parts = generic.slice.elts if isinstance(generic.slice, ast.Tuple) else [generic.slice]
        if word == "Literal":
            for part in parts:
                yield from self._of_literal(part, aliases_left)
        elif word == "Union":
            yield from self._of_all(parts, aliases_left)
        elif word == "Optional":
            yield from self._listed(generic.slice, aliases_left)
            yield NONE
        elif word in _AROUND and parts:
            yield from self._listed(parts[0], aliases_left)
        elif isinstance(generic.value, ast.Name) and word in ("dict", "list", "set", "tuple"):
            yield from self._of_type(generic.value)
        else:
            raise _Unlisted

    def _of_literal(self, literal_node: ast.expr, aliases_left: int) -> Iterator[Candidate]:
        if isinstance(literal_node, ast.Constant) and isinstance(literal_node.value, _LITERALS):
            yield Const(literal_node.value)
        elif isinstance(literal_node, (ast.Name, ast.Subscript)):
            yield from self._listed(literal_node, aliases_left - 1)  # another Literal
        else:
            member = self._value(literal_node)
            if not isinstance(member, Instance):
                raise _Unlisted
            yield member

    def _of_type(self, type_node: ast.Name | ast.Attribute) -> Iterator[Candidate]:
        kind = self._value(type_node)
        if isinstance(kind, ClassValue):
            if kind.style == "enum":
                yield from self._members(kind)
            elif kind.style in ("plain", "dataclass"):
                yield AnyOf(kind)
            else:
                raise _Unlisted
        elif isinstance(kind, External) and kind.path == "builtins.bool":
            yield from (TRUE, FALSE)
        elif isinstance(kind, External) and kind.path not in _VAGUE:
            module, _, word = kind.path.rpartition(".")
            for each in _NUMBERS.get(word, (word,)):
                yield AnyOf(External(f"{module}.{each}"))
        else:
            raise _Unlisted

    def _members(self, enum: ClassValue) -> Iterator[Candidate]:
        """The members of an enum; flags have others too, which are made of them."""
        if class_lookup.derives(enum, "Flag"):
            raise _Unlisted
        for name, _ in enum.fields:
            member: Value | None = self._store.get((enum.address, name))
            if isinstance(member, Instance) and not name.startswith("_"):
                yield member

    def _value(self, expression: ast.expr) -> Value | None:
        frame = Frame(self._environment)
        try:
            with self._interpreter.findings.silenced():
                return self._interpreter.evaluate(expression, self._store, frame)
        except PathEnds:
            return None


# Types of any value.
_VAGUE: Final = frozenset({"builtins.object", "typing.Any", "typing_extensions.Any"})


def _parsed(text: str) -> ast.expr:
    try:
        return parsing.expression(text)
    except (SyntaxError, ValueError):
        raise _Unlisted from None
