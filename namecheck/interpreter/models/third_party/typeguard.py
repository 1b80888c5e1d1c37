"""typeguard: its decorator leaves a function what it was."""

from __future__ import annotations

from namecheck.interpreter.models.registry import transparent

transparent("typeguard.typechecked", when_called=True)
