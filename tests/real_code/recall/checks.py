"""Checks files of packages with one expression changed: what namecheck says of the mistake."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from tests.real_code.limits import Limits, run_limited
from tests.real_code.package_check import is_judgement, read_report
from tests.real_code.recall.mutants import Mutant

_LIMITS: Final = Limits(seconds=120, wall_seconds=600, mebibytes=4096)


@dataclass(frozen=True, slots=True)
class Check:
    """The codes and messages of a file's findings, whose lines may have moved.

    `seconds` is processor time; a check that has not `ended` died, or reached a limit.
    """

    findings: tuple[str, ...]
    seconds: float
    ended: bool

    def beyond(self, other: Check) -> tuple[str, ...]:
        """The findings that another check lacks."""
        return tuple((Counter(self.findings) - Counter(other.findings)).elements())


class Packages:
    """Copies of the Python files of installed packages, in which one file at a time is changed.

    The checks of the files as they are stand in the file `originals`.
    """

    def __init__(self, installed: Path, folder: Path, checkout: Path, originals: Path) -> None:
        self._installed, self._folder, self._checkout = installed, folder, checkout
        self._path = originals
        texts = json.loads(originals.read_text("utf-8")) if originals.exists() else {}
        self._originals = {
            file: Check(tuple(fields["findings"]), fields["seconds"], fields["ended"])
            for file, fields in texts.items()
        }

    def original(self, file: str) -> Check:
        """The check of a file as it is."""
        if file not in self._originals:
            self._copied(file).write_text(self._text(file), "utf-8")
            self._originals[file] = self._run(file)
            checks = {name: asdict(check) for name, check in self._originals.items()}
            part = self._path.with_suffix(".part")
            part.write_text(json.dumps(checks), "utf-8")
            part.rename(self._path)
        return self._originals[file]

    def changed(self, mutant: Mutant) -> Check:
        """The check of a file with a mistake in it."""
        path, text = self._copied(mutant.file), self._text(mutant.file)
        try:
            path.write_text(mutant.changed(text), "utf-8")
            return self._run(mutant.file)
        finally:
            path.write_text(text, "utf-8")

    def _text(self, file: str) -> str:
        return (self._installed / file).read_text("utf-8")

    def _copied(self, file: str) -> Path:
        """The copy of a file, beside the copies of all files of its package."""
        package = Path(file).parts[0]
        if not (self._folder / package).exists():
            copy = self._folder / f"{package}.part"
            shutil.rmtree(copy, ignore_errors=True)
            shutil.copytree(self._installed / package, copy, ignore=_no_python)
            copy.rename(self._folder / package)
        return self._folder / file

    def _run(self, file: str) -> Check:
        command = ["check", file, "--no-cache", "-j", "1", "--output-format", "concise"]
        command += ["--evidence", "observed"]
        run = run_limited("namecheck", command, _LIMITS, self._folder, self._checkout)
        places = filter(is_judgement, read_report(run.output)[0])
        findings = tuple(f"{place.code} {place.message}" for place in places)
        return Check(findings, run.seconds, run.code in (0, 1))


def _no_python(folder: str, names: list[str]) -> set[str]:
    return {name for name in names if not (name.endswith(".py") or (Path(folder) / name).is_dir())}
