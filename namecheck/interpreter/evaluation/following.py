"""Decides whether the body of a called function is run, and what is known if it is not."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from namecheck.interpreter.domain import joins, named_values, scopes
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.values import (
    TRANSPARENT,
    ClassValue,
    DictValue,
    Environment,
    FunctionValue,
    Instance,
    ListValue,
    TensorValue,
    TorchModule,
    TupleValue,
    Value,
)
from namecheck.interpreter.evaluation import circumstances
from namecheck.interpreter.evaluation.frames import Call, Frame
from namecheck.interpreter.evaluation.interpreter import Interpreter

if TYPE_CHECKING:
    from namecheck.interpreter.evaluation.told_results import ToldResults

# How many frames of calls by unknown code it may have: such code may be given functions again in
# each function that it calls, itself among them.
_HANDED_ON: Final = 3
_DEFINED: Final = (FunctionValue, ClassValue)
# How many frames of a function there may be that calls itself on none of these values.
_BLIND_RECURSION: Final = 2
_STRUCTURED: Final = (DictValue, Instance, ListValue, TensorValue, TorchModule, TupleValue)


class Following:
    """Which calls of functions are followed."""

    def __init__(self, interpreter: Interpreter) -> None:
        self.interpreter = interpreter
        self._told_results: ToldResults | None = None

    def is_told(self, function: FunctionValue, call: Call) -> bool:
        """Whether a call is not followed because its declaration tells what it gives."""
        node = function.node
        if self.interpreter.budget.is_program:
            return False
        if not isinstance(node, ast.FunctionDef) or node.returns is None:
            return False
        return self._told().is_told(function, call)

    def _told(self) -> ToldResults:
        if self._told_results is None:
            # Not every file declares a result.
            from namecheck.interpreter.evaluation.told_results import ToldResults

            self._told_results = ToldResults(self.interpreter)
        return self._told_results

    def enters_body(self, function: FunctionValue, call: Call, *, is_told: bool) -> bool:
        """Whether the body is run; if it is not, havoc is applied to the arguments instead."""
        interpreter = self.interpreter
        if self._documents(function, call) or not self._matters(function, call):
            interpreter.havoc_containers((*call.args, *call.kwargs.values()), call.store)
            self.havoc_variables(function, call.store)
            return False
        elsewhere = scopes.is_unwritten(function.node)
        builds = _goes_on_to_build(function, call)
        is_deep = self.too_deep(function, call.frame, is_short=builds)
        is_deep = is_deep or self._recurs_blindly(function, call)
        if is_told or elsewhere or is_deep or not self._spend():
            interpreter.progress.events += 1
            if interpreter.context.recorder is not None:
                interpreter.context.recorder.called_unknown(call.node)
            renames = interpreter.context.files.renames_in_place(interpreter.source)
            interpreter.havoc_arguments(call, "names" if renames else "")
            self.havoc_variables(function, call.store)
            return False
        return True

    def refuse_return(self, function: FunctionValue) -> None:
        """End the path of a call that never returns, by its declaration."""
        if scopes.declares_no_return(function.node):
            self.interpreter.fail()

    def unfollowed_result(self, function: FunctionValue, call: Call, *, is_told: bool) -> Value:
        """The result of a call whose body is not run, as far as its syntax tells it."""
        syntax = self.interpreter.context.files.unfollowed(function.node)
        if call.args and (syntax.returns_argument or self._documents(function, call)):
            return call.args[0]
        if is_told:
            return self._told().of(function, call)
        return self.interpreter.fresh("result", TRANSPARENT if syntax.returns_decorator else None)

    def havoc_variables(self, function: FunctionValue, store: Store) -> None:
        """Forget what a function may write to the variables around it, and to their containers."""
        syntax = self.interpreter.context.files.unfollowed(function.node)
        for name in sorted(syntax.filled | syntax.rebound):
            environment: Environment | None = function.environment
            while environment is not None:
                cell = environment.number, name
                value: Value | None = store.get(cell)
                if value is not None:
                    if name in syntax.rebound:
                        store.set(cell, self.interpreter.fresh("rebound"))
                    self.interpreter.havoc_containers([joins.opened(value, store)], store)
                    break
                environment = environment.enclosing

    def _documents(self, function: FunctionValue, call: Call) -> bool:
        """Whether a call returns a function or class as it is, but for its docstring.

        A function of the file that is analysed is run: its body may have a mistake.
        """
        if not call.args or not isinstance(call.args[0], _DEFINED):
            return False
        context = self.interpreter.context
        source = context.source_of(function.environment)
        *_, outermost = call.frame.stack()
        if context.source_of(outermost.environment) is source:
            return False
        return context.files.documents_argument(function.node, source)

    def _spend(self) -> bool:
        """Whether the budget for following calls lets another be followed."""
        if self.interpreter.budget.spend():
            return True
        self.interpreter.context.ledger.reach("steps of calls")
        return False

    def _recurs_blindly(self, function: FunctionValue, call: Call) -> bool:
        """Whether a function calls itself, again, on nothing that is known: to no end."""
        if not self.interpreter.budget.is_program:
            return False
        if circumstances.times_entered(function.node, call.frame) < _BLIND_RECURSION:
            return False
        values = [*call.args, *call.kwargs.values()]
        is_blind = not any(isinstance(value, _STRUCTURED) for value in values)
        around = self.interpreter.progress.around
        if is_blind and around is not None:
            around.cut.add(function.node)
        return is_blind

    def _matters(self, function: FunctionValue, call: Call) -> bool:
        """Whether the body may use names: by its identifiers, or because an argument has names."""
        if self.interpreter.budget.is_program:
            return True
        files = self.interpreter.context.files
        source = self.interpreter.context.source_of(function.environment)
        if not self.interpreter.budget.sparing and files.names_dims(source):
            return True
        if self.interpreter.can_matter(function):
            return True
        if not isinstance(function.environment.scope, (ast.Module, ast.ClassDef)):
            return True
        values = [*call.args, *call.kwargs.values()]
        if (
            values
            and isinstance(values[0], _DEFINED)
            and files.unfollowed(function.node).leaves_argument
        ):
            del values[0]
        return any(named_values.may_lead_to_names(value, call.store) for value in values)

    def too_deep(self, function: FunctionValue, frame: Frame, *, is_short: bool = False) -> bool:
        """Whether the call stack is so deep that the body of a function is not run."""
        budget, around = self.interpreter.budget, self.interpreter.progress.around
        is_short = is_short or (
            budget.shallow and self.interpreter.context.files.unfollowed(function.node).is_short
        )
        if circumstances.depth(frame) > budget.depth(is_short=is_short):
            self.interpreter.context.ledger.reach("depth of calls")
            if around is not None:
                around.is_cut = True
            return True
        if (
            not budget.brief
            and circumstances.times_entered(function.node, frame) > budget.recursion
        ):
            if around is not None:
                around.cut.add(function.node)
            return True
        return False

    def is_handed_on(self, frame: Frame) -> bool:
        """Whether unknown code called the functions on the stack, so that it calls no further."""
        if circumstances.handed_on(frame) < _HANDED_ON:
            return False
        around = self.interpreter.progress.around
        if around is not None:
            around.is_handed_on = True
        return True


def _goes_on_to_build(function: FunctionValue, call: Call) -> bool:
    """Whether a constructor calls that of a base for its own object: ``super().__init__(dim)``.

    What it leaves unknown of the object is unknown wherever the object is used.
    """
    caller = call.frame.environment
    constructors = [
        isinstance(node, ast.FunctionDef) and node.name == "__init__"
        for node in (function.node, caller.scope)
    ]
    return all(constructors) and bool(call.args) and call.args[0] == caller.receiver
