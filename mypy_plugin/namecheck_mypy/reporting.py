"""Reports findings as errors of mypy, which shows, ignores and caches them like its own."""

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
from namecheck_mypy.findings import BuildFindings


class Reporter:
    """Adds findings to the errors of a build."""

    def __init__(self, options: Options, build_findings: BuildFindings) -> None:
        self._options = options
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
        errors = manager.errors
        if file.path in errors.ignored_files:
            self._silent.add(file.path)
        if not diagnostics and file.path not in self._reported:
            return
        before = self._reported.pop(file.path, [])
        if before and file.path in errors.error_info_map:
            others = [info for info in errors.error_info_map[file.path] if info not in before]
            errors.error_info_map[file.path] = others
        if diagnostics and file.path not in errors.flushed_files:
            self._add(file, diagnostics, errors)

    def _add(self, file: MypyFile, diagnostics: Sequence[Diagnostic], errors: Errors) -> None:
        reported = self._reported.setdefault(file.path, [])
        previous = errors.file, errors.target_module, errors.options, errors.scope
        if errors.file != file.path:
            options = self._options.clone_for_module(file.fullname)
            errors.set_file(file.path, file.fullname, options)
        if file.path not in errors.ignored_lines:
            # An update of the daemon drops the comments of files together with the errors.
            silent = errors.options.ignore_errors or file.path in self._silent
            errors.set_file_ignored_lines(file.path, file.ignored_lines, silent)
        for diagnostic in diagnostics:
            for info in _infos(file, diagnostic):
                reported.append(info)
                errors.add_error_info(info, file=file.path)
        errors.set_file(*previous)

    @property
    def current(self) -> str:
        """The file that mypy is checking."""
        manager = self._findings.manager
        return manager.errors.file if manager else ""

    def fault(self, path: str, error: Exception) -> None:
        """Report an exception of namecheck itself, once for each file."""
        if path in self._faults:
            return
        self._faults.add(path)
        frames = traceback.extract_tb(error.__traceback__)
        position = f" (at {frames[-1].name}, line {frames[-1].lineno})" if frames else ""
        text = " ".join(f"{type(error).__name__}: {error}".split()) + position
        manager = self._findings.manager
        if manager is None or not _accepts(manager.errors, path):
            print(f"{path or 'namecheck'}: note: namecheck failed: {text}.", file=sys.stderr)
            return
        # Not by `report`: mypy drops what is reported while it tries alternatives of an expression.
        text = f"namecheck failed on this file: {text}."
        note = surfaces.info(None, (1, 1, 1, 2), "note", text, None)
        manager.errors.error_info_map.setdefault(path, []).append(note)


def _accepts(errors: Errors, path: str) -> bool:
    """Whether mypy will still show errors of a file that are added now."""
    return path in errors.ignored_lines and path not in (
        errors.ignored_files | errors.flushed_files
    )


def _infos(file: MypyFile, diagnostic: Diagnostic) -> Iterator[ErrorInfo]:
    span = diagnostic.line, diagnostic.column, diagnostic.end_line, diagnostic.end_column
    code = family_of(diagnostic.code)
    error = surfaces.info(file, span, diagnostic.severity, diagnostic.message, code)
    yield error
    for hint in diagnostic.hints:
        yield surfaces.info(file, span, "note", hint, code, error)
