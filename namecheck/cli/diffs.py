"""Prints changes of files as a unified diff that `git apply` and `patch -p1` accept."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

from namecheck.cli.console import painter

if TYPE_CHECKING:
    from namecheck.editing.documents import Document


def show(changes: Iterable[tuple[str, Document, Document]], color: str | None) -> None:
    """Print the changes of files, each with its path: byte for byte, unless people read them."""
    from namecheck.editing.differences import unified
    from namecheck.report.changes import diff_line
    from namecheck.report.frame import visible

    paint = painter(color)
    seen = paint.colored or sys.stdout.isatty()
    sys.stdout.flush()
    for path, before, after in changes:
        for line in unified(before, after, _from_here(path)):
            if seen:
                parts = line.decode(before.encoding, "replace").removesuffix("\r").split("\t")
                print(diff_line("\t".join(map(visible, parts)), paint))
            else:
                sys.stdout.buffer.write(line + b"\n")
    sys.stdout.buffer.flush()


def _from_here(path: str) -> str:
    """A path relative to the working folder, where tools apply a diff."""
    here = os.path.join(os.getcwd(), "")
    return os.path.normpath(path).removeprefix(here)
