"""The state of one analysis: its inputs, its budget, its progress, the definitions seen so far."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Hashable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

from namecheck.core.dataclasses import dataclass, field
from namecheck.core.dims import Dims
from namecheck.core.evidence import Evidence
from namecheck.core.semantics import Semantics
from namecheck.core.syntax import Source
from namecheck.interpreter.domain.meter import Purse
from namecheck.interpreter.domain.reachability import Stretch
from namecheck.interpreter.domain.renaming import Numbering
from namecheck.interpreter.domain.scopes import Function, ScopeInfo
from namecheck.interpreter.domain.store import Ledger
from namecheck.interpreter.domain.values import ClassValue, Environment, FunctionValue
from namecheck.interpreter.evaluation.circumstances import Circumstances
from namecheck.interpreter.evaluation.observations import Recorder
from namecheck.operators import Inference, Operator

if TYPE_CHECKING:
    from namecheck.interpreter.domain.unfollowed import Unfollowed

# How deep calls are followed: from the top level of the program, from entry points, and from those
# of a file that declares no dims, to functions that are not short. What such a function reads of
# its own tensors is seen where it is an entry point itself; deeper calls take most of the time, and
# show little else.
_CALL_DEPTH: Final = 16
_PROGRAM_DEPTH: Final = 64
_SPARING_DEPTH: Final = 6
_SHALLOW_DEPTH: Final = 2
# How many frames of one function the call stack may have besides. On unknown arguments, and in a
# file that declares no dims, every level of a recursion has the same outcome.
_RECURSION: Final = 8
_SPARING_RECURSION: Final = 2
_SHALLOW_RECURSION: Final = 1
# How many paths are kept apart, likewise.
_PATHS: Final = 8
_SPARING_PATHS: Final = 3
_STEPS: Final = 100_000
_PROGRAM_STEPS: Final = 4_000_000

# The answers of the rules, by operator and abstract inputs.
Inferences: TypeAlias = dict[Hashable, Inference]


class FileFacts(Protocol):
    """Facts about files that follow from their syntax trees alone."""

    @property
    def sources(self) -> dict[ast.AST, Source]:
        """The files whose code has been run, by their trees."""

    def names_dims(self, source: Source) -> bool:
        """Whether a file names dimensions."""

    def scope(self, node: ast.AST) -> ScopeInfo:
        """The names that a scope binds."""

    def can_matter(self, node: ast.AST, source: Source) -> bool:
        """Whether running a definition of a file may contribute to the names of tensors."""

    def mentions_attributes(self, node: ast.AST) -> bool:
        """Whether a definition mentions dtypes, devices or layouts of tensors."""

    def unfollowed(self, function_node: Function) -> Unfollowed:
        """What is known of a call of a function whose body is not run."""

    def documents_argument(self, function_node: Function, source: Source) -> bool:
        """Whether a function returns its first argument, and does no more than document it."""

    def has_arrays(self, source: Source) -> bool:
        """Whether a file imports a library whose arrays have a shape."""

    def renames_in_place(self, source: Source) -> bool:
        """Whether a file renames tensors or permutes their names in place."""

    def only_reads_sizes(self, source: Source) -> bool:
        """Whether a file declares no dims, and its names are those of sizes that it reads."""


@dataclass(frozen=True, slots=True)
class Context:
    """The inputs of one analysis; none is ever replaced.

    `rows` is the table of operators, `files` has the facts about the files. A `recorder` receives
    the value of every expression. `ledger` numbers the objects that the analysis makes, and
    `numbering` finds these numbers in values. `inferences` caches the answers of the rules, also
    for further analyses with the same table and semantics. `evidence` says what names dims. A
    `purse` limits what the analysis may cost.
    """

    semantics: Semantics
    rows: Mapping[str, Operator]
    files: FileFacts
    ledger: Ledger
    numbering: Numbering
    recorder: Recorder | None
    inferences: Inferences
    evidence: Evidence = Evidence.DECLARED
    purse: Purse | None = None

    def source_of(self, environment: Environment) -> Source:
        """The file that has the code of an environment."""
        return self.files.sources[environment.module.scope]


@dataclass(slots=True)
class Budget:
    """How many expressions may still be evaluated: `left`.

    It is `sparing` while entry points are run: on unknown arguments, and only functions that may
    contribute to names. It is `shallow` in a file that declares no dims. It is `brief` while each
    function is run once, by itself, along one path. `is_program` tells that a program is followed
    from its first line to its last, through the files of packages, too.
    `exhaustions` counts the blocks of `limited` that have used up what was left, which was less
    than their limit: what such a block gives depends on what was spent before it.
    """

    left: int = _STEPS
    sparing: bool = False
    shallow: bool = False
    brief: bool = False
    is_program: bool = False
    exhaustions: int = 0

    @classmethod
    def of_program(cls) -> Budget:
        """The budget of a program that is followed through the files of packages."""
        return cls(_PROGRAM_STEPS, is_program=True)

    @property
    def paths(self) -> int:
        """How many paths are kept apart before they are joined."""
        if self.brief:
            return 1
        return _SPARING_PATHS if self.sparing else _PATHS

    @property
    def recursion(self) -> int:
        """How many frames of a function there may be when it is entered once more."""
        if self.shallow:
            return _SHALLOW_RECURSION
        return _SPARING_RECURSION if self.sparing else _RECURSION

    def depth(self, *, is_short: bool) -> int:
        """How deep calls are followed, to a function that may be short."""
        if not self.sparing:
            return _PROGRAM_DEPTH if self.is_program else _CALL_DEPTH
        if self.brief or (self.shallow and not is_short):
            return _SHALLOW_DEPTH
        return _SPARING_DEPTH

    def spend(self, cost: int = 1) -> bool:
        """Reduce the budget; False when it is used up."""
        self.left -= cost
        return self.left > 0

    @contextmanager
    def limited(self, limit: int) -> Iterator[None]:
        """Let the block spend at most so much.

        A block that may spend it all has the same outcome wherever it is entered, even if it is
        not enough.
        """
        is_whole, exhaustions = self.left >= limit, self.exhaustions
        reserve = max(self.left - limit, 0)
        self.left -= reserve
        try:
            yield
        finally:
            self.exhaustions = exhaustions if is_whole else self.exhaustions + (self.left <= 0)
            self.left += reserve


@dataclass(slots=True)
class Progress:
    """Counts of what has happened, which handlers compare before and after a block.

    `unknowns` counts the expressions with an unknown value, `events` the findings, the raised
    errors and the calls that were not followed. `errors` has the types of the errors that ended
    paths. `shapes` has the dims of all tensors with several dims. `round` is the number of the
    current round of the loop. `around` collects the circumstances on which the current call
    depends.
    """

    unknowns: int = 0
    events: int = 0
    errors: set[str] = field(default_factory=set)
    shapes: set[Dims] = field(default_factory=set)
    round: int = 0
    around: Circumstances | None = None

    @contextmanager
    def under(self, circumstances: Circumstances) -> Iterator[Circumstances]:
        """Collect the circumstances of the call that is run within the block."""
        outer, self.around = self.around, circumstances
        try:
            yield circumstances
        finally:
            self.around = outer
            if outer is not None:
                outer.include(circumstances)

    @contextmanager
    def in_round(self, number: int) -> Iterator[None]:
        """Set the number of the round, for one run of a loop's body."""
        outer, self.round = self.round, number
        try:
            yield
        finally:
            self.round = outer

    def asked_round(self) -> int:
        """The number of the current round, which the outcome of a call depends on."""
        if self.around is not None:
            self.around.rounds.add(self.round)
        return self.round

    @contextmanager
    def raising(self) -> Iterator[set[str]]:
        """Collect the errors that end paths within the block; the caller adds them to `errors`."""
        outer = self.errors
        self.errors = raised = set[str]()
        try:
            yield raised
        finally:
            self.errors = outer

    @contextmanager
    def unaffected(self) -> Iterator[None]:
        """Restore the unknowns and the errors after the block.

        The set itself is restored, as it is that which `raising` collects.
        """
        unknowns, errors = self.unknowns, self.errors
        self.errors = set(errors)
        try:
            yield
        finally:
            self.unknowns, self.errors = unknowns, errors


@dataclass(frozen=True, slots=True)
class Moment:
    """A moment of an analysis: the stretch that begins, and how many definitions there were."""

    stretch: Stretch
    functions: int
    classes: int


@dataclass(slots=True)
class Definitions:
    """The functions and classes that the program has defined so far.

    `called` are the functions whose bodies were run.
    """

    functions: dict[ast.AST, FunctionValue] = field(default_factory=dict)
    classes: list[ClassValue] = field(default_factory=list)
    called: set[ast.AST] = field(default_factory=set)

    def since(self, moment: Moment) -> list[FunctionValue | ClassValue]:
        """The functions and classes defined since a moment: they may be called much later."""
        count = len(self.functions) - moment.functions
        latest_first = itertools.islice(reversed(self.functions.values()), count)
        return [*reversed([*latest_first]), *self.classes[moment.classes :]]
