"""Runs a program of the campaign and mutants of the functions that it runs, in one process.

It is started in the environment of the packages, ``python -m tests.real_code.recall.runs JOB OUT``,
and writes the mutants that it judged as lines of JSON.
"""

from __future__ import annotations

import contextlib
import gc
import io
import json
import signal
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict, is_dataclass
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any, Final

import torch

from tests.real_code.recall.mutants import Mutant, Place, mutants_of

_SECONDS: Final = 30
"""The time of one run of a program; a mutant that takes longer is left out."""


class _Program:
    """A program, which can be run again and again: on the same parameters and the same inputs."""

    def __init__(self, imports: str, model: str, call: str) -> None:
        self._names: dict[str, object] = {"torch": torch}
        exec(imports, self._names)
        self._model = compile(model, "<model>", "eval")
        self._call = compile(call, "<call>", "eval")

    def prepare(self) -> None:
        """Make the model, with random parameters: many layers begin with zeros."""
        torch.manual_seed(1)
        model = self._names["model"] = eval(self._model, self._names)
        if isinstance(model, torch.nn.Module):
            model.eval()
            for parameter in model.parameters():
                if parameter.is_floating_point():
                    torch.nn.init.uniform_(parameter, -0.5, 0.5)

    def run(self) -> list[torch.Tensor]:
        """The tensors of the result."""
        torch.manual_seed(2)
        signal.alarm(_SECONDS)
        try:
            with torch.no_grad():
                return list(_tensors(eval(self._call, self._names)))
        finally:
            signal.alarm(0)


def _tensors(value: object) -> Iterator[torch.Tensor]:
    """The tensors in a result, in a fixed order."""
    if isinstance(value, torch.Tensor):
        yield value.detach().clone()
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _tensors(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _tensors(item)
    elif is_dataclass(value) and not isinstance(value, type):
        yield from _tensors(vars(value))


def _agree(first: list[torch.Tensor], second: list[torch.Tensor]) -> bool:
    """Whether two runs computed the same, but for rounding."""
    return len(first) == len(second) and all(
        left.shape == right.shape
        and left.dtype == right.dtype
        and torch.allclose(left.double(), right.double(), rtol=1e-3, atol=1e-5, equal_nan=True)
        for left, right in zip(first, second, strict=True)
    )


def _executed(program: _Program, folder: Path) -> list[CodeType]:
    """The functions below a folder, without those of torch, that the program calls."""
    codes: dict[CodeType, None] = {}

    def record(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            codes[frame.f_code] = None

    sys.setprofile(record)
    try:
        program.run()
    finally:
        sys.setprofile(None)
    own = (str(folder / "torch") + "/", str(folder / "numpy") + "/", str(folder / "einops") + "/")
    return [
        code
        for code in codes
        if code.co_filename.startswith(str(folder)) and not code.co_filename.startswith(own)
    ]


def _compiled(mutant: Mutant, path: Path, function: FunctionType) -> CodeType | None:
    """The code of the changed function."""
    pending = [
        compile(mutant.changed(path.read_text("utf-8")), str(path), "exec", dont_inherit=True)
    ]
    original = function.__code__
    while pending:
        code = pending.pop()
        place = (code.co_qualname, code.co_firstlineno)
        if place == (original.co_qualname, original.co_firstlineno):
            return code
        pending += [item for item in code.co_consts if isinstance(item, CodeType)]
    return None


def _effect(program: _Program, expected: list[torch.Tensor]) -> tuple[str, str]:
    """What a changed program does, and the message of its error."""
    try:
        program.prepare()
        result = program.run()
    except TimeoutError:
        return "timeout", ""
    except Exception as error:
        return "crash", f"{type(error).__name__}: {error}"[:500]
    return ("same" if _agree(result, expected) else "changed"), ""


def _judged(
    program: _Program, code: CodeType, folder: Path, taken: set[Place], most: int
) -> Iterator[Mutant]:
    """The mutants of one function, with their effects."""
    functions = [item for item in gc.get_referrers(code) if isinstance(item, FunctionType)]
    path = Path(code.co_filename)
    if len(functions) != 1:
        return
    function = functions[0]
    program.prepare()
    expected = program.run()
    file = path.relative_to(folder).as_posix()
    for mutant in mutants_of(path.read_text("utf-8"), file, code.co_firstlineno, most):
        if mutant.place in taken:
            continue
        taken.add(mutant.place)
        changed = _compiled(mutant, path, function)
        if changed is None or changed.co_freevars != code.co_freevars:
            continue
        function.__code__ = changed
        try:
            yield mutant.judged(*_effect(program, expected))
        finally:
            function.__code__ = code


def _expire(number: int, frame: object) -> None:
    raise TimeoutError


def main(job: Path, out: Path) -> None:
    """Judge the mutants of one program."""
    signal.signal(signal.SIGALRM, _expire)
    torch.set_num_threads(1)
    fields: dict[str, Any] = json.loads(job.read_text("utf-8"))
    taken = {Place(*place) for place in fields["taken"]}
    folder = Path(fields["folder"])
    with out.open("w", encoding="utf-8") as lines, contextlib.redirect_stdout(io.StringIO()):
        program = _Program(fields["imports"], fields["model"], fields["call"])
        program.prepare()
        first = program.run()
        program.prepare()
        if not first or not _agree(first, program.run()):
            raise SystemExit("two runs of this program differ")
        program.prepare()
        for code in _executed(program, folder):
            for mutant in _judged(program, code, folder, taken, fields["most"]):
                lines.write(json.dumps(asdict(mutant)) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
