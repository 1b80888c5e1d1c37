"""What one analysis is given, what it may spend, and what it notes while it runs."""

from __future__ import annotations

import ast
from collections.abc import Hashable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final, Protocol, TypeAlias

from namecheck.core.dataclasses import dataclass, field
from namecheck.core.semantics import Semantics
from namecheck.core.syntax import Source
from namecheck.interpreter.domain.scopes import ScopeInfo
from namecheck.interpreter.domain.store import Ledger
from namecheck.interpreter.domain.values import ClassValue, Environment, FunctionValue
from namecheck.interpreter.evaluation.circumstances import Circumstances
from namecheck.interpreter.evaluation.observations import Recorder
from namecheck.operators import Inference, Operator

# How deep calls are followed: in the program itself, and from functions on unknown arguments.
_CALL_DEPTH: Final = 16
_SPARING_DEPTH: Final = 6
# How many paths are followed side by side, likewise.
_PATHS: Final = 8
_SPARING_PATHS: Final = 3
_STEPS: Final = 100_000

# What the rules answered, by operator and abstract inputs.
Inferences: TypeAlias = dict[Hashable, Inference]


class FileFacts(Protocol):
    """What is known of files by their syntax trees alone, before any of their code is run."""

    @property
    def sources(self) -> dict[ast.AST, Source]:
        """The files whose code has been run, by their trees."""

    def names_dims(self, source: Source) -> bool:
        """Whether a file names dimensions."""

    def scope(self, node: ast.AST) -> ScopeInfo:
        """The names that a scope binds."""

    def can_matter(self, node: ast.AST, source: Source) -> bool:
        """Whether a definition of a file can matter to names."""

    def tells_of_attributes(self, node: ast.AST) -> bool:
        """Whether a definition says anything of the dtypes, devices or layouts of tensors."""

    def renames_in_place(self, source: Source) -> bool:
        """Whether a file changes the names that a tensor has, or their order."""


@dataclass(frozen=True, slots=True)
class Context:
    """What one analysis is given; nothing of it changes while the analysis runs.

    `rows` is the table of operators, `files` what is known of the files by their syntax. The
    `recorder`, where there is one, is told what every expression gives. `ledger` numbers what is
    made; `inferences` remembers what the rules answered, for analyses with the same table and
    semantics.
    """

    semantics: Semantics
    rows: Mapping[str, Operator]
    files: FileFacts
    ledger: Ledger
    recorder: Recorder | None
    inferences: Inferences

    def source_of(self, environment: Environment) -> Source:
        """The file that the code of an environment stands in."""
        return self.files.sources[environment.module.scope]


@dataclass(slots=True)
class Budget:
    """What running functions may still cost.

    `left` counts expressions. `sparing` tells that functions are run on unknown arguments, and
    only those that can matter to names; `brief` that each is run by itself, once, along one path.
    `exhaustions` counts the blocks of a limit that have spent it.
    """

    left: int = _STEPS
    sparing: bool = False
    brief: bool = False
    exhaustions: int = 0

    @property
    def paths(self) -> int:
        """How many paths are followed side by side before they are joined."""
        if self.brief:
            return 1
        return _SPARING_PATHS if self.sparing else _PATHS

    @property
    def depth(self) -> int:
        """How deep calls are followed."""
        return _SPARING_DEPTH if self.sparing else _CALL_DEPTH

    def spend(self, cost: int = 1) -> bool:
        """Take from what is left; False when it is used up."""
        self.left -= cost
        return self.left > 0

    @contextmanager
    def limited(self, limit: int) -> Iterator[None]:
        """Let what runs within the block spend so much at most."""
        kept = max(self.left - limit, 0)
        self.left -= kept
        try:
            yield
        finally:
            self.exhaustions += self.left <= 0
            self.left += kept


@dataclass(slots=True)
class Progress:
    """What happened so far; who runs a block compares the counts before and after.

    `unknowns` counts the expressions of which nothing could be told, `events` what was reported,
    raised or not followed any further. `errors` has the types of the errors that ended paths.
    `round` is the number of the loop's body that is being run. What the call that is being
    followed depends on is noted `around` it.
    """

    unknowns: int = 0
    events: int = 0
    errors: set[str] = field(default_factory=set)
    round: int = 0
    around: Circumstances | None = None

    @contextmanager
    def under(self, circumstances: Circumstances) -> Iterator[Circumstances]:
        """Note what a call depends on while it is followed within the block."""
        outer, self.around = self.around, circumstances
        try:
            yield circumstances
        finally:
            self.around = outer
            if outer is not None:
                outer.include(circumstances)

    @contextmanager
    def in_round(self, number: int) -> Iterator[None]:
        """Run one body of a loop."""
        outer, self.round = self.round, number
        try:
            yield
        finally:
            self.round = outer

    @contextmanager
    def raising(self) -> Iterator[set[str]]:
        """Collect the errors that end paths within the block; who asked adds them where due."""
        outer = self.errors
        self.errors = raised = set[str]()
        try:
            yield raised
        finally:
            self.errors = outer

    @contextmanager
    def unaffected(self) -> Iterator[None]:
        """Run a block whose unknowns and errors do not count."""
        unknowns, errors = self.unknowns, set(self.errors)
        try:
            yield
        finally:
            self.unknowns, self.errors = unknowns, errors


@dataclass(slots=True)
class Definitions:
    """The functions and classes that the program has defined so far.

    `called` are the functions whose bodies were run.
    """

    functions: dict[ast.AST, FunctionValue] = field(default_factory=dict)
    classes: list[ClassValue] = field(default_factory=list)
    called: set[ast.AST] = field(default_factory=set)
