"""Updates findings in the mypy daemon after each edit, also in files that mypy does not recheck.

An update of the daemon drops all errors, checks changed files and their dependents again, and
then the files that had errors before. The hook at the end of a file is not called for all of
these, so

* a changed file is reported when it is parsed;
* a hidden error is placed in ``torch.version``, a module of a few lines, which mypy therefore
  checks again at the end of each update: the findings of all other files are reported then.

The same in mypy 1.19 to 2.4.
"""

from __future__ import annotations

from typing import Final

from mypy.nodes import MypyFile

from namecheck_mypy import surfaces
from namecheck_mypy.findings import BuildFindings
from namecheck_mypy.reporting import Reporter

_PROBE: Final = "torch.version"


class Daemon:
    """Keeps the errors of a daemon up to date with the findings."""

    def __init__(self, build_findings: BuildFindings, reporter: Reporter) -> None:
        self._findings = build_findings
        self._reporter = reporter
        self._built = False

    def built(self) -> None:
        """The build graph is complete: files parsed from now on have changed."""
        self._built = True
        self._place_probe()

    def parsed(self, file: MypyFile) -> None:
        """A file was parsed and will be checked."""
        if self._built:
            self._findings.forget()
            self._reporter.report(file)

    def touched(self) -> None:
        """A type is analysed: if it is in the probe module, an update is ending."""
        manager = self._findings.manager
        probe = self._findings.modules.get(_PROBE)
        if not self._built or manager is None or probe is None:
            return
        if surfaces.checked_file(manager) == probe.path:
            self._report_all()

    def _report_all(self) -> None:
        self._findings.forget()
        for file in list(self._findings.modules.values()):
            self._reporter.report(file)
        self._place_probe()

    def _place_probe(self) -> None:
        """Place the hidden error in the probe module, so that the next update calls `touched`."""
        manager = self._findings.manager
        probe = self._findings.modules.get(_PROBE)
        if manager is not None and probe is not None:
            surfaces.add_hidden(manager, probe, _PROBE)
