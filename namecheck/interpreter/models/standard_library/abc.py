"""abc: ``abstractmethod`` and its like leave a function what it was."""

from __future__ import annotations

from namecheck.interpreter.models.registry import transparent

transparent("abc.*")
