"""beartype: its decorators leave a function what it was."""

from __future__ import annotations

from namecheck.interpreter.models.registry import transparent

transparent("beartype.*", when_called=True)
