"""docs/tutorial.md: its steps are followed in a folder, and what they print is written on the page.

- ``<!-- file: NAME -->`` before a block: the block is the file.
- ``<!-- change: NAME -->`` before a diff: the file is changed so. The lines that stay, and those
  that go, are in the file once.
- ``<!-- step: COMMAND -->``: the command is run, and the block of text under it is what it prints;
  ``| 1-20`` at the end keeps these lines.
"""

from __future__ import annotations

import io
import os
import re
import shlex
import tempfile
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Final
from unittest.mock import patch

from namecheck.cli import main
from tests.docs_site.screens import COLUMNS, CUT, Terminal

_PART: Final = re.compile(
    r"^<!-- (?P<kind>file|change): (?P<name>\S+) -->\n\n```\w*\n(?P<text>.*?)^```$"
    r"|^<!-- step: (?P<command>.*?)(?: \| (?P<first>\d+)-(?P<last>\d+))? -->$"
    r"(?P<shown>\n\n```text\n.*?^```$)?",
    re.S | re.M,
)


def tutorial_page(page: str) -> str:
    """The page with what its steps print now."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name, "regression")
        folder.mkdir()
        return followed(page, folder)


def followed(page: str, folder: Path) -> str:
    """Follow the page in a folder; returns it with what its steps print."""
    return _PART.sub(lambda part: _after(part, folder), page)


def _after(part: re.Match[str], folder: Path) -> str:
    """Follow one part of the page; returns it with its output."""
    if part["kind"] == "file":
        (folder / part["name"]).write_text(part["text"], "utf-8")
    elif part["kind"] == "change":
        path = folder / part["name"]
        path.write_text(changed(path.read_text("utf-8"), part["text"]), "utf-8")
    else:
        rows = printed(part["command"], folder).rstrip("\n").split("\n")
        first = int(part["first"] or 1)
        last = int(part["last"] or len(rows))
        before, after = [CUT] * (first > 1), [CUT] * (last < len(rows))
        output = "\n".join([*before, *rows[first - 1 : last], *after])
        mark = part[0].partition("\n")[0]
        return f"{mark}\n\n```text\n$ namecheck {part['command']}\n{output}\n```"
    return part[0]


def changed(text: str, diff: str) -> str:
    """A text with a change made; a blank line of the diff is one of the text."""
    rows = [row or " " for row in diff.rstrip("\n").split("\n")]
    old = "".join(f"{row[1:]}\n" for row in rows if row[0] in " -")
    new = "".join(f"{row[1:]}\n" for row in rows if row[0] in " +")
    assert text.count(old) == 1, f"{text.count(old)} times in the file:\n{old}"
    return text.replace(old, new)


def printed(command: str, folder: Path) -> str:
    """What a command prints in a terminal without colours; its exit code is 0 or 1."""
    output, messages = Terminal(io.BytesIO(), "utf-8", newline="\n"), io.StringIO()
    variables = {"COLUMNS": str(COLUMNS), "NO_COLOR": "1"}
    with (
        chdir(folder),
        redirect_stdout(output),
        redirect_stderr(messages),
        patch.dict(os.environ, variables),
    ):
        status = main.main(shlex.split(command))
    assert status in (0, 1), f"namecheck {command} ends with {status}:\n{messages.getvalue()}"
    output.flush()
    output.seek(0)
    return output.read()
