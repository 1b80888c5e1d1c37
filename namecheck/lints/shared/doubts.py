"""Findings that hold unless code further on shows that what they are about is meant so."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Generic, TypeVar

from namecheck.core.findings import Finding

_K = TypeVar("_K", bound=Hashable)


class Doubts(Generic[_K]):
    """One finding under each key, the first one; none under a key that is excused."""

    def __init__(self) -> None:
        self._findings: dict[_K, Finding] = {}
        self._excused: set[_K] = set()

    def add(self, key: _K, finding: Finding) -> None:
        """Enter a finding."""
        self._findings.setdefault(key, finding)

    def excuse(self, key: _K) -> None:
        """Drop the finding under a key, whether it comes before or after this."""
        self._excused.add(key)

    def findings(self) -> Iterator[Finding]:
        """What is left to report, in order."""
        for key, finding in self._findings.items():
            if key not in self._excused:
                yield finding
