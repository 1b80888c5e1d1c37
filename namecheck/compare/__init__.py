"""Compares the names that the interpreter infers of a program with those that a run observes."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from namecheck.compare import join
from namecheck.compare.join import Joined, Verdict, counts
from namecheck.compare.packages import PackageFiles, PackageSources, folders
from namecheck.core import regular_files, syntax
from namecheck.core.dataclasses import dataclass
from namecheck.core.evidence import Evidence
from namecheck.core.syntax import Position, Source
from namecheck.interpreter.workspace import analysis
from namecheck.interpreter.workspace.analysis import Finder, Observation, Observations
from namecheck.project.files import is_library
from namecheck.project.settings import Settings

if TYPE_CHECKING:
    from namecheck.compare.script import Ended

# A place in a file.
Place: TypeAlias = tuple[str, Position]

__all__ = ["CompareError", "Comparison", "Joined", "Verdict", "compare"]


class CompareError(Exception):
    """A script that cannot be compared; the message says why."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """One script on both sides, and how its run ended.

    `end` is where an error ended it, `foreseen` says that the error was inferred there. `lost` is
    where the program read names that are unknown because they follow from a contradiction: the rest
    of the run is not compared.
    """

    main: str
    sources: Mapping[str, Source]
    joined: tuple[Joined, ...]
    ended: Ended
    end: Place | None
    foreseen: bool
    lost: Place | None

    @property
    def counts(self) -> dict[Verdict, int]:
        """How many expressions have each verdict."""
        return counts(self.joined)

    @property
    def observed(self) -> int:
        """How many expressions ran and take part."""
        return len(self.joined) - self.counts[Verdict.UNREACHED]

    @property
    def share(self) -> float:
        """The share of the observed expressions whose names were all known."""
        return self.counts[Verdict.AGREE] / self.observed if self.observed else 1.0

    @property
    def failed(self) -> bool:
        """Whether the script failed with an error other than a contradiction found in it."""
        return self.ended.failed and not self.foreseen


def compare(
    path: str, argv: Sequence[str], settings: Settings, packages: Sequence[str] = ()
) -> Comparison:
    """Infer the names of a script and of the files that it imports, run it, and join both results.

    The script is followed into the installed `packages`. Raises `CompareError` where the script
    cannot be read or analysed, where a package is not found, where there is no torch, and where the
    environment switches all checks off.
    """
    main = _parsed(path)
    folder = os.path.dirname(regular_files.real_path(path))
    program_files = _ProgramFiles(main, analysis.below(folder))
    folder_of = _folder_of(packages)
    if packages:
        static = _inferred_through(PackageFiles(folder, folder_of), main, settings)
    else:
        static = _inferred(program_files, settings)
    sources = PackageSources(program_files.sources, folder_of)
    try:
        from namecheck.compare import script
        from namecheck.runtime.core import modes
        from namecheck.runtime.programs.recording import recording
        from namecheck.runtime.programs.script import Program
    except ImportError as error:
        raise CompareError(f"a script runs on torch, which cannot be imported: {error}") from error
    if modes.switched_off():
        raise CompareError(f"{modes.SWITCH} in the environment switches all checks off")
    program = Program(path, tuple(argv), packages=program_files.packages, mode="record")
    with recording(settings.semantics) as recorded:
        recorded.watch(sources)
        ended = script.run(program)
        end = recorded.ended(ended.error) if isinstance(ended.error, Exception) else None
        activations = recorded.activations.ended()
    return Comparison(
        main.filename,
        sources,
        join.sides(static, recorded.seen, activations, sources.is_of_packages),
        ended,
        end,
        _has_finding(static, end),
        recorded.lost,
    )


class _ProgramFiles:
    """The files of a program: its main file, and those that it imports, as they are found."""

    def __init__(self, main: Source, finder: Finder) -> None:
        self.main = main
        self.sources = {main.filename: main}
        self._finder = finder
        self._modules: dict[str, None] = {}

    @property
    def packages(self) -> tuple[str, ...]:
        """The modules and packages that were found, by their first names."""
        return tuple(self._modules)

    def find(self, name: str) -> Source | None:
        """The file of a module."""
        source = self._finder(name)
        if source is not None:
            self.sources[source.filename] = source
            self._modules[name.partition(".")[0]] = None
        return source


def _inferred(program_files: _ProgramFiles, settings: Settings) -> Observations:
    """The inferred values of each expression of a program."""
    try:
        return analysis.observe(
            program_files.main,
            finder=program_files.find,
            semantics=settings.semantics,
            rows=settings.rows(),
            inferences=settings.inferences,
            evidence=Evidence(settings.evidence),
        )
    except RecursionError as error:
        raise CompareError(
            f"{program_files.main.filename}: the analysis runs out of stack"
        ) from error


def _folder_of(packages: Sequence[str]) -> dict[str, str]:
    """The folder that contains each package; raises `CompareError`."""
    folder_of = folders(packages)
    for package in packages:
        if is_library(package):
            raise CompareError(
                f"{package!r} is not followed: namecheck has a model of its own of it"
            )
        if package not in folder_of:
            raise CompareError(f"there is no package {package!r} with a file that can be read")
    return folder_of


def _inferred_through(
    package_files: PackageFiles, main: Source, settings: Settings
) -> Observations:
    """The inferred values of each expression of a program and of the packages that it uses."""
    package_files.add(main)
    try:
        return analysis.observe_program(
            main.filename,
            package_files,
            semantics=settings.semantics,
            rows=settings.rows(),
            inferences=settings.inferences,
            evidence=Evidence(settings.evidence),
        )
    except RecursionError as error:
        raise CompareError(f"{main.filename}: the analysis runs out of stack") from error


def _has_finding(static: Observations, place: Place | None) -> bool:
    if place is None:
        return False
    filename, position = place
    return bool(static.get(filename, {}).get(position, Observation()).findings)


def _parsed(path: str) -> Source:
    try:
        return syntax.parse(regular_files.contents(path), os.path.abspath(path))
    except OSError as error:
        raise CompareError(f"cannot read {path}: {error.strerror}") from error
    except syntax.Refused as refused:
        finding = refused.finding
        place = f"{path}:{finding.span.line}:{finding.span.column}"
        raise CompareError(f"{place}: {finding.code} {finding.message}") from refused
