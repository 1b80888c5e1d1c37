"""abc: ``abstractmethod`` and the like return the function unchanged."""

from __future__ import annotations

from namecheck.interpreter.models.registry import transparent

transparent("abc.*")
