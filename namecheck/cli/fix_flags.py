"""``namecheck check --fix`` and what goes with it: fixes shown, written, or printed as a diff."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

from namecheck.cli import diffs
from namecheck.cli.console import CLEAN, FOUND, Usage

if TYPE_CHECKING:
    from namecheck.core.findings import Finding, Fix
    from namecheck.fixing.rounds import Change, Mending
    from namecheck.project import Entry, Result
    from namecheck.project.cache import Cache
    from namecheck.project.settings import Settings

# How many bytes are checked again for the fixes that are shown with findings: one or two seconds'
# work, and more where a program reads them.
_SHOWN: Final = 200_000
_SHOWN_TO_PROGRAMS: Final = 2_000_000


class Run(NamedTuple):
    """A run of `check`: its files, what came of it, and how that is told.

    The `cache` holds for the files as they are on the disk, and as they were before anything is
    written. `given` is what came from standard input, by the name that it has; `summary` is the
    last line, where fixes have one of their own, and `failed` tells that some could not be written.
    """

    entries: Sequence[Entry]
    result: Result
    settings: Settings
    cache: Cache | None = None
    given: Mapping[str, bytes] = MappingProxyType({})
    summary: str = ""
    failed: bool = False

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
        "--add-ignore",
        action="store_true",
        help="suppress what is left by comments: # namecheck: ignore[CODE]",
    )


def are_wanted(arguments: argparse.Namespace) -> bool:
    """Whether files are to be changed, or the changes to be shown."""
    return bool(arguments.fix or arguments.diff or arguments.add_ignore)


def hold_sensible(arguments: argparse.Namespace) -> None:
    """Hold that the flags go together; raises `Usage`."""
    if arguments.unsafe_fixes and not (arguments.fix or arguments.diff):
        raise Usage("--unsafe-fixes goes with --fix or --diff")
    if arguments.statistics and are_wanted(arguments):
        raise Usage("--statistics does not go with fixes")


def offered(run: Run) -> Mapping[Finding, Fix]:
    """The fixes that are shown with the findings; a note tells of those that were not tried."""
    if not run.result.errors:
        return {}
    from namecheck.fixing import offers
    from namecheck.report.wording import counted

    limit = _SHOWN_TO_PROGRAMS if run.settings.output_format == "json" else _SHOWN
    found = offers.offer(run.entries, run.result.findings, limit, run.held, run.cache)
    if found.untried:
        more = counted(found.untried, "more finding")
        print(f"namecheck: fixes were not tried for {more}; --diff tries all", file=sys.stderr)
    return found.fixes


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
    print(told, file=sys.stderr)
    return FOUND if found.changes else CLEAN


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
    return run._replace(result=result, given=given, summary=told, failed=bool(failed), cache=None)


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
