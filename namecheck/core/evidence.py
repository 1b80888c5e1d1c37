"""What names dimensions: declarations alone, or also what the code computes with."""

from __future__ import annotations

import enum


class Evidence(enum.Enum):
    """Which evidence for names an analysis follows (docs/evidence.md)."""

    DECLARED = "declared"
    OBSERVED = "observed"
