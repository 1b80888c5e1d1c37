"""The daemon: findings follow each edit, in files that mypy does not look at again too.

An update of the daemon forgets all errors, checks again what has changed and what depends on it,
and then whatever had errors before. The hooks that end a file do not come for all of that, so

* a file that has changed is reported on when it is parsed;
* an error that nobody sees stands in ``torch.version``, a module of a few lines which is therefore
  checked again in the end of each update: then the findings of all other files are told.

Measured with mypy 2.4.1.
"""

from __future__ import annotations

from typing import Final

from mypy.errors import ErrorInfo
from mypy.nodes import MypyFile

from namecheck_mypy import surfaces
from namecheck_mypy.findings import Findings
from namecheck_mypy.reporting import Reporter

_PROBE: Final = "torch.version"


class Daemon:
    """Keeps the errors of a daemon in step with the findings."""

    def __init__(self, findings: Findings, reporter: Reporter) -> None:
        self._findings = findings
        self._reporter = reporter
        self._built = False

    def built(self) -> None:
        """The graph of the build is known: what is parsed from now on has changed."""
        self._built = True
        self._plant()

    def parsed(self, file: MypyFile) -> None:
        """A file was parsed, and is about to be checked."""
        if self._built:
            self._findings.forget()
            self._reporter.report(file)

    def touched(self) -> None:
        """Some type of some file is analysed: if it is the probe's, an update is ending."""
        manager = self._findings.manager
        probe = self._findings.modules.get(_PROBE)
        if not self._built or manager is None or probe is None:
            return
        if manager.errors.file == probe.path:
            self._tell_all()

    def _tell_all(self) -> None:
        self._findings.forget()
        for file in list(self._findings.modules.values()):
            self._reporter.report(file)
        self._plant()

    def _plant(self) -> None:
        """Put the error that nobody sees where it brings us back in the next update."""
        manager = self._findings.manager
        probe = self._findings.modules.get(_PROBE)
        if manager is None or probe is None:
            return
        there = manager.errors.error_info_map.setdefault(probe.path, [])
        if not any(info.target == _PROBE for info in there):
            there.append(_unseen(probe))


def _unseen(probe: MypyFile) -> ErrorInfo:
    unseen = surfaces.info(probe, (1, 1, 1, 1), "note", "", None)
    unseen.target = _PROBE
    unseen.hidden = True
    return unseen
