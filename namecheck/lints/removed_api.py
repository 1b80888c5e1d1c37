"""The program uses named tensors of torch 2.12, which torch 2.13 removed.

torch 2.13 removed named tensors: `names=` is a TypeError there, `refine_names` an AttributeError.
The lint reports once for each file that uses them, and only if the setting `torch = ">=2.13"`, or
the dependencies in the nearest pyproject.toml, ask for such a torch. It reports nothing if a file
of the run calls `namecheck.install()`, which restores them. `namecheck migrate` does either: it
inserts that call, or compiles the names away.

Bad:

    import torch

    images = torch.zeros(2, 3, names=("N", "C"))
    print(images.sum("C"))

Good:

    import torch
    import namecheck

    namecheck.install()

    images = torch.zeros(2, 3, names=("N", "C"))
    print(images.sum("C"))
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import ClassVar, Final

from namecheck.core.findings import Finding
from namecheck.core.syntax import Located as Node
from namecheck.core.syntax import Source, position
from namecheck.interpreter.evaluation.events import Listener

CODE: Final = "NC701"

_REMOVED: Final = frozenset(
    {"names=", "rename", "rename_", "refine_names", "align_to", "align_as", "has_names"}
)


class Lint(Listener):
    """Collects the calls of the named-tensor API, which torch 2.13 does not have."""

    on_request: ClassVar[str] = "removed_api"
    independent: ClassVar[bool] = True

    def __init__(self) -> None:
        self._uses: dict[Node, str] = {}

    def on_call(self, operator: str, keywords: Iterable[str], node: Node) -> None:
        """Collect a call of a removed operator, or with the removed keyword."""
        if operator in _REMOVED or "names" in keywords:
            self._uses.setdefault(node, operator)

    def findings(self, source: Source) -> Iterator[Finding]:
        """One finding for a file that uses the API: at its first use, with the number of uses."""
        if not self._uses:
            return
        places = [
            (position(node), node)
            for node in ast.walk(source.tree)
            if isinstance(node, (ast.expr, ast.stmt)) and node in self._uses
        ]
        if places:
            _, first_use = min(places, key=lambda place: place[0])
            yield _finding(source, first_use, self._uses[first_use], len(places) - 1)


def _finding(source: Source, first_use: Node, operator: str, more_uses: int) -> Finding:
    used = _shown(operator)
    places = f"place{'s' if more_uses > 1 else ''}"
    more = "" if not more_uses else f", and at {more_uses} more {places} here"
    return Finding(
        CODE,
        f"torch 2.13 has no named tensors: {used} is used here{more}, and no "
        "`namecheck.install()` is found.",
        source.filename,
        source.span(first_use),
        help="Call it where programs start, as `namecheck migrate` does; with `--to torch` that "
        "compiles the names away.",
    )


def _shown(operator: str) -> str:
    if operator == "names=":
        return "setting `.names`"
    return f"`{operator}`" if operator in ("rename", "rename_") or "_" in operator else "`names=`"
