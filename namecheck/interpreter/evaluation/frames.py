"""The frame of one run of a scope, the calls that enter frames, and the paths that leave them."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterator
from typing import Any, Final

from namecheck.core.dataclasses import dataclass, field
from namecheck.core.syntax import Located as Node
from namecheck.interpreter.domain import joins
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.values import NONE, Const, Environment, Repeated, Value
from namecheck.interpreter.evaluation.observations import Begun

# An error whose type is not known.
UNKNOWN_ERROR: Final = ""
# What those raise that check calls against annotations: jaxtyping, beartype, typeguard.
_CHECKER_ERRORS: Final = ("TypeCheckError", "Beartype")
_EXITS: Final = ("return", "break", "continue")


class PathEnds(Exception):
    """The path that is followed does not come back: it raised, or it left the program."""


@dataclass(frozen=True, slots=True)
class Guard:
    """The errors that are caught around a block, by the names of their types.

    A `deep` one speaks of what is called from the block, too. A handler of any error does not: it
    is there for what nobody foresaw. One that raises what it catches `again` is no help. A test
    demands an error (`demanded`): it may be one that only reading tells of.
    """

    types: frozenset[str]
    deep: bool = True
    again: bool = False
    demanded: bool = False

    def catches(self, error: str) -> bool:
        """Whether an error of this built-in type is, or may be, caught."""
        kind = getattr(builtins, error, None)
        if not isinstance(kind, type):
            return True
        return any(base.__name__ in self.types for base in kind.__mro__)

    def foresees(self) -> bool:
        """Whether contradictions are expected that annotations tell of, and torch never raises."""
        return self.demanded or any(name.startswith(_CHECKER_ERRORS) for name in self.types)


@dataclass(slots=True)
class Arguments:
    """The arguments of one call; `open` where a star brings more of them that are not known.

    `args` has only those whose position is known: those before the first such star. Each of those
    behind is `rest`, where anything is known of them. `begun` tells which were given beforehand.
    """

    args: list[Value] = field(default_factory=list)
    kwargs: dict[str, Value] = field(default_factory=dict)
    open: bool = False
    rest: Value | None = None
    begun: Begun | None = None

    def items(self, store: Store, after: int = 0) -> tuple[Value, ...] | Repeated:
        """The positional arguments from a place on, or what each of them is."""
        known = tuple(self.args[after:])
        if not self.open:
            return known
        if self.rest is None:
            return Repeated(store.ledger.fresh("argument"))
        return Repeated(joins.either((*known, self.rest), store))


@dataclass(slots=True)
class Call:
    """One call: where it stands, what it is given, and on which path."""

    arguments: Arguments
    node: Node
    store: Store
    frame: Frame

    @property
    def args(self) -> list[Value]:
        """The positional arguments."""
        return self.arguments.args

    @property
    def kwargs(self) -> dict[str, Value]:
        """The arguments by keyword."""
        return self.arguments.kwargs

    def argument(self, position: int, name: str = "", default: Value = NONE) -> Value:
        """The argument at a position or under a name; `default` where there is none."""
        if position < len(self.args):
            return self.args[position]
        return self.kwargs.get(name, default)


@dataclass(slots=True)
class Frame:
    """One run of a scope: of a function that was called, of a class body, or of the module.

    `call` is the one that entered it, `site` where that stands. `guards` are the blocks around the
    current statement that catch errors: a contradiction that is caught ends the path and is no
    finding. `on_yield` is what is done with the items that a generator yields, `escaped` how often
    a path has left there.
    """

    environment: Environment
    caller: Frame | None = None
    site: Node | None = None
    call: Call | None = None
    name: str = "<module>"
    returns: list[tuple[Store, Value]] = field(default_factory=list)
    breaks: list[list[Store]] = field(default_factory=list)
    continues: list[list[Store]] = field(default_factory=list)
    guards: list[Guard] = field(default_factory=list)
    on_yield: Callable[[Value, Store], list[Store]] | None = None
    escaped: int = 0

    @property
    def exits(self) -> int:
        """How many paths have left the blocks that are running: by a return, a break, an error."""
        return len(self.returns) + sum(map(len, (*self.breaks, *self.continues))) + self.escaped

    def expects(self, error: str) -> bool:
        """Whether the program expects an error of this type here."""
        return any(guard.catches(error) for guard in (*self.guards, *self.deep_guards()))

    def foresees(self) -> bool:
        """Whether it expects contradictions that only annotations tell of."""
        return any(guard.foresees() for guard in (*self.guards, *self.deep_guards()))

    def deep_guards(self) -> Iterator[Guard]:
        """The guards here and in the callers that speak of what is called from their blocks."""
        current: Frame | None = self
        while current is not None:
            yield from (guard for guard in current.guards if guard.deep)
            current = current.caller


class EarlyExits:
    """The paths that leave the blocks of a frame early, from this moment on."""

    def __init__(self, frame: Frame) -> None:
        self._lists: list[list[Any] | None] = [
            frame.returns,
            frame.breaks[-1] if frame.breaks else None,
            frame.continues[-1] if frame.continues else None,
        ]
        self._before = [len(paths or ()) for paths in self._lists]

    def stores(self) -> list[Store]:
        """The paths as they are now."""
        return [
            path[0] if isinstance(path, tuple) else path
            for paths, count in zip(self._lists, self._before, strict=True)
            for path in (paths or [])[count:]
        ]

    def take(self) -> list[tuple[str, Store, Value]]:
        """Take the paths back: how each has left, and what it returns."""
        taken: list[tuple[str, Store, Value]] = []
        for kind, paths, count in zip(_EXITS, self._lists, self._before, strict=True):
            for path in (paths or [])[count:]:
                store, value = path if isinstance(path, tuple) else (path, NONE)
                taken.append((kind, store, value))
            del (paths or [])[count:]
        return taken

    def put(self, kind_value: Value, store: Store, value: Value) -> None:
        """Let a path leave after all; in any of the ways where it is not known which it took."""
        for exit_, paths in zip(_EXITS, self._lists, strict=True):
            if paths is not None and (
                kind_value == Const(exit_) or not isinstance(kind_value, Const)
            ):
                paths.append((store, value) if exit_ == "return" else store)
