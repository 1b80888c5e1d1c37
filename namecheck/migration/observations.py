"""The applications that the analysis observed at the calls and attributes of files.

Every file is run as a program, with the files that it imports; then its functions are called as
unknown code might, those of tests too. The programs decide about the functions that they call:
these need not suit unknown callers. The tests decide about functions that only they call.

All this is limited by one purse for each file. Where an analysis is given up, what was observed in
the files that took part is not all that may happen there.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Final

from namecheck.core.dataclasses import dataclass, field
from namecheck.core.findings import Finding, Span
from namecheck.core.regular_files import real_path
from namecheck.core.syntax import Position, Source
from namecheck.core.tensors import Tensor
from namecheck.interpreter.workspace import analysis
from namecheck.interpreter.workspace.analysis import Application, Applications, Purse, Recorder
from namecheck.migration.expenses import TOO_COSTLY
from namecheck.project.files import ProjectFiles
from namecheck.project.settings import Settings


@dataclass(slots=True)
class Observed:
    """The applications at one expression: by `programs`, `tests`, and by calls from `elsewhere`."""

    programs: Applications = field(default_factory=Applications)
    tests: Applications = field(default_factory=Applications)
    elsewhere: Applications = field(default_factory=Applications)

    @property
    def is_run(self) -> bool:
        """Whether a program or a test reaches it."""
        return self.decisive is not self.elsewhere

    @property
    def decisive(self) -> Applications:
        """The applications that must all be settled."""
        return next(filter(_is_reached, (self.programs, self.tests)), self.elsewhere)

    @property
    def further(self) -> Sequence[Application]:
        """The applications that must not contradict, where they are settled."""
        each = [*self.tests.each, *self.elsewhere.each]
        decisive = self.decisive
        return [one for one in each if not decisive.has(one)] if self.is_run else ()

    def always(self, holds: Callable[[Application], bool]) -> bool:
        """Whether only operators are applied here, at least one, and each has this property."""
        decisive = self.decisive
        return bool(decisive.each) and not decisive.otherwise and all(map(holds, decisive.each))


def _is_reached(applications: Applications) -> bool:
    return bool(applications.each) or applications.otherwise


def is_test(location: str) -> bool:
    """Whether a file has tests, by its name: pytest calls its functions."""
    name = os.path.basename(location)
    return name == "conftest.py" or name.startswith("test_") or name.endswith("_test.py")


NOTHING_OBSERVED: Final = Observed()

# The limits at which a statement is not run to its end, and what is said of them.
_GIVEN_UP: Final = {"steps": TOO_COSTLY, "depth of the stack": "its analysis exhausts the stack"}


class Observations:
    """What is observed in some files, by location.

    With `doubts`, an unobserved value may be a named tensor.
    """

    def __init__(self, files: ProjectFiles | None = None, *, doubts: bool = True) -> None:
        self.doubts: Final = doubts
        self._files = ProjectFiles() if files is None else files
        self._observed: dict[str, dict[Position, Observed]] = {}
        self._faults: dict[str, str] = {}
        self._given_up: dict[str, str] = {}
        self._run_by: dict[str, list[Application]] = {}
        self._findings: dict[str, dict[tuple[Span, str], Finding]] = {}

    def at(self, location: str, position: Position) -> Observed:
        """The applications at one place."""
        places = self._observed.get(real_path(location), {})
        return places.get(position, NOTHING_OBSERVED)

    def in_file(self, location: str) -> Iterator[Application]:
        """All applications in a file."""
        for observed in self._observed.get(real_path(location), {}).values():
            yield from observed.programs.each
            yield from observed.tests.each
            yield from observed.elsewhere.each

    def run_by(self, location: str) -> Sequence[Application]:
        """The applications of running a file as a program, or its tests."""
        return self._run_by.get(location, ())

    def contradictions(self, location: str) -> Sequence[Finding]:
        """The contradictions in a file, including those that the program expects and catches."""
        return tuple(self._findings.get(real_path(location), {}).values())

    @property
    def contradicted(self) -> frozenset[tuple[str, int]]:
        """The files and lines of all contradictions."""
        return frozenset(
            (location, span.line)
            for location, findings in self._findings.items()
            for span, _ in findings
        )

    def labels(self, location: str) -> frozenset[str]:
        """The names that tensors have in a file."""
        each = self.in_file(location)
        values = [value for one in each for value in (*one.positional, one.result)]
        tensors = [value for value in values if isinstance(value, Tensor)]
        return frozenset(name for t in tensors for name in t.names if isinstance(name, str))

    def fault(self, location: str) -> str | None:
        """The reason why a file could not be analysed; None where it could."""
        return self._faults.get(location)

    def given_up(self, location: str) -> str | None:
        """The reason why not all that happens in a file was observed; None where it was."""
        return self._given_up.get(real_path(location))

    def add(self, source: Source) -> None:
        """Use a file for imports of its name."""
        self._files.add(source.filename, source)

    def observe(self, source: Source, settings: Settings, purse: Purse | None = None) -> None:
        """Analyse one file; where the analysis fails, `fault` says why.

        What it costs is taken from the `purse`.
        """
        try:
            self._observe(source, settings, Purse.of_again(source.text) if purse is None else purse)
        except RecursionError:
            self._faults[source.filename] = "its code is nested too deeply"
        except Exception as error:
            text = " ".join(f"{type(error).__name__}: {error}".split())
            self._faults[source.filename] = f"namecheck failed on this file: {text}"

    def _observe(self, source: Source, settings: Settings, purse: Purse) -> None:
        self.add(source)
        recorder = Recorder(applications=True)

        def find(name: str) -> Source | None:
            location = self._files.find(source.filename, 0, name)
            return None if location is None else self._files.source(location)

        took_part = analysis.run_program(
            source, recorder, find, settings.semantics, settings.rows(), settings.inferences, purse
        )
        self._note_limits(recorder, {file.filename for file in took_part})
        here = self._run_by[source.filename] = []
        for file in took_part:
            self._keep_findings(file, recorder)
            for observed, applied in self._places(file, recorder):
                _add(observed.programs, applied)
                here += applied.each
        if purse.is_spent:
            self._given_up.setdefault(real_path(source.filename), TOO_COSTLY)
            return
        recorder = Recorder(applications=True)
        workspace = analysis.new_workspace(
            self._files,
            settings.semantics,
            settings.rows(),
            settings.inferences,
            recorder,
            purse=purse,
        )
        _, uses = analysis.analysed(workspace, source.filename)
        self._keep_findings(source, recorder)
        tests = is_test(source.filename)
        self._note_limits(recorder, uses.modules if tests else {source.filename})
        for location in uses.modules - {source.filename} if tests else ():
            tested = self._files.source(location)
            for observed, applied in self._places(tested, recorder) if tested else ():
                _add(observed.tests, applied)
                here += applied.each
        for observed, applied in self._places(source, recorder):
            _add(observed.elsewhere, applied)
            here += applied.each if tests else ()

    def _note_limits(self, recorder: Recorder, locations: Collection[str]) -> None:
        """Note that an analysis was given up somewhere, in which some files took part."""
        for limit, _, _ in recorder.limits:
            if reason := _GIVEN_UP.get(limit):
                for location in locations:
                    self._given_up.setdefault(real_path(location), reason)

    def _keep_findings(self, source: Source, recorder: Recorder) -> None:
        findings = self._findings.setdefault(real_path(source.filename), {})
        for finding in recorder.contradictions(source):
            findings.setdefault((finding.span, finding.code), finding)

    def _places(
        self, source: Source, recorder: Recorder
    ) -> Iterator[tuple[Observed, Applications]]:
        places = self._observed.setdefault(real_path(source.filename), {})
        for where, applied in recorder.applications(source).items():
            yield places.setdefault(where, Observed()), applied


def _add(collected: Applications, more: Applications) -> None:
    collected.otherwise |= more.otherwise
    collected.unknown |= more.unknown
    collected.open |= more.open
    for application in more.each:
        collected.add(application)
