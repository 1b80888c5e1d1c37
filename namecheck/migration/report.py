"""The result of a migration, as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from namecheck.editing.documents import Document
from namecheck.migration.migrated import Migrated
from namecheck.report.formats import json
from namecheck.report.frame import visible
from namecheck.report.painter import Painter
from namecheck.report.wording import counted, locations


def differences(files: Sequence[Migrated]) -> Iterator[tuple[str, Document, Document]]:
    """The files that change, each by its path, before and after."""
    for one in files:
        if one.changed and one.before is not None and one.after is not None:
            yield one.path, one.before, one.after


def as_text(files: Sequence[Migrated], paint: Painter, *, applied: bool) -> Iterator[str]:
    """The places left in each file and the reasons; then the number of rewritten places."""
    for one in files:
        if one.failure is not None:
            yield f"{visible(one.path)}: {paint('primary', 'not migrated')}: {visible(one.failure)}"
        if one.target:
            yield f"{visible(one.path)}: wrote {visible(one.target)} through this link"
        for place in one.left:
            where = f"{visible(one.path)}:{place.span.line}:{place.span.column}"
            code = visible(" ".join(place.source.split()))
            yield f"{where}: {paint('primary', 'left')} `{_short(code)}`: {visible(place.reason)}"
    color = "bold" if any(one.left or one.failure for one in files) else "good"
    yield paint(color, _last(files, applied))


def _last(files: Sequence[Migrated], applied: bool) -> str:
    changed = [one for one in files if one.changed]
    sites, left = sum(one.sites for one in changed), sum(len(one.left) for one in files)
    failed = sum(one.failure is not None for one in files)
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


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def as_json(files: Sequence[Migrated]) -> str:
    """One object: each file with its places, and the sums."""
    changed = [one for one in files if one.changed]
    document: dict[str, Any] = {
        "files": [_file(one) for one in files],
        "summary": {
            "changed": len(changed),
            "sites": sum(one.sites for one in changed),
            "left": sum(len(one.left) for one in files),
            "failed": sum(one.failure is not None for one in files),
        },
    }
    return json.text(document)


def _file(one: Migrated) -> dict[str, Any]:
    return {
        "filename": one.path,
        "changed": one.changed,
        "sites": one.sites,
        "failure": one.failure,
        "left": [
            {**locations(place.span), "source": place.source, "reason": place.reason}
            for place in one.left
        ],
    }
