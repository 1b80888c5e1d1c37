"""The fixes of ``namecheck check``: shown with the findings, written, or printed as a diff."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

from namecheck.cli.console import CLEAN, FOUND, Usage, complain, painter
from namecheck.core.dataclasses import replace

if TYPE_CHECKING:
    from namecheck.core.findings import Finding, Fix
    from namecheck.core.refusals import Refusal
    from namecheck.fixing.rounds import Change, Mending
    from namecheck.project import Entry, Result
    from namecheck.project.cache import Cache
    from namecheck.project.settings import Settings
    from namecheck.report.formats import Format


# How many steps may be spent on fixes that are shown after others were tried to be applied.
_LATER_BUDGET: Final = 300_000


class CheckRun(NamedTuple):
    """A run of `check`: its files and its result.

    The `cache` is valid for the files on the disk, before anything is written. `contents` are those
    that are not on the disk, by their names. `summary` is the last line, if fixes have their own;
    `failed` says that some could not be written. With `explain` refused fixes are shown; `undone`
    has the findings that the fixes of a file would have caused, `unsafe` says that unsafe fixes
    were requested too. `accepted` is the number of findings that a baseline has.
    """

    entries: Sequence[Entry]
    result: Result
    settings: Settings
    cache: Cache | None = None
    contents: Mapping[str, bytes] = MappingProxyType({})
    summary: str = ""
    failed: bool = False
    explain: bool = False
    unsafe: bool = False
    undone: Mapping[str, tuple[Finding, ...]] = MappingProxyType({})
    accepted: int = 0

    def joined(self, name: str, data: bytes, settings: Settings, addition: Result) -> CheckRun:
        """The run with standard input among its files."""
        from namecheck.project import Entry

        entry = Entry(name, os.path.abspath(name), settings, len(data), True)
        others = [one for one in self.entries if one.location != entry.location]
        return self._replace(
            entries=[*others, entry],
            result=self.result.joined(addition),
            contents={name: data},
            cache=None,
        )

    @property
    def overlay(self) -> Mapping[str, bytes]:
        """The contents that are not on the disk, by their locations."""
        return {os.path.abspath(name): data for name, data in self.contents.items()}

    def new(self, findings: Sequence[Finding], overlay: Mapping[str, bytes]) -> tuple[Finding, ...]:
        """The findings that no baseline has; `overlay` has contents that are not on the disk."""
        from namecheck.project.reports import has_baseline

        if not has_baseline(self.entries):
            return tuple(findings)
        from namecheck.project import baseline
        from namecheck.project.roots import Roots
        from namecheck.report.listing import reader

        return baseline.compared(findings, Roots(self.entries), reader(overlay)).findings


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of fixes."""
    parser.add_argument("--fix", action="store_true", help="write the safe fixes")
    parser.add_argument(
        "--unsafe-fixes",
        action="store_true",
        help="with --fix or --diff: also fixes that guess, or that change what is computed",
    )
    parser.add_argument(
        "--diff",
        action="store_true",
        help="write nothing, print what would change; exit 1 if anything would",
    )
    parser.add_argument(
        "--explain",
        action="store_true",
        help="with each finding, list the fixes that were tried, and why each was refused",
    )
    parser.add_argument(
        "--add-ignore",
        action="store_true",
        help="suppress the findings that remain by comments: # namecheck: ignore[CODE]",
    )


def are_wanted(arguments: argparse.Namespace) -> bool:
    """Whether files are to be changed, or changes to be shown."""
    return bool(arguments.fix or arguments.diff or arguments.add_ignore)


def check_flags(arguments: argparse.Namespace, output_formats: Sequence[Format]) -> None:
    """Raise `Usage` for flags that exclude each other."""
    if arguments.unsafe_fixes and not (arguments.fix or arguments.diff):
        raise Usage("--unsafe-fixes goes with --fix or --diff")
    if arguments.shard is not None and are_wanted(arguments):
        raise Usage("--shard does not go with --fix, --diff and --add-ignore")
    if arguments.statistics and are_wanted(arguments):
        raise Usage("--statistics does not go with fixes")
    if arguments.diff and arguments.output:
        raise Usage("--output does not go with --diff, which prints changes and no findings")
    if arguments.explain and not any(each.explains for each in output_formats):
        raise Usage("--explain goes with the output formats that show fixes: full and json")


class Shown(NamedTuple):
    """The fixes that are shown with findings; `refusals` on request, `untried` cost too much."""

    fixes: Mapping[Finding, Fix] = MappingProxyType({})
    refusals: Mapping[Finding, Sequence[Refusal]] | None = None
    untried: Collection[Finding] = ()


def shown(run: CheckRun, budget: int) -> Shown:
    """The fixes that are shown with the findings; a message counts those that were not tried.

    `budget` is how many steps the checks may take that find them.
    """
    if not budget or not run.result.errors:
        return Shown()
    if run.explain:
        return _explained(run)
    from namecheck.fixing import offers
    from namecheck.report.wording import counted

    if run.summary:  # fixes were tried already
        budget = min(budget, _LATER_BUDGET)
    offer = offers.offer(run.entries, run.result.findings, budget, run.overlay, run.cache)
    if offer.untried:
        more = counted(len(offer.untried), "more finding")
        complain(f"fixes were not tried for {more}; --diff tries more")
    return Shown(offer.fixes, None, offer.untried)


