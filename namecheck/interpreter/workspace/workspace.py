"""The files of a project: the top level of each file is run once, for all files that import it.

The cells that a top level writes become part of the ground, which all later analyses share. They
depend only on the contents of the files, not on which file was analysed first. Files that import
each other in a cycle, and read each other's names at their top levels, are all run from one of
them: the first in the alphabet.
"""

from __future__ import annotations

import ast
import itertools
import os
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from typing import Any, Final, NamedTuple, Protocol

from namecheck.core import syntax
from namecheck.core.dataclasses import dataclass, field
from namecheck.core.evidence import Evidence
from namecheck.core.semantics import Semantics
from namecheck.core.syntax import Source
from namecheck.interpreter.domain import meter
from namecheck.interpreter.domain.cells import Fact
from namecheck.interpreter.domain.meter import Purse
from namecheck.interpreter.domain.renaming import Numbering
from namecheck.interpreter.domain.scopes import statements
from namecheck.interpreter.domain.store import Ledger, owner_of
from namecheck.interpreter.domain.values import Environment
from namecheck.interpreter.evaluation.context import Context, Inferences
from namecheck.interpreter.evaluation.events import Listener
from namecheck.interpreter.evaluation.observations import Recorder
from namecheck.interpreter.workspace.assembly import Assembly
from namecheck.interpreter.workspace.file_facts import FileFacts
from namecheck.interpreter.workspace.importers import Closure, Importer, TooMuch
from namecheck.interpreter.workspace.linking import Links
from namecheck.interpreter.workspace.program import Program
from namecheck.operators import Operator

# How often a cycle of imports is started again from another of its files.
_ATTEMPTS: Final = 16


class Files(Protocol):
    """Finds the files of a project; a location names a file, or a folder of them."""

    def find(self, importer: str, level: int, name: str) -> str | None:
        """The location of a module that a file imports; None if it is not of the project."""

    def member(self, package: str, name: str) -> str | None:
        """The module of this name in a package."""

    def source(self, location: str) -> Source | None:
        """The file; None for a folder or an unreadable file."""

    def name(self, location: str) -> str:
        """The dotted name of a module."""

    def matters(self, location: str) -> bool:
        """Whether a file names dimensions."""

    def may_bind(self, location: str, name: str) -> bool:
        """Whether a file may bind a name, or one of which it imports all names."""


@dataclass(frozen=True)
class Alone:
    """The files of a project of one file."""

    only: Source

    def find(self, importer: str, level: int, name: str) -> str | None:
        """Nothing is found."""
        return None

    def member(self, package: str, name: str) -> str | None:
        """Nothing is found."""
        return None

    def source(self, location: str) -> Source | None:
        """The file."""
        return self.only

    def name(self, location: str) -> str:
        """The dotted name of the file."""
        return os.path.splitext(os.path.basename(location))[0]

    def matters(self, location: str) -> bool:
        """True: the only file is analysed."""
        return True

    def may_bind(self, location: str, name: str) -> bool:
        """Whether the file has the name."""
        return name in self.only.text


class Query(NamedTuple):
    """The module in an import statement: the importing file, the number of dots, the name."""

    importer: str
    level: int
    name: str


@dataclass(slots=True)
class Uses:
    """What an analysis has used: locations of files, where modules were found, and steps.

    The steps are those of the files, too, whose top level was run for it; `together` are those that
    it takes if none was run before.
    """

    modules: set[str] = field(default_factory=set)
    found: dict[Query, str | None] = field(default_factory=dict)
    steps: int = field(default=0, compare=False)
    together: int = field(default=0, compare=False)

    def include(self, further: Uses) -> None:
        """Add what another analysis has used."""
        self.modules |= further.modules
        self.found.update(further.found)


class Analysis(NamedTuple):
    """An analysis that runs: what it has read so far, and what may be run for it.

    The analysis of a top level has no importer: it follows all its imports, or none.
    """

    uses: Uses
    importer: Importer | None = None


