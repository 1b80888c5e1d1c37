"""Findings that are dropped if later code shows that the pattern is deliberate."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Generic, TypeVar

from namecheck.core.findings import Finding

_K = TypeVar("_K", bound=Hashable)


class Doubts(Generic[_K]):
    """One finding for each key, the first one; none for a key that is excused."""

    def __init__(self) -> None:
        self._findings: dict[_K, Finding] = {}
        self._excused: set[_K] = set()

    def add(self, key: _K, finding: Finding) -> None:
        """Add a finding."""
        self._findings.setdefault(key, finding)

    def excuse(self, key: _K) -> None:
        """Drop the finding of a key, whether it is added before or after this."""
        self._excused.add(key)

    def findings(self) -> Iterator[Finding]:
        """The remaining findings, in order."""
        for key, finding in self._findings.items():
            if key not in self._excused:
                yield finding
