"""jaxtyping: its decorator returns a function unchanged."""

from __future__ import annotations

from namecheck.interpreter.models.registry import transparent

transparent("jaxtyping.jaxtyped", when_called=True)