@dataclass(slots=True)
class Module:
    """One file whose top level was run.

    `unfinished` are the files whose top level was still running when this one read them. `steps`
    are what its top level costs, without the files that were run for it.
    """

    location: str
    program: Program
    uses: Uses = field(default_factory=Uses)
    unfinished: set[str] = field(default_factory=set)
    steps: int = 0

    @property
    def environment(self) -> Environment:
        """The environment of its variables."""
        return self.program.environment

    @property
    def cost(self) -> int:
        """The steps that its analysis has cost so far."""
        return self.program.interpreter.context.ledger.meter.spent


class _Cycle(Exception):
    """A file reads another one that is waiting for it: all must be run again from `first`."""

    def __init__(self, outermost: str, first_location: str) -> None:
        super().__init__(first_location)
        self.outermost = outermost
        self.first = first_location


class Workspace:
    """Runs the files of a project as they are needed."""

    def __init__(
        self,
        files: Files,
        semantics: Semantics,
        rows: Mapping[str, Operator],
        inferences: Inferences | None = None,
        recorder: Recorder | None = None,
        lints: Sequence[type[Listener]] = (),
        evidence: Evidence = Evidence.DECLARED,
        purse: Purse | None = None,
    ) -> None:
        self.files = files
        self.facts = FileFacts(self._names, self._imported_words, evidence)
        self._semantics = semantics
        self._rows = rows
        self._inferences: Inferences = {} if inferences is None else inferences
        self._recorder = recorder
        self._lints = lints
        self._evidence = evidence
        self._purse = purse
        self._ground: dict[Hashable, Any] = {}
        self._blocks = itertools.count()
        self._modules: dict[str, Module | None] = {}
        self._running: dict[str, Module] = {}
        self._locations: dict[ast.AST, str] = {}
        self._known: set[str] = set()
        self._analyses: list[Analysis] = []
        self._closure = Closure("")
        self._abandoned = Uses()
        self._attempts = 0
        self._steps = 0
        self._is_program = False

    # Analyses

    def run(self, location: str) -> tuple[Program, Uses]:
        """Analyse one file in full: its top level, then its entry points.

        Also returns its uses: everything that the outcome depends on.
        """
        before = self._steps
        self._closure, self._abandoned = Closure(location), Uses()
        module, importer = self._main(location)
        loaded = module.cost
        uses = Uses({location})
        self._count(module.uses.modules, importer)
        with self._used_by(uses, importer):
            module.program.run_as_main()
            module.program.run_functions()
        self._steps += module.cost - loaded
        uses.steps = self._steps - before
        if self._purse is not None:
            self._purse.spend(uses.steps)
        uses.together = module.cost + self._closure.cost
        uses.include(self._abandoned)
        return module.program, self._closed(uses)

    def run_program(self, location: str) -> Program:
        """Run a file as a program: from its first line to its last, and what this calls.

        The files that it imports are run as those of an analysis are, with the limits of a program.
        """
        self._is_program = True
        self._closure = Closure(location, is_program=True)
        module = self._prepared(location)
        assert module is not None, f"{location} cannot be read"
        self._running[location] = module
        try:
            with self._used_by(module.uses, Importer(location, module.program.interpreter)):
                module.program.run_main()
        finally:
            del self._running[location]
        return module.program

    def _main(self, location: str) -> tuple[Module, Importer]:
        """The file to be analysed, after its top level, and without imports that cost too much."""
        try:
            module = self.module(location)
        except TooMuch:
            self._closure.close(0)
            module = self._prepared(location)
            assert module is not None
            importer = Importer(location, module.program.interpreter)
            importer.follow_none()
            self._execute(module, importer)
            return module, importer
        assert module is not None, f"{location} cannot be read"
        return module, Importer(location, module.program.interpreter)

    def _closed(self, uses: Uses) -> Uses:
        """The uses of an analysis, and those of all files that it uses, directly or not."""
        closed = Uses(set(), dict(uses.found), uses.steps, uses.together)
        open_ = list(uses.modules)
        while open_:
            location = open_.pop()
            if location in closed.modules:
                continue
            closed.modules.add(location)
            module = self._modules.get(location)
            if module is not None:
                closed.found.update(module.uses.found)
                open_ += module.uses.modules
        return closed

    def _count(self, locations: Iterable[str], importer: Importer) -> None:
        """Count the top levels of files and of all that they use, directly or not.

        The files of a cycle use each other, so the sum is the same whichever of them was run first.
        """
        open_ = [*locations]
        while open_:
            used = open_.pop()
            module = self._modules.get(used)
            if module is not None and used not in importer.counted:
                importer.add(used, module.steps)
                open_ += module.uses.modules

    @contextmanager
    def _used_by(self, uses: Uses, importer: Importer | None = None) -> Iterator[None]:
        self._analyses.append(Analysis(uses, importer))
        try:
            yield
        finally:
            self._analyses.pop()

    # Finding

    def find(self, source: Source, level: int, name: str) -> str | None:
        """The location of a module that a file imports."""
        query = Query(self._location(source), level, name)
        location = self.files.find(*query)
        if self._analyses:
            self._analyses[-1].uses.found[query] = location
        if location is not None:
            self._known.add(location)
        return location

    def member(self, package: str, name: str) -> str | None:
        """The module of this name in a package."""
        location = self.files.member(package, name)
        if location is not None:
            self._known.add(location)
        return location

    def is_location(self, path: str) -> bool:
        """Whether a text is the location of a file, and not a dotted path."""
        return path in self._known

    def source(self, location: str) -> Source | None:
        """The file at a location; notes that the analysis uses it."""
        importer = None
        if self._analyses:
            self._analyses[-1].uses.modules.add(location)
            importer = self._analyses[-1].importer
        count = len(self._closure)
        if importer is not None:
            self._closure.importer_cost = importer.spent
        try:
            return self._read(location)
        except TooMuch:
            if importer is None:
                raise
            self._refuse(location, importer, count)
            return None

    def _read(self, location: str) -> Source | None:
        """The file at a location, which is counted; raises `TooMuch`."""
        self._closure.require(location)
        source = self.files.source(location)
        if source is not None:
            self._closure.add(location, source, meter.of_parsing(source))
        return source

    def _location(self, source: Source) -> str:
        return self._locations.get(source.tree, source.filename)

    def _names(self, source: Source) -> bool:
        return self.files.matters(self._location(source)) or (
            self._evidence.is_observed
            and syntax.unpacks_sizes(source.text.encode("utf-8", "replace"))
        )

    def _imported_words(self, source: Source) -> frozenset[str]:
        """The words under which a file imports from modules that name dimensions."""
        location = self._location(source)
        words: set[str] = set()
        for node in statements(source.tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    if self._matters(self.files.find(location, 0, alias.name)):
                        words.add(alias.asname or alias.name.rpartition(".")[2])
            elif isinstance(node, ast.ImportFrom):
                module = self.files.find(location, node.level, node.module or "")
                for alias in node.names if module is not None else ():
                    assert module is not None
                    inner = self.files.member(module, alias.name)
                    if self._matters(module) or self._matters(inner):
                        words.add(alias.asname or alias.name)
        return frozenset(words)

    def _matters(self, location: str | None) -> bool:
        return location is not None and self.files.matters(location)

    # Running

    def module(self, location: str) -> Module | None:
        """A file, whose top level is run first; None if there is no such file."""
        if self._analyses:
            self._analyses[-1].uses.modules.add(location)
        if location in self._running:
            return self._unfinished(location)
        importer = self._analyses[-1].importer if self._analyses else None
        if importer is not None and not importer.may_run(location, self.files.name(location)):
            return None
        if importer is not None:
            self._closure.importer_cost = importer.spent
        if not self._running:
            self._attempts = 0
        count = len(self._closure)
        try:
            module = self._loaded(location)
        except TooMuch:
            if importer is None:
                raise
            self._refuse(location, importer, count)
            return None
        if module is not None and importer is not None:
            self._count([location], importer)
        return module

    def _loaded(self, location: str) -> Module | None:
        """A file that is not running, after its top level; raises `TooMuch`."""
        if location not in self._modules:
            self._modules[location] = self._load(location)
        self._include(location)
        module = self._modules[location]
        if module is not None:
            self._depend_on(module.unfinished)
        return module

    def _refuse(self, location: str, importer: Importer, count: int) -> None:
        """Follow no further import of a file: those that it followed are the first."""
        self._closure.close(count)
        importer.refuse(self.files.name(location))

    def _include(self, location: str) -> None:
        """Count a file that was run, and all that it uses, directly or not; raises `TooMuch`."""
        open_ = [location]
        while open_:
            used = open_.pop()
            module = self._modules.get(used)
            if module is not None and used not in self._closure.complete:
                self._closure.complete.add(used)
                self._closure.add(used, module.program.source, module.steps)
                open_ += module.uses.modules

    def is_running(self, loaded: Module) -> bool:
        """Whether the top level of a file is still running."""
        return loaded.location in self._running

    def _unfinished(self, location: str) -> Module:
        """A file whose top level is still running, because it imports the file that reads it."""
        self._depend_on({location})
        return self._running[location]

    def _depend_on(self, half_run: Set[str]) -> None:
        """Note that the running files have read what some of them had defined so far.

        All from the outermost of these on are one cycle, which is run from the first of them.
        """
        stack = list(self._running)
        outermost = next((place for place, name in enumerate(stack) if name in half_run), None)
        if outermost is None:
            return
        cycle = stack[outermost:]
        first = min(cycle)
        if first != cycle[0] and self._attempts < _ATTEMPTS:
            self._attempts += 1
            raise _Cycle(cycle[0], first)
        read = half_run & self._running.keys()
        for waiting in cycle:
            self._running[waiting].unfinished |= read

    def _load(self, location: str) -> Module | None:
        count = len(self._closure)
        try:
            return self._run(location)
        except TooMuch:
            self._discard_readers(location)
            raise
        except _Cycle as cycle:
            self._closure.shrink(count)
            self._discard_readers(location)
            if cycle.outermost != location:
                raise
            first = cycle.first
        self._loaded(first)
        if location in self._modules:
            return self._modules[location]
        return self._load(location)

    def _discard_readers(self, location: str) -> None:
        """Discard the files that have read one while it was half run, which is run again."""
        open_ = [location]
        while open_:
            half_run = open_.pop()
            for name, module in [*self._modules.items()]:
                if module is None or half_run in module.unfinished:
                    del self._modules[name]
                    open_.append(name)

    def _run(self, location: str) -> Module | None:
        for running in [*self._running.values()][-1:]:
            self._closure.add(running.location, running.program.source, running.cost)
        module = self._prepared(location)
        if module is not None:
            self._execute(module, None)
            self._closure.add(location, module.program.source, module.steps)
        return module

    def _prepared(self, location: str) -> Module | None:
        """A file, none of which was run yet; None if there is no such file."""
        source = self._read(location)
        if source is None:
            return None
        self._known.add(location)
        self._locations[source.tree] = location
        return Module(location, Program(self._interpreter(source)))

    def _execute(self, loaded: Module, importer: Importer | None) -> None:
        """Run the top level of a file."""
        location, program = loaded.location, loaded.program
        self._running[location] = loaded
        sparing = not self.facts.names_dims(program.source)
        try:
            with self._used_by(loaded.uses, importer):
                program.load(self.files.name(location), sparing=sparing)
        except TooMuch:
            self._abandoned.include(loaded.uses)
            raise
        finally:
            del self._running[location]
            self._steps += loaded.cost
        loaded.steps = loaded.cost
        self._add_to_ground(program)

    def _interpreter(self, source: Source) -> Assembly:
        ledger = Ledger(next(self._blocks), self._ground)
        context = Context(
            self._semantics,
            self._rows,
            self.facts,
            ledger,
            Numbering(ledger),
            self._recorder if not self._running else None,
            self._inferences,
            self._evidence,
            self._purse,
        )
        return Assembly(
            source,
            context,
            lambda interpreter: Links(interpreter, self),
            (lint() for lint in self._lints),
            is_program=self._is_program and not self._running,
        )

    def _add_to_ground(self, program: Program) -> None:
        """Add the cells that a file has written to the ground.

        Its changes to other files are left out: they depend on which files are imported.
        """
        block = program.interpreter.context.ledger.block
        for key, content in program.store.cells.items():
            if not isinstance(key, Fact) and _is_own(key, block):
                self._ground[key] = content


def _is_own(key: Hashable, block: Iterable[int]) -> bool:
    """Whether a cell belongs to an object with a number of this block, or with none."""
    owner = owner_of(key)
    if isinstance(owner, int):
        return owner in block
    return isinstance(key, tuple) and not isinstance(owner, str)
