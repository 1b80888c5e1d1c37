"""Imports: project files run at their first import, libraries are only named."""

from __future__ import annotations

import ast
import os
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Final, TypeAlias

from namecheck.core import regular_files
from namecheck.core.syntax import Refused, Source, parse
from namecheck.interpreter.domain import joins, merges
from namecheck.interpreter.domain.cells import ModuleImport
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.values import (
    Const,
    Environment,
    External,
    ListValue,
    TupleValue,
    Value,
)
from namecheck.interpreter.evaluation.frames import Frame, PathEnds
from namecheck.interpreter.evaluation.interpreter import Interpreter

# The file of a dotted name, None where the program has none; that of a package is its
# `__init__.py`.
Finder: TypeAlias = Callable[[str], Source | None]

MAIN: Final = "__main__"


def nothing_found(name: str) -> Source | None:
    """The finder of a program that is one file."""
    return None


def below(folder: str) -> Finder:
    """The finder of the files and packages in a folder; an unreadable one is not found."""

    def find(name: str) -> Source | None:
        stem = os.path.join(folder, *name.split("."))
        for path in (os.path.join(stem, "__init__.py"), f"{stem}.py"):
            try:
                return parse(regular_files.contents(path), path)
            except (OSError, Refused):
                continue
        return None

    return find


class Imports:
    """Runs import statements.

    A file of the program is a module: an `External` like that of a library. The store has the frame
    of its variables under its dotted name, on each path that has imported it.
    """

    def __init__(self, interpreter: Interpreter, finder: Finder) -> None:
        self.interpreter = interpreter
        self._find = cache(finder)
        self._frames: dict[str, Environment] = {}

    def environment(self, path: str, store: Store) -> Environment | None:
        """The environment of a module that was imported on this path."""
        environment = self._frames.get(path)
        return None if environment is None or store.get(ModuleImport(path)) is None else environment

    def member(self, path: str, name: str, store: Store) -> Value | None:
        """The value of a name in a file of the program; None where the path is not of a file."""
        environment = self.environment(path, store)
        if environment is None:
            return None
        member_value: Value | None = store.get((environment.number, name))
        return External(f"{path}.{name}") if member_value is None else member_value

    def file_of(self, source: Source, level: int, module: str, member: str = "") -> Source | None:
        """The file of a module that a file imports, or of a module of that package."""
        return None

    def resolve(self, value: Value, store: Store) -> Value:
        """The value of a variable, imports resolved."""
        return value

    def starred(self, environment: Environment, name: str, store: Store) -> Value | None:
        """The value of a name that a module has from a star import; it has no such variable."""
        return None

    # Statements

    def run_import(self, import_node: ast.Import, store: Store, frame: Frame) -> None:
        """``import a.b``, ``import a.b as c``."""
        for alias in import_node.names:
            self._load(alias.name, store, frame)
            path = alias.name if alias.asname else alias.name.split(".")[0]
            self._bind(alias.asname or path, External(path), store, frame)

    def run_import_from(self, import_node: ast.ImportFrom, store: Store, frame: Frame) -> None:
        """``from a import b``, with any number of dots."""
        module = self._absolute(import_node, store, frame)
        self._load(module, store, frame)
        for alias in import_node.names:
            if alias.name == "*":
                self._import_all(module, store, frame)
                continue
            value = self._member(module, alias.name, import_node, store, frame)
            self._bind(alias.asname or alias.name, value, store, frame)

    def _bind(self, name: str, value: Value, store: Store, frame: Frame) -> None:
        self.interpreter.bind_name(name, value, store, frame.environment)

    def _absolute(self, import_node: ast.ImportFrom, store: Store, frame: Frame) -> str:
        """The module that an import names; one of an unknown package keeps its dots."""
        environment = frame.environment.module
        package: Value | None = store.get((environment.number, "__package__"))
        if not import_node.level or not isinstance(package, Const):
            return "." * import_node.level + (import_node.module or "")
        parts = package.value.split(".")
        parts = parts[: len(parts) - import_node.level + 1]
        return ".".join([*parts, *([import_node.module] if import_node.module else [])])

    def _member(
        self, module: str, name: str, import_node: ast.ImportFrom, store: Store, frame: Frame
    ) -> Value:
        environment = self.environment(module, store)
        if environment is not None and store.get((environment.number, name)) is None:
            self._load(f"{module}.{name}", store, frame)
        return self.interpreter.read_attribute(External(module), name, import_node, store, frame)

    def _import_all(self, module: str, store: Store, frame: Frame) -> None:
        """``from module import *``; of torch it binds the names in the table."""
        environment = self.environment(module, store)
        if environment is not None:
            for name in self._public(environment, store):
                value: Value | None = store.get((environment.number, name))
                if value is not None:
                    self._bind(name, value, store, frame)
        elif module.startswith("torch"):
            for key, row in self.interpreter.context.rows.items():
                if "f" in row.forms and "." not in key:
                    self._bind(key, External(f"{module}.{key}"), store, frame)

    def _public(self, environment: Environment, store: Store) -> Iterator[str]:
        listed: Value | None = store.get((environment.number, "__all__"))
        if listed is None:
            names = self.interpreter.scope(environment.scope).local
            yield from (name for name in sorted(names) if not name.startswith("_"))
        else:
            yield from self.listed(listed, store) or ()

    def listed(self, value: Value, store: Store) -> list[str] | None:
        """The words of ``__all__``; None where they are unknown."""
        if not isinstance(value, (ListValue, TupleValue)):
            return None
        content = value.items if isinstance(value, TupleValue) else joins.items(value, store)
        if not isinstance(content, tuple):
            return None
        return [str(item.value) for item in content if isinstance(item, Const)]

    # Modules

    def run_file(self, frame: Frame, store: Store) -> list[Store]:
        """Run the top level of the file that is imported."""
        source = self.interpreter.source
        return self._run(source, frame, store, source.tree.body)

    def run_main(self, frame: Frame, store: Store) -> list[Store]:
        """Run the file that is the program; the paths that reach its end."""
        store.set((frame.environment.number, "__name__"), Const(MAIN))
        source = self.interpreter.source
        return self._run(source, frame, store, source.tree.body)

    def _load(self, path: str, store: Store, frame: Frame) -> None:
        """Run the project files that importing a dotted name runs, each once on a path."""
        if path.startswith("."):
            return
        parts = path.split(".")
        for count in range(1, len(parts) + 1):
            name = ".".join(parts[:count])
            source = self._find(name)
            if source is not None and self.environment(name, store) is None:
                self._import_file(name, source, store, frame)

    def _import_file(self, name: str, source: Source, store: Store, frame: Frame) -> None:
        environment = self._frames.setdefault(
            name, Environment(self.interpreter.new_address(), source.tree)
        )
        package = name if _is_package(source) else name.rpartition(".")[0]
        store.set(ModuleImport(name), True)
        store.set((environment.number, "__name__"), Const(name))
        store.set((environment.number, "__package__"), Const(package))
        inner = Frame(environment)
        inner.guards = list(frame.deep_guards())
        ends = self._run(source, inner, store.fork(), source.tree.body)
        if not ends:
            raise PathEnds
        store.absorb(merges.merge(store, ends))

    def _run(
        self, source: Source, frame: Frame, store: Store, body: Sequence[ast.stmt]
    ) -> list[Store]:
        interpreter = self.interpreter
        file = interpreter.context.files.sources.setdefault(source.tree, source)
        with interpreter.file.switched(file):
            return interpreter.execute(body, [store], frame)


def _is_package(source: Source) -> bool:
    return source.filename.replace("\\", "/").rpartition("/")[2] == "__init__.py"
