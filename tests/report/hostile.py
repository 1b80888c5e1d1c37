"""A project whose paths, comments, strings and names try to become markup of a report."""

from __future__ import annotations

from pathlib import Path
from typing import Final

ATTACK: Final = "<img src=x onerror=alert(1)>"

NAMES: Final = (
    f"{ATTACK}.py",
    "a b#1%41?x&amp;<é𝕏>.py",
    "\"onmouseover=alert(1) x='.py",
    "javascript:alert(1).py",
    "-rf.py",
    "tab\tbell\x07esc\x1b[31m.py",
    "\u202eyp.txt.py",
    "{{ 7 * 7 }}{% raw %}.py",
    "index.html.py",
    "undecodable\udcff.py",
)

PROGRAM: Final = '''\
"""</code></div><script>alert("docstring")</script> {{ 7 * 7 }}"""
import torch

# <img src=x onerror=alert("comment")> <!-- ]]> &lt;b&gt; \u202e\u2066 \x0c \ufeff
größe = torch.rand(2, 3, names=("N", "C")); é𝕏 = größe + torch.rand(3, names=("N",))
x = torch.rand(2, names=("<script>alert(1)</script>",))
y = torch.rand(2, names=("onerror",))
y.sum("\\" onmouseover=alert(1) <b>\x7f\\ud800 {{ 7 * 7 }}</script>")
z = f"{größe.sum('C')!r:>{3}} {größe - y}"


def alert(images, text="</div>'\\"><svg onload=alert(1)>"):
    means = images.mean(["C"])
    return means + images


alert(größe)
alert(
    torch.rand(
        4,
        5,
        names=("N", "C"),
    ),
)
'''

BROKEN: Final = "import torch\nx = ('<script>alert(1)</script>'\n"


def write_project(folder: Path) -> None:
    """Write the project, with a file that cannot be parsed and one that cannot be decoded."""
    folder.mkdir()
    (folder / "pyproject.toml").write_text('[project]\nname = "<b>hostile</b>"\n')
    for name in NAMES:
        (folder / name).write_text(PROGRAM, "utf-8", "surrogatepass")
    inner = folder / "<b>" / "a" / ("long" * 40)
    inner.mkdir(parents=True)
    (inner / "empty.py").touch()
    (inner / "plain.py").write_text("# <b>nothing</b> here\n" * 3)
    (inner / "broken.py").write_text(BROKEN)
    (inner / "binary.py").write_bytes(b"import torch\nx = '\xff<script>\xfe'\n")
    (inner / "late.py").write_text("import torch\n" + "\n" * 30 + "x = torch.rand(1).nosuch(")
