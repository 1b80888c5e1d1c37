"""``namecheck init``: looks at a project, writes its settings, and says what comes next."""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from namecheck.cli.console import CLEAN, WRONG, Usage, painter, say
from namecheck.cli.verbs import Verb

if TYPE_CHECKING:
    from namecheck.core.findings import Finding
    from namecheck.project import Entry, Result
    from namecheck.project.first_look import FirstLook
    from namecheck.project.settings import Settings

_NEXT: Final = 3


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--dry-run", action="store_true", help="print the settings, and write nothing"
    )
    parser.add_argument("--no-cache", action="store_true", help="neither read nor write a cache")


def _run(arguments: argparse.Namespace) -> int:
    from namecheck import project
    from namecheck.core.file_replacement import CannotWrite, save
    from namecheck.project import first_look
    from namecheck.project import settings as configuration

    root = configuration.project_root(".")
    path = os.path.normpath(os.path.join(root, "pyproject.toml"))
    present = configuration.of_directory(root)
    overview = first_look.look(root, project.Walk().entries([root]))
    for line in _described(overview):
        say(line)
    if present is not None:
        settings = present
        say(f"{path} has [tool.namecheck] already: nothing is written.")
    else:
        section = first_look.section(first_look.proposed(overview))
        data, settings = first_look.with_section(_contents(path), section, path)
        if arguments.dry_run:
            say(f"{path} would have:\n\n{section}")
        else:
            try:
                save(path, data, root)
            except CannotWrite as error:
                raise Usage(f"not written: {error}") from error
            say(f"{path} has these settings now:\n\n{section}")
    entries, result = _checked(root, settings, arguments.no_cache or arguments.dry_run)
    paint = painter(None)
    print(_outcome(result.findings))
    if overview.importing and not overview.names_dimensions:
        example = '`x: Annotated[Tensor, "batch time"]`'
        print(f"No dimension has a name yet: annotate a tensor, as in {example}.")
    print(paint("bold", "Next:"))
    commands = [*_commands(overview, result.findings, entries)][:_NEXT]
    width = max(len(command) for command, _ in commands)
    for command, meaning in commands:
        print(f"  {command:<{width}}  {paint('dim', f'# {meaning}')}")
    return WRONG if result.faults else CLEAN


def _contents(path: str) -> bytes:
    from namecheck.core.regular_files import contents

    return contents(path) if os.path.exists(path) else b""


def _checked(root: str, settings: Settings, no_cache: bool) -> tuple[Sequence[Entry], Result]:
    """A check of the project with the settings, as they are or would be."""
    from namecheck import project
    from namecheck.project.cache import FOLDER, Cache
    from namecheck.report.progress import Progress

    place = os.path.abspath(settings.root)

    def adjusted(nearest: Settings) -> Settings:
        return settings if os.path.abspath(nearest.root) == place else nearest

    entries = project.Walk(adjusted).entries([root])
    with Progress(sys.stderr) as progress:
        cache = None if no_cache else Cache(os.path.join(root, FOLDER), root)
        return entries, project.check(entries, progress, cache=cache)


def _described(overview: FirstLook) -> Iterator[str]:
    """The features of the project that were found, for the user to check."""
    from namecheck.report.wording import counted

    importing = counted(overview.importing, "file") if overview.importing else "no file"
    yield f"torch is imported by {importing}."
    if overview.torch:
        without = " (no named tensors of its own)" if _is_new(overview) else ""
        yield f"  version     torch {overview.torch}, from {overview.torch_from}{without}"
    named = [f"{counted(count, 'file')} by {way}" for way, count in overview.naming if count]
    yield f"  dimensions  {', '.join(named) or 'named by no file'}"
    if overview.services:
        yield f"  checks      {', '.join(overview.services)}"
    yield ""


def _is_new(overview: FirstLook) -> bool:
    """Whether the project requires a torch without named tensors."""
    from namecheck.project.settings import Settings

    return Settings(torch=overview.torch).removed_api


def _outcome(findings: Sequence[Finding]) -> str:
    from namecheck.core.findings import register
    from namecheck.project.baseline import counts
    from namecheck.report.wording import counted

    reported = [finding for finding in findings if counts(finding)]
    if not reported:
        return "`namecheck check` reports nothing now."
    files = counted(len({finding.filename for finding in reported}), "file")
    codes = Counter(finding.code for finding in reported).most_common(_NEXT)
    shown = ", ".join(f"{count:,} {code} {register()[code].name}" for code, count in codes)
    return f"`namecheck check` reports {counted(len(reported), 'finding')} in {files}: {shown}."


def _commands(
    overview: FirstLook, findings: Sequence[Finding], entries: Sequence[Entry]
) -> Iterator[tuple[str, str]]:
    """The next commands, the most useful first, each with its meaning."""
    if findings:
        yield "namecheck check", "see the findings, each with its origin"
        yield "namecheck check --diff", "see what fixes would change"
        yield "namecheck baseline", "accept them for now, and fail on new ones alone"
    if overview.is_native and _is_new(overview):
        yield "namecheck migrate . --diff", "keep the names on a torch without named tensors"
    flag = ""
    if overview.names_dimensions:
        yield "namecheck check --statistics", "count the known names, and see what to name next"
    elif overview.importing:
        yield "namecheck check", "check what is annotated; unchanged files come from a cache"
        if overview.unpacking:
            flag = " --evidence observed"
            yield f"namecheck check{flag}", "or take the names of variables: B, T, D = x.shape"
    if overview.importing:
        first = _first(entries)
        yield f"namecheck reveal {first}{flag}", "see the dimensions of every tensor of a file"
    yield "namecheck rule", "see what is checked"
    yield "namecheck check", "check again after an edit; unchanged files come from a cache"
    yield "namecheck --help", "see all commands"


def _first(entries: Sequence[Entry]) -> str:
    """A file to begin with: one that names dimensions, else sizes, else one that imports torch."""
    import shlex

    from namecheck.core import regular_files, syntax
    from namecheck.report.frame import visible

    best, path = -1, ""
    for entry in entries:
        try:
            data = regular_files.contents(entry.location)
        except OSError:
            continue
        names, unpacks = syntax.names_something(data), syntax.unpacks_sizes(data)
        rank = 4 * names + 2 * unpacks + syntax.imports_torch(data)
        if rank > best:
            best, path = rank, entry.path
    return visible(shlex.quote(path))


VERB: Final = Verb("look at a project, and write its settings", _add_arguments, _run)
