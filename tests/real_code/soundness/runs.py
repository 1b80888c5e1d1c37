"""Runs programs of a package, and writes the shapes that the expressions of their files have.

It is started in the environment of the packages,
``python -m tests.real_code.soundness.runs JOB OUT``.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from namecheck.runtime.programs.activations import Activation
from tests.real_code.soundness.instrumentation import Shapes, instrumented_code


def run_all(package: str, scripts: Sequence[str]) -> tuple[Shapes, list[str]]:
    """The shapes in the runs of some scripts, and the errors of those that failed."""
    shapes, errors = Shapes([package]), []
    shapes.record()
    for script in scripts:
        shapes.begin(script)
        torch.manual_seed(1)
        try:
            with contextlib.redirect_stdout(io.StringIO()), torch.no_grad():
                exec(instrumented_code(script), {"__name__": "__main__"})
        except Exception as error:
            errors.append(f"{script}: {type(error).__name__}: {error}")
    return shapes, errors


def _rows(activations: Sequence[Activation]) -> list[list[Any]]:
    """Activations as rows: the file, whether it is a top level, the caller, the site, the shapes.

    The caller is the number of an earlier row.
    """
    numbers = {activation: number for number, activation in enumerate(activations)}
    return [
        [
            activation.filename,
            activation.is_top_level,
            None if activation.caller is None else numbers[activation.caller],
            activation.site,
            list(activation.shapes.items()),
        ]
        for activation in activations
    ]


def main(job: Path, out: Path) -> None:
    """Run the programs of a job."""
    fields: dict[str, Any] = json.loads(job.read_text("utf-8"))
    shapes, errors = run_all(fields["package"], fields["scripts"])
    for error in errors:
        print(error, file=sys.stderr)
    rows = [
        [file, position, sorted(seen)]
        for file, positions in sorted(shapes.seen.items())
        for position, seen in sorted(positions.items())
    ]
    activations = {script: _rows(each) for script, each in shapes.by_script().items()}
    out.write_text(json.dumps({"shapes": rows, "activations": activations}), "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
