"""Every fixture that can run is run under the shim: it raises where the linter reports."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
import torch

from namecheck.core.semantics import Semantics
from namecheck.runtime import runtime
from tests.fixture_reader import Program, pages, pairs
from tests.runtime.fixture_runner import (
    Revealed,
    covers,
    differences,
    exemptions,
    is_elsewhere,
)

DEVICES = ["cpu", "meta", *["cuda"][: torch.cuda.is_available()]]
EXEMPT = {(entry.program, entry.device): entry for entry in exemptions()}
RUN = [program for pair in pairs("programs") for program in (pair.bug, pair.ok)]
NATURAL = [program for pair in pairs("natural") for program in (pair.bug, pair.ok)]
# Nothing calls the functions of this page: it is about their declarations.
DECLARED = "annotations.md"
# These packages are only read; they are not installed for the tests.
READ_ONLY = re.compile(r"^\s*(from|import) (jaxtyping|einops)\b", re.MULTILINE)
PAGES = [
    program
    for program in pages()
    if program.path.name != DECLARED
    and not READ_ONLY.search(program.text)
    and not is_elsewhere(program)
]
ALL = [*RUN, *NATURAL, *PAGES]
OURS = [program for program in ALL if program.semantics is Semantics.NAMECHECK]
NATIVE = [program.under(Semantics.NATIVE) for program in RUN]
NATIVE += [program for program in PAGES if program.semantics is Semantics.NATIVE]


def _place(program: Program) -> str:
    return program.place


def _hold(program: Program, device: str) -> None:
    told = differences(program, device)
    exempt = EXEMPT.get((program.place, device)) or EXEMPT.get((program.place, ""))
    if exempt is not None:
        assert told, f"nothing differs any more, though it is listed: {exempt.why}"
    else:
        assert not told, "\n".join(told)


class TestOurSemantics:
    @pytest.fixture(scope="class", autouse=True)
    def shim(self) -> Iterator[None]:
        with runtime():
            yield

    @pytest.mark.parametrize("device", DEVICES)
    @pytest.mark.parametrize("program", OURS, ids=_place)
    def test_the_shim_raises_where_the_linter_finds(self, program: Program, device: str) -> None:
        _hold(program, device)


class TestNativeSemantics:
    @pytest.fixture(scope="class", autouse=True)
    def shim(self) -> Iterator[None]:
        with runtime(semantics=Semantics.NATIVE):
            yield

    @pytest.mark.parametrize("program", NATIVE, ids=_place)
    def test_the_shim_raises_where_the_linter_finds(self, program: Program) -> None:
        _hold(program, "cpu")


def test_every_exemption_has_a_program_and_a_reason() -> None:
    places = {program.place for program in ALL}
    for entry in EXEMPT.values():
        assert entry.program in places, entry.program
        assert entry.device in ("", "cpu", "meta", "cuda"), entry.program
        assert entry.why.strip()


@pytest.mark.parametrize(
    ("text", "names", "answer"),
    [
        ("N C=3", ("N", "C"), True),
        ("N C=4", ("N", "C"), False),
        ("N _=3", ("N", None), True),
        ("N _", ("N", "C"), False),
        ("? ... C", ("N", None, "C"), True),
        ("N ... C=5", ("N", "C"), False),
        ("N C T ...", ("N", "C"), False),
    ],
)
def test_what_is_revealed_is_compared(
    text: str, names: tuple[str | None, ...], answer: bool
) -> None:
    assert covers(text, Revealed(1, names, (2,) * (len(names) - 1) + (3,))) is answer
