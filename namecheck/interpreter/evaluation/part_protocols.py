"""The parts of the evaluation that are known by several verbs, as protocols (see `interpreter`)."""

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
from namecheck.interpreter.evaluation.frames import Call, Frame

# What is done with an item on a path: the paths on which the next one is asked for.
Each: TypeAlias = Callable[[Value, Store], list[Store]]
# What is done within a context: the paths that reach its end.
Body: TypeAlias = Callable[[Store], list[Store]]
# Items: those that are known, or what each of them is.
Content: TypeAlias = tuple[Value, ...] | Repeated


class Generators(Protocol):
    """Runs generators."""

    def abandon(self, generator: Generator, store: Store) -> None:
        """Nothing is known of what a generator has done or will give."""

    def changed(self, generator: Generator, change: Callable[[Value, Store], Value]) -> Generator:
        """A generator of which each item is changed before it is given."""

    def cleans_up(self, generator: Generator) -> bool:
        """Whether a generator that is closed early has something left to do."""

    def collect(self, generator: Generator, node: Node, store: Store, frame: Frame) -> Content:
        """All that a generator gives, when it is run to its end at once."""

    def give_away(self, generator: Generator, store: Store, frame: Frame) -> None:
        """Unknown code may run a generator, as far as it likes."""

    def keep(self, generator: Generator, content: Content, store: Store) -> None:
        """Remember what a generator still may give."""

    def loop_of(self, yield_node: ast.YieldFrom) -> tuple[ast.For, str]:
        """``for x in items: yield x``, for ``yield from items``, and the variable of the items."""

    def rest(self, generator: Generator, store: Store) -> Content | None:
        """What a generator still may give; None where it was not asked yet."""

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
        """Run a generator from its start; the paths that reach its end, with what they return."""

    def sample(
        self, generator: Generator, node: Node, store: Store, frame: Frame, *, asked: bool = True
    ) -> Content:
        """What a generator may give to one who may leave it at any item."""

    def step(self, generator: Generator, node: Node, store: Store, frame: Frame) -> Value | None:
        """The next item; None where there is none left."""


class Declarations(Protocol):
    """Holds values against annotations, and makes them from annotations."""

    def assigned(
        self, assignment: ast.AnnAssign, value: Value, store: Store, frame: Frame
    ) -> Value:
        """What an annotated variable holds: the value, with the dims that are declared."""

    def bound(
        self, function: FunctionValue, environment: Environment, store: Store
    ) -> Bindings | None:
        """What the axes of a function stand for in a call; None where its result says nothing."""

    def enter(
        self, function: FunctionValue, environment: Environment, call: Call, store: Store
    ) -> bool:
        """Bind what the parameters declare to the arguments; False where they contradict."""

    def entries(self, cls: ClassValue, store: Store) -> Value:
        """An unknown dict of a TypedDict: its axes are those of the dict."""

    def field(self, instance: Instance, name: str, store: Store) -> Value | None:
        """The attribute of an instance that its class only declares; None if it does not."""

    def filled(
        self,
        cls: ClassValue,
        field_values: Mapping[str, Value],
        call: Call,
        instance: Instance | None = None,
    ) -> dict[str, Value]:
        """The fields of a new instance, held against what is declared of them together."""

    def gives(self, function: FunctionValue) -> bool:
        """Whether a function declares what it gives."""

    def leave(self, return_node: ast.Return, value: Value, store: Store, frame: Frame) -> None:
        """Hold what a function returns against what it declares."""

    def named_tuple(self, cls: ClassValue, store: Store) -> Value:
        """An unknown named tuple: its axes are its own."""

    def names_axes(self, maker: FunctionValue, cls: ClassValue) -> bool:
        """Whether a constructor, or the body of its class, names axes of what it sets."""

    def parameter(
        self, function: FunctionValue, name: str, instance: Instance | None, store: Store
    ) -> Value | None:
        """An unknown argument, as it is declared; None where it is not."""

    def result(
        self,
        function: FunctionValue,
        environment: Environment,
        bindings: Bindings | None,
        value: Value,
        store: Store,
    ) -> Value:
        """What a call gives, by what the function declares where its body does not tell."""

    def seed(self, instance: Instance, method: FunctionValue, store: Store) -> None:
        """The axes of an instance that its method names are those of the method."""

    def size_of_axis(self, axis: str, store: Store, frame: Frame) -> Size:
        """The size of what a function calls so in its annotations; UNKNOWN if it does not."""

    def speak(self, function: FunctionValue) -> bool:
        """Whether a function declares dims, of its parameters or of its result."""


class Imports(Protocol):
    """Binds what import statements bind."""

    def environment(self, path: str, store: Store) -> Environment | None:
        """The frame of a module that was imported on this path."""

    def file_of(self, source: Source, level: int, module: str, member: str = "") -> Source | None:
        """The file that a module is to a file, or the module of this name in that package."""

    def member(self, path: str, name: str, store: Store) -> Value | None:
        """What a file of the program has under a name; None where the path is not of a file."""

    def resolve(self, value: Value, store: Store) -> Value:
        """What a variable really holds."""

    def starred(self, environment: Environment, name: str, store: Store) -> Value | None:
        """What a module has under a name from others, without a variable of this name."""

    def listed(self, value: Value, store: Store) -> list[str] | None:
        """The words of ``__all__``; None where they are not known."""

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

    def define(self, class_node: ast.ClassDef, store: Store, frame: Frame) -> ClassValue:
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
        """Run what stands in a ``with`` block, the first context outermost."""
