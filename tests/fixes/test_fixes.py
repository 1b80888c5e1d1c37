"""Fixes: each example is fixed as declared, and no fix breaks anything."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest

from namecheck import project
from namecheck.core.findings import Finding, Kind, register
from namecheck.core.semantics import Semantics
from namecheck.editing.documents import Document
from namecheck.editing.edits import applied
from namecheck.fixing import offers
from namecheck.fixing.proposals import Proposals
from namecheck.fixing.registry import fixers
from namecheck.fixing.rounds import Mending, Wishes, mend
from namecheck.fixing.trials import Trials
from namecheck.project import Entry
from namecheck.project.settings import Settings
from tests.fixes.programs import PROGRAMS, FixedProgram
from tests.fixture_reader import FIXTURES

SAFE: Final = Wishes(safe=True)
ALL: Final = Wishes(safe=True, unsafe=True)

every_program: Final = pytest.mark.parametrize("program", PROGRAMS, ids=lambda one: one.name)


def entry_of(path: Path) -> Entry:
    native = "\n# semantics: torch-2.12\n" in f"\n{path.read_text('utf-8')}"
    semantics = Semantics.NATIVE if native else Semantics.NAMECHECK
    settings = Settings(str(path.parent), semantics)
    return Entry(str(path), str(path), settings, path.stat().st_size, True)


def mended(data: bytes, program: FixedProgram, wishes: Wishes) -> tuple[bytes, Mending]:
    """The contents of a file after its fixes."""
    entry, held = program.entry, {program.location: data}
    result = project.check([entry], jobs=1, overlay=held)
    mending = mend([entry], result.findings, wishes, held)
    return (mending.changes[0].after.data if mending.changes else data), mending


@every_program
def test_a_program_becomes_what_is_shown(program: FixedProgram) -> None:
    data = program.before.encode()
    found = project.check([program.entry], jobs=1, overlay={program.location: data}).findings
    assert program.code in {finding.code for finding in found}
    after, mending = mended(data, program, ALL)
    assert after.decode() == program.after
    assert not mending.left
    after, mending = mended(data, program, SAFE)
    assert (after.decode() == program.after) == program.safe
    assert (mending.unsafe > 0) == (not program.safe)


@every_program
def test_a_second_time_changes_nothing(program: FixedProgram) -> None:
    data = program.after.encode()
    after, mending = mended(data, program, ALL)
    assert after == data
    counts = mending.fixed, mending.unsafe, sum(mending.ignored.values())
    assert (mending.changes, mending.left, counts) == ((), (), (0, 0, 0))


def test_there_are_enough() -> None:
    assert len(PROGRAMS) >= 51


def test_every_code_that_has_fixes_has_a_program() -> None:
    shown = {program.code for program in PROGRAMS}
    assert shown >= set(fixers())


@pytest.mark.parametrize(
    "program", [one for one in PROGRAMS if one.fixer], ids=lambda one: one.name
)
def test_an_example_shows_its_own_fix(program: FixedProgram) -> None:
    """Among the proposals of its fix is one that the run makes."""
    held = {program.location: program.before.encode()}
    found = project.check([program.entry], jobs=1, overlay=held).findings
    fixes = offers.offer([program.entry], found, 10**9, held).fixes
    trials = Trials([program.entry])
    trials.overlay.update(held)
    site = Proposals(trials, 10**9).site(Document.of(program.before.encode(), program.location))
    assert program.fixer is not None
    proposed = {
        fix.message
        for finding in found
        if finding.code in program.fixer.codes
        for fix in program.fixer.fixes(finding, site)
    }
    assert any(fix.message.startswith(tuple(proposed)) for fix in fixes.values())


FORMS: Final[dict[str, Callable[[bytes], bytes]]] = {
    "lines end as on Windows": lambda data: data.replace(b"\n", b"\r\n"),
    "lines end as on old Macs": lambda data: data.replace(b"\n", b"\r"),
    "a byte order mark": lambda data: b"\xef\xbb\xbf" + data,
    "a declared encoding": lambda data: b"# -*- coding: latin-1 -*-\n# \xe9\n" + data,
    "letters before it in the line": lambda data: data.replace(b"print(", b"'\xc3\xa9'; print("),
    "tabs": lambda data: data.replace(b"    ", b"\t"),
    "a form feed": lambda data: data.replace(b"import torch\n", b"import torch\n\x0c\n\x0c"),
    "no end of the last line": lambda data: data.removesuffix(b"\n"),
    "blanks at the ends of lines": lambda data: data.replace(b"torch\n", b"torch  \n"),
}


def formed() -> Iterator[object]:
    """The programs in their forms; of nine forms each program has three in the everyday run."""
    for row, program in enumerate(PROGRAMS):
        for column, (name, form) in enumerate(FORMS.items()):
            if os.environ.get("NAMECHECK_ALL_FILES") or (row + column) % 3 == 0:
                yield pytest.param(program, form, id=f"{program.name}-{name}")


@pytest.mark.parametrize(("program", "form"), list(formed()))
def test_outside_the_edits_nothing_changes(
    program: FixedProgram, form: Callable[[bytes], bytes]
) -> None:
    before, after = program.before.encode(), program.after.encode()
    assert mended(form(before), program, ALL)[0] == form(after)


def programs_with_findings() -> Iterator[Path]:
    yield from sorted((FIXTURES / "programs").glob("*.bug.py"))[::5]
    yield from sorted((FIXTURES / "annotated").glob("*.bug.py"))[::3]


def errors(path: Path, data: bytes) -> list[Finding]:
    found = project.check([entry_of(path)], jobs=1, overlay={str(path): data}).findings
    return [finding for finding in found if register()[finding.code].kind is not Kind.NOTE]


def test_every_fix_removes_its_finding_and_adds_none() -> None:
    held = 0
    for path in programs_with_findings():
        data = path.read_bytes()
        before = errors(path, data)
        offered = offers.offer([entry_of(path)], before, 10**9)
        for finding, fix in offered.fixes.items():
            after = errors(path, applied(Document.of(data, str(path)), fix.edits).data)
            codes = Counter(one.code for one in before)
            assert Counter(one.code for one in after) <= codes - Counter([finding.code]), path
            held += 1
    assert held > 30


def test_fixes_and_comments_leave_nothing() -> None:
    wishes = Wishes(safe=True, unsafe=True, ignores=True)
    for path in [*programs_with_findings()][::3]:
        entry, data = entry_of(path), path.read_bytes()
        mending = mend([entry], errors(path, data), wishes)
        assert not mending.left, path
        [change] = mending.changes
        assert errors(path, change.after.data) == [], path


def test_what_is_safe_does_not_need_what_only_annotations_say() -> None:
    for path in sorted((FIXTURES / "annotated").glob("*.bug.py"))[::5]:
        offered = offers.offer([entry_of(path)], errors(path, path.read_bytes()), 10**9)
        safe = {finding.code for finding, fix in offered.fixes.items() if fix.safe}
        assert safe <= {"NC501"}, path


# Fixes that do not hold

NAMED: Final = 'import torch\n\nx = torch.rand(2, 3, names=("N", "C"))\n'


def fixes_of(tmp_path: Path, program: str) -> list[str]:
    """The messages of the fixes offered for a program."""
    path = tmp_path / "program.py"
    path.write_text(program)
    found = errors(path, path.read_bytes())
    assert found
    return [fix.message for fix in offers.offer([entry_of(path)], found, 10**9).fixes.values()]


@pytest.mark.parametrize(
    "program",
    [
        # two placements
        "from typing import Annotated\nfrom torch import Tensor\n"
        "def f(a: Annotated[Tensor, 'n m n k'], b: Annotated[Tensor, 'n']): return a + b\n",
        # the sizes do not fit either
        NAMED + "print(x + torch.rand(3, names=('N',)))\n",
        # no word is similar
        NAMED + "print(x.sum('features'))\n",
        # two words are similar
        "import torch\nx = torch.rand(2, 3, names=('dima', 'dimb'))\nprint(x.sum('dim'))\n",
        # in one of two ways there is nothing to align
        "from sys import flags as flag\n"
        + NAMED
        + "row = torch.ones(2, names=('N',))\nif flag:\n    row = torch.ones(3)\n"
        "print((x * row).names)\n",
        # the keyword is there, in a dict
        NAMED
        + "how = {'keepdim': False}\nprint(x - x.sum('C', **how) * 0)\n".replace("- x", "@ x"),
    ],
    ids=["two places", "other sizes", "another word", "two words", "another path", "a dict"],
)
def test_what_is_not_certain_is_not_offered(tmp_path: Path, program: str) -> None:
    assert fixes_of(tmp_path, program) == []


def test_a_variable_that_is_used_twice_keeps_what_it_is(tmp_path: Path) -> None:
    program = NAMED + "total = x.sum('C')\nprint((x / total).names, total.names)\n"
    assert fixes_of(tmp_path, program) == ["Align `total` by its names: `.align_as(x)`."]


def test_only_reductions_of_torch_keep_their_dims(tmp_path: Path) -> None:
    defined = "def total(y):\n    return y.sum('C')\nclass Sums:\n    sum = staticmethod(total)\n"
    program = f"{defined}{NAMED}print((x - Sums().sum(x)).names)\n"
    assert fixes_of(tmp_path, program) == ["Align `Sums().sum(x)` by its names: `.align_as(x)`."]


# Several files


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def mend_here(wishes: Wishes = ALL) -> dict[str, str]:
    """The files of the working folder after fixes, without writing them."""
    entries = project.Walk().entries(["."])
    found = project.check(entries, jobs=1).findings
    changes = mend(entries, found, wishes).changes
    return {os.path.basename(change.path): change.after.text for change in changes}


def test_a_finding_in_another_file_is_put_right_there(folder: Path) -> None:
    (folder / "ops.py").write_text("def shift(x, by):\n    return x + by\n")
    use = "row = torch.ones(2, names=('N',))\nshift(x, row)\n"
    (folder / "use.py").write_text(f"from ops import shift\n{NAMED}{use}")
    assert mend_here() == {"ops.py": "def shift(x, by):\n    return x + by.align_as(x)\n"}


def test_a_finding_that_goes_by_the_fix_of_another_file(folder: Path) -> None:
    (folder / "ops.py").write_text("def total(x):\n    return x.sum('C')\n")
    program = f"from ops import total\n{NAMED}y = x.align_to('N', 'c')\ntotal(y)\n"
    (folder / "use.py").write_text(program)
    (folder / "apart.py").write_text(f"{NAMED}x.sum('K')\n")
    entries = project.Walk().entries(["."])
    found = project.check(entries, jobs=1).findings
    mending = mend(entries, found, ALL)
    assert [change.path for change in mending.changes] == ["use.py"]
    assert [finding.filename for finding in mending.left] == ["apart.py"]
    assert mending.fixed == 1


def test_what_spoils_another_file_is_not_done(folder: Path) -> None:
    (folder / "ops.py").write_text("def shift(x, by):\n    return x + by\n")
    use = "row = torch.ones(2, names=('N',))\nshift(x, row)\n"
    (folder / "use.py").write_text(f"from ops import shift\n{NAMED}{use}")
    other = "import torch\nfrom ops import shift\nx = torch.rand(2, names=('N',))\n"
    (folder / "other.py").write_text(f"{other}print(shift(x, torch.ones(2)).names)\n")
    assert mend_here() == {}


# The removed API

MEANT: Final = '[project]\nname = "p"\ndependencies = ["torch>=2.13"]\n[tool.namecheck]\n'
LIBRARY: Final = "def total(x):\n    return x.refine_names('N', 'C').sum('C')\n"


def test_every_program_of_a_run_gets_its_install(folder: Path) -> None:
    (folder / "pyproject.toml").write_text(MEANT)
    (folder / "library.py").write_text(LIBRARY)
    (folder / "one.py").write_text(f"{NAMED}print(x.names)\n")
    guarded = f"{LIBRARY}\n\nif __name__ == '__main__':\n    print(total)\n"
    (folder / "two.py").write_text(guarded)
    assert mend_here(SAFE) == {}
    assert mend_here() == {
        "one.py": f"{NAMED}print(x.names)\n".replace(
            "import torch\n", "import torch\nimport namecheck\n\nnamecheck.install()\n"
        ),
        "two.py": f"import namecheck\n\nnamecheck.install()\n\n{guarded}",
    }


def test_a_file_that_others_import_installs_where_no_other_has(folder: Path) -> None:
    (folder / "pyproject.toml").write_text(MEANT)
    (folder / "made.py").write_text(NAMED)
    (folder / "main.py").write_text("from made import x\n\nprint(x.rename(None).names)\n")
    mended = mend_here()
    assert "if not namecheck.installed():\n    namecheck.install()\n" in mended["made.py"]
    assert mended["main.py"].startswith("import namecheck\n\nnamecheck.install()\n")


def test_no_install_in_a_file_from_which_nothing_starts(folder: Path) -> None:
    (folder / "pyproject.toml").write_text(MEANT)
    (folder / "library.py").write_text(LIBRARY)
    assert mend_here() == {}
