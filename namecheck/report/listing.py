"""The findings of a run with all facts that an output format may print."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, TypeAlias

from namecheck.core import regular_files, syntax
from namecheck.core.dataclasses import dataclass, field
from namecheck.core.findings import Finding, Fix
from namecheck.core.syntax import Refused
from namecheck.report.painter import Painter

if TYPE_CHECKING:
    from namecheck.core.refusals import Refusal
    from namecheck.interpreter.workspace.statistics import Statistics

Reader: TypeAlias = Callable[[str], Sequence[str]]
"""Returns the lines of a file, none where it cannot be read."""

Refusals: TypeAlias = "Mapping[Finding, Sequence[Refusal]]"
"""The fixes that were tried for findings and refused."""

NO_FIXES: Final[Mapping[Finding, Fix]] = MappingProxyType({})


@dataclass(frozen=True)
class Listing:
    """A run of `namecheck check`, ready to be printed.

    `summary` is the last line, empty where the run is not complete; `unparsed` is the number of
    files that name no dimension and were not parsed; `refusals` is None where refused fixes were
    not requested. `path_in_project` returns the path of a file from the folder of its settings. It
    would have taken too much to try the fixes of `untried` findings.
    """

    findings: Sequence[Finding]
    file_count: int
    reader: Reader
    paint: Painter
    fixes: Mapping[Finding, Fix] = field(default_factory=dict)
    refusals: Refusals | None = None
    summary: str = ""
    unparsed: int = 0
    statistics: Statistics | None = None
    path_in_project: Callable[[str], str] = str
    untried: Collection[Finding] = ()


def reader(overlay: Mapping[str, bytes]) -> Reader:
    """Reads the lines of files, each once; `overlay` has those that are not on the disk."""

    @cache
    def lines(filename: str) -> Sequence[str]:
        try:
            data = overlay[filename] if filename in overlay else regular_files.contents(filename)
            return syntax.decode(data, filename).split("\n")
        except OSError:
            return ()
        except Refused:
            return data.decode("utf-8", "replace").replace("\r\n", "\n").split("\n")

    return lines
