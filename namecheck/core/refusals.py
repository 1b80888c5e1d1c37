"""The reasons for which a tried fix is not offered."""

from __future__ import annotations

import enum

from namecheck.core.dataclasses import dataclass
from namecheck.core.findings import Finding, Fix


class Reason(enum.Enum):
    """The reason against a fix; the value is the word for programs."""

    CLASHES = "clashes"
    UNWRITABLE = "unwritable"
    UNPARSABLE = "unparsable"
    STAYS = "stays"
    BRINGS = "brings"
    OBSCURES = "obscures"
    AMBIGUOUS = "ambiguous"
    TOO_LONG = "too-long"


@dataclass(frozen=True, slots=True)
class Refusal:
    """A fix that was tried and refused; `findings` are those that it would cause."""

    fix: Fix
    reason: Reason
    findings: tuple[Finding, ...] = ()
