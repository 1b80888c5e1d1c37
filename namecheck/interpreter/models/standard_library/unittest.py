"""unittest: its decorators leave a test what it was."""

from __future__ import annotations

from namecheck.interpreter.models.registry import transparent

transparent("unittest.*")
