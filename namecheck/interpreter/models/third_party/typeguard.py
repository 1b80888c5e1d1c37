"""typeguard: its decorator returns a function unchanged."""

from __future__ import annotations

from namecheck.interpreter.models.registry import transparent

transparent("typeguard.typechecked", when_called=True)
