"""Reports of findings, validated by the formats' own tools: ``python -m tests.report.validators``.

It needs node and the package `check-jsonschema`; the tools themselves are installed from npm into a
temporary folder, each in one version. The everyday tests validate the same reports by Python
packages (test_formats.py). CONTRIBUTING.md says when this was last seen to pass.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]

# SARIF's validator is a program in the package; its wrapper gives the rule kinds to a shell.
TOOLS: Final = ("@microsoft/sarif-multitool@5.7.0", "@umbrelladocs/rdformat-validator@1.0.1")
MULTITOOL: Final = "node_modules/@microsoft/sarif-multitool-linux/Sarif.Multitool"
SCHEMA: Final = "node_modules/@microsoft/sarif-multitool-linux/sarif-2.1.0.json"
RDFORMAT: Final = "node_modules/.bin/rdformat-validator"

# A name with what URIs and XML escape, characters of several bytes and units, control characters.
HOSTILE_NAME: Final = "a b#1%41 [x](2) <é𝕏>&'.py"
HOSTILE: Final = """\
import torch

größe = torch.rand(2, 3, names=("N", "C")); é𝕏 = größe + torch.rand(3, names=("N",))
x = torch.rand(2, names=("<b>&amp;]]>",))
y = torch.rand(2, names=("N",))
y.sum("\x7f\x1b[31m\u202e\\ud800 %0A::error::")
"""


def programs(folder: Path) -> list[Path]:
    """The fixtures of the README, a hostile file, one that cannot be parsed, one not decoded."""
    hostile, broken, binary = folder / HOSTILE_NAME, folder / "broken.py", folder / "binary.py"
    hostile.write_text(HOSTILE, "utf-8", "surrogatepass")
    broken.write_text("import torch\nx = (\n")
    binary.write_bytes(b"import torch\nx = '\xff\xfe'\n")
    ours = [ROOT / "fixtures" / name for name in ("tour.py", "mistakes.py", "elements.py")]
    return [*ours, hostile, broken, binary]


def reports(folder: Path, names: Sequence[str], paths: Sequence[Path]) -> dict[str, Path]:
    """The reports of one run in several formats, by format."""
    files = {name: folder / f"report.{name}" for name in names}
    outputs = [word for name, file in files.items() for word in ("--output", f"{name}={file}")]
    command = [sys.executable, "-m", "namecheck", "check", "--no-cache", *outputs, *map(str, paths)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    ran = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=False)
    assert ran.returncode == 1, ran.stderr.decode()
    return files


def commands(tools: Path, files: dict[str, Path]) -> Iterator[list[str]]:
    """The validators, each with its report."""
    sarif, rdjson = str(files["sarif"]), str(files["rdjson"])
    yield [str(tools / MULTITOOL), "validate", sarif, "--rule-kind", "Sarif;Ghas"]
    check = [sys.executable, "-m", "check_jsonschema", "--schemafile", str(tools / SCHEMA)]
    yield [*check, sarif]
    yield [str(tools / RDFORMAT), "--strict", "--no-extra-fields", rdjson]


def is_valid(command: Sequence[str]) -> bool:
    """Whether a validator has no complaint; SARIF's tells of errors in its output alone."""
    print("$", *command, flush=True)
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    print(ran.stdout, ran.stderr, flush=True)
    return ran.returncode == 0 and not re.search(r": error [A-Z]+\d+: ", ran.stdout)


def installed(folder: Path) -> Path:
    """Install the validators; returns their folder."""
    install = ["npm", "install", "--no-fund", "--no-audit", "--prefix", str(folder), *TOOLS]
    subprocess.run(install, check=True)
    (folder / MULTITOOL).chmod(0o755)
    return folder


def damaged(files: dict[str, Path]) -> Iterator[None]:
    """The reports with an error each: for every validator one that it must find."""
    log = json.loads(files["sarif"].read_text("utf-8"))
    result = log["runs"][0]["results"][0]
    files["rdjson"].write_text('{"diagnostics": [{"message": 1}]}')
    for rule_index in (77, "none", 77):
        result["ruleIndex"] = rule_index
        files["sarif"].write_text(json.dumps(log))
        yield


def main() -> None:
    """Run the validators, then on reports with errors; ends with 1 where one is wrong."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tools = installed(folder)
        files = reports(folder, ("sarif", "rdjson"), programs(folder))
        outcomes = [is_valid(command) for command in commands(tools, files)]
        print("The same reports with errors, which each validator must find:", flush=True)
        for command, _ in zip(commands(tools, files), damaged(files), strict=True):
            outcomes.append(not is_valid(command))
    sys.exit(0 if all(outcomes) else 1)


if __name__ == "__main__":
    main()
