"""Runs programs of a package, and writes the shapes that its expressions have.

It is started in the environment of the packages,
``python -m tests.real_code.soundness.runs JOB OUT``.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
from pathlib import Path
from typing import Any

import torch

from tests.real_code.soundness.instrumentation import Shapes


def shapes_of(package: str, programs: list[dict[str, str]]) -> tuple[Shapes, list[str]]:
    """The shapes in the runs of some programs, and the errors of those that failed."""
    shapes, errors = Shapes([package]), []
    shapes.record()
    for program in programs:
        names: dict[str, Any] = {"torch": torch}
        torch.manual_seed(1)
        try:
            with contextlib.redirect_stdout(io.StringIO()), torch.no_grad():
                exec(program["imports"], names)
                names["model"] = model = eval(program.get("model", "None"), names)
                if isinstance(model, torch.nn.Module):
                    model.eval()
                eval(program["call"], names)
        except Exception as error:
            errors.append(f"{program['imports']}: {type(error).__name__}: {error}")
    return shapes, errors


def main(job: Path, out: Path) -> None:
    """Run the programs of a job."""
    fields: dict[str, Any] = json.loads(job.read_text("utf-8"))
    shapes, errors = shapes_of(fields["package"], fields["programs"])
    for error in errors:
        print(error, file=sys.stderr)
    rows = [
        [file, position, sorted(seen)]
        for file, positions in sorted(shapes.seen.items())
        for position, seen in sorted(positions.items())
    ]
    activations = [
        [activation.filename, list(activation.shapes.items())]
        for activation in shapes.activations.ended()
        if activation.shapes
    ]
    out.write_text(json.dumps({"shapes": rows, "activations": activations}), "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
