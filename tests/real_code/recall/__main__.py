"""Breaks functions of released packages, and tells which mistakes are found.

``python -m tests.real_code.recall --state FOLDER`` makes an environment with the packages of
``requirements.txt``, runs the programs of ``programs.toml`` and mutants of the functions that they
run, and checks the mutants that compute something else or crash. It continues where it was ended:
the mutants of a program are a file below the state, and so are the outcomes of a commit. ``--list``
prints them, by default without those of the check set.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from tests.real_code.limits import Limits, run_limited
from tests.real_code.recall.checks import Packages
from tests.real_code.recall.mutants import Mutant, Place
from tests.real_code.recall.mutation import Wrongness
from tests.real_code.survey import commit_of
from tests.versions.environments import ROOT, Environment, make

_HERE: Final = Path(__file__).parent
_LIMITS: Final = Limits(seconds=900, wall_seconds=1800, mebibytes=32768)
"""Those of one program with its mutants; CUDA reserves much address space."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """A mutant, and the findings that it has beyond those of its original."""

    mutant: Mutant
    findings: tuple[str, ...]
    seconds: float
    ended: bool


def environment(state: Path) -> Environment:
    """The environment with the packages, made once."""
    folder = state / "environment"
    if not (folder / "complete").exists():
        made = make(folder, ["-r", str(_HERE / "requirements.txt")])
        (folder / "complete").touch()
        return made
    return Environment(folder)


def mutants(state: Path, packages: Environment, most: int) -> Iterator[Mutant]:
    """The mutants of all programs; each program is run once."""
    folder = state / "mutants"
    folder.mkdir(exist_ok=True)
    taken: set[Place] = set()
    for program in tomllib.loads((_HERE / "programs.toml").read_text("utf-8"))["programs"]:
        path = folder / f"{hashlib.sha256(repr(program).encode()).hexdigest()[:16]}.jsonl"
        if not path.exists():
            _run(program, path, packages, taken, most)
        for line in path.read_text("utf-8").splitlines():
            mutant = Mutant(**json.loads(line))
            taken.add(mutant.place)
            yield mutant


def _run(
    program: dict[str, str], path: Path, packages: Environment, taken: Iterable[Place], most: int
) -> None:
    """Write the mutants of one program, or none if it cannot be run."""
    job, part = path.with_suffix(".job"), path.with_suffix(".part")
    fields: dict[str, Any] = {"model": "None", "folder": str(packages.site), **program}
    fields |= {"taken": list(taken), "most": most}
    job.write_text(json.dumps(fields), "utf-8")
    words = [str(job), str(part)]
    ended = run_limited(
        "tests.real_code.recall.runs", words, _LIMITS, path.parent, ROOT, packages.python
    )
    if ended.code:
        last = ended.errors.strip().splitlines()[-1:]
        print(f"{program['imports']}: ended with {ended.code}", *last, file=sys.stderr)
    job.unlink()
    part.touch()
    part.rename(path)


def outcomes(
    path: Path, packages: Packages, broken: Sequence[Mutant], slowest: float
) -> Iterator[Outcome]:
    """Check the mutants that a file of outcomes lacks, and append their outcomes.

    Mutants of a file whose check takes longer than `slowest` seconds are left out.
    """
    done = {outcome.mutant.place: outcome for outcome in _read(path)}
    with path.open("a", encoding="utf-8") as lines:
        for number, mutant in enumerate(broken, 1):
            original = packages.original(mutant.file)
            if original.seconds > slowest:
                continue
            if mutant.place not in done:
                print(f"\r{number} of {len(broken)}", end="", file=sys.stderr)
                check = packages.changed(mutant)
                outcome = Outcome(mutant, check.beyond(original), check.seconds, check.ended)
                lines.write(json.dumps(asdict(outcome)) + "\n")
                lines.flush()
                done[mutant.place] = outcome
            yield done[mutant.place]


def _read(path: Path) -> Iterator[Outcome]:
    for line in path.read_text("utf-8").splitlines() if path.exists() else ():
        try:
            fields = json.loads(line)
        except ValueError:
            continue  # cut off while it was written
        mutant = Mutant(**fields.pop("mutant"))
        yield Outcome(mutant, tuple(fields.pop("findings")), **fields)


def table(results: Sequence[Outcome]) -> Iterator[str]:
    """The figures by class, by mutation and by package."""
    groups: dict[str, list[Outcome]] = {}
    for outcome in results:
        package = outcome.mutant.file.partition("/")[0]
        for group in (
            f"class: {outcome.mutant.wrongness}",
            f"set: {outcome.mutant.part}",
            f"mutation: {outcome.mutant.mutation}",
            f"package: {package}",
            "all",
        ):
            groups.setdefault(group, []).append(outcome)
    yield "| mutants | checked | found | |"
    yield "| --- | --- | --- | --- |"
    for group, members in sorted(groups.items()):
        found = sum(bool(member.findings) for member in members)
        yield f"| {group} | {len(members)} | {found} | {found / len(members):.0%} |"
    unfinished = sum(not outcome.ended for outcome in results)
    if unfinished:
        yield f"{unfinished} check{'s were' if unfinished > 1 else ' was'} not finished"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the campaign, and print its figures."""
    parser = argparse.ArgumentParser(prog="python -m tests.real_code.recall", description=__doc__)
    parser.add_argument("--state", type=Path, required=True, help="folder that keeps everything")
    parser.add_argument("--most", type=int, default=1, help="mutants per function and mutation")
    parser.add_argument(
        "--seconds", type=float, default=60, help="leave out files whose check takes longer"
    )
    parser.add_argument("--checkout", type=Path, default=ROOT, help="the namecheck that checks")
    parser.add_argument("--list", choices=("training", "check"), help="print mutants of this set")
    parser.add_argument("--class", dest="wrongness", choices=list(Wrongness))
    options = parser.parse_args(arguments)
    state: Path = options.state.resolve()
    state.mkdir(parents=True, exist_ok=True)
    packages = environment(state)
    made = list(mutants(state, packages, options.most))
    broken = [mutant for mutant in made if mutant.is_wrong]
    print(f"{len(made)} mutants, of which {len(broken)} compute something else or crash")
    copies = state / "packages"
    copies.mkdir(exist_ok=True)
    checkout: Path = options.checkout.resolve()
    commit = commit_of(checkout)
    checks = Packages(packages.site, copies, checkout, state / f"originals_{commit}.json")
    path = state / f"outcomes_{commit}.jsonl"
    results = list(outcomes(path, checks, broken, options.seconds))
    for outcome in results if options.list else ():
        mutant = outcome.mutant
        if mutant.part == options.list and options.wrongness in (None, mutant.wrongness):
            print(f"{mutant.file}:{mutant.line}: {mutant.mutation} ({mutant.wrongness})")
            print(f"    {mutant.before!r} -> {mutant.text!r}")
            print(f"    {mutant.effect} {mutant.error}")
            print(f"    {' / '.join(outcome.findings) or 'not found'}")
    print(f"{len(results)} checked on commit {commit}")
    print("\n".join(table(results)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
