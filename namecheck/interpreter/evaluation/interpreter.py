"""The state of one analysis: the file, the table, the findings, and what is left to spend."""

from __future__ import annotations

import ast
import os
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeAlias

from namecheck.core.findings import Facts, Finding, Place, Span, is_of_sizes
from namecheck.core.names import Contradiction
from namecheck.core.semantics import Semantics
from namecheck.core.syntax import Located as Node
from namecheck.core.syntax import Source
from namecheck.interpreter.domain import scopes
from namecheck.interpreter.domain.store import FOREIGN, Ledger, Store
from namecheck.interpreter.domain.values import (
    NONE,
    ClassValue,
    Const,
    Environment,
    FunctionValue,
    Opaque,
    Value,
    has_failed,
    is_foreign,
)
from namecheck.interpreter.evaluation.observations import Recorder
from namecheck.interpreter.workspace import relevance
from namecheck.interpreter.workspace.file_facts import FileFacts
from namecheck.operators import Inference, Operator

if TYPE_CHECKING:
    from namecheck.interpreter.evaluation.calls import Call, Calls
    from namecheck.interpreter.evaluation.declarations import Declarations
    from namecheck.interpreter.evaluation.expressions import Expressions
    from namecheck.interpreter.evaluation.generators import Generators
    from namecheck.interpreter.evaluation.guards import Guard
    from namecheck.interpreter.evaluation.havoc import Havoc
    from namecheck.interpreter.evaluation.imports import Imports
    from namecheck.interpreter.evaluation.statements import Statements
    from namecheck.interpreter.models.torch_nn import Modules
    from namecheck.interpreter.models.torch_operators import TorchCalls
    from namecheck.interpreter.workspace.entry_points import EntryPoints

# How deep calls are followed: in the program itself, and from functions on unknown arguments.
CALL_DEPTH: Final = 16
SPARING_DEPTH: Final = 6
# How many paths are followed side by side, likewise.
PATHS: Final = 8
SPARING_PATHS: Final = 3
RECURSION: Final = 8
BUDGET: Final = 100_000
# What one call may cost in files that name nothing.
_ABROAD: Final = 1_000
# An error whose type is not known.
UNKNOWN_ERROR: Final = ""
# What is told of declarations alone.
_ANNOTATED: Final = frozenset({"NC112", "NC210", "NC211", "NC301", "NC410"})
_WAYS: Final = ("return", "break", "continue")


# What the rules answered, by operator and abstract inputs.
Inferences: TypeAlias = dict[Hashable, Inference]


class PathEnds(Exception):
    """The path being followed does not come back: it raised, or it left the program."""


@dataclass(slots=True)
class Frame:
    """One scope being run: a call of a function, a class body, or the module.

    `given` is the call that it was entered by. `guards` are the blocks around the current
    statement that catch errors: a contradiction that is caught ends the path and is no finding.
    `on_yield` is what is done with the items that a generator yields, `escaped` how often a path
    has left there.
    """

    environment: Environment
    caller: Frame | None = None
    site: Node | None = None
    given: Call | None = None
    name: str = "<module>"
    returns: list[tuple[Store, Value]] = field(default_factory=list)
    breaks: list[list[Store]] = field(default_factory=list)
    continues: list[list[Store]] = field(default_factory=list)
    guards: list[Guard] = field(default_factory=list)
    on_yield: Callable[[Value, Store], list[Store]] | None = None
    escaped: int = 0

    @property
    def left(self) -> int:
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
    """The paths that leave the blocks of an activation early, from this moment on."""

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
        for kind, paths, count in zip(_WAYS, self._lists, self._before, strict=True):
            for path in (paths or [])[count:]:
                store, value = path if isinstance(path, tuple) else (path, NONE)
                taken.append((kind, store, value))
            del (paths or [])[count:]
        return taken

    def put(self, kind: Value, store: Store, value: Value) -> None:
        """Let a path leave after all; in any of the ways where it is not known which it took."""
        for way, paths in zip(_WAYS, self._lists, strict=True):
            if paths is not None and (kind == Const(way) or not isinstance(kind, Const)):
                paths.append((store, value) if way == "return" else store)


