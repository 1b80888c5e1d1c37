"""Checks released packages: ``python -m tests.real_code.survey PACKAGE… | --from FILE``.

Each package is downloaded without its dependencies, unpacked, and checked in a process of its own
with limits of time and memory. The outcomes are lines of JSON; a survey that is interrupted, even
by kill -9, continues where it was when it is started again; packages without an archive are tried
again. ``--compare`` prints the findings that came and went since other outcomes, or beside those of
another checkout of namecheck.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor, as_completed
from dataclasses import replace
from pathlib import Path
from typing import Final

from namecheck.project.cluster import ClusterError, connected
from tests.real_code import comparison, outcomes, projects, verdicts
from tests.real_code.limits import Limits
from tests.real_code.outcomes import Journal, Outcome, Place
from tests.real_code.package_check import Plan, check_package
from tests.real_code.verdicts import Verdicts

ROOT: Final = Path(__file__).parents[2]
_SLOWEST: Final = 10


def survey(
    packages: Iterable[str], plan: Plan, path: Path, executor: Executor
) -> Iterator[Outcome]:
    """Check the packages of which a file has no outcome yet, and append their outcomes to it."""
    done = {
        package
        for package, outcome in outcomes.read(path).items()
        if outcome.end != outcomes.NO_ARCHIVE
    }
    journal = Journal(path)
    try:
        futures = {
            executor.submit(check_package, package, plan): package
            for package in dict.fromkeys(packages)
            if package not in done
        }
        for future in as_completed(futures):
            outcome = future.result()
            journal.append(outcome)
            yield outcome
    except BaseException:
        executor.shutdown(wait=False, cancel_futures=True)
        raise
    finally:
        journal.close()


def package_names(text: str) -> list[str]:
    """The names in a list: one a line, ``#`` begins a comment."""
    lines = (line.partition("#")[0].strip() for line in text.splitlines())
    return [line for line in lines if line]


def summary(results: Sequence[Outcome], judged: Verdicts) -> Iterator[str]:
    """The figures of a survey, the failures, and the packages that cost most for each line."""
    ends = Counter(outcome.end for outcome in results)
    yield f"{len(results)} packages: " + ", ".join(f"{n} {end}" for end, n in sorted(ends.items()))
    checked = [outcome for outcome in results if outcome.end not in outcomes.UNCHECKED]
    lines = sum(outcome.lines for outcome in checked)
    seconds = sum(outcome.seconds for outcome in checked)
    yield f"{lines:,} lines of files that import torch, {seconds:,.0f} s of processor time"
    findings = [(outcome, place) for outcome in checked for place in outcome.findings]
    words = Counter(
        judged.of(outcome.package, outcome.version, place) or "not judged"
        for outcome, place in findings
    )
    yield ", ".join([f"{len(findings)} findings", *(f"{n} {word}" for word, n in words.items())])
    for outcome, place in unread(results, judged):
        yield f"  {outcome.package} {outcome.version} {place}"
    yield "the slowest, in lines a second:"
    slowest = sorted((o for o in checked if o.lines), key=lambda outcome: outcome.rate)
    for outcome in slowest[:_SLOWEST]:
        yield (
            f"  {outcome.package:<32} {outcome.rate:>8,.0f}   {outcome.lines:>8,} lines "
            f"{outcome.seconds:>7.1f} s {outcome.mebibytes:>6.0f} MiB"
        )
    failures = [outcome for outcome in checked if outcome.failed]
    yield f"{len(failures)} failures"
    for outcome in failures:
        yield f"  {outcome.package} {outcome.version}: {outcome.end}"
        for fault in outcome.faults:
            yield f"    {fault.strip().splitlines()[-1]}"


