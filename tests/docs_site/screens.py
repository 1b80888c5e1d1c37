"""What the command prints in a terminal: for the pages as text, for the site as HTML.

A page says ``<!-- screen: check --diff fixtures/tour.py -->`` before a block of text, which then
has the command and what it prints; ``| 1-20`` at the end of the comment keeps these lines of it. A
file that the repository does not have is the nearest program above, in the page itself.
"""

from __future__ import annotations

import html
import io
import os
import re
import shlex
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from unittest.mock import patch

from namecheck.cli import main

ROOT: Final = Path(__file__).parents[2]
CUT: Final = "[…]"
COLUMNS: Final = 84

_MARK: Final = re.compile(r"<!-- screen: (?P<command>.*?)(?: \| (?P<first>\d+)-(?P<last>\d+))? -->")
_SCREEN: Final = re.compile(rf"(?P<mark>^{_MARK.pattern})\n(?:\n```text\n.*?^```\n)?", re.S | re.M)
_PROGRAM: Final = re.compile(r"^```python.*?\n(.*?)^```\n", re.S | re.M)
_STYLE: Final = re.compile(r"\x1b\[([\d;]*)m")


@dataclass(frozen=True, slots=True)
class Screen:
    """A command, and which lines of its output are shown; without a `last` all from `first` on."""

    command: str
    first: int = 1
    last: int | None = None

    @classmethod
    def of(cls, line: str) -> Screen | None:
        """The screen that a line of a page asks for, if it does."""
        match = _MARK.fullmatch(line)
        if match is None:
            return None
        if match["first"] is None:
            return cls(match["command"])
        return cls(match["command"], int(match["first"]), int(match["last"]))

    def output(self, program: str, *, colored: bool = False) -> str:
        """What the command prints; `program` is the nearest one above in the page."""
        arguments = shlex.split(self.command)
        own = [name for name in arguments if name.endswith(".py") and not (ROOT / name).exists()]
        if arguments[0] == "check":
            arguments.append("--no-cache")
        if not own:
            return self._cut(printed(arguments, ROOT, colored=colored))
        with tempfile.TemporaryDirectory() as folder:
            for name in own:
                Path(folder, name).write_text(program, "utf-8")
            return self._cut(printed(arguments, Path(folder), colored=colored))

    def _cut(self, output: str) -> str:
        every = output.rstrip("\n").split("\n")
        kept = every[self.first - 1 : self.last]
        if kept[0] != every[0]:
            kept.insert(0, CUT)
        if kept[-1] != every[-1]:
            kept.append(CUT)
        return "\n".join(kept)


def with_screens(page: str) -> str:
    """A page with what its screens print now."""

    def block(match: re.Match[str]) -> str:
        screen = Screen.of(match["mark"])
        assert screen is not None
        programs = _PROGRAM.findall(page, 0, match.start())
        output = screen.output(programs[-1] if programs else "")
        return f"{match['mark']}\n\n```text\n$ namecheck {screen.command}\n{output}\n```\n"

    return _SCREEN.sub(block, page)


class Terminal(io.TextIOWrapper):
    """An output that the command takes for a terminal, and folds its lines for."""

    def isatty(self) -> bool:
        return True


def printed(arguments: Sequence[str], folder: Path, *, colored: bool = False) -> str:
    """What ``namecheck`` prints in a terminal in a folder; its exit code is 0 or 1.

    It runs in this process: a hundred processes of their own take a minute.
    """
    color = ["--color", "always" if colored else "never"]
    output = Terminal(io.BytesIO(), "utf-8", newline="\n")
    with (
        chdir(folder),
        redirect_stdout(output),
        redirect_stderr(io.StringIO()),
        patch.dict(os.environ, COLUMNS=str(COLUMNS)),
    ):
        status = main.main([*arguments, *color])
    if status not in (0, 1):
        raise RuntimeError(f"namecheck {' '.join(arguments)} ends with exit code {status}")
    output.flush()
    output.seek(0)
    return output.read()


def as_html(command: str, output: str) -> str:
    """A terminal with a command and its output, as one block of HTML."""
    prompt = f'<span class="prompt">$</span> <span class="command">{html.escape(command)}</span>'
    body = "\n".join([prompt, *_spans(output.rstrip("\n"))])
    return f'<pre class="screen" tabindex="0"><code>{body}</code></pre>'


def _spans(output: str) -> Iterator[str]:
    """The lines of an output; its styles as classes."""
    style = ""
    for line in output.split("\n"):
        spans = []
        for index, part in enumerate(_STYLE.split(line)):
            if index % 2:
                style = _classes(part)
            elif part and style:
                spans.append(f'<span class="{style}">{html.escape(part)}</span>')
            else:
                spans.append(html.escape(part))
        yield "".join(spans)


def _classes(codes: str) -> str:
    return " ".join(f"ansi-{code}" for code in codes.split(";") if code not in ("", "0"))
