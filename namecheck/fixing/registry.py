"""The registry of fixes, by code: every module of `namecheck.fixes` is one fix.

Where several proposals of a fix hold, it is unclear which is meant, and none is offered. The fixes
of a code are tried in their order.
"""

from __future__ import annotations

import importlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from types import ModuleType

from namecheck import fixes
from namecheck.core.discovery import modules_in
from namecheck.core.findings import register
from namecheck.fixes.shared.declaration import Fixer


class FixError(Exception):
    """An invalid declaration of a fix; the message names its module and the mistake."""


@cache
def fixers() -> Mapping[str, tuple[Fixer, ...]]:
    """The fixes of each code, in the order in which they are tried; raises `FixError`."""
    return by_code(discover(fixes))


def described(code: str) -> tuple[str, ...]:
    """The descriptions of the fixes of a code, a sentence each."""
    return tuple(fixer.summary for fixer in fixers().get(code, ()))


def discover(package: ModuleType) -> Iterator[Fixer]:
    """The fix of each module of a package; raises `FixError` where there is not exactly one."""
    for name in modules_in(package.__path__):
        module = importlib.import_module(f"{package.__name__}.{name}")
        values = vars(module).values()
        declared = [value for value in values if isinstance(value, Fixer)]
        if len(declared) != 1:
            raise FixError(f"{module.__name__} declares {len(declared)} fixes; it must be one")
        yield declared[0]


def by_code(all_fixers: Iterable[Fixer]) -> Mapping[str, tuple[Fixer, ...]]:
    """Fixes by code; raises `FixError` for an invalid declaration."""
    table: defaultdict[str, list[Fixer]] = defaultdict(list)
    for fixer in sorted(all_fixers, key=lambda one: (one.precedence, one.name)):
        _check(fixer)
        for code in fixer.codes:
            if any(other.precedence == fixer.precedence for other in table[code]):
                clashing = ", ".join([*(one.name for one in table[code]), fixer.name])
                same = f"have the same precedence {fixer.precedence}"
                raise FixError(f"two fixes of {code} {same}: {clashing}")
            table[code].append(fixer)
    return {code: tuple(listed) for code, listed in sorted(table.items())}


def _check(fixer: Fixer) -> None:
    """Raise `FixError` where a declaration lacks something, or names a code that does not exist."""
    if not fixer.codes or not fixer.examples or not fixer.summary:
        raise FixError(f"{fixer.name} has no code, no example or no docstring")
    for code in fixer.codes:
        if code not in register():
            raise FixError(f"{fixer.name}: there is no code {code}")
    for example in fixer.examples:
        if example.code not in fixer.codes and (example.code or len(fixer.codes) > 1):
            raise FixError(f"{fixer.name}: an example must name one of {', '.join(fixer.codes)}")
