"""Runs released packages, and compares their shapes with what is inferred of their source.

``python -m tests.real_code.soundness --state FOLDER [PACKAGE…]`` uses the environment and the
programs of the recall campaign. Each file is analysed alone; with ``--programs`` each program is
followed into the package, as ``namecheck compare --package`` does. The exit code is 1 if an
expression has a shape that was not inferred, and 2 if a program cannot be run.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from namecheck.compare import sizes
from namecheck.compare.sizes import wrong_sizes
from namecheck.core.evidence import Evidence
from namecheck.core.syntax import Position
from namecheck.interpreter.evaluation.observations import Observation, Observations
from namecheck.runtime.programs.activations import Activation, Shape
from namecheck.runtime.programs.activations import Shapes as ActivationShapes
from tests.real_code.limits import Limits, run_limited
from tests.real_code.recall.__main__ import environment
from tests.real_code.soundness.claims import Verdict, claims, claims_of_program, verdict
from tests.real_code.soundness.programs import programs, written
from tests.versions.environments import ROOT, Environment

_LIMITS: Final = Limits(seconds=900, wall_seconds=1800, mebibytes=32768)

Shapes = dict[Path, dict[Position, list[Shape]]]
Judged = Iterator[tuple[Verdict, str]]


@dataclass(frozen=True, slots=True)
class Runs:
    """The runs of a package's programs.

    `shapes` are those of each expression over all runs, `activations` those of each script;
    `errors` tells of the programs that failed.
    """

    shapes: Shapes = field(default_factory=dict)
    activations: Mapping[Path, Sequence[Activation]] = field(default_factory=dict)
    errors: str = ""


def observed(package: str, state: Path, packages: Environment) -> Runs:
    """The runs of a package's programs."""
    job, out = state / f"{package}.job", state / f"{package}.shapes"
    scripts = [str(script) for script in written(package, state / "scripts")]
    job.write_text(json.dumps({"package": package, "scripts": scripts}), "utf-8")
    ended = run_limited(
        "tests.real_code.soundness.runs",
        [str(job), str(out)],
        _LIMITS,
        state,
        ROOT,
        packages.python,
    )
    job.unlink()
    if ended.code:
        return Runs(errors=ended.errors)
    return replace(read(json.loads(out.read_text("utf-8"))), errors=ended.errors)


def read(noted: Mapping[str, Any]) -> Runs:
    """The runs that were written to a file."""
    shapes: Shapes = {}
    for file, position, seen in noted["shapes"]:
        shapes.setdefault(Path(file), {})[Position(*position)] = [tuple(shape) for shape in seen]
    activations = {Path(script): _read(rows) for script, rows in noted["activations"].items()}
    return Runs(shapes, activations)


def _read(rows: Sequence[Sequence[Any]]) -> list[Activation]:
    activations: list[Activation] = []
    for file, is_top_level, caller, site, shapes in rows:
        activations.append(
            Activation(
                file,
                is_top_level,
                None if caller is None else activations[caller],
                None if site is None else Position(*site),
                {Position(*position): tuple(map(tuple, seen)) for position, seen in shapes},
            )
        )
    return activations


def judged(runs: Runs, evidence: Evidence) -> Judged:
    """The verdicts on the expressions that ran, each with its place; each file is analysed alone.

    A size that is inferred as an expression must have its value, given the sizes that are bound in
    the same run of the function.
    """
    every: dict[str, list[ActivationShapes]] = {}
    for activations in runs.activations.values():
        for activation in activations:
            every.setdefault(activation.filename, []).append(activation.shapes)
    for path, positions in sorted(runs.shapes.items()):
        inferred = claims(path, evidence)
        yield from _on_file(str(path), positions, every.get(str(path), ()), inferred)


