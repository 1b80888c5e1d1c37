"""The tests of the plugin with each release of mypy that it has an adapter for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from namecheck_mypy.surfaces import ADAPTERS
from tests.versions.environments import InstallError, make
from tests.versions.outcomes import Outcome, not_run, of_run


def outcomes(folder: Path, versions: Sequence[str]) -> Iterator[Outcome]:
    """The outcome with each release, by default with those of the adapters, and with the newest."""
    listed = [".".join(map(str, release)) for release in sorted(ADAPTERS)]
    for version in versions or [*listed, "newest"]:
        requirement = "mypy" if version == "newest" else f"mypy=={version}.*"
        try:
            environment = make(folder / f"mypy-{version}", [requirement], layered=True)
        except InstallError as error:
            yield not_run(f"mypy {version}", error)
            continue
        name = f"mypy {environment.version('mypy')}"
        yield of_run(name, environment.run("-m", "pytest", "-q", "-n", "0", "tests/mypy_plugin"))
