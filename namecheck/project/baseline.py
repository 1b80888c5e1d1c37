"""The baseline: a file with the identities of findings that are accepted for now.

A finding whose identity it has is known and not reported. An entry whose finding is gone is stale.
Where the file or the function of an entry does not exist any more, they were renamed: the entry
then stands for a finding that is otherwise the same.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any, Final

from namecheck.core import regular_files
from namecheck.core.dataclasses import dataclass
from namecheck.core.findings import Finding, Kind, register
from namecheck.core.fingerprints import Identity, Outline, Reader, identities
from namecheck.core.regular_files import reason_of
from namecheck.project.renames import Renames
from namecheck.project.roots import Roots
from namecheck.project.settings import Settings, SettingsError

FILE: Final = "namecheck-baseline.json"

_VERSION: Final = 1
_ABOUT: Final = (
    "Findings that are accepted for now. `namecheck baseline --prune` removes fixed ones."
)
_KEYS: Final = ("path", "function", "code", "syntax", "occurrence", "fingerprint")
_FAULT: Final = "NC005"


class BaselineError(SettingsError):
    """A baseline that cannot be read; the message names the file, the line, and what to do."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """The findings of a run, compared with the baselines of its files.

    `findings` are to be reported. `accepted` has the others with the identities that they have now.
    `stale` are the entries whose findings are gone; `unjudged` match no finding either, but their
    files, or all files, were not checked. `missing` baselines are named by settings and do not
    exist.
    """

    findings: tuple[Finding, ...]
    accepted: tuple[Identity, ...] = ()
    stale: tuple[Identity, ...] = ()
    unjudged: tuple[Identity, ...] = ()
    missing: tuple[str, ...] = ()


def counts(finding: Finding) -> bool:
    """Whether a baseline may have a finding: no note, and no fault of namecheck itself."""
    return register()[finding.code].kind is not Kind.NOTE and finding.code != _FAULT


def compared(
    findings: Sequence[Finding],
    roots: Roots,
    reader: Reader,
    is_whole: Callable[[Settings], bool] = lambda settings: False,
    accepted_in: Callable[[str], Iterable[Identity]] | None = None,
) -> Comparison:
    """Compare findings with the baselines that the settings of their files name.

    `is_whole` says whether all files with some settings were checked: only then an entry can be
    stale. `accepted_in` returns the entries of a baseline, by default those of its file. Raises
    `BaselineError`.
    """
    by_baseline: dict[str, Settings] = {}
    for settings in (*roots.all_settings(), *(roots.settings(one.filename) for one in findings)):
        if settings.baseline is not None:
            by_baseline.setdefault(os.path.abspath(settings.baseline), settings)
    if not by_baseline:
        return Comparison(tuple(findings))
    by_finding = identities(filter(counts, findings), reader, roots.path)
    matches: dict[Finding, Identity] = {}
    stale: list[Identity] = []
    unjudged: list[Identity] = []
    own_of: dict[str | None, dict[Finding, Identity]] = {}
    for finding, identity in by_finding.items():
        own_of.setdefault(roots.baseline(finding.filename), {})[finding] = identity
    for baseline, settings in by_baseline.items():
        own = own_of.get(baseline, {})
        accepted, fixed = _matched(own, (accepted_in or read)(baseline), settings, reader)
        matches.update((finding, own[finding]) for finding in accepted)
        unread = {own[finding].path for finding in own if _is_of_file(finding)}
        for entry in fixed:
            judged = entry.path not in unread and _is_selected(entry, settings)
            (stale if judged and is_whole(settings) else unjudged).append(entry)
    return Comparison(
        tuple(finding for finding in findings if finding not in matches),
        tuple(matches.values()),
        tuple(stale),
        tuple(unjudged),
        tuple(baseline for baseline in by_baseline if not os.path.exists(baseline)),
    )


def _is_selected(identity: Identity, settings: Settings) -> bool:
    return identity.code in settings.selected_in(os.path.join(settings.root, identity.path))


def _is_of_file(finding: Finding) -> bool:
    """Whether a finding says that its file could not be checked."""
    return register()[finding.code].kind is Kind.FILE


def _matched(
    own: Mapping[Finding, Identity],
    listed: Iterable[Identity],
    settings: Settings,
    reader: Reader,
) -> tuple[set[Finding], list[Identity]]:
    """The findings that listed entries stand for, and the entries that stand for none."""
    stale = dict.fromkeys(listed)
    accepted = {finding for finding, identity in own.items() if identity in stale}
    for finding in accepted:
        del stale[own[finding]]
    if not stale or len(accepted) == len(own):
        return accepted, [*stale]

    def exists(path: str) -> bool:
        return os.path.exists(os.path.join(os.path.abspath(settings.root), path))

    renames = Renames(stale, {identity.path for identity in own.values()}, exists)
    unmatched: dict[str, dict[Identity, Finding]] = {}
    for finding, identity in own.items():
        if finding not in accepted:
            unmatched.setdefault(finding.filename, {})[identity] = finding
    for filename, found in unmatched.items():
        functions = cache(lambda filename=filename: Outline(reader(filename)).functions)
        for identity, entry in renames.entries_for(found, functions):
            accepted.add(found[identity])
            del stale[entry]
    return accepted, [*stale]


# The file


def text(listed: Iterable[Identity]) -> str:
    """The text of a baseline: one line an entry, in order, so that branches merge without conflict.

    The last item is null: every entry ends with a comma, also the last one.
    """
    records = [_record(entry) for entry in sorted(set(listed), key=_order)]
    lines = [
        "{",
        f'  "about": {json.dumps(_ABOUT)},',
        f'  "version": {_VERSION},',
        '  "findings": [',
        *(f"    {json.dumps(record, ensure_ascii=False)}," for record in records),
        "    null",
        "  ]",
        "}",
    ]
    return "".join(f"{line}\n" for line in lines)


def _order(identity: Identity) -> tuple[str, str, str, str, int]:
    return (
        identity.path,
        identity.function,
        identity.code,
        identity.syntax,
        identity.occurrence,
    )


def _record(identity: Identity) -> dict[str, Any]:
    return {key: getattr(identity, key) for key in _KEYS}


def read(baseline: str) -> tuple[Identity, ...]:
    """The entries of a baseline, none where there is no file; raises `BaselineError`."""
    try:
        content = json.loads(regular_files.contents(baseline))
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise BaselineError(f"{baseline}: {reason_of(error)}") from error
    except json.JSONDecodeError as error:
        raise _unreadable(f"{baseline}:{error.lineno}: {error.msg}") from error
    except (ValueError, RecursionError) as error:
        raise _unreadable(f"{baseline}: {error}") from error
    if not isinstance(content, dict) or not isinstance(content.get("findings"), list):
        raise _unreadable(f"{baseline}: it has no list of findings")
    if content.get("version") != _VERSION:
        raise _unreadable(f"{baseline}: it is of version {content.get('version')!r}")
    return tuple(_entry(item, baseline) for item in content["findings"] if item is not None)


def _entry(json_value: object, baseline: str) -> Identity:
    match json_value:
        case {
            "path": str(path),
            "function": str(function),
            "code": str(code),
            "syntax": str(syntax),
            "occurrence": int(occurrence),
        }:
            return Identity(path, code, function, syntax, occurrence)
    raise _unreadable(f"{baseline}: {str(json_value)[:60]} is no finding")


def _unreadable(reason: str) -> BaselineError:
    return BaselineError(f"{reason}; `namecheck baseline` writes it anew")
