"""What names dimensions: declarations, what the code computes with, or also what it says."""

from __future__ import annotations

import enum


class Evidence(enum.Enum):
    """Which evidence for names an analysis follows (docs/evidence.md).

    What is claimed, by docstrings, may be wrong: it is shown, and makes no findings.
    """

    DECLARED = "declared"
    OBSERVED = "observed"
    CLAIMED = "claimed"

    def __init__(self, word: str) -> None:
        # The interpreter asks at each expression: attributes are quicker than properties.
        self.is_observed = word != "declared"
        self.is_claimed = word == "claimed"
