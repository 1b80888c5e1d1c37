"""The findings of one build, computed once, at the first use."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final

from mypy.build import BuildManager
from mypy.nodes import MypyFile
from mypy.options import Options

from namecheck.core.faults import TableError
from namecheck_mypy import surfaces
from namecheck_mypy.diagnostics import Diagnostic, StoredDiagnostics
from namecheck_mypy.snapshot import Snapshot
from namecheck_mypy.surfaces import ADAPTER

# The search for the build is given up after that many attempts.
_TRIES: Final = 20

_NO_WORKERS: Final = "before mypy 2.4, findings are not reported with --num-workers"


class NoBuildError(Exception):
    """The build manager is not found, so that nothing can be reported."""


class BuildFindings:
    """The diagnostics of the files of a build."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._here = os.getcwd()
        self._stored: StoredDiagnostics | None = None
        self._manager: BuildManager | None = None
        self._tries = 0
        self._printed: set[str] = set()
        self.modules: Mapping[str, MypyFile] = {}

    @property
    def manager(self) -> BuildManager | None:
        """The build manager, None before there is a build."""
        if self._manager is None and self._tries < _TRIES:
            self._tries += 1
            self._manager = surfaces.manager_of(self._options)
        return self._manager

    def prepare(self) -> None:
        """Compute the findings before the worker processes of mypy start, if there are any.

        Raises `NoBuildError`.
        """
        manager = self.manager
        if manager is None:
            raise NoBuildError("the build of this mypy is not found")
        if ADAPTER.has_workers(manager):
            self.of("")
            if not ADAPTER.calls_after_check:
                surfaces.print_message(manager, _NO_WORKERS, "warning")

    def forget(self) -> None:
        """Discard the findings, because files have changed."""
        self._stored = None

    def of(self, path: str) -> list[Diagnostic]:
        """The diagnostics of a file."""
        return self._all().of(self._location(path))

    def digest(self, path: str) -> str:
        """A digest of the diagnostics of a file; empty if there are none."""
        return self._all().digest(self._location(path))

    def _location(self, path: str) -> str:
        return os.path.normpath(os.path.join(self._here, path))

    def _all(self) -> StoredDiagnostics:
        if self._stored is None:
            self._stored = StoredDiagnostics()
            self._stored = self._compute()
        return self._stored

    def _compute(self) -> StoredDiagnostics:
        manager = self.manager
        if manager is None:
            return StoredDiagnostics()
        paths = surfaces.sources(manager)
        if self._options.fine_grained_incremental:
            # The sources of the build are those at the start of the daemon.
            built = (file.path for file in self.modules.values())
            paths += [path for path in built if not surfaces.is_foreign(path)]
        overlay = self._overlay(manager)
        if os.path.abspath(surfaces.NO_FILE) in overlay:
            paths.append(surfaces.NO_FILE)
        folder = surfaces.cache_folder(self._options)
        snapshot = Snapshot(folder, paths) if folder and not overlay else None
        loaded = snapshot.load() if snapshot else None
        if loaded is not None:
            return loaded
        from namecheck_mypy.checking import SettingsError, check

        try:
            checked = check(paths, overlay, folder)
        except (SettingsError, TableError) as error:
            self._print(manager, str(error))
            return StoredDiagnostics()
        stored = StoredDiagnostics.of_diagnostics(checked.diagnostics)
        if snapshot is not None:
            snapshot.save(stored, checked.files, checked.folders)
        return stored

    def _print(self, manager: BuildManager, text: str) -> None:
        """Print an error of the settings, once in a run and once in each update of a daemon."""
        if self._options.fine_grained_incremental:
            surfaces.add_message(manager, text)
        if text not in self._printed:
            self._printed.add(text)
            surfaces.print_message(manager, text, "error")

    def _overlay(self, manager: BuildManager) -> dict[str, bytes]:
        """The contents of files, by absolute path, that differ from those on the disk."""
        from namecheck.core import regular_files

        overlay = {}
        for path, shadow in surfaces.shadows(self._options).items():
            overlay[os.path.abspath(path)] = regular_files.contents(shadow)
        for text in surfaces.texts(manager):
            overlay[os.path.abspath(surfaces.NO_FILE)] = text
        return overlay
