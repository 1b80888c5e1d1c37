"""One file, run from top to bottom; then every function that can be called from elsewhere."""

from __future__ import annotations

import ast
from typing import Final

from namecheck.core import tensors
from namecheck.core.faults import Exhausted
from namecheck.core.trees import nodes
from namecheck.interpreter.domain import merges, scopes
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.values import (
    ClassValue,
    Const,
    DictValue,
    Environment,
    FunctionValue,
    Held,
    Instance,
    ListValue,
    Value,
)
from namecheck.interpreter.evaluation.frames import Frame
from namecheck.interpreter.evaluation.imports import MAIN
from namecheck.interpreter.workspace.assembly import Assembly

# The budget of the top level of a file that names nothing.
_FOR_OTHERS: Final = 2_000
# The values that the functions of a file may change after its top level has run.
_CHANGING: Final = (ListValue, DictValue, Instance, ClassValue)


class Program:
    """The run of one file."""

    def __init__(self, interpreter: Assembly) -> None:
        self.interpreter = interpreter
        self.source = interpreter.source
        self.environment = Environment(interpreter.new_address(), interpreter.source.tree)
        self.store = Store(ledger=interpreter.context.ledger)
        self._ever: Store | None = None
        self._later: Store | None = None

    def run_main(self) -> None:
        """Run the file alone, as a program."""
        self._settle(self.interpreter.imports.run_main(Frame(self.environment), self.store))

    def load(self, name: str, *, sparing: bool) -> None:
        """Run the top level, as an import does; `sparing` for a file that names nothing itself."""
        budget = self.interpreter.budget
        if sparing and not budget.is_program:
            budget.sparing, budget.left = True, _FOR_OTHERS
        self.store.set((self.environment.number, "__name__"), Const(name))
        self._settle(self.interpreter.imports.run_file(Frame(self.environment), self.store))

    def _settle(self, ends: list[Store]) -> None:
        if ends and ends != [self.store]:
            with self.interpreter.context.ledger.meter.unlimited():
                self.store.absorb(merges.merge(self.store, ends))

    def run_as_main(self) -> None:
        """Run the blocks under ``if __name__ == "__main__"``."""
        layer = self.store.fork()
        layer.set((self.environment.number, "__name__"), Const(MAIN))
        guarded = [
            node
            for node in self.source.tree.body
            if isinstance(node, ast.If) and _tests_name(node.test)
        ]
        self._begin(sparing=False)
        self.interpreter.execute(guarded, [layer], Frame(self.environment))

    def run_functions(self) -> None:
        """Run the entry points of the file, on unknown arguments."""
        self._begin(sparing=True)
        frame = Frame(self.environment)
        meter = self.interpreter.context.ledger.meter
        meter.end_top()
        for node, function in list(self.interpreter.definitions.functions.items()):
            if self.interpreter.context.source_of(function.environment) is not self.source:
                continue
            meter.begin()
            try:
                self._from_elsewhere(node, function, frame)
            except (RecursionError, Exhausted) as cause:
                self.interpreter.give_up(function.node, cause)
                if meter.is_spent:
                    break

    def _begin(self, *, sparing: bool) -> None:
        """Set how far calls are followed: less far where the file declares no dims."""
        budget, files = self.interpreter.budget, self.interpreter.context.files
        budget.sparing, budget.shallow = sparing, files.only_reads_sizes(self.source)

    def run_briefly(self) -> None:
        """Run the top level, then each function by itself."""
        self.interpreter.budget.brief = self.interpreter.budget.sparing = True
        self.interpreter.budget.left = _FOR_OTHERS
        self.interpreter.context.ledger.meter.run_briefly()
        self._settle(self.interpreter.imports.run_file(Frame(self.environment), self.store))
        self.run_functions()

    def variable(self, name: str) -> Value | None:
        """The value of a variable of the module at the end."""
        value: Value | None = self.store.get((self.environment.number, name))
        return value

    def _from_elsewhere(self, node: ast.AST, function: FunctionValue, frame: Frame) -> None:
        """Call a function as code in another file might, unless it has no new outcome."""
        if not self.interpreter.can_matter(function):
            return
        nested = not isinstance(function.environment.scope, (ast.Module, ast.ClassDef))
        if node not in self.interpreter.definitions.called:
            self.interpreter.call_from_elsewhere(function, self._afterwards(), frame)
        elif not nested and function.node.args.args:
            self.interpreter.call_from_elsewhere(function, self._any_time(), frame)

    def _afterwards(self) -> Store:
        """The module after its top level, without what its functions may change."""
        if self._later is None:
            self._later = self.store
            values = map(self.variable, self.interpreter.scope(self.source.tree).local)
            is_rebound = bool(scopes.set_by_functions(self.source.tree))
            if is_rebound or any(isinstance(value, _CHANGING) for value in values):
                from namecheck.interpreter.workspace.later import Later  # few files need it

                self._later = self.store.fork()
                later = Later(self.interpreter)
                later.forget_module(self.environment, self.source.tree, self._later)
        return self._later

    def _any_time(self) -> Store:
        """The module at any time: variables that it binds more than once are unknown.

        A function that the file itself calls may expect an earlier state than the last one.
        """
        if self._ever is None:
            self._ever = self._afterwards().fork()
            for name in scopes.rebound(self.source.tree):
                self._ever.set((self.environment.number, name), self.interpreter.fresh("rebound"))
            for address, first in self.store.first.items():
                last = self.store.get(address, first)
                if isinstance(first, Held) and isinstance(last, Held):
                    both = Held(tensors.join(first.tensor, last.tensor), last.origins)
                    self._ever.set(address, both)
        return self._ever


def _tests_name(test: ast.expr) -> bool:
    return any(isinstance(node, ast.Name) and node.id == "__name__" for node in nodes(test))
