"""Frames: one run of a scope, the calls that enter frames, and the paths that leave them early."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from namecheck.core.dataclasses import dataclass, field
from namecheck.core.findings import Place
from namecheck.core.syntax import Located as Node
from namecheck.core.syntax import Source
from namecheck.interpreter.domain import joins
from namecheck.interpreter.domain.scopes import COMPREHENSIONS, FUNCTIONS
from namecheck.interpreter.domain.store import Store
from namecheck.interpreter.domain.values import NONE, Const, Environment, Repeated, Value
from namecheck.interpreter.evaluation.observations import Begun

# An error of unknown type.
UNKNOWN_ERROR: Final = ""
# The errors of libraries that check calls against annotations: jaxtyping, beartype, typeguard.
_CHECKER_ERRORS: Final = ("TypeCheckError", "Beartype")
_EXITS: Final = ("return", "break", "continue")


class PathEnds(Exception):
    """The current path does not continue: it raised an error, or it left the program."""


@dataclass(frozen=True, slots=True)
class Guard:
    """The errors that are caught around a block, by the names of their types.

    A `deep` guard also applies to functions called from the block. A handler of any error is not
    deep: it is there for unforeseen errors. A guard that catches and raises `again` catches
    nothing. A test demands an error (`demanded`), perhaps one that only the analysis can see. A
    statement is `tried` if its operands need not fit: the handler has another way.
    """

    types: frozenset[str]
    deep: bool = True
    again: bool = False
    demanded: bool = False
    tried: bool = False

    def catches(self, error: str) -> bool:
        """Whether an error of this built-in type is, or may be, caught."""
        kind = getattr(builtins, error, None)
        if not isinstance(kind, type):
            return True
        return any(base.__name__ in self.types for base in kind.__mro__)

    def foresees(self) -> bool:
        """Whether contradictions of annotations, which torch never raises, are expected."""
        return self.demanded or any(name.startswith(_CHECKER_ERRORS) for name in self.types)


@dataclass(slots=True)
class Arguments:
    """The arguments of one call; `open` where a star passes an unknown number of them.

    `args` are those with a known position: those before the first such star. `rest` covers each of
    the later ones, if anything is known about them. `begun` says which were passed beforehand.
    Where it is `by_keyword`, all arguments by position are known.
    """

    args: list[Value] = field(default_factory=list)
    kwargs: dict[str, Value] = field(default_factory=dict)
    open: bool = False
    rest: Value | None = None
    begun: Begun | None = None
    by_keyword: bool = False

    def items(self, store: Store, after: int = 0) -> tuple[Value, ...] | Repeated:
        """The positional arguments from a position on, or a cover for each of them."""
        positional = tuple(self.args[after:])
        if not self.open:
            return positional
        if self.rest is None:
            return Repeated(store.ledger.fresh("argument"))
        return Repeated(joins.either((*positional, self.rest), store))


@dataclass(slots=True)
class Call:
    """One call: its place, its arguments, and its path.

    It `is_last` if no other call of its kind is to be expected.
    """

    arguments: Arguments
    node: Node
    store: Store
    frame: Frame
    is_last: bool = False

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

    `call` is the call that entered it, `site` its place. `guards` are the blocks around the current
    statement that catch errors: a contradiction that is caught ends the path and is no finding.
    `on_yield` processes the items that a generator yields, `escaped` counts the paths that have
    left there. `width` is the number of paths into which the branches around the current statement
    have split one, `undecided` the number of these branches whose test may hold or not.
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
    width: int = 1
    undecided: int = 0

    @contextmanager
    def choosing(self, *, is_undecided: bool) -> Iterator[None]:
        """Run one of the cases of a test, which may be another one than that of the caller."""
        self.undecided += is_undecided
        try:
            yield
        finally:
            self.undecided -= is_undecided

    @property
    def exits(self) -> int:
        """How many paths have left the running blocks: by a return, a break, an error."""
        return len(self.returns) + sum(map(len, (*self.breaks, *self.continues))) + self.escaped

    @property
    def is_called(self) -> bool:
        """Whether a call that the analysis has seen entered it, and not code elsewhere."""
        return self.caller is not None and self.site not in (None, self.environment.scope)

    def expects(self, error: str) -> bool:
        """Whether the program expects an error of this type here.

        In a function that a test calls to see it fail, any error may come first.
        """
        return self.catches(error) or any(
            guard.deep and (guard.catches(error) or (guard.demanded and frame is not self))
            for frame in self.stack()
            for guard in frame.guards
        )

    def catches(self, error: str) -> bool:
        """Whether its own code catches an error of this type, or may do so."""
        return any(guard.catches(error) for guard in self.guards)

    def foresees(self) -> bool:
        """Whether it expects contradictions that only annotations cause."""
        return any(guard.foresees() for guard in (*self.guards, *self.deep_guards()))

    def tries(self) -> bool:
        """Whether the operands of its own current statement need not fit."""
        return any(guard.tried for guard in self.guards)

    def deep_guards(self) -> Iterator[Guard]:
        """The guards of this frame and its callers that also apply to called functions."""
        for frame in self.stack():
            yield from (guard for guard in frame.guards if guard.deep)

    def stack(self) -> Iterator[Frame]:
        """This frame and those of the calls that led to it, the nearest first."""
        current: Frame | None = self
        while current is not None:
            yield current
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
        """The current stores of these paths."""
        return [
            path[0] if isinstance(path, tuple) else path
            for paths, count in zip(self._lists, self._before, strict=True)
            for path in (paths or [])[count:]
        ]

    def take(self) -> list[tuple[str, Store, Value]]:
        """Remove the paths from the frame: how each has left, and what it returns."""
        early_exits: list[tuple[str, Store, Value]] = []
        for kind, paths, count in zip(_EXITS, self._lists, self._before, strict=True):
            for path in (paths or [])[count:]:
                store, value = path if isinstance(path, tuple) else (path, NONE)
                early_exits.append((kind, store, value))
            del (paths or [])[count:]
        return early_exits

    def add(self, kind_value: Value, store: Store, value: Value) -> None:
        """Add a path that leaves early; in every possible way where it is unknown which it took."""
        for exit_, paths in zip(_EXITS, self._lists, strict=True):
            if paths is not None and (
                kind_value == Const(exit_) or not isinstance(kind_value, Const)
            ):
                paths.append((store, value) if exit_ == "return" else store)


def outside_comprehensions(frame: Frame) -> Frame:
    """The frame of the function, class or module in which the comprehensions of a frame stand."""
    while isinstance(frame.environment.scope, COMPREHENSIONS) and frame.caller is not None:
        frame = frame.caller
    return frame


def is_within(place: Place, frame: Frame, source: Source) -> bool:
    """Whether a place is in the scope that is running; at the top level every place is."""
    frame = outside_comprehensions(frame)
    scope = frame.environment.scope
    if not isinstance(scope, FUNCTIONS):
        return frame.caller is None
    span = source.span(scope)
    return place.filename == source.filename and span.line <= place.span.line <= span.end_line
