"""What stops a run before any file is checked."""

from __future__ import annotations


class TableError(Exception):
    """A table of operators, or a rule, that cannot be used; the message has file, line, reason."""
