"""One file, run from top to bottom; then every function that can be called from elsewhere."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Final

from namecheck.core import tensors
from namecheck.interpreter.domain import merges, scopes
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.values import Const, Frame, FunctionValue, Held, Value
from namecheck.interpreter.evaluation.attributes import Attributes
from namecheck.interpreter.evaluation.calls import Calls
from namecheck.interpreter.evaluation.declarations import Declarations
from namecheck.interpreter.evaluation.expressions import Expressions
from namecheck.interpreter.evaluation.generators import Generators
from namecheck.interpreter.evaluation.havoc import Escapes
from namecheck.interpreter.evaluation.imports import MAIN, Imports
from namecheck.interpreter.evaluation.items import Items
from namecheck.interpreter.evaluation.machine import Activation, Machine
from namecheck.interpreter.evaluation.statements import Statements
from namecheck.interpreter.models.container_methods import Natives
from namecheck.interpreter.models.libraries import Libraries
from namecheck.interpreter.models.torch_nn import Modules
from namecheck.interpreter.models.torch_operators import TorchCalls
from namecheck.interpreter.workspace.entry_points import Callers

# What running the functions that the top level of a file calls may cost, if it names nothing.
_FOR_OTHERS: Final = 2_000


class Program:
    """The run of one file."""

    def __init__(self, machine: Machine, imports: Callable[[Machine], Imports]) -> None:
        self.machine = machine
        machine.imports = imports(machine)
        machine.expressions = Expressions(machine)
        machine.expressions.attributes = Attributes(machine)
        machine.expressions.items = Items(machine)
        machine.statements = Statements(machine)
        machine.torch = TorchCalls(machine)
        machine.generators = Generators(machine)
        machine.calls = Calls(machine)
        machine.declarations = Declarations(machine)
        machine.calls.natives = Natives(machine)
        machine.calls.libraries = Libraries(machine)
        machine.escapes = Escapes(machine)
        machine.callers = Callers(machine)
        machine.modules = Modules(machine)
        self.source = machine.source
        self.frame = Frame(machine.new_address(), machine.source.tree)
        self.store = Store(ledger=machine.ledger)
        self._ever: Store | None = None

    def run_main(self) -> None:
        """Run the file alone, as a program."""
        self._settle(self.machine.imports.run_main(Activation(self.frame), self.store))

    def load(self, name: str, *, sparing: bool) -> None:
        """Run the top level, as an import does; `sparing` for a file that names nothing itself."""
        self.machine.sparing = sparing
        if sparing:
            self.machine.budget = _FOR_OTHERS
        self.store.set((self.frame.number, "__name__"), Const(name))
        self._settle(self.machine.imports.run_file(Activation(self.frame), self.store))

    def _settle(self, ends: list[Store]) -> None:
        if ends and ends != [self.store]:
            self.store.absorb(merges.merge(self.store, ends))

    def run_as_main(self) -> None:
        """Run what stands under ``if __name__ == "__main__"``."""
        layer = self.store.fork()
        layer.set((self.frame.number, "__name__"), Const(MAIN))
        guarded = [
            node
            for node in self.source.tree.body
            if isinstance(node, ast.If) and _speaks_of_main(node.test)
        ]
        self.machine.sparing = False
        self.machine.statements.block(guarded, [layer], Activation(self.frame))

    def run_functions(self) -> None:
        """Run the functions of the file on arguments of which nothing is known."""
        self.machine.sparing = True
        activation = Activation(self.frame)
        for node, function in list(self.machine.functions.items()):
            if self.machine.source_of(function.frame) is self.source:
                self._from_elsewhere(node, function, activation)

    def run_briefly(self) -> None:
        """Run the top level, then each function by itself."""
        self.machine.brief = self.machine.sparing = True
        self.machine.budget = _FOR_OTHERS
        self._settle(self.machine.imports.run_file(Activation(self.frame), self.store))
        self.run_functions()

    def variable(self, name: str) -> Value | None:
        """What a variable of the module holds at the end."""
        found: Value | None = self.store.get((self.frame.number, name))
        return found

    def _from_elsewhere(
        self, node: ast.AST, function: FunctionValue, activation: Activation
    ) -> None:
        """Call a function as code in another file might, where that can say anything new."""
        if not self.machine.can_matter(function):
            return
        nested = not isinstance(function.frame.scope, (ast.Module, ast.ClassDef))
        if node not in self.machine.called:
            self.machine.callers.call(function, self.store, activation)
        elif not nested and function.node.args.args:
            self.machine.callers.call(function, self._any_time(), activation)

    def _any_time(self) -> Store:
        """The module as it is at any time: what it binds or changes again is not known.

        A function that the file itself calls may be meant for an earlier state than the last.
        """
        if self._ever is None:
            self._ever = self.store.fork()
            for name in scopes.rebound(self.source.tree):
                self._ever.set((self.frame.number, name), self.machine.fresh("rebound"))
            for address, first in self.store.first.items():
                last = self.store.get(address, first)
                if isinstance(first, Held) and isinstance(last, Held):
                    both = Held(tensors.join(first.tensor, last.tensor), last.origins)
                    self._ever.set(address, both)
        return self._ever


def _speaks_of_main(test: ast.expr) -> bool:
    return any(isinstance(node, ast.Name) and node.id == "__name__" for node in ast.walk(test))
