"""Reports findings as errors of mypy, which shows, ignores and caches them like its own."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterator

from mypy.build import BuildManager
from mypy.errors import ErrorInfo
from mypy.nodes import MypyFile

from namecheck_mypy import surfaces
from namecheck_mypy.diagnostics import NAMES, Diagnostic
from namecheck_mypy.families import family_of
from namecheck_mypy.findings import BuildFindings
from namecheck_mypy.surfaces import ADAPTER


class Reporter:
    """Adds findings to the errors of a build."""

    def __init__(self, build_findings: BuildFindings) -> None:
        self._findings = build_findings
        self._faults: set[str] = set()
        self._silent: set[str] = set()
        self._reported: dict[str, list[ErrorInfo]] = {}

    def report(self, file: MypyFile) -> None:
        """Report all findings of a file, and remove those that were reported before."""
        diagnostics = [it for it in self._findings.of(file.path) if it.severity != NAMES]
        manager = self._findings.manager
        if manager is None:
            return
        if surfaces.is_silent(manager, file.path):
            self._silent.add(file.path)
        if not diagnostics and file.path not in self._reported:
            return
        surfaces.remove(manager, file.path, self._reported.pop(file.path, []))
        if diagnostics and not surfaces.is_flushed(manager, file.path):
            infos = [info for each in diagnostics for info in _infos(manager, file, each)]
            self._reported[file.path] = infos
            surfaces.add(manager, file, infos, silent=file.path in self._silent)

    @property
    def current(self) -> str:
        """The file that mypy is checking."""
        return surfaces.checked_file(self._findings.manager)

    def fault(self, path: str, error: Exception) -> None:
        """Report an exception of namecheck itself, once for each file."""
        if path in self._faults:
            return
        self._faults.add(path)
        frames = traceback.extract_tb(error.__traceback__)
        position = f" (at {frames[-1].name}, line {frames[-1].lineno})" if frames else ""
        text = " ".join(f"{type(error).__name__}: {error}".split()) + position
        manager = self._findings.manager
        on_file = f"namecheck failed on this file: {text}."
        if manager is None or not surfaces.add_note(manager, path, on_file):
            print(f"{path or 'namecheck'}: note: namecheck failed: {text}.", file=sys.stderr)


def _infos(manager: BuildManager, file: MypyFile, diagnostic: Diagnostic) -> Iterator[ErrorInfo]:
    span = diagnostic.line, diagnostic.column, diagnostic.end_line, diagnostic.end_column
    around = ADAPTER.enclosing(manager.errors, file, diagnostic.line)
    code = family_of(diagnostic.code)
    error = ADAPTER.info(file, span, diagnostic.severity, diagnostic.message, code, None, around)
    yield error
    for hint in diagnostic.hints:
        yield ADAPTER.info(file, span, "note", hint, code, error, around)
