"""How fixes are discovered: one a module, in their order; an invalid declaration is an error."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from namecheck import fixes
from namecheck.core.findings import Finding
from namecheck.editing.sites import Site
from namecheck.fixes.shared.declaration import Example, Fixer, Proposal, Safety, fix
from namecheck.fixing import registry
from namecheck.fixing.registry import FixError, by_code, discover, fixers

EXAMPLE = Example("x\n", "y\n")


def declared(*codes: str, precedence: int = 0, example: Example | None = EXAMPLE) -> Fixer:
    @fix(*codes, safety=Safety.NEVER, precedence=precedence, examples=(example,) if example else ())
    def propose(finding: Finding, site: Site) -> Iterator[Proposal]:
        """Says something. And more."""
        yield from ()

    return propose


def test_every_module_of_the_folder_is_a_fix() -> None:
    folder = Path(fixes.__path__[0])
    names = {path.stem for path in folder.glob("*.py")} - {"__init__"}
    assert {fixer.name for fixer in discover(fixes)} == names
    assert {fixer.name for listed in fixers().values() for fixer in listed} == names


def test_the_order_of_the_fixes_of_a_code() -> None:
    assert [fixer.name for fixer in fixers()["NC101"]] == [
        "declared_spelling",
        "factor_transpose",
        "keepdim",
        "alignment",
        "operand_order",
        "summand_transpose",
        "other_dim",
    ]
    late, early = declared("NC101", precedence=2), declared("NC101", precedence=1)
    assert by_code([late, early]) == {"NC101": (early, late)}


def test_the_first_paragraph_of_the_docstring_is_the_summary() -> None:
    assert registry.described("NC403") == (
        "Copies a tensor to the CPU before NumPy reads it: `.cpu()`.",
    )
    assert registry.described("NC001") == ()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ([declared("NC101"), declared("NC101")], "two fixes of NC101 have the same precedence 0"),
        ([declared("NC999")], "there is no code NC999"),
        ([declared()], "no code, no example or no docstring"),
        ([declared("NC101", example=None)], "no code, no example or no docstring"),
        ([declared("NC101", "NC102")], "an example must name one of NC101, NC102"),
        (
            [declared("NC101", example=Example("x", "y", code="NC103"))],
            "an example must name one of NC101",
        ),
    ],
)
def test_what_is_declared_wrongly_is_an_error(wrong: list[Fixer], message: str) -> None:
    with pytest.raises(FixError, match=message):
        by_code(wrong)


@pytest.mark.parametrize("text", ["", "from tests.fixes.test_registry import FIRST, SECOND\n"])
def test_a_module_declares_one_fix(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "wrong.py").write_text(text)
    package = ModuleType("fixes_of_a_test")
    package.__path__ = [str(tmp_path)]
    monkeypatch.setitem(sys.modules, package.__name__, package)
    with pytest.raises(FixError, match=r"fixes_of_a_test\.wrong declares [02] fixes"):
        list(discover(package))
    monkeypatch.delitem(sys.modules, "fixes_of_a_test.wrong")


FIRST, SECOND = declared("NC101"), declared("NC102")


def test_listing_the_fixes_is_light() -> None:
    program = (
        "import sys\nfrom namecheck.fixing import registry\nassert registry.described('NC101')\n"
        "heavy = ('libcst', 'torch', 'namecheck.interpreter', 'namecheck.migration')\n"
        "print([name for name in sys.modules if name.startswith(heavy)])"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert (run.returncode, run.stdout.strip()) == (0, "[]"), run.stderr
