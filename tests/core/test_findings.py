"""The register of codes is complete, and its programs have the findings that they are for."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest

from namecheck import project
from namecheck.core import findings
from namecheck.core.findings import Code, Kind, register
from namecheck.core.semantics import Semantics
from namecheck.project.settings import Settings
from namecheck.runtime import NameMismatch, runtime

PACKAGE: Final = Path(__file__).parents[2] / "namecheck"
CODES: Final = list(register().values())

# No program can show findings about the file system, other processes or namecheck itself; one that
# costs too much takes seconds.
WITHOUT_PROGRAM: Final = {"NC002", "NC005", "NC091", "NC113"}

# The errors of asserted annotations.
ASSERTED: Final = {"NC112", "NC210", "NC211", "NC301"}
ONLY_ASSERTED: Final = {"NC301"}
# Reported only if the settings ask for it: tests/lints/test_removed_api.py has the programs.
ONLY_ASKED: Final = {"NC701"}
# Reported only of what code says without declaring it.
OBSERVED: Final = {"NC604", "NC605"}


def used_codes() -> set[str]:
    """Every code that the package contains as a string."""
    found: set[str] = set()
    for path in [*PACKAGE.rglob("*.py"), *PACKAGE.glob("operators/table/*.toml")]:
        found |= set(re.findall(r'"(NC\d{3})"', path.read_text("utf-8")))
    return found


def test_every_code_that_is_used_is_registered_and_the_other_way_round() -> None:
    assert used_codes() == set(register())


@pytest.mark.parametrize("code", CODES, ids=lambda code: code.code)
def test_a_code_is_complete(code: Code) -> None:
    assert re.fullmatch(r"NC\d{3}", code.code)
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", code.name)
    assert code.summary.endswith(".")
    assert code.explanation
    assert all(len(line) <= 100 for line in code.explanation.splitlines())
    assert bool(code.bad and code.good) is (code.code not in WITHOUT_PROGRAM)


def test_names_are_distinct() -> None:
    assert len({code.name for code in CODES}) == len(CODES)


def static_codes() -> list[Code]:
    """The codes with an example for `namecheck check`."""
    return [code for code in CODES if code.code not in WITHOUT_PROGRAM | ONLY_ASSERTED]


@pytest.mark.parametrize("code", sorted(ASSERTED))
def test_the_bad_program_raises_and_the_good_one_does_not(code: str) -> None:
    program = register()[code]
    with runtime():
        with pytest.raises(NameMismatch) as raised:
            exec(compile(program.bad, "bad.py", "exec"), {})
        exec(compile(program.good, "good.py", "exec"), {})
    assert raised.value.finding.code == code


@pytest.mark.parametrize("code", static_codes(), ids=lambda code: code.code)
def test_the_bad_program_shows_the_code_alone_and_the_good_one_nothing(code: Code) -> None:
    semantics = Semantics.NATIVE if code.code == "NC120" else Semantics.NAMECHECK
    settings = Settings(
        semantics=semantics,
        torch=">=2.13" if code.code == "NC701" else "",
        evidence="observed" if code.code in OBSERVED else "declared",
    )
    bad = project.check_text(code.bad.encode(), "bad.py", settings)
    good = project.check_text(code.good.encode(), "good.py", settings)
    assert [finding.code for finding in bad.findings] == [code.code]
    assert good.findings == ()


def test_a_code_is_found_by_number_and_by_name() -> None:
    assert findings.resolve("NC101") == "NC101"
    assert findings.resolve("nc101") == "NC101"
    assert findings.resolve("name-mismatch") == "NC101"
    assert findings.resolve("NC1") is None
    assert findings.resolve("nonsense") is None


def test_words_choose_codes() -> None:
    assert findings.matching(["ALL"]) == set(register())
    assert findings.matching(["NC2", "name-mismatch"]) == {
        "NC101",
        *(code for code in register() if code.startswith("NC2")),
    }
    with pytest.raises(KeyError, match="NC9"):
        findings.matching(["NC101", "NC9"])
    with pytest.raises(KeyError):
        findings.matching([""])


def test_the_kinds_of_codes() -> None:
    kinds = {code.code: code.kind for code in CODES}
    assert kinds["NC001"] is Kind.FILE
    assert kinds["NC010"] is Kind.LINT
    assert kinds["NC090"] is Kind.NOTE
    assert {kind for code, kind in kinds.items() if "NC100" < code < "NC400"} == {Kind.FINDING}
