"""Programs that fixes change: the examples in the files of the fixes, and fixtures/fixes.

A program of fixtures/fixes has comments at the top with the code that it shows (``# code: NC101``)
and whether its fix is safe (``# fix: unsafe``); ``NAME.fixed.py`` is the fixed program.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from namecheck import fixes
from namecheck.core.semantics import Semantics
from namecheck.fixes.shared.declaration import Fixer
from namecheck.fixing.registry import discover
from namecheck.project import Entry
from namecheck.project.settings import Settings
from tests.fixture_reader import FIXTURES

FOLDER: Final = FIXTURES / "fixes"
_HEADER: Final = re.compile(r"# (code|fix): (.*)")


@dataclass(frozen=True)
class FixedProgram:
    """A program before and after its fixes; `fixer` is the fix whose example it is, if any."""

    name: str
    before: str
    after: str
    code: str
    safe: bool
    semantics: Semantics = Semantics.NAMECHECK
    torch: str = ""
    evidence: str = "declared"
    fixer: Fixer | None = None

    @property
    def path(self) -> Path:
        """The actual or hypothetical path of the program."""
        return FOLDER / f"{self.name}.py"

    @property
    def location(self) -> str:
        return str(self.path)

    @property
    def entry(self) -> Entry:
        """The program as a file of a run."""
        settings = Settings(str(FOLDER), self.semantics, torch=self.torch, evidence=self.evidence)
        return Entry(self.location, self.location, settings, len(self.before), True)


def _examples() -> Iterator[FixedProgram]:
    for fixer in discover(fixes):
        for number, example in enumerate(fixer.examples, 1):
            before, after = example.programs
            yield FixedProgram(
                f"{fixer.name}_{number}",
                before,
                after,
                example.code or fixer.codes[0],
                example.safe,
                Semantics(example.semantics),
                example.torch,
                example.evidence,
                fixer,
            )


def _fixtures() -> Iterator[FixedProgram]:
    for path in sorted(FOLDER.glob("*.fixed.py")):
        name = path.name.removesuffix(".fixed.py")
        before = path.with_name(f"{name}.py").read_text("utf-8")
        header = dict(_HEADER.findall(before))
        safe = {"safe": True, "unsafe": False}[header["fix"]]
        yield FixedProgram(name, before, path.read_text("utf-8"), header["code"], safe)


PROGRAMS: Final = (*_examples(), *_fixtures())
