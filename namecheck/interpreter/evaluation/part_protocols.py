"""Protocols of the evaluation's parts with several verbs (see `interpreter`)."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeAlias

from namecheck.annotations.bindings import Bindings
from namecheck.core.dims import Size
from namecheck.core.syntax import Located as Node
from namecheck.core.syntax import Source
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.values import (
    ClassValue,
    Environment,
    FunctionValue,
    Generator,
    Instance,
    Repeated,
    Value,
    Wrapped,
)
from namecheck.interpreter.evaluation.declared import Annotations
from namecheck.interpreter.evaluation.frames import Call, Frame

# Processes an item on a path: the paths on which the next item is requested.
Each: TypeAlias = Callable[[Value, Store], list[Store]]
# Runs the code within a context: the paths that reach its end.
Body: TypeAlias = Callable[[Store], list[Store]]
# Items: the known ones, or a cover for each of them.
Content: TypeAlias = tuple[Value, ...] | Repeated


class Generators(Protocol):
    """Runs generators."""

    def abandon(self, generator: Generator, store: Store) -> None:
        """Make unknown what a generator has done and what it will yield."""

    def changed(self, generator: Generator, change: Callable[[Value, Store], Value]) -> Generator:
        """A generator each of whose items is changed before it is yielded."""

    def cleans_up(self, generator: Generator) -> bool:
        """Whether a generator that is closed early has clean-up code."""

    def collect(self, generator: Generator, node: Node, store: Store, frame: Frame) -> Content:
        """All items of a generator, run to its end at once."""

    def give_away(self, generator: Generator, store: Store, frame: Frame) -> None:
        """Pass a generator to unknown code, which may run it any number of steps."""

    def keep(self, generator: Generator, content: Content, store: Store) -> None:
        """Store the items that a generator may still yield."""

    def loop_of(self, yield_node: ast.YieldFrom) -> tuple[ast.For, str]:
        """The loop ``for x in items: yield x`` for ``yield from items``, and its items variable."""

    def rest(self, generator: Generator, store: Store) -> Content | None:
        """The items that a generator may still yield; None where it was not started."""

    def run(
        self,
        generator: Generator,
        on_item: Each,
        node: Node,
        store: Store,
        frame: Frame,
        *,
        guarded: bool = False,
    ) -> list[tuple[Store, Value]] | None:
        """Run a generator from its start; the paths that reach its end, and what they return."""

    def sample(
        self, generator: Generator, node: Node, store: Store, frame: Frame, *, asked: bool = True
    ) -> Content:
        """The items of a generator that may be abandoned after any item."""

    def step(self, generator: Generator, node: Node, store: Store, frame: Frame) -> Value | None:
        """The next item; None where there is none."""


class Declarations(Protocol):
    """Checks values against annotations, and makes values from annotations."""

    def assigned(
        self, assignment: ast.AnnAssign, value: Value, store: Store, frame: Frame
    ) -> Value:
        """The value of an annotated variable, with the declared dims."""

    def bound(
        self, function: FunctionValue, environment: Environment, store: Store
    ) -> Bindings | None:
        """The axis bindings of a call; None where the declared result has no dims."""

    def enter(
        self, function: FunctionValue, environment: Environment, call: Call, store: Store
    ) -> bool:
        """Bind the declared parameters to the arguments; False where they contradict."""

    def entries(self, cls: ClassValue, store: Store) -> Value:
        """An unknown dict of a TypedDict: its axes belong to the dict."""

    def field(self, instance: Instance, name: str, store: Store) -> Value | None:
        """An attribute of an instance that its class only declares; None if it does not."""

    def filled(
        self,
        cls: ClassValue,
        field_values: Mapping[str, Value],
        call: Call,
        instance: Instance | None = None,
    ) -> dict[str, Value]:
        """The fields of a new instance, checked together against their declarations."""

    def overloads(self, function: FunctionValue) -> Sequence[ast.FunctionDef]:
        """The overloads of a function that stand beside it."""

    def declares_result(self, function: FunctionValue) -> bool:
        """Whether a function declares its result."""

    def leave(self, return_node: ast.Return, value: Value, store: Store, frame: Frame) -> None:
        """Check a function's return value against its declaration."""

    def named_tuple(self, cls: ClassValue, store: Store) -> Value:
        """An unknown named tuple: its axes are its own."""

    def names_axes(self, maker: FunctionValue, cls: ClassValue) -> bool:
        """Whether a constructor, or the fields of its class, have axes in their annotations."""

    def parameter(
        self, function: FunctionValue, name: str, instance: Instance | None, store: Store
    ) -> Value | None:
        """An unknown argument with its declared type; None where it has none."""

    def result(
        self,
        function: FunctionValue,
        environment: Environment,
        bindings: Bindings | None,
        value: Value,
        store: Store,
        *,
        is_told: bool = False,
    ) -> Value:
        """The declared result of a call, where the function's body leaves it unknown."""

    def of(self, environment: Environment) -> Annotations:
        """The annotations of the file that contains the code of a frame."""

    def fields(self, class_node: ast.ClassDef) -> Mapping[str, ast.expr]:
        """The annotated names in the body of a class."""

    def shared_axes(self, cls: ClassValue, method: FunctionValue) -> frozenset[str]:
        """The axes that the annotations of a class and of its method both mention."""

    def seed(self, instance: Instance, method: FunctionValue, store: Store) -> None:
        """Bind the axes of an instance that its method mentions to the axes of the method."""

    def size_of_axis(self, axis: str, store: Store, frame: Frame) -> Size:
        """The size of the axis with this name in a function's annotations; UNKNOWN without one."""

    def declares_dims(self, function: FunctionValue) -> bool:
        """Whether a function declares dims of its parameters or its result."""


