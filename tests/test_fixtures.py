"""The fixtures: pairs of programs, and pages, hold what they say."""

from __future__ import annotations

from collections import Counter

import pytest

from namecheck.findings import Kind, register
from namecheck.semantics import Semantics
from tests.fixture_reader import REVEALED, Pair, Program, differences, pages, pairs
from tests.test_findings import ONLY_ASKED, ONLY_ASSERTED

RUN = pairs("programs")
PAIRS = [*RUN, *pairs("natural"), *pairs("annotated")]
BLOCKS = pages()
MUST_BE_SHOWN = [
    code
    for code, row in register().items()
    if row.kind in (Kind.FINDING, Kind.LINT)
    and code >= "NC100"
    and row.bad
    and code not in ONLY_ASSERTED | ONLY_ASKED
]


def _place(item: Pair | Program) -> str:
    return (item.bug if isinstance(item, Pair) else item).place


@pytest.mark.parametrize("pair", PAIRS, ids=_place)
def test_a_bug_is_one_finding_on_the_marked_statement(pair: Pair) -> None:
    program = pair.bug
    findings = program.findings
    got = "\n".join(map(program.show, findings)) or "nothing"
    lines = ", ".join(map(program.at, sorted(program.marks)))
    assert len(findings) == 1, f"expected one finding at {lines}, got\n{got}"
    assert findings[0].span.line in program.marks, f"expected it at {lines}, got\n{got}"
    assert findings[0].code == pair.code, f"expected [{pair.code}], got\n{got}"


@pytest.mark.parametrize("program", [pair.ok for pair in PAIRS], ids=_place)
def test_the_right_version_has_no_finding(program: Program) -> None:
    assert not program.findings, "expected nothing, got\n" + "\n".join(
        map(program.show, program.findings)
    )


@pytest.mark.parametrize("pair", RUN, ids=_place)
def test_the_semantics_of_torch_2_12_agrees(pair: Pair) -> None:
    """What was run on torch 2.12.1 has the same finding, and none, in that semantics."""
    bug, ok = pair.bug.under(Semantics.NATIVE), pair.ok.under(Semantics.NATIVE)
    got = "\n".join(map(bug.show, bug.findings)) or "nothing"
    lines = [finding.span.line for finding in bug.findings]
    assert len(lines) == 1, f"expected one finding, got\n{got}"
    assert lines[0] in bug.marks, f"expected it on {sorted(bug.marks)}, got\n{got}"
    assert not ok.findings, "\n".join(map(ok.show, ok.findings))


@pytest.mark.parametrize("pair", PAIRS, ids=_place)
def test_a_pair_says_what_it_is_about(pair: Pair) -> None:
    assert {"construct", "code"} <= set(pair.bug.header)
    assert pair.bug.header == pair.ok.header
    assert pair.code in register()
    assert pair.bug.marks
    assert "# BUG" not in pair.ok.text


@pytest.mark.parametrize("block", BLOCKS, ids=_place)
def test_a_block_of_a_page_has_what_its_lines_expect(block: Program) -> None:
    told = differences(block)
    assert not told, "\n".join(told)


def test_every_code_is_shown_by_two_bad_and_two_good_programs() -> None:
    shown = Counter(pair.code for pair in PAIRS)
    few = {code: shown[code] for code in MUST_BE_SHOWN if shown[code] < 2}
    assert not few, f"pairs that show a code: {few}"


def test_the_pages_show_every_code_and_reveal_dims() -> None:
    expected = {e.code for block in BLOCKS for e in block.expectations}
    assert set(MUST_BE_SHOWN) | {REVEALED} <= expected
