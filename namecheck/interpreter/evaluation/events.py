"""The events of an analysis, and who listens to them: lints.

The interpreter knows no lint. A workspace hands it some listeners; each is told of the operators
that are called and applied and of the words that code has for values, and may answer with the
value that it was shown, tagged (`namecheck.interpreter.domain.tags`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

from namecheck.core.dims import Dims
from namecheck.core.findings import Finding, Place
from namecheck.core.syntax import Located as Node
from namecheck.core.syntax import Source
from namecheck.core.tensors import Tensor
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.values import TensorValue, Value
from namecheck.interpreter.evaluation.findings import place_of


class TensorOperand(NamedTuple):
    """A tensor among the positional arguments of a call, and the how-manieth tensor it is."""

    position: int
    value: TensorValue
    dims: Dims


class Applied(NamedTuple):
    """An operator of the table that was applied, and contradicted nothing.

    `operator` is its key in the table, `flow` what it does to what lints follow (the row's column).
    `inputs` and `keywords` are the arguments as `infer` takes them; the `operands` are the tensors
    among the inputs. While `silent` nothing is reported.
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
        """Where the call stands, with a message."""
        return place_of(self.source, self.node, message)

    def finding(self, code: str, message: str, help: str, related: tuple[Place, ...]) -> Finding:
        """A finding at the call."""
        span = self.source.span(self.node)
        return Finding(code, message, self.source.filename, span, help, related=related)


class Listener:
    """Is told of the events of one file's analysis; a lint overrides what it needs of it.

    `on_request` says that it listens only where the settings ask for it. Where code contradicts
    as well, its finding falls away unless it is `independent` of that.
    """

    on_request: ClassVar[bool] = False
    independent: ClassVar[bool] = False

    def on_call(self, operator: str, keywords: Iterable[str], node: Node) -> None:
        """An operator of the table is called at a node, whatever comes of it."""

    def on_apply(self, applied: Applied, result: Value) -> Value:
        """An operator gave a result; the answer is the result, tagged or as it is."""
        return result

    def on_name(self, value: Value, word: str, node: Node, source: Source) -> Value:
        """Code reads a tensor, or a union, by a variable or an attribute called `word`.

        The answer is the value, tagged or as it is.
        """
        return value

    def findings(self, source: Source) -> Iterable[Finding]:
        """What is reported once all code of the file `source` has been run."""
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
        self._on_name = [
            one.on_name for one in self.every if type(one).on_name is not Listener.on_name
        ]

    def called(self, operator: str, keywords: Iterable[str], node: Node) -> None:
        """An operator is called."""
        for listener in self._on_call:
            listener(operator, keywords, node)

    def applied(self, applied: Applied, result: Value) -> Value:
        """An operator gave a result."""
        for listener in self._on_apply:
            result = listener(applied, result)
        return result

    def named(self, value: Value, word: str, node: Node, source: Source) -> Value:
        """A tensor, or a union, is read by a variable or an attribute."""
        for listener in self._on_name:
            value = listener(value, word, node, source)
        return value


def tensor_operands(args: Sequence[Value], inputs: Sequence[Any]) -> tuple[TensorOperand, ...]:
    """The tensors among the positional arguments, which are lowered to `inputs`."""
    collected: list[TensorOperand] = []
    for value, lowered in zip(args, inputs, strict=True):
        if isinstance(lowered, Tensor) and isinstance(value, TensorValue):
            collected.append(TensorOperand(len(collected), value, lowered.dims))
    return tuple(collected)
