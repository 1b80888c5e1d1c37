"""Looks for the recorded bugs of released packages: ``python -m tests.real_code.bugs``.

For each bug of `bugs.toml` both releases are downloaded and unpacked, the annotations are written
into the signatures, and ``namecheck check`` runs on the file, beside the other files of its
package. A bug is found if the release before has a finding on its line. The release after should
have none in the annotated functions. The exit code is 1 if a bug that is recorded as found is not
found, or one that is recorded as missed is, or if the release after is not silent.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.real_code.archives import ArchiveError, download, stored_archive, unpack
from tests.real_code.bugs.records import Bug, stored
from tests.real_code.bugs.signatures import SignatureError, annotated
from tests.real_code.limits import Limits, run_limited
from tests.real_code.outcomes import Place
from tests.real_code.package_check import is_judgement, read_report
from tests.versions.environments import ROOT

_LIMITS: Final = Limits(seconds=120, wall_seconds=600, mebibytes=4096)


class TrialError(Exception):
    """A release could not be checked; the message says why."""


@dataclass(frozen=True, slots=True)
class Trial:
    """The findings on the line of a bug before its correction, and in its functions after it.

    `elsewhere` has the findings before that are in the functions, but on other lines.
    """

    bug: Bug
    before: tuple[Place, ...]
    elsewhere: tuple[Place, ...]
    after: tuple[Place, ...]

    @property
    def is_as_recorded(self) -> bool:
        """Whether the record says what namecheck reports."""
        return bool(self.before) != bool(self.bug.missed) and not self.after


@dataclass(frozen=True, slots=True)
class Campaign:
    """Where the archives are, whether there may be further ones, and the namecheck that checks."""

    archives: Path
    offline: bool
    checkout: Path

    def trial(self, bug: Bug) -> Trial:
        """Check both releases of a bug; raises `TrialError`."""
        before = self._places(bug, bug.before, bug.file, bug.signatures)
        signatures = bug.signatures_after or bug.signatures
        after = self._places(bug, bug.after, bug.file_after or bug.file, signatures)
        return Trial(
            bug,
            tuple(place for place in before if place.line == bug.line),
            tuple(place for place in before if place.line != bug.line),
            after,
        )

    def _places(
        self, bug: Bug, version: str, file: str, signatures: Mapping[str, Mapping[str, str]]
    ) -> tuple[Place, ...]:
        """The findings of a release in the functions with annotations."""
        requirement = f"{bug.package}=={version}"
        with tempfile.TemporaryDirectory(prefix="bugs_") as scratch:
            folder = Path(scratch)
            try:
                unpack(self._archive(requirement), folder)
                path = _file(folder, file)
                result = annotated(path.read_text("utf-8"), signatures)
            except (ArchiveError, SignatureError, SyntaxError, OSError, ValueError) as error:
                raise TrialError(f"{requirement} {file}: {error}") from error
            path.write_text(result.text, "utf-8")
            command = ["check", str(path.relative_to(folder)), "--no-cache", "-j", "1"]
            command += ["--output-format", "concise"]
            ended = run_limited("namecheck", command, _LIMITS, folder, self.checkout)
        if ended.code not in (0, 1):
            raise TrialError(f"{requirement} {file}: exit code {ended.code}: {ended.errors[-500:]}")
        places = filter(is_judgement, read_report(ended.output)[0])
        return tuple(place for place in places if place.line in result.lines)

    def _archive(self, requirement: str) -> Path:
        archive = stored_archive(requirement, self.archives)
        if archive is None and self.offline:
            raise ArchiveError("it is not in the folder of archives")
        return archive or download(requirement, self.archives, sources=True)


def _file(folder: Path, file: str) -> Path:
    """A file of an unpacked archive; a source distribution has a folder around its files."""
    for path in (folder / file, *sorted(folder.glob(f"*/{file}"))):
        if path.is_file():
            return path
    raise TrialError(f"there is no {file}")


def table(trials: Sequence[Trial]) -> Iterator[str]:
    """The bugs with what was reported of them, and the figures."""
    yield "| bug | before | after |"
    yield "| --- | --- | --- |"
    for trial in trials:
        before = ", ".join(place.code for place in trial.before) or "missed"
        after = ", ".join(place.code for place in trial.after) or "silent"
        yield f"| {trial.bug.title} | {before} | {after} |"
    reported = sum(bool(trial.before) for trial in trials)
    silent = sum(not trial.after for trial in trials)
    yield ""
    yield f"{len(trials)} bugs, {reported} reported before, {silent} silent after"


def main(arguments: Sequence[str] | None = None) -> int:
    """Try the bugs, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.real_code.bugs", description=__doc__)
    parser.add_argument("packages", metavar="PACKAGE", nargs="*", help="only bugs of these")
    parser.add_argument(
        "--archives", metavar="FOLDER", type=Path, required=True, help="where archives are kept"
    )
    parser.add_argument("--offline", action="store_true", help="download nothing")
    parser.add_argument("--checkout", type=Path, default=ROOT, help="the namecheck that checks")
    options = parser.parse_args(arguments)
    archives: Path = options.archives.resolve()
    archives.mkdir(parents=True, exist_ok=True)
    campaign = Campaign(archives, options.offline, options.checkout.resolve())
    trials: list[Trial] = []
    errors: list[str] = []
    for bug in stored():
        if options.packages and bug.package not in options.packages:
            continue
        try:
            trial = campaign.trial(bug)
        except TrialError as error:
            errors.append(str(error))
            continue
        trials.append(trial)
        for place in (*trial.before, *trial.elsewhere, *trial.after):
            print(f"{bug.package}: {place}")
    print("\n".join(table(trials)))
    changed = [trial.bug.title for trial in trials if not trial.is_as_recorded]
    for line in (*(f"not as recorded: {title}" for title in changed), *errors):
        print(line)
    return int(bool(changed or errors))


if __name__ == "__main__":
    sys.exit(main())
