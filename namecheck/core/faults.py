"""Errors that stop a run before any file is checked, and what gives up a part of a file."""

from __future__ import annotations


class TableError(Exception):
    """An invalid table of operators, or an invalid rule; the message has file, line, reason."""


class LimitError(Exception):
    """An invalid limit in the environment; the message says what is wanted."""


class Exhausted(Exception):
    """The code that is being analysed costs more than it may."""
