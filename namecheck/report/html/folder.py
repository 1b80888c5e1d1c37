"""The folder of a report: plain files beside which there are no others."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from typing import Final

from namecheck.core import regular_files
from namecheck.core.file_replacement import CannotWrite, save
from namecheck.report.html.site import ASSETS, GENERATOR, PAGE_NAME, PAGES, asset

_INDEX: Final = "index.html"
_HEAD: Final = 400


class Folder:
    """A folder that has a report, or will have one; raises `CannotWrite`.

    An existing folder must be empty, or have a report: pages of files that are gone are removed
    from it. No link leads out of it.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        try:
            if os.path.isdir(path) and os.listdir(path) and not self._has_report():
                raise CannotWrite(
                    f"{path}: it has other files, and no report; name a new folder, or an empty one"
                )
            for folder in (path, os.path.join(path, "assets"), os.path.join(path, PAGES)):
                os.makedirs(folder, exist_ok=True)
                if not regular_files.is_inside(folder, path):
                    raise CannotWrite(f"{folder}: it leads out of the folder of the report")
        except OSError as error:
            raise CannotWrite(f"{path}: {regular_files.reason_of(error)}") from error

    def _has_report(self) -> bool:
        try:
            head = regular_files.contents(os.path.join(self.path, _INDEX))[:_HEAD]
        except OSError:
            return False
        return f'content="{GENERATOR} '.encode() in head

    def add_assets(self) -> None:
        """Write the files that all pages share."""
        for name in ASSETS:
            self._write(os.path.join("assets", name), asset(name))

    def add(self, name: str, text: str) -> None:
        """Write a page."""
        self._write(name, text.encode("utf-8", "backslashreplace"))

    def keep(self, page_names: Collection[str]) -> None:
        """Remove the pages of files that the report has no more."""
        for name in self._pages():
            if name not in page_names:
                os.unlink(os.path.join(self.path, PAGES, name))

    def _pages(self) -> Iterable[str]:
        with os.scandir(os.path.join(self.path, PAGES)) as listing:
            return [
                entry.name
                for entry in listing
                if PAGE_NAME.fullmatch(entry.name) and entry.is_file(follow_symlinks=False)
            ]

    def _write(self, name: str, data: bytes) -> None:
        """Write a file, unless it has these contents."""
        path = os.path.join(self.path, name)
        try:
            if os.path.exists(path) and regular_files.contents(path) == data:
                return
        except OSError:
            pass  # `save` says what is wrong
        save(path, data, self.path, lasting=False)
