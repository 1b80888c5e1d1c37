"""beartype: its decorators return a function unchanged."""

from __future__ import annotations

from namecheck.interpreter.models.registry import transparent

transparent("beartype.*", when_called=True)
