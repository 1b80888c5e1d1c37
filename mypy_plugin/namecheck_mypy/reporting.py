"""Findings as errors of mypy: shown, ignored, remembered and told again as its own are."""

from __future__ import annotations

import sys
import traceback

from mypy.nodes import MypyFile
from mypy.options import Options

from namecheck_mypy import surfaces
from namecheck_mypy.diagnostics import Diagnostic
from namecheck_mypy.families import family_of
from namecheck_mypy.findings import Findings


class Reporter:
    """Puts findings among the errors of a build."""

    def __init__(self, options: Options, findings: Findings) -> None:
        self._options = options
        self._findings = findings
        self._faults: set[str] = set()

    def report(self, file: MypyFile) -> None:
        """Tell all that was found in a file."""
        told = self._findings.of(file.path)
        manager = self._findings.manager
        if not told or manager is None:
            return
        errors = manager.errors
        if errors.file != file.path:
            options = self._options.clone_for_module(file.fullname)
            errors.set_file(file.path, file.fullname, options)
        for diagnostic in told:
            self._add(file, diagnostic)

    def _add(self, file: MypyFile, told: Diagnostic) -> None:
        manager = self._findings.manager
        assert manager is not None
        span = told.line, told.column, told.end_line, told.end_column
        code = family_of(told.code)
        error = surfaces.info(file, span, told.severity, told.message, code)
        manager.errors.add_error_info(error, file=file.path)
        for hint in told.hints:
            note = surfaces.info(file, span, "note", hint, code, error)
            manager.errors.add_error_info(note, file=file.path)

    @property
    def current(self) -> str:
        """The file that mypy is at."""
        manager = self._findings.manager
        return manager.errors.file if manager else ""

    def fault(self, path: str, error: Exception) -> None:
        """Tell once for each file that namecheck itself has failed there."""
        if path in self._faults:
            return
        self._faults.add(path)
        frames = traceback.extract_tb(error.__traceback__)
        where = f" (at {frames[-1].name}, line {frames[-1].lineno})" if frames else ""
        text = " ".join(f"{type(error).__name__}: {error}".split()) + where
        manager = self._findings.manager
        if manager is not None and path and path not in manager.errors.flushed_files:
            manager.errors.report(1, 0, f"namecheck failed on this file: {text}.", severity="note")
        else:
            print(f"{path or 'namecheck'}: note: namecheck failed: {text}.", file=sys.stderr)
