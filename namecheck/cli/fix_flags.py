"""``namecheck check --fix`` and what goes with it: fixes shown, written, or printed as a diff."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

from namecheck.cli import diffs
from namecheck.cli.console import CLEAN, FOUND, Usage, painter

if TYPE_CHECKING:
    from namecheck.core.findings import Finding, Fix
    from namecheck.core.refusals import Refusal
    from namecheck.fixing.rounds import Change, Mending
    from namecheck.project import Entry, Result
    from namecheck.project.cache import Cache
    from namecheck.project.settings import Settings

# How many bytes are checked again for the fixes that are shown with findings: one or two seconds'
# work, and more where a program reads them.
_SHOWN: Final = 200_000
_SHOWN_TO_PROGRAMS: Final = 2_000_000


# The output formats that have room for refused fixes.
_EXPLAINING: Final = ("full", "json")


class Run(NamedTuple):
    """A run of `check`: its files, what came of it, and how that is told.

    The `cache` holds for the files as they are on the disk, and as they were before anything is
    written. `given` is what came from standard input, by the name that it has; `summary` is the
    last line, where fixes have one of their own, and `failed` tells that some could not be written.
    With `explain` refused fixes are shown; `undone` has the findings that the fixes of a file
    would have brought, `unsafe` tells that unsafe fixes were wanted too.
    """

    entries: Sequence[Entry]
    result: Result
    settings: Settings
    cache: Cache | None = None
    given: Mapping[str, bytes] = MappingProxyType({})
    summary: str = ""
    failed: bool = False
    explain: bool = False
    unsafe: bool = False
    undone: Mapping[str, tuple[Finding, ...]] = MappingProxyType({})

    def joined(self, name: str, data: bytes, found: Settings, result: Result) -> Run:
        """The run with standard input among its files."""
        from namecheck.project import Entry

        entry = Entry(name, os.path.abspath(name), found, len(data), True)
        others = [one for one in self.entries if one.location != entry.location]
        return self._replace(
            entries=[*others, entry],
            result=self.result.joined(result),
            given={name: data},
            cache=None,
        )

    @property
    def held(self) -> Mapping[str, bytes]:
        """Standard input by its location."""
        return {os.path.abspath(name): data for name, data in self.given.items()}


def add_flags(verb: argparse.ArgumentParser) -> None:
    """The flags of fixes."""
    verb.add_argument("--fix", action="store_true", help="write the fixes that are safe")
    verb.add_argument(
        "--unsafe-fixes",
        action="store_true",
        help="with --fix or --diff: also those that guess, or change what is computed",
    )
    verb.add_argument(
        "--diff",
        action="store_true",
        help="write nothing, print what would change; exit 1 if anything would",
    )
    verb.add_argument(
        "--explain",
        action="store_true",
        help="with each finding, list the fixes that were tried, and why each was refused",
    )
    verb.add_argument(
        "--add-ignore",
        action="store_true",
        help="suppress what is left by comments: # namecheck: ignore[CODE]",
    )


def are_wanted(arguments: argparse.Namespace) -> bool:
    """Whether files are to be changed, or the changes to be shown."""
    return bool(arguments.fix or arguments.diff or arguments.add_ignore)


def hold_sensible(arguments: argparse.Namespace, output_format: str) -> None:
    """Hold that the flags go together; raises `Usage`."""
    if arguments.unsafe_fixes and not (arguments.fix or arguments.diff):
        raise Usage("--unsafe-fixes goes with --fix or --diff")
    if arguments.statistics and are_wanted(arguments):
        raise Usage("--statistics does not go with fixes")
    if arguments.explain and output_format not in _EXPLAINING:
        raise Usage("--explain goes with the output formats full and json")


class Offered(NamedTuple):
    """The fixes that are shown with findings; `refusals` where those are asked for."""

    fixes: Mapping[Finding, Fix] = MappingProxyType({})
    refusals: Mapping[Finding, Sequence[Refusal]] | None = None


def offered(run: Run) -> Offered:
    """The fixes that are shown with the findings; a note tells of those that were not tried."""
    if not run.result.errors:
        return Offered()
    if run.explain:
        return _explained(run)
    from namecheck.fixing import offers
    from namecheck.report.wording import counted

    limit = _SHOWN_TO_PROGRAMS if run.settings.output_format == "json" else _SHOWN
    offer = offers.offer(run.entries, run.result.findings, limit, run.held, run.cache)
    if offer.untried:
        more = counted(offer.untried, "more finding")
        print(f"namecheck: fixes were not tried for {more}; --diff tries all", file=sys.stderr)
    return Offered(offer.fixes)


def _explained(run: Run) -> Offered:
    """All fixes of the findings, tried anew; those of files that `--fix` undid are refused."""
    from namecheck.core.refusals import Reason, Refusal
    from namecheck.fixing import offers

    fixes, refusals = offers.explain(run.entries, run.result.findings, run.held)
    undone = {
        finding: Refusal(fix, Reason.BRINGS, run.undone[finding.filename])
        for finding, fix in fixes.items()
        if finding.filename in run.undone and (fix.safe or run.unsafe)
    }
    return Offered(
        {finding: fix for finding, fix in fixes.items() if finding not in undone},
        {
            finding: (*tried, undone[finding]) if finding in undone else tried
            for finding, tried in refusals.items()
        },
    )


def mended(run: Run, arguments: argparse.Namespace) -> Mending:
    """What fixes make of a run; nothing is written yet."""
    from namecheck.fixing import rounds

    wishes = rounds.Wishes(
        safe=arguments.fix or not arguments.add_ignore,
        unsafe=arguments.unsafe_fixes,
        ignores=arguments.add_ignore,
    )
    return rounds.mend(run.entries, run.result.findings, wishes, run.held)


def show(run: Run, found: Mending) -> int:
    """Print the changes as a unified diff; returns the exit status."""
    from namecheck.report import changes

    diffs.show(
        ((change.path, change.before, change.after) for change in found.changes),
        run.settings.color,
    )
    told = changes.summary(
        found.fixed, found.ignored, len(found.left), found.unsafe, tense="would be "
    )
    if run.explain:
        _explain_left(run, found)
    print(told, file=sys.stderr)
    return FOUND if found.changes else CLEAN


def _explain_left(run: Run, found: Mending) -> None:
    """Print what the changes would leave, with the refused fixes, on standard error."""
    from namecheck import report

    given = {**run.given, **{change.path: change.after.data for change in found.changes}}
    after = run._replace(
        result=run.result.replaced(found.left), given=given, cache=None, undone=found.undone
    )
    fixes, refusals = offered(after)
    paint = painter(run.settings.color, sys.stderr)
    for text in report.full(found.left, report.reader(given), paint, fixes, refusals):
        print(text, file=sys.stderr)


def write(run: Run, found: Mending) -> Run:
    """Write the changes, print standard input as it is now; returns what there is to tell then."""
    from namecheck.report import changes

    given = dict(run.given)
    failed = [change for change in found.changes if not _is_written(change, given)]
    sys.stdout.flush()
    for data in given.values():
        sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()
    left, fixed, ignored = found.left, found.fixed, found.ignored
    if failed:
        left = _errors_now(run, given)
        fixed, ignored = max(run.result.errors - len(left) - ignored, 0), ignored
    told = changes.summary(fixed, ignored, len(left), found.unsafe)
    result = run.result.replaced(left)
    return run._replace(
        result=result,
        given=given,
        summary=told,
        failed=bool(failed),
        cache=None,
        undone=found.undone,
    )


def _is_written(change: Change, given: dict[str, bytes]) -> bool:
    """Write one change; what cannot be written is told, and stays as it was."""
    from namecheck.editing.documents import CannotWrite

    if change.path in given:
        given[change.path] = change.after.data
        return True
    try:
        change.before.write(change.after.data)
    except CannotWrite as error:
        print(f"namecheck: not fixed: {error}", file=sys.stderr)
        return False
    return True


def _errors_now(run: Run, given: Mapping[str, bytes]) -> tuple[Finding, ...]:
    """What is found in the files as they have been written."""
    from namecheck.fixing.trials import Trials

    trials = Trials(run.entries)
    trials.held.update({os.path.abspath(name): data for name, data in given.items()})
    return trials.findings(trials.everywhere, {})
