"""The recorded bugs of released packages: `bugs.toml` has facts about them, and none of their code.

A bug is a mistake about dims that one release of a package has and the next that is named lacks.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

FILE: Final = Path(__file__).parent / "bugs.toml"


@dataclass(frozen=True, slots=True)
class Bug:
    """One bug: `before` is the release that has it, `after` the one in which it is corrected.

    `file` is relative to the root of the package's archive, and `line` the line of the mistake in
    the release before. `fact` is what is wrong, in our words, and `source` what names the
    correction. `signatures` has the annotations that a user would write, as `annotated` reads
    them; `signatures_after` those of the later release, where they differ. `missed` says why
    namecheck does not find the bug, and is empty where it does.
    """

    package: str
    before: str
    after: str
    file: str
    line: int
    fact: str
    source: str
    signatures: Mapping[str, Mapping[str, str]]
    file_after: str = ""
    signatures_after: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    missed: str = ""

    @property
    def title(self) -> str:
        """The package with its release, and the place of the bug."""
        return f"{self.package} {self.before} {self.file}:{self.line}"


def stored() -> list[Bug]:
    """The bugs of `bugs.toml`."""
    return list(parsed(FILE.read_text("utf-8")))


def parsed(text: str) -> Iterator[Bug]:
    """The bugs in a text; raises `TypeError` for an unknown or a missing key."""
    entries: list[dict[str, Any]] = tomllib.loads(text).get("bugs", [])
    for entry in entries:
        yield Bug(**entry)
