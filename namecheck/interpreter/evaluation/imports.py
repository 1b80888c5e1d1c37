"""Imports: files of the program are run where they are first imported, libraries are only named."""

from __future__ import annotations

import ast
import os
from collections.abc import Callable, Iterator
from functools import cache
from typing import Final, TypeAlias

from namecheck.core.syntax import Refused, Source, parse
from namecheck.interpreter.domain import joins, merges
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.values import Const, External, Frame, ListValue, TupleValue, Value
from namecheck.interpreter.evaluation.machine import Activation, Machine, PathEnds

# The file that a dotted name stands for, None where it is none of the program's; a package is
# its `__init__.py`.
Finder: TypeAlias = Callable[[str], Source | None]

MAIN: Final = "__main__"


def nothing_found(name: str) -> Source | None:
    """The finder of a program that is one file."""
    return None


def below(folder: str) -> Finder:
    """The finder of the files and packages in a folder; one that cannot be read is not found."""

    def find(name: str) -> Source | None:
        stem = os.path.join(folder, *name.split("."))
        for path in (os.path.join(stem, "__init__.py"), f"{stem}.py"):
            try:
                with open(path, "rb") as file:
                    return parse(file.read(), path)
            except (OSError, Refused):
                continue
        return None

    return find


class Imports:
    """Binds what import statements bind.

    A file of the program is a module: an `External` like that of a library, under whose dotted
    name the store has the frame that holds its variables, on each path that has imported it.
    """

    def __init__(self, machine: Machine, finder: Finder) -> None:
        self.machine = machine
        self._find = cache(finder)
        self._frames: dict[str, Frame] = {}

    def frame(self, path: str, store: Store) -> Frame | None:
        """The frame of a module that was imported on this path."""
        frame = self._frames.get(path)
        return None if frame is None or store.get(("module", path)) is None else frame

    def member(self, path: str, name: str, store: Store) -> Value | None:
        """What a file of the program has under a name; None where the path is not of a file."""
        frame = self.frame(path, store)
        if frame is None:
            return None
        held: Value | None = store.get((frame.number, name))
        return External(f"{path}.{name}") if held is None else held

    def file_of(self, source: Source, level: int, module: str, member: str = "") -> Source | None:
        """The file that a module is to a file, or the module of this name in that package."""
        return None

    def resolve(self, value: Value, store: Store) -> Value:
        """What a variable really holds."""
        return value

    def starred(self, frame: Frame, name: str, store: Store) -> Value | None:
        """What a module has under a name from others, without a variable of this name."""
        return None

    # Statements

    def run_import(self, node: ast.Import, store: Store, activation: Activation) -> None:
        """``import a.b``, ``import a.b as c``."""
        for alias in node.names:
            self._load(alias.name, store, activation)
            path = alias.name if alias.asname else alias.name.split(".")[0]
            self._bind(alias.asname or path, External(path), store, activation)

    def run_import_from(self, node: ast.ImportFrom, store: Store, activation: Activation) -> None:
        """``from a import b``, with any number of dots."""
        module = self._absolute(node, store, activation)
        self._load(module, store, activation)
        for alias in node.names:
            if alias.name == "*":
                self._import_all(module, store, activation)
                continue
            value = self._member(module, alias.name, node, store, activation)
            self._bind(alias.asname or alias.name, value, store, activation)

    def _bind(self, name: str, value: Value, store: Store, activation: Activation) -> None:
        self.machine.statements.bind_name(name, value, store, activation.frame)

    def _absolute(self, node: ast.ImportFrom, store: Store, activation: Activation) -> str:
        """The module that is meant; one of an unknown package keeps its dots."""
        frame = self.machine.expressions.module_of(activation.frame)
        package: Value | None = store.get((frame.number, "__package__"))
        if not node.level or not isinstance(package, Const):
            return "." * node.level + (node.module or "")
        parts = package.value.split(".")
        parts = parts[: len(parts) - node.level + 1]
        return ".".join([*parts, *([node.module] if node.module else [])])

    def _member(
        self, module: str, name: str, node: ast.ImportFrom, store: Store, activation: Activation
    ) -> Value:
        frame = self.frame(module, store)
        if frame is not None and store.get((frame.number, name)) is None:
            self._load(f"{module}.{name}", store, activation)
        attributes = self.machine.expressions.attributes
        return attributes.read(External(module), name, node, store, activation)

    def _import_all(self, module: str, store: Store, activation: Activation) -> None:
        """``from module import *``: of torch the names that the table knows."""
        frame = self.frame(module, store)
        if frame is not None:
            for name in self._public(frame, store):
                value: Value | None = store.get((frame.number, name))
                if value is not None:
                    self._bind(name, value, store, activation)
        elif module.startswith("torch"):
            for key, row in self.machine.rows.items():
                if "f" in row.forms and "." not in key:
                    self._bind(key, External(f"{module}.{key}"), store, activation)

    def _public(self, frame: Frame, store: Store) -> Iterator[str]:
        listed: Value | None = store.get((frame.number, "__all__"))
        if listed is None:
            names = self.machine.scope(frame.scope).local
            yield from (name for name in sorted(names) if not name.startswith("_"))
        else:
            yield from self.listed(listed, store) or ()

    def listed(self, value: Value, store: Store) -> list[str] | None:
        """The words of ``__all__``; None where they are not known."""
        if not isinstance(value, (ListValue, TupleValue)):
            return None
        content = value.items if isinstance(value, TupleValue) else joins.items(value, store)
        if not isinstance(content, tuple):
            return None
        return [str(item.value) for item in content if isinstance(item, Const)]

    # Modules

    def run_file(self, activation: Activation, store: Store) -> list[Store]:
        """Run the top level of the file that is imported."""
        return self._run(self.machine.source, activation, store)

    def run_main(self, activation: Activation, store: Store) -> list[Store]:
        """Run the file that is the program; the paths that reach its end."""
        store.set((activation.frame.number, "__name__"), Const(MAIN))
        return self._run(self.machine.source, activation, store)

    def _load(self, path: str, store: Store, activation: Activation) -> None:
        """Run the files of the program that importing a dotted name runs, each once on a path."""
        if path.startswith("."):
            return
        parts = path.split(".")
        for count in range(1, len(parts) + 1):
            name = ".".join(parts[:count])
            source = self._find(name)
            if source is not None and self.frame(name, store) is None:
                self._import_file(name, source, store, activation)

    def _import_file(self, name: str, source: Source, store: Store, activation: Activation) -> None:
        frame = self._frames.setdefault(name, Frame(self.machine.new_address(), source.tree))
        package = name if _is_package(source) else name.rpartition(".")[0]
        store.set(("module", name), True)
        store.set((frame.number, "__name__"), Const(name))
        store.set((frame.number, "__package__"), Const(package))
        inner = Activation(frame)
        inner.guards = list(activation.deep_guards())
        ends = self._run(source, inner, store.fork())
        if not ends:
            raise PathEnds
        store.absorb(merges.merge(store, ends))

    def _run(self, source: Source, activation: Activation, store: Store) -> list[Store]:
        outer = self.machine.source
        self.machine.enter(source)
        try:
            return self.machine.statements.block(source.tree.body, [store], activation)
        finally:
            self.machine.source = outer


def _is_package(source: Source) -> bool:
    return source.filename.replace("\\", "/").rpartition("/")[2] == "__init__.py"
