"""Declares a function as a fix: ``@fix(…)`` lists the codes of its findings, and its examples."""

from __future__ import annotations

import enum
import textwrap
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeAlias

from namecheck.core.dataclasses import dataclass
from namecheck.core.findings import Edit, Finding, Fix

if TYPE_CHECKING:
    from namecheck.editing.sites import Site


class Safety(enum.Enum):
    """When a fix is safe, so that ``--fix`` writes it without ``--unsafe-fixes``.

    A fix is safe where it does not change what the program computes (``ALWAYS``), or where the
    program cannot run past the finding, whoever calls it, and the fix has a single meaning: where
    the names of the operands are settled (``SETTLED``, see `Facts.settled`).
    """

    ALWAYS = "always"
    SETTLED = "settled"
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class Proposal:
    """Edits that may remove a finding, and a sentence that describes them.

    A proposal that is not `certain` is unsafe, even if the names of the operands are settled.
    """

    message: str
    edits: tuple[Edit, ...]
    certain: bool = True


Propose: TypeAlias = "Callable[[Finding, Site], Iterator[Proposal]]"


@dataclass(frozen=True, slots=True)
class Example:
    """A program with a finding, and the program after the fix: the fix's test.

    `code` is that of the finding; by default the only code of the fix. `safe` says whether the fix
    is safe in this program. `semantics`, `torch` and `evidence` are the settings of these names.
    """

    before: str
    after: str
    code: str = ""
    safe: bool = False
    semantics: str = "namecheck"
    torch: str = ""
    evidence: str = "declared"

    @property
    def programs(self) -> tuple[str, str]:
        """The two programs, without their indentation in the file of the fix."""
        before, after = (textwrap.dedent(text).lstrip("\n") for text in (self.before, self.after))
        return before, after


@dataclass(frozen=True, slots=True, eq=False)
class Fixer:
    """One declared fix.

    `codes` are those of the findings that it may remove; of the fixes for one code those with lower
    `precedence` are tried first. A fix that `searches` tries many ways: it is used for the original
    finding only, never for one that appears after another fix.
    """

    name: str
    codes: tuple[str, ...]
    safety: Safety
    examples: tuple[Example, ...]
    precedence: int
    searches: bool
    summary: str
    propose: Propose

    def fixes(self, finding: Finding, site: Site) -> Iterator[Fix]:
        """The proposals for a finding; a trial decides which of them holds."""
        for proposal in self.propose(finding, site):
            yield Fix(proposal.message, self._is_safe(finding, proposal), proposal.edits)

    def _is_safe(self, finding: Finding, proposal: Proposal) -> bool:
        if self.safety is Safety.SETTLED:
            return proposal.certain and finding.facts is not None and finding.facts.settled
        return self.safety is Safety.ALWAYS


def fix(
    *serves: str,
    safety: Safety,
    examples: tuple[Example, ...],
    precedence: int = 0,
    searches: bool = False,
) -> Callable[[Propose], Fixer]:
    """Declare a function as the fix of its module.

    ``namecheck rule CODE`` prints the first sentence of its docstring.
    """

    def declare(propose: Propose) -> Fixer:
        name = propose.__module__.rpartition(".")[2]
        first = (propose.__doc__ or "").split("\n\n")[0]
        summary = " ".join(first.split()).replace("``", "`")
        return Fixer(name, serves, safety, examples, precedence, searches, summary, propose)

    return declare
