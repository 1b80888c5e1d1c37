"""Imports between the files of a project: an imported file runs when the bound name is read."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

from namecheck.core.dataclasses import replace
from namecheck.core.syntax import Source
from namecheck.core.trees import last_word
from namecheck.interpreter.domain.scopes import statements
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.values import (
    Const,
    Environment,
    External,
    Imported,
    TupleValue,
    Union,
    Value,
)
from namecheck.interpreter.evaluation.frames import Frame
from namecheck.interpreter.evaluation.imports import Imports, nothing_found
from namecheck.interpreter.evaluation.interpreter import Interpreter

if TYPE_CHECKING:
    from namecheck.interpreter.workspace.workspace import Module, Workspace

# The frame variable that lists the modules of star imports.
_STARS: Final = "*"
# The names that are being resolved, by the files that were searched.
Seen: TypeAlias = set[tuple[str, str]]


class Links(Imports):
    """Binds imported names to the files of a project."""

    def __init__(self, interpreter: Interpreter, workspace: Workspace) -> None:
        super().__init__(interpreter, nothing_found)
        self._workspace = workspace

    # Statements

    def run_file(self, frame: Frame, store: Store) -> list[Store]:
        """Run the top level of a file; imports for type checkers only are bound before.

        Where the file puts an object in its place that imports lazily, these tell what it has.
        """
        body = self.interpreter.source.tree.body
        lazy = list(filter(_replaces_itself, body))
        for node in _for_type_checkers(body, is_lazy=bool(lazy)):
            if isinstance(node, ast.Import):
                self.run_import(node, store, frame)
            elif lazy or all(alias.name != "*" for alias in node.names):
                self.run_import_from(node, store, frame)
        body = [statement for statement in body if statement not in lazy]
        return self._run(self.interpreter.source, frame, store, body)

    def run_import(self, import_node: ast.Import, store: Store, frame: Frame) -> None:
        """``import a.b``, ``import a.b as c``."""
        source = self._source(frame)
        for alias in import_node.names:
            path = alias.name if alias.asname else alias.name.partition(".")[0]
            location = self._workspace.find(source, 0, path)
            bound = External(path if location is None else location)
            self._bind(alias.asname or path, bound, store, frame)

    def run_import_from(self, import_node: ast.ImportFrom, store: Store, frame: Frame) -> None:
        """``from a import b``, with any number of dots."""
        location = self._workspace.find(
            self._source(frame), import_node.level, import_node.module or ""
        )
        if location is None:
            super().run_import_from(import_node, store, frame)
            return
        for alias in import_node.names:
            if alias.name == "*":
                self._add_star(location, store, frame.environment)
                continue
            value: Value = Imported(location, alias.name)
            if isinstance(frame.environment.scope, ast.ClassDef):
                value = self.resolve(value, store)
            self._bind(alias.asname or alias.name, value, store, frame)

    def file_of(self, source: Source, level: int, module: str, member: str = "") -> Source | None:
        """The file of a module that a file imports, or of a module of that package."""
        location = self._workspace.find(source, level, module)
        if location is not None and member:
            location = self._workspace.member(location, member)
        return None if location is None else self._workspace.source(location)

    def _source(self, frame: Frame) -> Source:
        return self.interpreter.context.source_of(frame.environment)

    def _add_star(self, location: str, store: Store, environment: Environment) -> None:
        stars = self._stars(environment, store)
        store.set((environment.number, _STARS), TupleValue((*map(Const, stars), Const(location))))

    def _stars(self, environment: Environment, store: Store) -> list[str]:
        listed = store.get((environment.number, _STARS))
        items = listed.items if isinstance(listed, TupleValue) else ()
        return [str(item.value) for item in items if isinstance(item, Const)]

    # Names

    def environment(self, path: str, store: Store) -> Environment | None:
        """The frame of the file at a location."""
        if not self._workspace.is_location(path):
            return None
        module = self._workspace.module(path)
        return None if module is None else module.environment

    def member(self, path: str, name: str, store: Store) -> Value | None:
        """The value of a name in the file or folder at a location."""
        if not self._workspace.is_location(path):
            return None
        return self._named(path, name, store, set()) or External(f"{path}.{name}")

    def resolve(self, value: Value, store: Store) -> Value:
        """The value of a variable: the file of an imported name is run."""
        return self._resolved(value, store, set())

    def _resolved(self, value: Value, store: Store, visited_names: Seen) -> Value:
        if isinstance(value, Imported):
            member = self._named(value.module, value.name, store, visited_names)
            return member or External(f"{value.module}.{value.name}")
        if isinstance(value, Union):
            alternatives = [
                replace(choice, value=self._resolved(choice.value, store, visited_names))
                for choice in value.alternatives
            ]
            return Union(tuple(alternatives))
        return value

    def starred(self, environment: Environment, name: str, store: Store) -> Value | None:
        """The value of a name that a module has from a star import."""
        return self._starred(environment, name, store, set())

    def _starred(
        self, environment: Environment, name: str, store: Store, visited_names: Seen
    ) -> Value | None:
        for location in reversed(self._stars(environment, store)):
            if not self._workspace.files.may_bind(location, name):
                continue
            module = self._workspace.module(location)
            if module is not None and self._is_public(name, module, store):
                value = self._named(location, name, store, visited_names)
                if value is not None:
                    return value
        return None

    def _is_public(self, name: str, loaded: Module, store: Store) -> bool:
        listed = self._cell(loaded, "__all__", store)
        if listed is None:
            return not name.startswith("_")
        names = self.listed(listed, store)
        return names is None or name in names

    def _named(self, location: str, name: str, store: Store, visited_names: Seen) -> Value | None:
        """The value of a name in a module; a name that is already being resolved is missing."""
        source = self._workspace.source(location)
        inner = self._workspace.member(location, name)
        if inner is not None and not (source and name in self.interpreter.scope(source.tree).local):
            return self._over_module(location, inner, name, store) or External(inner)
        if (location, name) in visited_names:
            return None
        visited_names.add((location, name))
        module = self._workspace.module(location)
        if module is None:
            return None
        value = self._cell(module, name, store)
        if value == Imported(location, name):  # ``from . import module``, in the package itself
            return None if inner is None else External(inner)
        if isinstance(value, Imported):
            return self._named(value.module, value.name, store, visited_names)
        if value is None:
            return self._starred(module.environment, name, store, visited_names)
        return self._resolved(value, store, visited_names)

    def _over_module(self, location: str, part: str, name: str, store: Store) -> Value | None:
        """What a package has from ``from .name import *`` in the place of its module `name`."""
        if not self._workspace.files.may_bind(part, name):
            return None
        package = self._workspace.module(location)
        if package is None or part not in self._stars(package.environment, store):
            return None
        module = self._workspace.module(part)
        if module is None or not self._is_public(name, module, store):
            return None
        value = self._cell(module, name, store)
        return None if value is None else self.resolve(value, store)

    def _cell(self, loaded: Module, name: str, store: Store) -> Value | None:
        key = (loaded.environment.number, name)
        value: Value | None = store.get(key)
        if value is None and self._workspace.is_running(loaded):
            value = loaded.program.store.get(key)
        return value


def _for_type_checkers(
    body: Sequence[ast.stmt], *, is_lazy: bool
) -> Iterator[ast.Import | ast.ImportFrom]:
    """The imports under ``if TYPE_CHECKING``; in a lazy module those in inner blocks, too."""
    for node in body:
        if isinstance(node, ast.If) and _is_type_checking(node.test):
            for inner in node.body:
                for statement in (inner, *statements(inner)) if is_lazy else (inner,):
                    if isinstance(statement, (ast.Import, ast.ImportFrom)):
                        yield statement


def _is_type_checking(test: ast.expr) -> bool:
    """``TYPE_CHECKING``, or an alternative to it."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or):
        return any(map(_is_type_checking, test.values))
    return last_word(test) == "TYPE_CHECKING"


def _replaces_itself(statement: ast.stmt) -> bool:
    """Whether a file puts another object in its place, unless types are checked."""
    return (
        isinstance(statement, ast.If)
        and _is_type_checking(statement.test)
        and any(
            isinstance(inner, ast.Assign)
            and any(ast.unparse(target) == "sys.modules[__name__]" for target in inner.targets)
            for inner in statement.orelse
        )
    )
