"""The pytest plugin: ``--namecheck`` installs names on torch before conftest is imported.

torch is imported only if the plugin is switched on: pytest loads this module in every run.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

import pytest

if TYPE_CHECKING:
    from namecheck.core.findings import Finding
    from namecheck.runtime.annotations.import_hook import ImportHook

_MODES: Final = ("error", "warn", "off")
_PACKAGES_HELP: Final = (
    "the annotated functions of these packages and modules are checked too; with commas"
)


@dataclass(slots=True)
class Session:
    """The state of a run with the plugin on: its mode, its import hook, the workers' findings."""

    mode: Literal["error", "warn"]
    hook: ImportHook
    installed_here: bool
    worker_findings: list[tuple[Finding, int]] = field(default_factory=list)


_SESSION: Final = pytest.StashKey[Session]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options, and the keys of the settings file."""
    group = parser.getgroup("namecheck", "dimension names of tensors (namecheck)")
    group.addoption(
        "--namecheck",
        nargs="?",
        const="error",
        choices=_MODES,
        help="check dimension names while tests run: a contradiction fails the test (error, the "
        "default), or is reported at the end (warn); off overrides the settings file",
    )
    group.addoption("--namecheck-packages", metavar="NAMES", help=_PACKAGES_HELP)
    parser.addini("namecheck", "error, warn or off", default="off")
    parser.addini("namecheck_packages", _PACKAGES_HELP, type="args", default=[])


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Switch the plugin on before conftest files and tests import torch."""
    mode = early_config.known_args_namespace.namecheck or early_config.getini("namecheck")
    if mode not in _MODES:
        raise pytest.UsageError(f"namecheck: one of {', '.join(_MODES)} is wanted, not {mode!r}")
    if mode == "off":
        return
    try:
        from namecheck.runtime import shim
        from namecheck.runtime.annotations import import_hook
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise pytest.UsageError("namecheck: torch is not installed") from None
    here = shim.host("error" if mode == "error" else "record")
    hook = import_hook.install_import_hook(_packages(early_config))
    early_config.stash[_SESSION] = Session(mode, hook, here)


def _packages(config: pytest.Config) -> list[str]:
    option: str | None = config.known_args_namespace.namecheck_packages
    values = config.getini("namecheck_packages") if option is None else [option]
    words = [word.strip() for value in values for word in value.split(",")]
    return [word for word in words if word]


def pytest_unconfigure(config: pytest.Config) -> None:
    """Switch the plugin off: another run may follow in this process."""
    session = config.stash.get(_SESSION, None)
    if session is None:
        return
    del config.stash[_SESSION]
    session.hook.uninstall()
    if session.installed_here:
        from namecheck.runtime import shim

        shim.dismiss()


def pytest_report_header(config: pytest.Config) -> list[str]:
    """A header line that says whether names are checked."""
    session = config.stash.get(_SESSION, None)
    if session is None:
        return []
    off = os.environ.get("NAMECHECK", "").lower() == "off"
    packages = ", ".join(session.hook.packages)
    also = f", functions of {packages}" if packages else ""
    return [f"namecheck: {'off by the environment' if off else session.mode}{also}"]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[Any]) -> Iterator[None]:
    """Hide namecheck's own frames, so that a failure points at the test's own code."""
    if call.excinfo is not None and _SESSION in item.config.stash:
        from namecheck.runtime.core import tracebacks

        error = call.excinfo.value
        tracebacks.clean(error)
        if error.__traceback__ is not None:
            call.excinfo = pytest.ExceptionInfo.from_exception(error)
    return (yield)


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """The findings that fail no test, each place once."""
    session = config.stash.get(_SESSION, None)
    if session is None or session.mode != "warn":
        return
    from namecheck.report import counts
    from namecheck.report.painter import Painter

    findings = _findings(session)
    if findings:
        terminalreporter.section("namecheck")
        for line in counts.summary(findings, Painter(terminalreporter.hasmarkup)):
            terminalreporter.write_line(line)


def _findings(session: Session) -> list[tuple[Finding, int]]:
    from namecheck.runtime import shim

    tallies: dict[Finding, int] = {}
    for finding, count in [*shim.recorded().counts, *session.worker_findings]:
        tallies[finding] = tallies.get(finding, 0) + count
    return list(tallies.items())


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Pass the findings of a worker of pytest-xdist on to the main process."""
    plugin_session = session.config.stash.get(_SESSION, None)
    output: dict[str, Any] | None = getattr(session.config, "workeroutput", None)
    if plugin_session is not None and output is not None:
        output["namecheck"] = pickle.dumps(_findings(plugin_session)).hex()


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Collect the findings of a worker of pytest-xdist."""
    session = node.config.stash.get(_SESSION, None)
    pickled: str | None = getattr(node, "workeroutput", {}).get("namecheck")
    if session is not None and pickled is not None:
        session.worker_findings += pickle.loads(bytes.fromhex(pickled))