def unread(results: Iterable[Outcome], judged: Verdicts) -> Iterator[tuple[Outcome, Place]]:
    """The findings without a verdict, and those that were corrected and are back."""
    for outcome in results:
        for place in outcome.findings:
            verdict = judged.on(outcome.package, outcome.version, place)
            if verdict is None or not verdict.reported:
                yield outcome, place


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a survey; 1 if namecheck failed on a package, or if a finding has no verdict.

    A comparison ends with 1 if there are differences, whether they have verdicts or not.
    """
    options = _parser().parse_args(arguments)
    packages = list(options.packages)
    if options.part is not None:
        packages += [p.requirement for p in projects.stored() if p.part == options.part]
    if options.names is not None:
        packages += package_names(options.names.read_text("utf-8"))
    options.archives.mkdir(parents=True, exist_ok=True)
    plan = Plan(
        options.checkout.resolve(),
        commit_of(options.checkout),
        options.archives.resolve(),
        options.offline,
        options.sources,
        Limits(options.seconds, options.wall_seconds, options.mebibytes),
        tuple(options.option),
    )
    judged = Verdicts(verdicts.stored())
    results = _run(packages, plan, options.out, options)
    for line in summary(results, judged):
        print(line)
    failed = any(outcome.failed for outcome in results)
    if options.compare is None:
        return int(failed or any(unread(results, judged)))
    other = options.compare
    if other.is_dir():
        other_plan = replace(plan, checkout=other.resolve(), commit=commit_of(other), offline=True)
        other = options.out.with_suffix(f".{other_plan.commit or 'other'}.jsonl")
        _run(packages, other_plan, other, options)
    changes = list(comparison.differences(outcomes.read(other), outcomes.read(options.out), judged))
    print(*changes, f"{len(changes)} differences", sep="\n")
    return int(failed or bool(changes))


def _run(
    packages: Sequence[str], plan: Plan, path: Path, options: argparse.Namespace
) -> list[Outcome]:
    """The outcomes of the file, after the missing ones were added."""
    with _executor(options) as executor:
        for outcome in survey(packages, plan, path, executor):
            findings = f"{len(outcome.findings)} findings" if outcome.findings else ""
            words = (outcome.end, outcome.reason, findings, "FAULT" if outcome.faults else "")
            print(f"{outcome.package:<32} {outcome.seconds:>7.1f} s ", *filter(None, words))
            sys.stdout.flush()
    return list(outcomes.read(path).values())


def _executor(options: argparse.Namespace) -> Executor:
    """Threads, each of which waits for one process; or the workers of a cluster."""
    if options.executor is None:
        return ThreadPoolExecutor(options.jobs)
    try:
        return connected(options.executor)
    except ClusterError as error:
        raise SystemExit(str(error)) from error


def commit_of(checkout: Path) -> str:
    """The commit of a checkout, empty where git does not know it."""
    run = subprocess.run(
        ["git", "-C", str(checkout), "rev-parse", "--short", "HEAD"],
        capture_output=True,
        text=True,
        check=False,
    )
    return run.stdout.strip()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.real_code.survey")
    limits = Limits()
    parser.add_argument("packages", metavar="PACKAGE", nargs="*", help="NAME or NAME==VERSION")
    parser.add_argument("--from", dest="names", metavar="FILE", type=Path, help="a list of names")
    parser.add_argument("--part", choices=projects.PARTS, help="the projects of a set")
    parser.add_argument("--out", metavar="FILE", type=Path, required=True, help="the outcomes")
    parser.add_argument(
        "--archives",
        metavar="FOLDER",
        type=Path,
        required=True,
        help="where archives are kept; what is there is not downloaded again",
    )
    parser.add_argument("--offline", action="store_true", help="download nothing")
    parser.add_argument(
        "--sources",
        action="store_true",
        help="also download source distributions: pip runs their build scripts",
    )
    parser.add_argument("--jobs", "-j", type=int, default=1, help="packages at a time (default 1)")
    parser.add_argument("--executor", metavar="ADDRESS", help="workers: dask://HOST:PORT")
    parser.add_argument("--checkout", metavar="FOLDER", type=Path, default=ROOT)
    parser.add_argument(
        "--compare", metavar="OTHER", type=Path, help="a file of outcomes, or another checkout"
    )
    parser.add_argument("--seconds", type=int, default=limits.seconds, help="processor time")
    parser.add_argument("--wall-seconds", type=int, default=limits.wall_seconds)
    parser.add_argument("--mebibytes", type=int, default=limits.mebibytes, help="address space")
    parser.add_argument(
        "--option", action="append", default=[], help="of check: --option=--attributes=all"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
