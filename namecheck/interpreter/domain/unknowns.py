"""Unknown values that may be one of several known ones."""

from __future__ import annotations

from collections.abc import Sequence

from namecheck.interpreter.domain.provenance import Failed, Fresh
from namecheck.interpreter.domain.store import Ledger
from namecheck.interpreter.domain.values import Mutable, Opaque, Picked, Value, has_failed


def unknown_of(choices: Sequence[Value], ledger: Ledger) -> Opaque:
    """An unknown value that may be one of these."""
    number = ledger.new()
    kinds = {choice.kind if isinstance(choice, Opaque) else None for choice in choices}
    links: dict[Value, None] = {}
    for choice in choices:
        if isinstance(choice, Mutable):
            links[choice] = None
        elif isinstance(choice, Opaque) and choice.link is not None:
            links.update(dict.fromkeys(choice.link.of))
    link = Picked(links, number, number) if links else None
    ledger.meter.spend(0 if link is None else (len(links) + len(link.origins)) >> 1)
    # Which of them have failed does not matter, and would keep all values that a loop has joined.
    made = Failed(number) if any(map(has_failed, choices)) else Fresh("join", number)
    return Opaque(made, kinds.pop() if len(kinds) == 1 else None, link)
