"""``namecheck baseline``: accepts the findings that a project has for now."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from namecheck.cli.console import CLEAN, WRONG, Usage, say
from namecheck.cli.verbs import Verb

if TYPE_CHECKING:
    from namecheck.core.fingerprints import Identity
    from namecheck.project import Entry, Result
    from namecheck.project.settings import Settings


# What settings may name by mistake, or a stranger's on purpose.
_OTHERS: Final = (".py", ".pyi", ".toml")


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--prune",
        action="store_true",
        help="only remove the entries of findings that are fixed, and renew those of renamed files",
    )
    parser.add_argument("--no-cache", action="store_true", help="neither read nor write a cache")


def _run(arguments: argparse.Namespace) -> int:
    from namecheck.core.file_replacement import CannotWrite, save
    from namecheck.core.fingerprints import identities
    from namecheck.core.regular_files import is_inside, real_path
    from namecheck.project import baseline
    from namecheck.project.roots import Roots
    from namecheck.report.listing import reader

    settings = _settings()
    file = settings.baseline or os.path.join(settings.root, baseline.FILE)
    if not is_inside(file, settings.root):
        raise Usage(f"{os.path.relpath(file)} is outside of the project; nothing is written there")
    if real_path(file).endswith(_OTHERS):
        raise Usage(f"{os.path.relpath(file)} is no name for a baseline, which would replace it")
    if arguments.prune and not os.path.exists(file):
        raise Usage(f"there is no {os.path.relpath(file)} to prune; `namecheck baseline` writes it")
    entries, result = _checked(settings, file, arguments.no_cache)
    location = os.path.abspath(file)
    roots = Roots(entries)
    own = [
        finding
        for finding in result.findings
        if baseline.counts(finding) and roots.baseline(finding.filename) == location
    ]
    before = baseline.read(file) if arguments.prune else _readable(file)
    comparison = baseline.compared(own, roots, reader({}), lambda settings: True, lambda _: before)
    if arguments.prune:
        accepted = [*comparison.accepted, *comparison.unjudged]
    else:
        accepted = [*identities(own, reader({}), roots.path).values()]
    try:
        data = baseline.text(accepted).encode("utf-8", "backslashreplace")
        save(file, data, settings.root)
    except CannotWrite as error:
        raise Usage(f"not written: {error}") from error
    new = 0 if arguments.prune else len(comparison.findings)
    say(_summary(file, accepted, new, len(before) + new - len(accepted)))
    _advise(settings, file, len(comparison.findings) - new)
    return WRONG if result.faults else CLEAN


def _settings() -> Settings:
    """The settings of the working folder; without a section they are of the project around it."""
    from namecheck.project import settings as configuration

    settings = configuration.above(".")
    return settings.over(root=configuration.project_root(".")) if settings.root == "." else settings


def _checked(settings: Settings, file: str, no_cache: bool) -> tuple[Sequence[Entry], Result]:
    """The check of the whole project of the baseline."""
    from namecheck import project
    from namecheck.project.cache import FOLDER, Cache
    from namecheck.report.progress import Progress

    root = os.path.abspath(settings.root)

    def adjusted(nearest: Settings) -> Settings:
        nearest = nearest.over(root=settings.root) if nearest.root == "." else nearest
        return nearest.over(baseline=file) if os.path.abspath(nearest.root) == root else nearest

    entries = project.Walk(adjusted).entries([os.path.relpath(settings.root)])
    folder = settings.cache_dir or os.path.join(settings.root, FOLDER)
    with Progress(sys.stderr) as progress:
        cache = None if no_cache else Cache(folder, settings.root)
        return entries, project.check(entries, progress, cache=cache)


def _readable(file: str) -> tuple[Identity, ...]:
    """The entries of a baseline that is written anew, none where it cannot be read."""
    from namecheck.project import baseline

    try:
        return baseline.read(file)
    except baseline.BaselineError:
        return ()


def _summary(file: str, accepted: Sequence[Identity], new: int, fixed: int) -> str:
    from namecheck.report.wording import counted

    files = counted(len({identity.path for identity in accepted}), "file")
    changes = [f"{number:,} {word}" for number, word in ((new, "new"), (fixed, "fixed")) if number]
    details = f" ({', '.join(changes)})" if changes else ""
    return f"{os.path.relpath(file)}: {counted(len(accepted), 'finding')} in {files}{details}."


def _advise(settings: Settings, file: str, unknown: int) -> None:
    """Say what the baseline leaves to do."""
    from namecheck.report.wording import counted

    if settings.baseline is None:
        path = os.path.relpath(file, settings.root).replace(os.sep, "/")
        say(f'To use it, add to [tool.namecheck] in pyproject.toml: baseline = "{path}"')
    if unknown:
        print(f"{counted(unknown, 'new finding')} not in it: see `namecheck check`.")


VERB: Final = Verb("accept the findings that a project has for now", _add_arguments, _run)
