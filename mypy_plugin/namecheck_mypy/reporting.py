"""Findings as errors of mypy: shown, ignored, remembered and told again as its own are."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterator, Sequence

from mypy.errors import ErrorInfo, Errors
from mypy.nodes import MypyFile
from mypy.options import Options

from namecheck_mypy import surfaces
from namecheck_mypy.diagnostics import NAMES, Diagnostic
from namecheck_mypy.families import family_of
from namecheck_mypy.findings import Findings


class Reporter:
    """Puts findings among the errors of a build."""

    def __init__(self, options: Options, findings: Findings) -> None:
        self._options = options
        self._findings = findings
        self._faults: set[str] = set()
        self._silent: set[str] = set()
        self._made: dict[str, list[ErrorInfo]] = {}

    def report(self, file: MypyFile) -> None:
        """Tell all that was found in a file, and take back what was told of it before."""
        told = [it for it in self._findings.of(file.path) if it.severity != NAMES]
        manager = self._findings.manager
        if manager is None:
            return
        errors = manager.errors
        if file.path in errors.ignored_files:
            self._silent.add(file.path)
        if not told and file.path not in self._made:
            return
        before = self._made.pop(file.path, [])
        if before and file.path in errors.error_info_map:
            left = [info for info in errors.error_info_map[file.path] if info not in before]
            errors.error_info_map[file.path] = left
        if told and file.path not in errors.flushed_files:
            self._tell(file, told, errors)

    def _tell(self, file: MypyFile, told: Sequence[Diagnostic], errors: Errors) -> None:
        made = self._made.setdefault(file.path, [])
        at = errors.file, errors.target_module, errors.options, errors.scope
        if errors.file != file.path:
            options = self._options.clone_for_module(file.fullname)
            errors.set_file(file.path, file.fullname, options)
        if file.path not in errors.ignored_lines:
            # An update of the daemon forgets the comments of all files with the errors.
            silent = errors.options.ignore_errors or file.path in self._silent
            errors.set_file_ignored_lines(file.path, file.ignored_lines, silent)
        for diagnostic in told:
            for info in _infos(file, diagnostic):
                made.append(info)
                errors.add_error_info(info, file=file.path)
        errors.set_file(*at)

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
        if manager is None or not _takes(manager.errors, path):
            print(f"{path or 'namecheck'}: note: namecheck failed: {text}.", file=sys.stderr)
            return
        # Not by `report`: mypy tries expressions out, and drops what is reported meanwhile.
        text = f"namecheck failed on this file: {text}."
        note = surfaces.info(None, (1, 1, 1, 2), "note", text, None)
        manager.errors.error_info_map.setdefault(path, []).append(note)


def _takes(errors: Errors, path: str) -> bool:
    """Whether what is reported of a file will still be shown."""
    return path in errors.ignored_lines and path not in (
        errors.ignored_files | errors.flushed_files
    )


def _infos(file: MypyFile, told: Diagnostic) -> Iterator[ErrorInfo]:
    span = told.line, told.column, told.end_line, told.end_column
    code = family_of(told.code)
    error = surfaces.info(file, span, told.severity, told.message, code)
    yield error
    for hint in told.hints:
        yield surfaces.info(file, span, "note", hint, code, error)
