"""Whose answers are given: namecheck's own, or those of torch 2.12."""

from __future__ import annotations

import enum


class Semantics(enum.Enum):
    """Whose answers are given (docs/semantics.md, "Two semantics, one switch")."""

    NAMECHECK = "namecheck"
    NATIVE = "torch-2.12"
