"""A line on the terminal that shows the progress of a long run."""

from __future__ import annotations

import time
from typing import Final, TextIO

PATIENCE: Final = 1.0
"""Seconds of silence before the line appears."""

_EVERY: Final = 0.1


class Progress:
    """Writes ``Checking 1,203 of 2,883 files…`` over itself; nothing without a terminal."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._live = stream.isatty()
        self._next = time.monotonic() + PATIENCE
        self._width = 0

    def __call__(self, done: int, file_count: int) -> None:
        now = time.monotonic()
        if not self._live or now < self._next:
            return
        self._next = now + _EVERY
        text = f"Checking {done:,} of {file_count:,} files…"
        self._width = len(text)
        self._stream.write(f"\r{text}")
        self._stream.flush()

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._width:
            self._stream.write("\r" + " " * self._width + "\r")
            self._stream.flush()
