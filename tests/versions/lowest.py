"""Tests with the lowest versions that pyproject.toml allows."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from tests.versions.environments import ROOT, InstallError, make
from tests.versions.outcomes import Outcome, not_run, of_run

TRIED: Final = (
    *("libcst", "hypothesis", "pytest", "pytest-xdist", "jinja2", "pygments", "distributed"),
    *("junitparser", "check-jsonschema", "ruamel.yaml", "numpy", "hatchling"),
)
"""The requirements with lower bounds that tests use; mypy and torch have kinds of their own."""

TESTS: Final = (
    *("tests/editing", "tests/fixes", "tests/laws", "tests/migration", "tests/report"),
    *("tests/integrations", "tests/project/test_executors.py", "tests/release"),
    "tests/runtime/test_subsystems.py",
)


def outcomes(folder: Path, versions: Sequence[str]) -> Iterator[Outcome]:
    """The outcome with all lowest versions together; `versions` are packages, by default all."""
    pins = lowest_versions(versions or TRIED)
    try:
        environment = make(folder / "lowest", pins, layered=True)
    except InstallError as error:
        yield not_run(", ".join(pins), error)
        return
    yield of_run(", ".join(pins), environment.run("-m", "pytest", "-q", "-n", "0", *TESTS))


def lowest_versions(packages: Sequence[str]) -> list[str]:
    """The lower bounds of packages in pyproject.toml, as requirements for just these versions."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    requirements = [*project["dependencies"], *project["optional-dependencies"]["dev"]]
    bounds = dict(re.findall(r"^([\w.-]+)>=([\d.]+)", "\n".join(requirements), re.MULTILINE))
    return [f"{package}=={bounds[package]}" for package in packages]
