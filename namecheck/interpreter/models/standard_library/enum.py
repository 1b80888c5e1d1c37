"""enum: ``unique`` returns the class. `evaluation.classes` makes the members of enums."""

from __future__ import annotations

from namecheck.interpreter.models.registry import transparent

transparent("enum.unique")
