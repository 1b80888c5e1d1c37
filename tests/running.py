"""Runs the command within the process of a test."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import pytest

from namecheck.cli import main

Run: TypeAlias = Callable[..., tuple[int, str, str]]
"""Runs the command; returns its exit code, its output and its errors."""


def runner(capsys: pytest.CaptureFixture[str], *first: str) -> Run:
    """What runs the command with these `first` arguments, its output captured."""

    def command(*argv: str) -> tuple[int, str, str]:
        capsys.readouterr()
        try:
            status = main.main([*first, *argv])
        except SystemExit as ended:
            status = int(ended.code or 0)
        out, err = capsys.readouterr()
        return status, out, err

    return command
