"""The two semantics: namecheck's own, and that of torch 2.12."""

from __future__ import annotations

import enum


class Semantics(enum.Enum):
    """Which semantics rules follow (docs/semantics.md, "Two semantics, one switch")."""

    NAMECHECK = "namecheck"
    NATIVE = "torch-2.12"
