"""Entries of a baseline whose file or function was renamed, each found by a finding like it.

A stranger's baseline may have thousands of entries alike for thousands of findings: which of them
stand for the findings of one file is found in one pass over that file's functions.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import islice

from namecheck.core.fingerprints import Identity

Content = tuple[str, str, int]


def content(identity: Identity) -> Content:
    """What stays of an identity when its file and its function are renamed."""
    return identity.code, identity.syntax, identity.occurrence


class Renames:
    """The entries that no finding has, by what a renaming leaves of them.

    An entry stands for a finding of the same content if its own file and function are not there any
    more, or are the same. The nearest is taken: of the same file, then of the same function.
    """

    def __init__(
        self,
        listed: Iterable[Identity],
        checked_paths: Collection[str],
        exists: Callable[[str], bool],
    ) -> None:
        self._here: dict[tuple[Content, str], list[Identity]] = {}
        self._gone: dict[Content, dict[str, list[Identity]]] = {}
        is_here = dict.fromkeys(checked_paths, True)
        for entry in listed:
            if entry.path not in is_here:
                is_here[entry.path] = exists(entry.path)
            if is_here[entry.path]:
                self._here.setdefault((content(entry), entry.path), []).append(entry)
            else:
                by_function = self._gone.setdefault(content(entry), {})
                by_function.setdefault(entry.function, []).append(entry)
        for by_function in self._gone.values():
            for entries in by_function.values():
                entries.reverse()  # the first is taken from the end

    def entries_for(
        self, identities: Iterable[Identity], function_names: Callable[[], Collection[str]]
    ) -> Iterator[tuple[Identity, Identity]]:
        """The identities of one file that an entry stands for, each with that entry.

        `function_names` returns the functions of the file. No entry is returned twice.
        """
        by_content: dict[Content, list[Identity]] = {}
        for identity in identities:
            by_content.setdefault(content(identity), []).append(identity)
        for key, alike in by_content.items():
            here = self._here.get((key, alike[0].path), ())
            gone = self._gone.get(key, {})
            if here or gone:
                yield from _paired(alike, here, gone, function_names())


def _paired(
    identities: Iterable[Identity],
    here: Iterable[Identity],
    gone: dict[str, list[Identity]],
    known_functions: Collection[str],
) -> Iterator[tuple[Identity, Identity]]:
    """Identities of one file and one content, each with the entry that stands for it."""
    moved = (entry for entry in here if entry.function not in known_functions)
    unpaired: list[Identity] = []
    for identity in identities:
        if entry := next(moved, None):
            yield identity, entry
        elif identity.function in gone:
            yield identity, _taken(gone, identity.function)
        else:
            unpaired.append(identity)
    others = [*islice((name for name in gone if name not in known_functions), len(unpaired))]
    for identity, name in zip(unpaired, _repeated(others, gone), strict=False):
        yield identity, _taken(gone, name)


def _repeated(moved_names: Iterable[str], gone: Mapping[str, list[Identity]]) -> Iterator[str]:
    """Each function as often as it has entries."""
    for name in moved_names:
        for _ in range(len(gone[name])):
            yield name


def _taken(gone: dict[str, list[Identity]], function: str) -> Identity:
    """An entry of a function, which is removed."""
    entry = gone[function].pop()
    if not gone[function]:
        del gone[function]
    return entry
