"""Runs a fixture under the shim, and compares its errors with the findings of the linter.

A program is run statement by statement. After a statement that raises, the blocks of a page
continue with the next one, as an analysis does.
"""

from __future__ import annotations

import ast
import contextlib
import io
import re
import sys
import tomllib
import types
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import torch

import namecheck
from namecheck.core.findings import Finding, Kind, register
from namecheck.runtime import Contradicted, installed, runtime
from tests.fixture_reader import FIXTURES, REVEALED, Program

# For errors of torch itself, and for arguments of the wrong type, the messages are torch's.
_TORCHS: Final = re.compile(r"NC2\d\d|NC114|NC30[2-7]|NC4\d\d|NC50[1-5]")


# These pages use devices that not every machine has.
_OF_DEVICES: Final = frozenset({"devices.md", "document_devices.md"})
_ELSEWHERE: Final = re.compile(r"cuda\"|cuda:\d\"|\.cuda|mps|torch\.device\(0\)")

SCALAR: Final = "a scalar, without dims"


def is_elsewhere(program: Program) -> bool:
    """Whether a program needs a device that not every machine has."""
    return program.path.name in _OF_DEVICES and _ELSEWHERE.search(program.text) is not None


@dataclass(frozen=True, slots=True)
class Raised:
    """An error of a statement: its place, its type, and its code if it is a finding."""

    line: int
    code: str
    type: str
    message: str

    def show(self) -> str:
        """The error for the reader of a failed test."""
        return f"line {self.line}: {self.code or self.type} {self.message}"


@dataclass(frozen=True, slots=True)
class Revealed:
    """The names and sizes of a tensor that was revealed."""

    line: int
    names: tuple[str | None, ...]
    sizes: tuple[int, ...]


@dataclass(slots=True)
class Run:
    """The outcome of a run."""

    raised: list[Raised] = field(default_factory=list)
    revealed: list[Revealed] = field(default_factory=list)


def run(program: Program, device: str) -> Run:
    """Run a program with its tensors on a device."""
    result = Run()
    with (
        _main() as module,
        _revealing(result.revealed, str(program.path)),
        torch.device(device),
        warnings.catch_warnings(),
        contextlib.redirect_stdout(io.StringIO()),
        runtime(semantics=program.semantics),
        _installs_taken_away(),
    ):
        warnings.simplefilter("ignore")
        torch.default_generator.manual_seed(0)
        for statement in ast.parse(program.text, str(program.path)).body:
            error = _execute(statement, program, module)
            if error is not None:
                result.raised.append(error)
                if not program.offset:
                    break
    return result


@contextlib.contextmanager
def _main() -> Iterator[types.ModuleType]:
    """A module that replaces ``__main__``."""
    module = types.ModuleType("__main__")
    before = sys.modules["__main__"]
    sys.modules["__main__"] = module
    try:
        yield module
    finally:
        sys.modules["__main__"] = before


@contextlib.contextmanager
def _installs_taken_away() -> Iterator[None]:
    """An installation by a program ends with the program."""
    before = installed()
    try:
        yield
    finally:
        if installed() and not before:
            namecheck.uninstall()


@contextlib.contextmanager
def _revealing(revealed: list[Revealed], filename: str) -> Iterator[None]:
    """`reveal_names` records its argument, and the calling line of the program."""
    before = namecheck.reveal_names

    def reveal(tensor: Any) -> Any:
        frame = sys._getframe(1)
        assert frame.f_code.co_filename == filename
        revealed.append(Revealed(frame.f_lineno, tensor.names, tuple(tensor.shape)))
        return tensor

    replaced: Any = namecheck
    replaced.reveal_names = reveal
    try:
        yield
    finally:
        replaced.reveal_names = before


def _execute(statement: ast.stmt, program: Program, module: types.ModuleType) -> Raised | None:
    code = compile(ast.Module([statement], []), str(program.path), "exec")
    try:
        exec(code, vars(module))
    except SystemExit:
        return None
    except Contradicted as error:
        found = error.finding
        return Raised(found.span.line, found.code, found.error or "RuntimeError", str(error))
    except Exception as error:
        return Raised(_line(error, program), "", type(error).__name__, str(error))
    return None


def _line(error: Exception, program: Program) -> int:
    """The innermost running line of the program."""
    line = 0
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == str(program.path):
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


def differences(program: Program, device: str) -> list[str]:
    """Where the shim and the linter report differently for a program, empty if nowhere."""
    ran = run(program, device)
    findings = [f for f in program.findings if register()[f.code].kind is Kind.FINDING]
    told: list[str] = []
    left = list(ran.raised)
    for finding in findings:
        met = next((error for error in left if _is(error, finding)), None)
        if met is None:
            told.append(f"not raised: {program.show(finding)}")
            continue
        left.remove(met)
        if met.code and met.message != finding.message:
            told.append(f"other words: {program.show(finding)}\n  raised {met.show()}")
    told += [f"raised: {error.show()}" for error in left if not (findings and _follows(error))]
    return told + _falsely_revealed(program, ran.revealed)


def _is(error: Raised, finding: Finding) -> bool:
    """Whether an error is a finding, raised within its span."""
    if not finding.span.line <= error.line <= finding.span.end_line:
        return False
    if error.code:
        return error.code == finding.code
    return bool(_TORCHS.match(finding.code)) and error.type == (finding.error or "RuntimeError")


def _follows(error: Raised) -> bool:
    """Whether an error follows from an earlier statement that failed."""
    return error.type == "NameError"


def _falsely_revealed(program: Program, revealed: Sequence[Revealed]) -> list[str]:
    told: list[str] = []
    for expectation in program.expectations:
        if expectation.code != REVEALED:
            continue
        for tensor in revealed:
            if tensor.line == expectation.line and not covers(expectation.text, tensor):
                told.append(f"{program.at(tensor.line)}: {expectation.text}, at run time {tensor}")
    return told


def covers(text: str, tensor: Revealed) -> bool:
    """Whether a text as ``N C=3 ... _`` covers a tensor."""
    words = text.split() if text != SCALAR else []
    dims = list(zip(tensor.names, tensor.sizes, strict=True))
    if "..." not in words:
        return len(words) == len(dims) and all(map(_covers_dim, words, dims))
    cut = words.index("...")
    front, back = words[:cut], words[cut + 1 :]
    if len(front) + len(back) > len(dims):
        return False
    return all(map(_covers_dim, front, dims)) and all(map(_covers_dim, back[::-1], dims[::-1]))


def _covers_dim(word: str, dim: tuple[str | None, int]) -> bool:
    name, _, size = word.partition("=")
    return name in ("?", dim[0] or "_") and (not size or size == str(dim[1]))


@dataclass(frozen=True, slots=True)
class Exempt:
    """A program that runs otherwise than the linter infers, on one device or on all, and why."""

    program: str
    device: str
    why: str


def exemptions() -> list[Exempt]:
    """The entries of fixtures/runtime_exceptions.toml."""
    entries = tomllib.loads((FIXTURES / "runtime_exceptions.toml").read_text("utf-8"))
    return [
        Exempt(program, entry.get("device", ""), entry["why"])
        for entry in entries.values()
        for program in entry["programs"]
    ]
