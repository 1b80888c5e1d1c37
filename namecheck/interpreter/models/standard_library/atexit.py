"""atexit: ``register`` returns the function."""

from __future__ import annotations

from namecheck.interpreter.models.registry import transparent

transparent("atexit.register")
