"""The programs that run released packages, as scripts."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Final

_PROGRAMS: Final = Path(__file__).parents[1] / "recall" / "programs.toml"
# Parts of a program, as the statement of a script.
_STATEMENTS: Final = {"imports": "{}", "model": "model = {}", "call": "{}", "again": "{}"}


def programs() -> Mapping[str, list[dict[str, str]]]:
    """The programs of each package."""
    by_package: dict[str, list[dict[str, str]]] = {}
    for program in tomllib.loads(_PROGRAMS.read_text("utf-8"))["programs"]:
        found = re.search(r"(?:from|import) (\w+)", program["imports"])
        assert found is not None
        by_package.setdefault(found[1], []).append(program)
    return by_package


def script_of(program: Mapping[str, str]) -> str:
    """The text of a program: it makes a model, if it has one, and calls it."""
    lines = ["import torch"]
    for part, statement in _STATEMENTS.items():
        if part in program:
            lines.append(statement.format(program[part]))
        if part == "model" and part in program:
            lines.append("model.eval()")
    return "\n".join(lines) + "\n"


def written(package: str, folder: Path) -> list[Path]:
    """The scripts of a package's programs, written to a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    scripts = []
    for number, program in enumerate(programs()[package]):
        script = folder / f"{package}_{number}.py"
        script.write_text(script_of(program), "utf-8")
        scripts.append(script)
    return scripts
