"""The findings of one build: found once, when they are first asked for."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final

from mypy.build import BuildManager
from mypy.nodes import MypyFile
from mypy.options import Options

from namecheck.core.faults import TableError
from namecheck_mypy import surfaces
from namecheck_mypy.diagnostics import Diagnostic, Told
from namecheck_mypy.snapshot import Snapshot

# A version of mypy that keeps its build elsewhere is not asked for it again and again.
_TRIES: Final = 20


class Findings:
    """What is to be told of each file of a build."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._here = os.getcwd()
        self._told: Told | None = None
        self._manager: BuildManager | None = None
        self._tries = 0
        self.modules: Mapping[str, MypyFile] = {}

    @property
    def manager(self) -> BuildManager | None:
        """The build, once there is one."""
        if self._manager is None and self._tries < _TRIES:
            self._tries += 1
            self._manager = surfaces.manager_of(self._options)
        return self._manager

    def prepare(self) -> None:
        """Find out, where mypy has processes of its own, before they do."""
        manager = self.manager
        if manager is not None and manager.options.num_workers and not surfaces.is_worker(manager):
            self.of("")

    def forget(self) -> None:
        """Find out again when asked again: files have changed."""
        self._told = None

    def of(self, path: str) -> list[Diagnostic]:
        """What is to be told of a file."""
        return self._all().of(self._location(path))

    def digest(self, path: str) -> str:
        """A word for what is to be told of a file; empty where nothing is."""
        return self._all().digest(self._location(path))

    def _location(self, path: str) -> str:
        return os.path.normpath(os.path.join(self._here, path))

    def _all(self) -> Told:
        if self._told is None:
            self._told = Told()
            self._told = self._found()
        return self._told

    def _found(self) -> Told:
        manager = self.manager
        if manager is None:
            return Told()
        paths = surfaces.sources(manager)
        if self._options.fine_grained_incremental:
            # The sources are those that the daemon began with.
            built = (file.path for file in self.modules.values())
            paths += [path for path in built if not surfaces.is_foreign(path)]
        overlay = self._overlay(manager)
        if os.path.abspath(surfaces.NO_FILE) in overlay:
            paths.append(surfaces.NO_FILE)
        folder = surfaces.cache_folder(self._options)
        snapshot = Snapshot(folder, paths) if folder and not overlay else None
        kept = snapshot.load() if snapshot else None
        if kept is not None:
            return kept
        from namecheck_mypy.checking import SettingsError, check

        try:
            checked = check(paths, overlay, folder)
        except (SettingsError, TableError) as error:
            surfaces.tell(manager, f"{error}", "error")
            return Told()
        told = Told.of_found(checked.told)
        if snapshot is not None:
            snapshot.save(told, checked.files, checked.folders)
        return told

    def _overlay(self, manager: BuildManager) -> dict[str, bytes]:
        """The contents of files, by absolute path, that are not those on the disk."""
        overlay = {}
        for path, shadow in surfaces.shadows(self._options).items():
            with open(shadow, "rb") as file:
                overlay[os.path.abspath(path)] = file.read()
        for text in surfaces.texts(manager):
            overlay[os.path.abspath(surfaces.NO_FILE)] = text
        return overlay