class Imports(Protocol):
    """Runs import statements."""

    def environment(self, path: str, store: Store) -> Environment | None:
        """The environment of a module that was imported on this path."""

    def file_of(self, source: Source, level: int, module: str, member: str = "") -> Source | None:
        """The file of a module that a file imports, or of a module of that package."""

    def member(self, path: str, name: str, store: Store) -> Value | None:
        """The value of a name in a file of the program; None where the path is not of a file."""

    def resolve(self, value: Value, store: Store) -> Value:
        """The value of a variable, imports resolved."""

    def starred(self, environment: Environment, name: str, store: Store) -> Value | None:
        """The value of a name that a module has from a star import; it has no such variable."""

    def listed(self, value: Value, store: Store) -> list[str] | None:
        """The words of ``__all__``; None where they are unknown."""

    def run_file(self, frame: Frame, store: Store) -> list[Store]:
        """Run the top level of the file that is imported."""

    def run_main(self, frame: Frame, store: Store) -> list[Store]:
        """Run the file that is the program; the paths that reach its end."""

    def run_import(self, import_node: ast.Import, store: Store, frame: Frame) -> None:
        """``import a.b``, ``import a.b as c``."""

    def run_import_from(self, import_node: ast.ImportFrom, store: Store, frame: Frame) -> None:
        """``from a import b``, with any number of dots."""


class Classes(Protocol):
    """Makes classes and instances."""

    def define(
        self, class_node: ast.ClassDef, decorators: Sequence[Value], store: Store, frame: Frame
    ) -> ClassValue:
        """Run a class body; its names become attributes of the class."""

    def instantiate(self, cls: ClassValue, call: Call) -> Value:
        """Call a class."""


class WithStatements(Protocol):
    """Enters and leaves the contexts of ``with`` statements."""

    def make(self, wrapped: Wrapped, call: Call) -> Value:
        """Call a generator under ``contextlib.contextmanager``."""

    def around(
        self, with_items: Sequence[ast.withitem], run_block: Body, store: Store, frame: Frame
    ) -> list[Store]:
        """Run the body of a ``with`` block, the first context outermost."""
