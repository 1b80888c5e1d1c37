"""What is inferred of the expressions of a file, and whether a shape fits it."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from namecheck.compare.packages import PackageFiles, folders
from namecheck.core import names as naming
from namecheck.core import syntax
from namecheck.core.dims import Dim, Dims
from namecheck.core.evidence import Evidence
from namecheck.core.names import UNKNOWN
from namecheck.core.syntax import Position, Source
from namecheck.core.tensors import Tensor
from namecheck.interpreter.evaluation.observations import Observation, Observations, Recorder
from namecheck.interpreter.workspace import analysis
from namecheck.project.files import ProjectFiles
from namecheck.runtime.programs.activations import Shape


class Verdict(enum.Enum):
    """What a run says of what is inferred of an expression.

    It is known where each dim is: the rank, and for each dim a name or a size. In part it is known
    where no value is left out; else nothing is inferred of some value.
    """

    KNOWN = "known in full"
    PARTLY = "known in part"
    UNKNOWN = "unknown"
    INCORRECT = "incorrect"


def claims(path: Path, evidence: Evidence) -> Mapping[Position, Observation]:
    """What is inferred of the expressions of a file."""
    parsed = syntax.parse(path.read_bytes(), str(path))
    source = Source(str(path.resolve()), parsed.text, parsed.tree)
    files, recorder = ProjectFiles(), Recorder()
    files.add(source.filename, source)
    workspace = analysis.new_workspace(files, recorder=recorder, evidence=evidence)
    analysis.analysed(workspace, source.filename)
    return recorder.observations(source)


def claims_of_program(
    script: Path, package: str, installed: Path, evidence: Evidence
) -> Observations:
    """What is inferred of the expressions of a script, and of a package as the script uses it."""
    files = PackageFiles(str(script.parent), folders([package], [str(installed)]))
    return analysis.observe_program(str(script), files, evidence=evidence)


def verdict(observation: Observation | None, shapes: Iterable[Shape]) -> Verdict:
    """Whether the shapes of an expression are among those that were inferred."""
    values = () if observation is None else observation.values
    tensors = [value for value in values if isinstance(value, Tensor)]
    if not tensors or len(tensors) < len(values):
        return Verdict.UNKNOWN
    if not all(any(fits(tensor.dims, shape) for tensor in tensors) for shape in shapes):
        return Verdict.INCORRECT
    return Verdict.KNOWN if all(_is_known(tensor.dims) for tensor in tensors) else Verdict.PARTLY


def _is_known(dims: Dims) -> bool:
    """Whether the rank is known, and a name or a size of each dim."""
    known = (dim.size is not UNKNOWN or naming.word(dim.name) is not None for dim in dims.known)
    return not dims.open and all(known)


def fits(dims: Dims, shape: Shape) -> bool:
    """Whether dims may have a shape: its rank, and each size that is a number."""
    known = len(dims.prefix) + len(dims.suffix)
    if len(shape) < known or (len(shape) > known and not dims.open):
        return False
    return _fit(dims.prefix, shape) and _fit(dims.suffix[::-1], shape[::-1])


def _fit(dims: Sequence[Dim], sizes: Shape) -> bool:
    pairs = zip(dims, sizes, strict=False)
    return all(not isinstance(dim.size, int) or dim.size == size for dim, size in pairs)