class Interpreter:
    """What the parts of the interpreter share.

    `source` is the file whose code is being run, of those in the `library`.
    While `silent` nothing is reported. `recorder` is told what every expression gives. `budget` is
    what running the functions may still cost, in expressions; `sparing` tells that functions are
    run on unknown arguments, and only those that can matter to names; `brief` that each is run by
    itself, once, and along one path. `unknowns` counts the
    expressions of which nothing could be told, `events` what was told, raised or not followed
    any further; `errors` has the types of the errors that ended
    paths; `round` is the number of the loop's body that is
    being run.
    """

    expressions: Expressions
    statements: Statements
    calls: Calls
    declarations: Declarations
    imports: Imports
    torch: TorchCalls
    generators: Generators
    havoc: Havoc
    entry_points: EntryPoints
    modules: Modules

    def __init__(
        self,
        source: Source,
        semantics: Semantics,
        rows: Mapping[str, Operator],
        recorder: Recorder | None = None,
        library: FileFacts | None = None,
        ledger: Ledger | None = None,
    ) -> None:
        self.source = source
        self.ledger = Ledger() if ledger is None else ledger
        self.library = FileFacts() if library is None else library
        self.semantics = semantics
        self.rows = rows
        self.recorder = recorder
        self.findings: dict[tuple[str, Span, str], Finding] = {}
        # The names that each finding is about.
        self.named: dict[tuple[str, Span, str], frozenset[str]] = {}
        self.silent = 0
        self.budget = BUDGET
        self.functions: dict[ast.AST, FunctionValue] = {}
        self.classes: list[ClassValue] = []
        self.called: set[ast.AST] = set()
        self.captured: set[int] = set()
        self.unknowns = 0
        self.events = 0
        self.errors: set[str] = set()
        self.round = 0
        self.sparing = False
        self.brief = False
        self.inferences: Inferences = {}
        self.native: dict[ast.AST, str] | None = None
        self.scope = self.library.scope
        self.enter(source)

    def can_matter(self, function: FunctionValue) -> bool:
        """Whether a function can matter to names."""
        if self.brief:
            return relevance.tells_of_attributes(function.node)
        return self.library.can_matter(function.node, self.source_of(function.environment))

    def is_followed(self, function: FunctionValue) -> bool:
        """Whether a call of a function is followed whatever its arguments are."""
        if not self.sparing and self.library.names(self.source_of(function.environment)):
            return True
        return self.can_matter(function)

    @property
    def renames_in_place(self) -> bool:
        """Whether the code that is being run gives other names to tensors that have some."""
        return self.library.renames_in_place(self.source)

    @property
    def paths(self) -> int:
        """How many paths are followed side by side before they are joined."""
        if self.brief:
            return 1
        return SPARING_PATHS if self.sparing else PATHS

    def spend(self, cost: int = 1) -> bool:
        """Take from what the analysis of this file may cost; False when it is used up."""
        self.budget -= cost
        return self.budget > 0

    def abroad(self, outer: Source) -> int:
        """Set aside what a call from one file into another, that names nothing, may not spend."""
        if self.source is outer or self.library.names(self.source):
            return 0
        kept = max(self.budget - _ABROAD, 0)
        self.budget -= kept
        return kept

    def enter(self, source: Source) -> None:
        """Run code of this file from here on."""
        self.source = self.library.sources.setdefault(source.tree, source)

    def source_of(self, environment: Environment) -> Source:
        """The file that the code of a frame stands in."""
        while environment.enclosing is not None:
            environment = environment.enclosing
        return self.library.sources[environment.scope]

    def fresh(self, reason: str, kind: str | None = None) -> Opaque:
        """An opaque value equal to no other."""
        return self.ledger.fresh(reason, kind)

    def made_of(self, values: Iterable[Value], reason: str, kind: str | None = None) -> Opaque:
        """A fresh opaque value; a foreign or a failed one if one of these is."""
        made = self.fresh(reason, kind)
        sources = [value for value in values if is_foreign(value) or has_failed(value)]
        return Opaque(("made", made, *sources), kind) if sources else made

    def new_address(self) -> int:
        """An address that nothing else has."""
        return self.ledger.new()

    def place(self, node: Node, message: str) -> Place:
        """A stretch of the file that is being run, with a word on it."""
        return _placed(self.source, node, message)

    def report(
        self,
        contradiction: Contradiction,
        node: Node,
        store: Store,
        frame: Frame,
        marks: tuple[Place, ...] = (),
        origins: tuple[Place, ...] = (),
        *,
        by_axes: bool = False,
        facts: Facts | None = None,
    ) -> None:
        """Enter a finding at a node; where an error is expected the path ends instead.

        Of a path that another version of a library may be meant for nothing is certain.
        """
        self.events += 1
        judged = not self.silent and store.get(FOREIGN) is None
        code = contradiction.code
        if code in _ANNOTATED or (by_axes and not is_of_sizes(code)):
            expected = frame.foresees()
            self.unknowns += 1  # where sizes differ as names do, torch raises after all
        else:
            expected = frame.expects(contradiction.error)
        if judged and (self.recorder is not None or not expected):
            finding = Finding(
                contradiction.code,
                contradiction.message,
                self.source.filename,
                self.source.span(node),
                contradiction.help,
                marks,
                (*origins, *self._calls(frame)),
                contradiction.error,
                by_axes,
                facts or Facts(words=contradiction.names),
            )
            if self.recorder is not None:
                self.recorder.finding(node, finding)
            if not expected:
                key = finding.filename, finding.span, finding.code
                self.findings.setdefault(key, finding)
                self.named.setdefault(key, frozenset(contradiction.names))
        if expected:
            self.fail(contradiction.error)

    def fail(self, error: str = UNKNOWN_ERROR) -> NoReturn:
        """End a path with an error of this built-in type."""
        self.events += 1
        self.errors.add(error)
        raise PathEnds

    def note(self, code: str, message: str, node: Node) -> None:
        """Enter a note, once for each place and message."""
        self.events += 1
        if not self.silent:
            span = self.source.span(node)
            finding = Finding(code, message, self.source.filename, span)
            self.findings.setdefault((finding.filename, span, f"{code} {message}"), finding)

    def _calls(self, frame: Frame) -> tuple[Place, ...]:
        """The calls that led here, the nearest first."""
        places: list[Place] = []
        current: Frame | None = frame
        while current is not None and current.caller is not None:
            # A call as from another file has no place of its own, but that of the function.
            if current.site is not None and current.site is not current.environment.scope:
                source = self.source_of(current.caller.environment)
                places.append(_placed(source, current.site, self._told(current, source)))
            current = current.caller
        return tuple(places)

    def _told(self, frame: Frame, source: Source) -> str:
        """What is said at a call: from where, if that is another file, and with which tensors."""
        here, there = f"'{activation.name}' is called", ""
        if source is not self.source_of(frame.environment):
            line = self.source.span(frame.site).line if frame.site else 0
            there = f" from {os.path.basename(source.filename)}:{line}"
        tensors = self._tensors(frame)
        with_ = f" with {', '.join(tensors)}" if tensors else ""
        return f"{here}{there or ' here'}{with_}"

    def _tensors(self, frame: Frame) -> list[str]:
        """The tensors that a function was given, each by its parameter: ``x: [N C]``."""
        given, node = frame.given, frame.environment.scope
        if given is None or not isinstance(node, scopes.FUNCTIONS):
            return []
        named = list(given.kwargs.items())
        parameters = (p.arg for p in (*node.args.posonlyargs, *node.args.args))
        named[:0] = zip(parameters, given.args, strict=False)
        shown = ((name, self.torch.brief(value, given.store)) for name, value in named)
        return [f"{name}: [{dims}]" for name, dims in shown if dims]


def _placed(source: Source, node: Node, message: str) -> Place:
    return Place(source.filename, source.span(node), message)
