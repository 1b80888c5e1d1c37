"""The snippets of the pages about continuous integration, and the shell steps in them."""

from __future__ import annotations

import os
import re
import stat
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from ruamel.yaml import YAML

ROOT: Final = Path(__file__).parents[2]
ACTION: Final = ROOT / ".github" / "actions" / "namecheck" / "action.yml"
TEMPLATE: Final = ROOT / ".gitlab" / "namecheck.yml"
PAGES: Final = (ROOT / "docs" / "ci.md", ROOT / "docs" / "mypy.md")

_BLOCK: Final = re.compile(r"^```yaml\n# (?P<path>[^\n]+)\n(?P<text>.*?)^```$", re.M | re.S)
_EXPRESSION: Final = re.compile(r"\$\{\{\s*([\w.-]+)\s*\}\}")


class Snippet(NamedTuple):
    """A block of YAML on a page; its first line names the file that it belongs into."""

    page: str
    path: str
    text: str

    @property
    def content(self) -> Any:
        """The parsed text."""
        return YAML(typ="safe").load(self.text)


def snippets() -> Iterator[Snippet]:
    """All blocks of YAML of the pages."""
    for page in PAGES:
        text = page.read_text("utf-8")
        found = [Snippet(page.name, *block.groups()) for block in _BLOCK.finditer(text)]
        assert len(found) == text.count("```yaml"), f"{page}: a block names no file"
        yield from found


def action() -> Any:
    """The contents of the action."""
    return YAML(typ="safe").load(ACTION.read_text("utf-8"))


def filled(text: str, values: Mapping[str, str]) -> str:
    """A text with its expressions (``${{ inputs.paths }}``) replaced."""
    return _EXPRESSION.sub(lambda found: values[found[1]], text)


def program(path: Path, text: str) -> None:
    """Write a program."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def programs(folder: Path) -> Path:
    """A folder with `namecheck` of this checkout, and a `pip` that only notes its arguments."""
    program(folder / "namecheck", f'#!/bin/sh\nexec "{sys.executable}" -m namecheck "$@"\n')
    program(folder / "pip", f'#!/bin/sh\necho "$@" >> "{folder}/pip.txt"\n')
    return folder


def shell(
    script: str, cwd: Path, path: Path, environment: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    """Run a step as GitHub does with ``shell: bash``; `path` has further programs."""
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
        cwd=cwd,
        env={
            "PATH": f"{path}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
            **environment,
        },
        capture_output=True,
        text=True,
        check=False,
    )
