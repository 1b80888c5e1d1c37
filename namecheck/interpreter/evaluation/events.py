"""The events of an analysis, and the protocol of their listeners: lints.

The interpreter does not import lints. A workspace passes it listeners. Each listener receives the
operators that are called and applied, and the words by which code reads values; it may return the
value of the event with a tag (`namecheck.interpreter.domain.tags`).
"""

from __future__ import annotations

import ast
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, NamedTuple

from namecheck.core.dims import Dims
from namecheck.core.findings import Finding, Place
from namecheck.core.names import UNKNOWN
from namecheck.core.syntax import Located as Node
from namecheck.core.syntax import Source
from namecheck.core.tensors import Tensor
from namecheck.core.trees import nodes
from namecheck.interpreter.domain import class_lookup, joins
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.tags import Tags, tag_of
from namecheck.interpreter.domain.values import FunctionValue, Instance, TensorValue, Value
from namecheck.interpreter.evaluation.findings import place_of
from namecheck.interpreter.evaluation.frames import Call


class TensorOperand(NamedTuple):
    """A tensor among the positional arguments of a call, with its number among the tensors.

    Arguments of which nothing is known count as tensors. `tags` are those of its content after the
    call.
    """

    position: int
    value: TensorValue
    dims: Dims
    tags: Tags

    def tag(self, key: str) -> Hashable | None:
        """The tag that a lint has put on the content."""
        return tag_of(self.tags, key) if self.tags else None


class Applied(NamedTuple):
    """An application of an operator of the table without a contradiction.

    `operator` is its key in the table, `flow` the row's column: its effect on values that lints
    follow. `inputs` and `keywords` are the arguments as `infer` takes them; the `operands` are the
    tensors among the inputs. While `silent` nothing is reported.
    """

    operator: str
    flow: str | None
    operands: tuple[TensorOperand, ...]
    inputs: Sequence[Any]
    keywords: Mapping[str, Any]
    node: Node
    store: Store
    source: Source
    silent: bool

    def place(self, message: str) -> Place:
        """The place of the call, with a message."""
        return place_of(self.source, self.node, message)

    def finding(self, code: str, message: str, help: str, related: tuple[Place, ...]) -> Finding:
        """A finding at the call."""
        span = self.source.span(self.node)
        return Finding(code, message, self.source.filename, span, help, related=related)


class Entered(NamedTuple):
    """A call of a function of the program, in the scope `around` it.

    `args` are the positional arguments, the receiver of a method first. While `silent` nothing is
    reported.
    """

    function: FunctionValue
    args: Sequence[Value]
    call_node: ast.Call
    around: ast.AST
    source: Source
    silent: bool


class EntryRun(NamedTuple):
    """A run of a function on unknown arguments, as code in other files might call it.

    `dims` are those that are known of its parameters at its end, and are the same at its start.
    While `silent` nothing is reported.
    """

    function: FunctionValue
    dims: Mapping[str, Dims]
    source: Source
    silent: bool


class Listener:
    """A listener to the events of one file's analysis; a lint overrides the methods it needs.

    `on_request` is what must ask for it; "" where it always listens. Where the code has a
    contradiction as well, its finding is dropped unless it is `independent` of that.
    """

    on_request: ClassVar[str] = ""
    independent: ClassVar[bool] = False

    def on_call(self, operator: str, keywords: Iterable[str], node: Node) -> None:
        """An operator of the table is called at a node, whatever the outcome."""

    def on_apply(self, applied: Applied, result: Value) -> Value:
        """An operator returned a result; returns the result, tagged or unchanged."""
        return result

    def on_enter(self, entered: Entered) -> None:
        """A call is about to run a function of the program, or to apply a summary of it."""

    def on_entry_run(self, entry_run: EntryRun) -> None:
        """A function has been run on unknown arguments, to its end."""

    def on_name(self, value: Value, word: str, node: Node, source: Source) -> Value:
        """Code reads a tensor, or a union, by a variable or an attribute called `word`.

        Returns the value, tagged or unchanged.
        """
        return value

    def findings(self, source: Source) -> Iterable[Finding]:
        """The findings of the listener, once all code of the file `source` has been run."""
        return ()


