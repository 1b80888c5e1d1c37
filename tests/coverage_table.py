"""The documented operator-coverage table: its rows, and the CSV in fixtures/spec/ with them.

``python -m tests.coverage_table name_inference.rst`` prints the CSV of a copy of the document.
"""

from __future__ import annotations

import csv
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

SPEC: Final = Path(__file__).parents[1] / "fixtures" / "spec"
COVERAGE: Final = SPEC / "coverage.csv"
AUDIT: Final = SPEC / "audit.csv"
KINDS: Final = {"meth": "method", "func": "function", "attr": "attribute"}


class Documented(NamedTuple):
    """One API of the documented table: ``Tensor.x`` or ``torch.x``, and the label of its rule."""

    api: str
    kind: str
    rule: str

    @property
    def operator(self) -> str:
        """The bare name."""
        return self.api.split(".", 1)[1]


class Audited(NamedTuple):
    """A documented word, another word for the rule that applies, and the reason."""

    documented: str
    applies: str
    reason: str


def coverage() -> list[Documented]:
    """The rows of the CSV, in the order of the document."""
    with COVERAGE.open(newline="", encoding="utf-8") as lines:
        return [Documented(**row) for row in csv.DictReader(lines)]


def audit() -> list[Audited]:
    """The rows of the list of differences between words."""
    with AUDIT.open(newline="", encoding="utf-8") as lines:
        return [Audited(**row) for row in csv.DictReader(lines)]


def parse(document: str) -> Iterator[Documented]:
    """Every API of the csv-table in the document, once; a repeated row is one."""
    seen: set[str] = set()
    for cells in csv.reader(_table(document.splitlines())):
        label = re.sub(r":ref:`(.*?)(?:-doc)?`", r"\1", cells[1])
        for kind, api in re.findall(r":(meth|func|attr):`(.*?)`", cells[0]):
            if api not in seen:
                seen.add(api)
                yield Documented(api, KINDS[kind], label)


def _table(lines: Iterable[str]) -> Iterator[str]:
    """The lines that are rows: two cells, the first of which links to an API."""
    for line in map(str.strip, lines):
        if re.match(r'"?:(?:meth|func|attr):`[^`]*`.*,', line):
            yield line


def main(path: str) -> None:
    """Print the CSV of a copy of the document."""
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(Documented._fields)
    writer.writerows(parse(Path(path).read_text("utf-8")))


if __name__ == "__main__":
    main(sys.argv[1])
