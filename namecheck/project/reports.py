"""The check of files and folders, as the command and the Python API make it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from namecheck import project
from namecheck.core.dataclasses import dataclass, replace
from namecheck.core.findings import Finding, Kind, register
from namecheck.project import settings as configuration
from namecheck.project.settings import Settings
from namecheck.project.tasks import Entry

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from namecheck.core.fingerprints import Reader
    from namecheck.project import Result
    from namecheck.project.baseline import Comparison
    from namecheck.project.cache import Cache
    from namecheck.project.shards import Shard


@dataclass(frozen=True)
class Report:
    """The outcome of `check`.

    `findings` are ordered by file and place; those that a baseline has are not among them, and
    `known` is their number. `stale` is the number of entries of baselines whose findings are gone,
    `files` that of checked files. `missing` are the paths that do not exist, `outward` the links
    that were not followed because they lead out of the project. `notes` say why a cache was not
    used.
    """

    findings: tuple[Finding, ...]
    files: int
    known: int = 0
    stale: int = 0
    missing: tuple[str, ...] = ()
    outward: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def errors(self) -> tuple[Finding, ...]:
        """The findings that are more than notes: because of any, the command ends with 1."""
        codes = register()
        return tuple(one for one in self.findings if codes[one.code].kind is not Kind.NOTE)

    @property
    def ok(self) -> bool:
        """Whether all paths exist, and there are notes at most."""
        return not self.missing and not self.errors


@dataclass(frozen=True)
class Run:
    """A check before its findings are compared with baselines: its files and its result.

    `missing` paths do not exist, `outward` links lead out of the project.
    """

    entries: Sequence[Entry]
    result: Result
    missing: tuple[str, ...]
    outward: tuple[str, ...]


def check(
    paths: Iterable[str | os.PathLike[str]] = (),
    *,
    select: Iterable[str] | None = None,
    ignore: Iterable[str] | None = None,
    semantics: str | None = None,
    evidence: str | None = None,
    attributes: str | None = None,
    syntax: str | None = None,
    baseline: bool = True,
    cache: bool = True,
    cache_dir: str | os.PathLike[str] | None = None,
    jobs: int | None = None,
    executor: Executor | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Report:
    """Check files and folders, by default the project around the working folder.

    The options are those of ``namecheck check``, and override the settings of the files. `jobs` is
    the number of processes, by default one for each processor; an `executor` of
    `concurrent.futures` replaces them. `progress` is called with the number of checked files and
    that of all files. Nothing is printed, and nothing but the cache is written.

    Raises `ValueError` for an option with a value that it does not have, and
    `namecheck.SettingsError` for settings, a table or a baseline that cannot be used.
    """
    requested = {
        "select": None if select is None else [*select],
        "ignore": None if ignore is None else [*ignore],
        "semantics": semantics,
        "evidence": evidence,
        "attributes": attributes,
        "syntax": syntax,
    }
    overrides = {
        name: configuration.value(name, value)
        for name, value in requested.items()
        if value is not None
    }

    def adjust(settings: Settings) -> Settings:
        settings = settings.over(**overrides)
        settings = settings if baseline else replace(settings, baseline=None)
        settings.rows()  # a table that cannot be used is reported before any file is read
        return settings

    here = adjust(configuration.above("."))
    places = [os.fspath(path) for path in paths] or [configuration.project_root(".")]
    store = (
        opened_cache(here, None if cache_dir is None else os.fspath(cache_dir)) if cache else None
    )
    ran = run(places, adjust, store, jobs=jobs, executor=executor, progress=progress)
    notes = () if store is None else tuple(store.notes)
    report = Report(ran.result.findings, ran.result.files, 0, 0, ran.missing, ran.outward, notes)
    if not has_baseline(ran.entries):
        return report
    from namecheck.report.listing import reader

    compared = comparison(ran.entries, report.findings, reader({}), () if ran.missing else places)
    return replace(
        report,
        findings=compared.findings,
        known=len(compared.accepted),
        stale=len(compared.stale),
    )


def run(
    paths: Sequence[str],
    adjust: Callable[[Settings], Settings],
    cache: Cache | None,
    *,
    jobs: int | None = None,
    executor: Executor | None = None,
    progress: Callable[[int, int], None] | None = None,
    counting: bool = False,
    shard: Shard | None = None,
    inspecting: bool = False,
) -> Run:
    """Check the files under some paths, each with its settings as `adjust` overrides them.

    With `counting` the tensor expressions are counted, with `inspecting` they are listed.
    """
    walk = project.Walk(adjust)
    entries = walk.entries(paths)
    result = project.check(
        entries,
        progress,
        jobs,
        cache,
        counting,
        shard=shard,
        executor=executor,
        inspecting=inspecting,
    )
    return Run(entries, result, tuple(walk.missing), tuple(walk.outward))


def opened_cache(settings: Settings, folder: str | None) -> Cache:
    """The cache in a folder, by default in that of the environment, the settings or the project."""
    from namecheck.project.cache import FOLDER, Cache
    from namecheck.project.cache_folder import VARIABLE

    if named := folder or os.environ.get(VARIABLE):
        return Cache(named)
    if settings.cache_dir is not None:
        return Cache(settings.cache_dir, settings.root)
    root = configuration.project_root(".")
    return Cache(os.path.join(root, FOLDER), root)


def has_baseline(entries: Sequence[Entry]) -> bool:
    """Whether the settings of any file name a baseline."""
    return any(entry.settings.baseline is not None for entry in entries)


def comparison(
    entries: Sequence[Entry], findings: Sequence[Finding], reader: Reader, paths: Sequence[str]
) -> Comparison:
    """The findings, compared with the baselines of their files; `paths` were checked as a whole."""
    from namecheck.project import baseline
    from namecheck.project.roots import Roots

    folders = [os.path.join(os.path.abspath(path), "") for path in paths if os.path.isdir(path)]

    def whole(settings: Settings) -> bool:
        root = os.path.join(os.path.abspath(settings.root), "")
        return any(root.startswith(folder) for folder in folders)

    return baseline.compared(findings, Roots(entries), reader, whole)
