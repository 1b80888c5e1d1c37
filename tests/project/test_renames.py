"""Entries of a baseline that stand for findings under other names."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable

from namecheck.core.fingerprints import Identity
from namecheck.project.renames import Renames


def entry(path: str, function: str, code: str = "NC101") -> Identity:
    return Identity(path, code, function, "0" * 24, 0)


def paired(
    identities: Iterable[Identity], listed: Iterable[Identity], functions: Collection[str]
) -> dict[Identity, Identity]:
    """What stands for the findings of `here.py`, the only file that exists."""
    pairs = [
        *Renames(listed, ["here.py"], lambda path: path == "other.py").entries_for(
            identities, lambda: functions
        )
    ]
    assert len({known for _, known in pairs}) == len(pairs)
    return dict(pairs)


def test_the_nearest_entry_is_taken() -> None:
    f, g, h = (entry("here.py", name) for name in "fgh")
    in_file, in_function = entry("here.py", "old"), entry("gone.py", "g")
    elsewhere, known = entry("gone.py", "old"), {"", *"fgh"}
    listed = [in_function, elsewhere, in_file]
    assert paired([f, g, h], listed, known) == {f: in_file, g: in_function, h: elsewhere}


def test_what_is_there_was_not_renamed() -> None:
    f, others = entry("here.py", "f"), [entry("other.py", "f"), entry("here.py", "g")]
    assert paired([f], others, {"f", "g"}) == {}
    assert paired([f], [entry("gone.py", "g")], {"f", "g"}) == {}
    assert paired([f], [entry("gone.py", "f", "NC102")], {"f"}) == {}


def test_each_entry_stands_for_one_finding() -> None:
    findings = [entry("here.py", name) for name in "fgh"]
    alike = [entry(path, "old") for path in ("gone.py", "away.py")]
    assert [*paired(findings, alike, {*"fgh"}).values()] == alike


def test_entries_alike_cost_no_more_than_their_number() -> None:
    """A stranger may write any number of them, for any number of findings."""
    count = 20_000
    known = {f"f{number}" for number in range(count)}
    findings = [entry("here.py", f"g{number}") for number in range(count)]
    for path in ("here.py", "gone.py"):
        began = time.process_time()
        assert paired(findings, [entry(path, name) for name in known], {*known}) == {}
        moved = [entry(f"{number}{path}", "h") for number in range(count)]
        assert len(paired(findings, moved, known)) == count
        assert time.process_time() - began < 5
