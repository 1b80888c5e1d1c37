"""jaxtyping: its decorator leaves a function what it was."""

from __future__ import annotations

from namecheck.interpreter.models.registry import transparent

transparent("jaxtyping.jaxtyped", when_called=True)
