"""Runs released packages, and compares their shapes with what is inferred of their source.

``python -m tests.real_code.soundness --state FOLDER [PACKAGE…]`` uses the environment and the
programs of the recall campaign. The exit code is 1 if an expression has a shape that was not
inferred, and 2 if a program cannot be run.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from namecheck.compare.sizes import wrong_sizes
from namecheck.core.evidence import Evidence
from namecheck.core.syntax import Position
from namecheck.runtime.programs.activations import Shape
from namecheck.runtime.programs.activations import Shapes as ActivationShapes
from tests.real_code.limits import Limits, run_limited
from tests.real_code.recall.__main__ import environment
from tests.real_code.soundness.claims import Verdict, claims, verdict
from tests.versions.environments import ROOT, Environment

_PROGRAMS: Final = Path(__file__).parents[1] / "recall" / "programs.toml"
_LIMITS: Final = Limits(seconds=900, wall_seconds=1800, mebibytes=32768)

Shapes = dict[Path, dict[Position, list[Shape]]]
Activations = Mapping[Path, Sequence[ActivationShapes]]


def programs() -> Mapping[str, list[dict[str, str]]]:
    """The programs of each package."""
    by_package: dict[str, list[dict[str, str]]] = {}
    for program in tomllib.loads(_PROGRAMS.read_text("utf-8"))["programs"]:
        found = re.search(r"(?:from|import) (\w+)", program["imports"])
        assert found is not None
        by_package.setdefault(found[1], []).append(program)
    return by_package


def observed(package: str, state: Path, packages: Environment) -> tuple[Shapes, Activations, str]:
    """The shapes in the runs of a package's programs, and the errors of those that failed.

    The shapes of each expression, over all runs; and those of each run of a function.
    """
    job, out = state / f"{package}.job", state / f"{package}.shapes"
    job.write_text(json.dumps({"package": package, "programs": programs()[package]}), "utf-8")
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
        return {}, {}, ended.errors
    noted = json.loads(out.read_text("utf-8"))
    shapes: Shapes = {}
    for file, position, seen in noted["shapes"]:
        shapes.setdefault(Path(file), {})[Position(*position)] = [tuple(shape) for shape in seen]
    activations: dict[Path, list[ActivationShapes]] = {}
    for file, activation in noted["activations"]:
        each = {Position(*position): tuple(map(tuple, seen)) for position, seen in activation}
        activations.setdefault(Path(file), []).append(each)
    return shapes, activations, ended.errors


def judged(
    shapes: Shapes, activations: Activations, evidence: Evidence
) -> Iterator[tuple[Verdict, str]]:
    """The verdicts on the expressions that ran, each with its place.

    A size that is inferred as an expression must have its value, given the sizes that are bound in
    the same run of the function.
    """
    for path, positions in sorted(shapes.items()):
        inferred = claims(path, evidence)
        wrong = wrong_sizes(activations.get(path, ()), inferred)
        for position, seen in sorted(positions.items()):
            observation = inferred.get(position)
            said = " | ".join(map(_brief, observation.values if observation else ()))
            ran = wrong[position].text if position in wrong else str(seen[:4])
            place = f"{path}:{position[0]}:{position[1] + 1}: inferred {said}, but {ran}"
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


def main(argv: Sequence[str] | None = None) -> int:
    """Compare, and print the incorrect expressions and the figures."""
    parser = argparse.ArgumentParser(prog="python -m tests.real_code.soundness")
    parser.add_argument("packages", nargs="*", metavar="PACKAGE", help="default: all of them")
    parser.add_argument("--state", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--evidence", choices=("observed", "claimed"), default="observed")
    arguments = parser.parse_args(argv)
    unknown = set(arguments.packages) - set(programs())
    if unknown:
        parser.error(f"there are no programs for {', '.join(sorted(unknown))}")
    arguments.state.mkdir(parents=True, exist_ok=True)
    installed = environment(arguments.state)
    counts: dict[str, Counter[Verdict]] = {}
    failed = False
    for package in arguments.packages or programs():
        shapes, activations, errors = observed(package, arguments.state, installed)
        failed |= bool(errors) and not shapes
        print(errors, end="", file=sys.stderr)
        counts[package] = Counter()
        for result, place in judged(shapes, activations, Evidence(arguments.evidence)):
            counts[package][result] += 1
            if result is Verdict.INCORRECT:
                print(place, flush=True)
    print(*table(counts), sep="\n")
    incorrect = any(count[Verdict.INCORRECT] for count in counts.values())
    return 2 if failed else int(incorrect)


if __name__ == "__main__":
    raise SystemExit(main())