class Listeners:
    """Passes each event on to the listeners that want it."""

    def __init__(self, listeners: Iterable[Listener] = ()) -> None:
        self.every = tuple(listeners)
        self._on_call = [
            one.on_call for one in self.every if type(one).on_call is not Listener.on_call
        ]
        self._on_apply = [
            one.on_apply for one in self.every if type(one).on_apply is not Listener.on_apply
        ]
        self.follow_results = bool(self._on_apply)
        self._on_enter = [
            one.on_enter for one in self.every if type(one).on_enter is not Listener.on_enter
        ]
        self.follow_calls = bool(self._on_enter)
        self._on_entry_run = [
            one.on_entry_run
            for one in self.every
            if type(one).on_entry_run is not Listener.on_entry_run
        ]
        self.follow_entries = bool(self._on_entry_run)
        self._on_name = [
            one.on_name for one in self.every if type(one).on_name is not Listener.on_name
        ]

    @contextmanager
    def muted(self) -> Iterator[None]:
        """Tell no listener what happens in the block."""
        lists = (self._on_call, self._on_apply, self._on_enter, self._on_name)
        follows = self.follow_results, self.follow_calls, self.follow_entries
        self._on_call, self._on_apply, self._on_enter, self._on_name = [], [], [], []
        self.follow_results = self.follow_calls = self.follow_entries = False
        try:
            yield
        finally:
            self._on_call, self._on_apply, self._on_enter, self._on_name = lists
            self.follow_results, self.follow_calls, self.follow_entries = follows

    def called(self, operator: str, keywords: Iterable[str], node: Node) -> None:
        """An operator is called."""
        for listener in self._on_call:
            listener(operator, keywords, node)

    def applied(self, applied: Applied, result: Value) -> Value:
        """An operator returned a result."""
        for listener in self._on_apply:
            result = listener(applied, result)
        return result

    def entered(self, entered: Entered) -> None:
        """A function of the program is called."""
        for listener in self._on_enter:
            listener(entered)

    def has_run(self, entry_run: EntryRun) -> None:
        """A function has been run on unknown arguments."""
        for listener in self._on_entry_run:
            listener(entry_run)

    def named(self, value: Value, word: str, node: Node, source: Source) -> Value:
        """A tensor, or a union, is read by a variable or an attribute."""
        for listener in self._on_name:
            value = listener(value, word, node, source)
        return value


def tensor_operands(
    args: Sequence[Value], inputs: Sequence[Any], store: Store
) -> tuple[TensorOperand, ...]:
    """The tensors among the positional arguments, which are lowered to `inputs`."""
    collected: list[TensorOperand] = []
    position = 0
    for value, lowered in zip(args, inputs, strict=True):
        if lowered.__class__ is Tensor:
            if value.__class__ is TensorValue:
                tags = joins.held(value, store).tags
                collected.append(TensorOperand(position, value, lowered.dims, tags))
            position += 1
        elif lowered is UNKNOWN:
            position += 1
    return tuple(collected)


def handed_to(function: FunctionValue, call: Call) -> FunctionValue:
    """The method `forward` that a `__call__` hands all of its arguments to; any other function."""
    spec, receiver = function.node.args, call.argument(0)
    hands_on = function.name == "__call__" and spec.vararg is not None and len(spec.args) == 1
    if not hands_on or not isinstance(receiver, Instance) or not _only_stars(function):
        return function
    forward = class_lookup.method(receiver, "forward", call.store)
    return forward if isinstance(forward, FunctionValue) else function


def _only_stars(function: FunctionValue) -> bool:
    """Whether a function uses its ``*args`` as they are, in stars alone."""
    vararg = function.node.args.vararg
    every = nodes(function.node)
    starred = {each.value for each in every if isinstance(each, ast.Starred)}
    word = vararg.arg if vararg is not None else ""
    uses = (each for each in every if isinstance(each, ast.Name) and each.id == word)
    return all(use in starred for use in uses)
