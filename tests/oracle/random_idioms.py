"""Templates of pieces of random programs: common idioms of Python code.

They are in idioms.txt, separated by ``---``: ``{x}`` and ``{y}`` are tensors, ``{a}`` and ``{b}``
names of `x`, ``{k}`` a name that `x` does not have; ``{f}`` is new in each piece; ``{on_p}`` is an
operation on `p`, which is `x`; ``{flag}`` is a flag or a test of `x`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

TEMPLATES: Final = tuple(
    (Path(__file__).parent / "idioms.txt").read_text("utf-8").rstrip("\n").split("\n---\n")
)
