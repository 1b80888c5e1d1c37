"""The static side: the interpreter on the source of recorded calls."""

from __future__ import annotations

from collections.abc import Sequence

from namecheck.conformance.cases import Case
from namecheck.conformance.verdicts import Seen
from namecheck.operators import Semantics


def see(cases: Sequence[Case], semantics: Semantics) -> list[Seen]:
    """What the interpreter says of each of these calls, made one after the other in one file."""
    raise NotImplementedError
