"""The result of a migration, as text and as JSON."""

from __future__ import annotations

import shlex
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Any

from namecheck.core.line_matcher import LineMatcher
from namecheck.editing.documents import Document
from namecheck.migration.migrated import Migrated
from namecheck.migration.remedies import remedy
from namecheck.report.formats import json
from namecheck.report.frame import visible
from namecheck.report.painter import Painter
from namecheck.report.wording import counted, locations


def differences(files: Sequence[Migrated]) -> Iterator[tuple[str, Document, Document]]:
    """The files that change, each by its path, before and after."""
    for one in files:
        if one.changed and one.before is not None and one.after is not None:
            yield one.path, one.before, one.after


def remaining(files: Sequence[Migrated], paint: Painter) -> Iterator[str]:
    """The places that are left in each file, and the reasons; before anything is written."""
    for one in files:
        yield from _failed(one, paint)
        if one.unfinished:
            yield f"{visible(one.path)}: not analysed to its end: {visible(one.unfinished)}"
        for place in one.left:
            where = f"{visible(one.path)}:{place.span.line}:{place.span.column}"
            code = visible(" ".join(place.source.split()))
            yield f"{where}: {paint('primary', 'left')} `{_short(code)}`: {visible(place.reason)}"


def outcome(
    files: Sequence[Migrated], planned: Sequence[Migrated], paint: Painter, *, applied: bool
) -> Iterator[str]:
    """What became of the planned changes: further failures, then the number of rewritten places."""
    for one, plan in zip(files, planned, strict=True):
        if plan.failure is None:
            yield from _failed(one, paint)
        if one.target:
            yield f"{visible(one.path)}: wrote {visible(one.target)} through this link"
    yield paint(_color(files), _last(files, applied))


def refusal(files: Sequence[Migrated], paint: Painter) -> Iterator[str]:
    """The last line where all files or none are to be written, and none were."""
    left, failed = _counts(files)
    parts = [f"{counted(left, 'place')} would be left"] if left else []
    parts += [f"{counted(failed, 'file')} could not be migrated"] if failed else []
    yield paint("bold", f"Nothing was written (--all-or-nothing): {' and '.join(parts)}.")


def advice(files: Sequence[Migrated], paint: Painter, *, in_git: bool) -> Iterator[str]:
    """What to do where some names are gone and others are left: such a program fails."""
    changed = [visible(one.path) for one in files if one.changed]
    places = [(one, place) for one in files for place in one.left]
    if not changed or not places:
        return
    yield paint("bold", "This does not run yet: what is left uses names that torch 2.13 lacks.")
    remedies = dict.fromkeys(
        f"  {visible(one.path)}:{line}: {visible(remedy(place))}"
        for one in files
        for place, line in zip(one.left, _lines_now(one), strict=True)
    )
    yield from [*remedies][:_SHOWN]
    if len(remedies) > _SHOWN:
        yield f"  … and {len(remedies) - _SHOWN} more"
    yield "Then migrate again."
    if in_git:
        names = " ".join(map(shlex.quote, changed))
        yield f"To undo it, if it was committed before: git restore -- {names}"
    else:
        yield "To undo it you need a copy: namecheck keeps none (--all-or-nothing, --check)."


def _lines_now(one: Migrated) -> Iterator[int]:
    """The line of each place that is left, in the file as it was written."""
    stretches: Sequence[tuple[str, int, int, int, int]] = ()
    if one.left and one.before is not None and one.after is not None:
        texts = one.before.text, one.after.text
        stretches = LineMatcher(*(text.split("\n") for text in texts)).get_opcodes()
    ends = [end for _, _, end, _, _ in stretches]
    for place in one.left:
        line = place.span.line
        number = bisect_left(ends, line)
        if number < len(stretches):
            _, start, _, new_start, new_end = stretches[number]
            yield min(line - start + new_start, max(new_end, new_start + 1))
        else:
            yield line


def _failed(one: Migrated, paint: Painter) -> Iterator[str]:
    if one.failure is not None:
        yield f"{visible(one.path)}: {paint('primary', 'not migrated')}: {visible(one.failure)}"


def _color(files: Sequence[Migrated]) -> str:
    return "bold" if any(one.left or one.failure for one in files) else "good"


def _counts(files: Sequence[Migrated]) -> tuple[int, int]:
    """The number of places that are left, and of files that could not be migrated."""
    return sum(len(one.left) for one in files), sum(one.failure is not None for one in files)


def _last(files: Sequence[Migrated], applied: bool) -> str:
    changed = [one for one in files if one.changed]
    sites = sum(one.sites for one in changed)
    left, failed = _counts(files)
    if not changed and not left and not failed:
        waits = any(one.waits for one in files)
        return _WAITS if waits else "Nothing to migrate."
    done = "Rewrote" if applied else "Would rewrite"
    of_files = f"{counted(sites, 'place')} in {counted(len(changed), 'file')}"
    parts = [f"{done} {of_files if changed else 'nothing'}"]
    if left:
        parts.append(f"left {counted(left, 'place')}")
    if failed:
        parts.append(f"{counted(failed, 'file')} could not be migrated")
    return "; ".join(parts) + "."


_WAITS = (
    "Nothing to migrate: names are used, but no program or test starts from these files. "
    "Call namecheck.install() where one does."
)
_LONGEST = 60
# So many of the places to change are listed.
_SHOWN = 5


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def as_json(files: Sequence[Migrated], *, applied: bool) -> str:
    """One object: each file with its places, the sums, and whether the files were written."""
    changed = [one for one in files if one.changed]
    left, failed = _counts(files)
    document: dict[str, Any] = {
        "written": applied,
        "files": [_file(one) for one in files],
        "summary": {
            "changed": len(changed),
            "sites": sum(one.sites for one in changed),
            "left": left,
            "failed": failed,
        },
    }
    return json.text(document)


def _file(one: Migrated) -> dict[str, Any]:
    return {
        "filename": one.path,
        "changed": one.changed,
        "sites": one.sites,
        "failure": one.failure,
        "unfinished": one.unfinished,
        "left": [
            {**locations(place.span), "source": place.source, "reason": place.reason}
            for place in one.left
        ],
    }
