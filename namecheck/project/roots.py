"""The path of a file from the folder of its settings: the same in whichever folder a run starts."""

from __future__ import annotations

import os
from collections.abc import Sequence

from namecheck.project import paths
from namecheck.project import settings as configuration
from namecheck.project.settings import Settings, SettingsError
from namecheck.project.tasks import Entry


class Roots:
    """The settings of the files of a run, and of those that it reports about besides."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self._settings = {entry.location: entry.settings for entry in entries}

    def settings(self, filename: str) -> Settings:
        """The settings of a file: those of the run, else those above the file."""
        location = os.path.abspath(filename)
        if location not in self._settings:
            try:
                above = configuration.above(os.path.dirname(location))
            except SettingsError:  # of a file that the run does not check
                above = Settings()
            self._settings[location] = above
        return self._settings[location]

    def all_settings(self) -> list[Settings]:
        """The settings of all files of the run, each once."""
        return list({id(settings): settings for settings in self._settings.values()}.values())

    def baseline(self, filename: str) -> str | None:
        """The absolute path of the baseline of a file; settings spell it in several ways."""
        baseline = self.settings(filename).baseline
        return None if baseline is None else os.path.abspath(baseline)

    def path(self, filename: str) -> str:
        """The path of a file from the folder of its settings, with slashes on every system."""
        root = os.path.abspath(self.settings(filename).root)
        return paths.relative(root, os.path.abspath(filename))