def judged_program(activations: Sequence[Activation], static: Observations) -> Judged:
    """The verdicts on the expressions of a package that a program ran, each with its place.

    What runs in an activation that the analysis has not followed, too, is unknown.
    """
    followed = sizes.followed(activations, static)
    covered = sizes.by_file(followed)
    strange = sizes.places(one for one in activations if one not in followed)
    seen: dict[str, dict[Position, list[Shape]]] = {}
    for activation in activations:
        by_position = seen.setdefault(activation.filename, {})
        for position, shapes in activation.shapes.items():
            by_position.setdefault(position, []).extend(shapes)
    script = activations[0].filename if activations else ""
    for file in sorted(seen.keys() - {script}):
        inferred = {
            position: observation
            for position, observation in static.get(file, {}).items()
            if (file, position) not in strange
        }
        yield from _on_file(file, seen[file], covered.get(file, ()), inferred)


def _on_file(
    file: str,
    positions: Mapping[Position, Sequence[Shape]],
    activations: Sequence[ActivationShapes],
    inferred: Mapping[Position, Observation],
) -> Judged:
    wrong = wrong_sizes(activations, inferred)
    for position, seen in sorted(positions.items()):
        observation = inferred.get(position)
        said = " | ".join(map(_brief, observation.values if observation else ()))
        ran = wrong[position].text if position in wrong else str(seen[:4])
        place = f"{file}:{position[0]}:{position[1] + 1}: inferred {said}, but {ran}"
        fits = position not in wrong
        yield verdict(observation, seen) if fits else Verdict.INCORRECT, place


def _brief(value: object) -> str:
    brief = getattr(value, "brief", None)
    return str(brief()) if brief is not None else "?"


def table(counts: Mapping[str, Counter[Verdict]]) -> Iterator[str]:
    """The figures of each package."""
    yield "| package | expressions that ran | known in full | in part | incorrect |"
    yield "| --- | --- | --- | --- | --- |"
    every = {**counts, "all": sum(counts.values(), Counter[Verdict]())}
    for package, count in every.items():
        share = count[Verdict.KNOWN] / max(count.total(), 1)
        yield (
            f"| {package} | {count.total():,} | {count[Verdict.KNOWN]:,} ({share:.0%}) | "
            f"{count[Verdict.PARTLY]:,} | {count[Verdict.INCORRECT]:,} |"
        )


def _of_programs(runs: Runs, package: str, packages: Environment, evidence: Evidence) -> Judged:
    for script, activations in runs.activations.items():
        static = claims_of_program(script, package, packages.site, evidence)
        yield from judged_program(activations, static)


def main(argv: Sequence[str] | None = None) -> int:
    """Compare, and print the incorrect expressions and the figures."""
    parser = argparse.ArgumentParser(prog="python -m tests.real_code.soundness")
    parser.add_argument("packages", nargs="*", metavar="PACKAGE", help="default: all of them")
    parser.add_argument("--state", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--evidence", choices=("observed", "claimed"), default="observed")
    parser.add_argument("--programs", action="store_true", help="follow each program")
    arguments = parser.parse_args(argv)
    unknown = set(arguments.packages) - set(programs())
    if unknown:
        parser.error(f"there are no programs for {', '.join(sorted(unknown))}")
    arguments.state.mkdir(parents=True, exist_ok=True)
    installed = environment(arguments.state)
    evidence = Evidence(arguments.evidence)
    counts: dict[str, Counter[Verdict]] = {}
    failed = False
    for package in arguments.packages or programs():
        runs = observed(package, arguments.state, installed)
        failed |= bool(runs.errors) and not runs.shapes
        print(runs.errors, end="", file=sys.stderr)
        counts[package] = Counter()
        for result, place in (
            _of_programs(runs, package, installed, evidence)
            if arguments.programs
            else judged(runs, evidence)
        ):
            counts[package][result] += 1
            if result is Verdict.INCORRECT:
                print(place, flush=True)
    print(*table(counts), sep="\n")
    incorrect = any(count[Verdict.INCORRECT] for count in counts.values())
    return 2 if failed else int(incorrect)


if __name__ == "__main__":
    raise SystemExit(main())