def _explained(run: CheckRun) -> Shown:
    """All fixes of the findings, tried again; those of files that `--fix` undid are refused."""
    from namecheck.core.refusals import Reason, Refusal
    from namecheck.fixing import offers

    attempts = offers.explain(run.entries, run.result.findings, run.overlay, run.result.costs)
    fixes = {one: attempt.fix for one, attempt in attempts.items() if attempt.fix is not None}
    untried = frozenset(one for one, attempt in attempts.items() if attempt.given_up)
    complain_of_untried(len(untried))
    undone = {
        finding: Refusal(fix, Reason.BRINGS, run.undone[finding.filename])
        for finding, fix in fixes.items()
        if finding.filename in run.undone and (fix.safe or run.unsafe)
    }
    return Shown(
        {finding: fix for finding, fix in fixes.items() if finding not in undone},
        {
            one: (*attempt.refusals, undone[one]) if one in undone else attempt.refusals
            for one, attempt in attempts.items()
        },
        untried,
    )


def complain_of_untried(count: int) -> None:
    """Say for how many findings it would have taken too much to try their fixes."""
    if count:
        from namecheck.report.wording import counted

        files = "to check their files again takes more steps than it may"
        complain(f"fixes were not tried for {counted(count, 'finding')}: {files}")


def mended(run: CheckRun, arguments: argparse.Namespace) -> Mending:
    """The result of applying fixes to a run; nothing is written yet.

    Fixes are applied to findings that a baseline has, too; `left` are those that it has not.
    """
    from namecheck.fixing import rounds

    wishes = rounds.Wishes(
        safe=arguments.fix or not arguments.add_ignore,
        unsafe=arguments.unsafe_fixes,
        ignores=arguments.add_ignore,
    )
    mending = rounds.mend(run.entries, run.result.findings, wishes, run.overlay, run.result.costs)
    complain_of_untried(mending.untried)
    contents = {change.path: change.after.data for change in mending.changes}
    return replace(mending, left=run.new(mending.left, {**run.contents, **contents}))


def show(run: CheckRun, mending: Mending) -> int:
    """Print the changes as a unified diff; returns the exit status."""
    from namecheck.cli import diffs
    from namecheck.report import changes

    diffs.show(
        ((change.path, change.before, change.after) for change in mending.changes),
        run.settings.color,
    )
    if run.explain:
        _explain_remaining(run, mending)
    ignored = sum(mending.ignored.values())
    summary = changes.summary(
        mending.fixed, ignored, len(mending.left), mending.unsafe, tense="would be "
    )
    print(summary, file=sys.stderr)
    return FOUND if mending.changes else CLEAN


def _explain_remaining(run: CheckRun, mending: Mending) -> None:
    """Print to standard error what the changes would leave, with the refused fixes."""
    from namecheck.report.formats import full
    from namecheck.report.listing import reader

    contents = {**run.contents, **{change.path: change.after.data for change in mending.changes}}
    changed = run._replace(
        result=run.result.replaced(mending.left),
        contents=contents,
        cache=None,
        undone=mending.undone,
    )
    paint = painter(run.settings.color, sys.stderr)
    remaining = _explained(changed)
    fixes, refusals = remaining.fixes, remaining.refusals
    for text in full.texts(mending.left, reader(contents), paint, fixes, refusals):
        print(text, file=sys.stderr)


def write(run: CheckRun, mending: Mending) -> CheckRun:
    """Write the changes and print standard input as changed; returns the run after that."""
    from namecheck.report import changes

    contents = dict(run.contents)
    # A file that a link leads to as well is written under its own name.
    ordered = sorted(mending.changes, key=lambda change: change.linked)
    failed = [change for change in ordered if not _is_written(change, contents)]
    sys.stdout.flush()
    for data in contents.values():
        sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()
    unwritten = {change.path for change in failed}
    ignored = sum(count for path, count in mending.ignored.items() if path not in unwritten)
    remaining, fixed = mending.left, mending.fixed
    if failed:
        remaining = run.new(_errors_now(run, contents), contents)
        fixed = max(run.result.errors - len(remaining) - ignored, 0)
    return run._replace(
        result=run.result.replaced(remaining),
        contents=contents,
        summary=changes.summary(fixed, ignored, len(remaining), mending.unsafe),
        failed=bool(failed),
        cache=None,
        undone=mending.undone,
    )


def _is_written(change: Change, stdin: dict[str, bytes]) -> bool:
    """Write one change; a file that cannot be written is reported and not changed."""
    from namecheck.core.file_replacement import CannotWrite

    if change.path in stdin:
        stdin[change.path] = change.after.data
        return True
    try:
        target = change.before.write(change.after.data, linked=change.linked)
    except CannotWrite as error:
        complain(f"not fixed: {error}")
        return False
    if target not in ("", change.before.location):
        complain(f"wrote {target} through the link {change.path}")
    return True


def _errors_now(run: CheckRun, overlay: Mapping[str, bytes]) -> tuple[Finding, ...]:
    """The findings in the written files."""
    from namecheck.fixing.trials import Trials

    trials = Trials(run.entries)
    trials.overlay.update({os.path.abspath(name): data for name, data in overlay.items()})
    return trials.findings(trials.everywhere, {})
