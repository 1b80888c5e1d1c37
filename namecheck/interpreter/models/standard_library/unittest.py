"""unittest: its decorators return a test unchanged."""

from __future__ import annotations

from namecheck.interpreter.models.registry import transparent

transparent("unittest.*")
