"""mypy reports the findings of ``namecheck check``: cold, warm, and after every kind of edit."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent
from typing import Final

import pytest
from mypy.version import __version__

from namecheck_mypy.surfaces import ADAPTER
from tests.mypy_plugin.projects import Project

LIB: Final = """\
import torch
from torch import Tensor


def make() -> Tensor:
    return torch.zeros(2, 3, names=("N", "C"))
"""
MIDDLE: Final = """\
from torch import Tensor

from lib import make


def twice() -> Tensor:
    return make() * 2
"""
TOP: Final = """\
from middle import twice


def use() -> None:
    twice().sum("C").sum("C")
"""
HELPER: Final = """\
from torch import Tensor


def total(x: Tensor) -> Tensor:
    return x.sum("T")
"""
TRAIN: Final = """\
import torch

from helper import total

total(torch.zeros(2, names=("T",)))
"""
ONE: Final = """\
import torch
import two

X = torch.zeros(2, names=("N",))


def f() -> None:
    two.g().sum("M")
"""
TWO: Final = """\
from torch import Tensor
import one


def g() -> Tensor:
    return one.X.rename("K")
"""
SPREAD: Final = """\
from middle import twice


def use() -> None:
    twice().sum("C").sum(  # type: ignore[named-dim]
        "C",
    )
"""
OWN: Final = """\
import torch

torch.zeros(2, 3, names=("N", "C")).sum("N").sum("N")
"""
OPEN: Final = """\
[operators]
sum = { forms = "fm", names = "unknown" }
"""
SHOWN: Final = """\
from middle import twice

reveal_type(
    twice().names,
)
"""
OVERRIDES: Final = '[[tool.mypy.overrides]]\nmodule = "top"\n'
UNDECLARED: Final = """\
from typing import Any
import torch

def split(x: Any, heads: int) -> Any:
    B, T, C = x.shape
    return x.view(B, heads, T, C // heads)
"""
PLAIN: Final = """\
import torch
from torch import Tensor


def mean(scores: Tensor) -> Tensor:
    return torch.argmax(scores, -1).mean()
"""
CHAIN: Final = {"lib.py": LIB, "middle.py": MIDDLE, "top.py": TOP}


@pytest.fixture
def project(small_project: Project) -> Project:
    """A project with a torch of a few lines: what is tested here does not depend on the stubs."""
    return small_project


def agree(project: Project, *words: str) -> set[tuple[str, int, str]]:
    """mypy and namecheck report the same, and mypy has no other errors."""
    run = project.mypy(*words)
    assert run.told == project.namecheck(".")
    assert run.others == []
    return run.told


def test_cold_and_warm(torch_project: Project) -> None:
    torch_project.write(CHAIN)
    first = agree(torch_project)
    assert first == {("top.py", 5, "Name 'C' not found in Tensor['N'].")}
    assert agree(torch_project) == first


def test_without_a_cache(small_project: Project) -> None:
    small_project.write(CHAIN)
    first = agree(small_project)
    assert first == {("top.py", 5, "Name 'C' not found in Tensor['N'].")}
    assert agree(small_project, "--no-incremental", ".") == first


def test_an_edit_two_imports_away(project: Project) -> None:
    project.write(CHAIN)
    first = agree(project)
    project.replace("lib.py", '"N", "C"', '"N", "K"')
    second = agree(project)
    assert second == {("top.py", 5, "Name 'C' not found in Tensor['N', 'K'].")}
    project.replace("lib.py", '"N", "K"', '"N", "C"')
    assert agree(project) == first


def test_a_finding_in_a_file_that_a_later_one_leads_to(project: Project) -> None:
    project.write({"helper.py": HELPER, "train.py": TRAIN})
    assert agree(project) == set()
    project.replace("train.py", '("T",)', '("N",)')
    assert {file for file, _, _ in agree(project)} == {"helper.py"}
    (project.root / "train.py").unlink()
    assert agree(project) == set()


def test_an_import_cycle(project: Project) -> None:
    project.write({"one.py": ONE, "two.py": TWO})
    assert agree(project) == {("one.py", 8, "Name 'M' not found in Tensor['K'].")}
    project.replace("two.py", '"K"', '"M"')
    assert agree(project) == set()


def test_files_that_name_nothing_where_that_is_asked_for(project: Project) -> None:
    project.write({"plain.py": PLAIN})
    assert agree(project) == set()
    project.settings('[tool.namecheck]\nattributes = "all"\n')
    assert {(file, line) for file, line, _ in agree(project)} == {("plain.py", 6)}
    assert {(file, line) for file, line, _ in agree(project)} == {("plain.py", 6)}
    project.settings("")
    assert agree(project) == set()


def test_plain_code_where_that_is_asked_for(project: Project) -> None:
    """The names that the code has all the same, also warm and after an edit."""
    project.write({"model.py": UNDECLARED, "train.py": "import model\n"})
    assert agree(project) == set()
    project.settings('[tool.namecheck]\nevidence = "observed"\n')
    assert {(file, line) for file, line, _ in agree(project)} == {("model.py", 6)}
    assert {(file, line) for file, line, _ in agree(project)} == {("model.py", 6)}
    project.replace("model.py", "(B, heads, T, C // heads)", "(B, T, heads, C // heads)")
    assert agree(project) == set()
    project.replace("model.py", "(B, T, heads, C // heads)", "(B, heads, T, C // heads)")
    project.settings("")
    assert agree(project) == set()


def test_settings_and_suppressions(project: Project) -> None:
    project.write(CHAIN)
    first = agree(project)
    project.settings('[tool.namecheck]\nignore = ["NC103"]\n')
    assert agree(project) == set()
    project.settings('[tool.namecheck]\nexclude = ["top.py"]\n')
    assert agree(project) == set()
    project.settings("")
    assert agree(project) == first
    project.replace("top.py", '.sum("C")\n', '.sum("C")  # namecheck: ignore[NC103]\n')
    assert agree(project) == set()
    project.replace("top.py", "[NC103]", "[NC101]")
    assert len(agree(project)) == 2
    project.replace("top.py", "  # namecheck: ignore[NC101]", "")
    assert agree(project) == first


def test_a_baseline(project: Project) -> None:
    """Known findings are not reported, also warm and after edits; new ones are."""
    project.write(CHAIN)
    first = agree(project)
    assert len(first) == 1
    project.settings('[tool.namecheck]\nbaseline = "known.json"\n')
    assert agree(project) == first
    written = project.run("namecheck", "baseline")
    assert written.out == "known.json: 1 finding in 1 file (1 new).\n", written.err
    assert agree(project) == set()
    assert agree(project) == set()
    project.replace("top.py", "def use", "# more\n\n\ndef use")
    assert agree(project) == set()
    project.replace("top.py", '.sum("C").sum("C")', '.sum("C").sum("C").sum("D")')
    assert agree(project) == set()  # after a contradiction nothing is known of the tensor
    project.replace("top.py", "twice()", 'twice().sum("Q")\n    twice()')
    assert {message for _, _, message in agree(project)} == {
        "Name 'Q' not found in Tensor['N', 'C']."
    }
    (project.root / "known.json").unlink()
    assert len(agree(project)) == 2
    project.write({"known.json": "{"})
    run = project.run("mypy", ".")
    assert run.code == 1
    assert "known.json:1: " in run.out


def test_settings_that_cannot_be_used(project: Project) -> None:
    project.write(CHAIN)
    project.settings("[tool.namecheck]\nignor = []\n")
    run = project.run("mypy", ".")
    assert run.code == 1
    assert "pyproject.toml:6: [tool.namecheck] has an unknown key 'ignor'" in run.out
    project.settings("")
    assert len(agree(project)) == 1


def test_a_table_of_operators(project: Project) -> None:
    project.write({"own.py": OWN, "ops.toml": OPEN})
    project.settings('[tool.namecheck]\nextend-operators = ["ops.toml"]\n')
    assert agree(project) == set()
    project.write({"ops.toml": OPEN.replace("unknown", "removes_dimensions")})
    assert len(agree(project)) == 1
    project.write({"ops.toml": OPEN.replace("unknown", "nonsense")})
    run = project.run("mypy", ".")
    assert run.code == 1
    assert "namecheck: error: " in run.out
    assert "ops.toml:2: operator 'sum', column 'names': there is no rule 'nonsense'" in run.out
    assert "failed" not in run.out + run.err


@pytest.mark.skipif(not ADAPTER.calls_after_check, reason="they show no findings of plugins")
def test_workers(project: Project) -> None:
    project.write(CHAIN)
    first = agree(project, "--num-workers", "2", ".")
    assert len(first) == 1
    assert agree(project, "--num-workers", "2", ".") == first
    project.replace("lib.py", '"N", "C"', '"N", "K"')
    assert agree(project, "--num-workers", "2", ".") != first


@pytest.mark.skipif(ADAPTER.calls_after_check, reason="its workers show findings")
@pytest.mark.skipif(__version__.startswith("1.19."), reason="it has no worker processes")
def test_workers_that_show_no_findings(project: Project) -> None:
    project.write(CHAIN)
    run = project.mypy("--num-workers", "2", ".")
    assert "findings are not reported with --num-workers" in run.out


def test_a_shadow_file(project: Project, tmp_path: Path) -> None:
    project.write(CHAIN)
    shadow = tmp_path / "shadow.py"
    shadow.write_text(LIB.replace('"N", "C"', '"N", "K"'), "utf-8")
    run = project.mypy("--shadow-file", "lib.py", str(shadow), ".")
    assert run.told == {("top.py", 5, "Name 'C' not found in Tensor['N', 'K'].")}
    assert len(agree(project)) == 1


@pytest.mark.parametrize("follow", ["silent", "skip"])
def test_follow_imports(small_project: Project, follow: str) -> None:
    small_project.write(CHAIN)
    small_project.write({"lib.py": LIB + "\n\nmake().sum('Q')\n"})
    run = small_project.mypy(f"--follow-imports={follow}", "top.py")
    assert run.told == {told for told in small_project.namecheck(".") if told[0] == "top.py"}
    assert ("top.py", 5, "Name 'C' not found in Tensor['N'].") in run.told


def test_text_modules_and_packages(project: Project) -> None:
    project.write(CHAIN)
    run = project.mypy("-c", "from middle import twice\n\ntwice().sum('Q')\n")
    assert run.told == {
        ("<string>", 3, "Name 'Q' not found in Tensor['N', 'C']."),
    }
    assert agree(project, "-m", "top")
    project.write({f"pack/{name}": text for name, text in CHAIN.items()})
    project.replace("pack/middle.py", "from lib", "from pack.lib")
    project.replace("pack/top.py", "from middle", "from pack.middle")
    for name in CHAIN:
        (project.root / name).unlink()
    first = agree(project, "-p", "pack")
    assert first == {("pack/top.py", 5, "Name 'C' not found in Tensor['N'].")}
    assert agree(project, "--namespace-packages", "--explicit-package-bases", ".") == first
    project.write({"pack/__init__.py": ""})
    assert agree(project, "-p", "pack") == first


def test_a_stub_file(project: Project) -> None:
    project.write(CHAIN)
    project.write({"lib.pyi": "from torch import Tensor\n\ndef make() -> Tensor: ...\n"})
    run = project.mypy("lib.pyi", "middle.py", "top.py")
    assert run.told == {told for told in project.namecheck(".") if told[0] != "lib.py"}


def test_comments_of_mypy(project: Project) -> None:
    project.write(CHAIN)
    project.replace("top.py", '.sum("C")\n', '.sum("C")  # type: ignore[named-dim]\n')
    assert project.mypy().records == []
    project.replace("top.py", '.sum("C").sum("C")', '.sum("C").sum("N")')
    [unused] = project.mypy().records
    assert unused["code"] == "unused-ignore"
    project.write({"top.py": SPREAD})
    assert project.mypy().records == []


def test_codes_can_be_disabled(project: Project) -> None:
    project.write(CHAIN)
    project.settings(OVERRIDES + 'disable_error_code = ["named-dim"]\n')
    assert project.mypy().told == set()
    project.settings(OVERRIDES + "ignore_errors = true\n")
    assert project.mypy().told == set()
    project.settings("")
    assert len(project.mypy().told) == 1
    project.write({"top.py": "# mypy: disable-error-code=named-dim\n" + TOP})
    assert project.mypy().told == set()
    project.write({"top.py": "# type: ignore\n" + TOP})
    assert project.mypy().records == []


def test_places_and_context(project: Project) -> None:
    project.write(CHAIN)
    flags = ("--show-error-context", "--show-column-numbers", "--show-error-end", "top.py")
    out = project.run("mypy", *flags).out
    assert 'top.py: note: In function "use":' in out
    assert "top.py:5:5:5:29: error: Name 'C' not found in Tensor['N'].  [named-dim]" in out
    assert "lib.py:6: 'N' is named here" in out
    out = project.run("mypy", "--pretty", "top.py").out
    assert '    twice().sum("C").sum("C")\n        ^~~~~' in out
    [record] = [it for it in project.mypy("top.py").records if it["severity"] == "error"]
    assert record["code"] == "named-dim"
    assert "named here" in record["hint"]


def test_names_are_revealed(torch_project: Project) -> None:
    text = """\
    import torch
    from torch import Tensor

    x = torch.zeros(2, 3, names=("N", "C"))
    reveal_type(x)
    reveal_type(x.sum("N").names)
    reveal_type(x.names[0])
    reveal_type(3)


    def anything(y: Tensor) -> None:
        reveal_type(y.names)
    """
    torch_project.write({"shown.py": dedent(text)})
    notes = [(record["line"], record["message"]) for record in torch_project.mypy().records]
    assert notes == [
        (5, "N=2 C=3"),
        (5, 'Revealed type is "torch._tensor.Tensor"'),
        (6, "Revealed type is \"tuple[Literal['C']]\""),
        (7, 'Revealed type is "str | Any"'),
        (8, 'Revealed type is "Literal[3]?"'),
        (12, 'Revealed type is "tuple[str | Any, ...]"'),
    ]


def test_revealed_names_follow_an_edit_two_imports_away(project: Project) -> None:
    def revealed() -> str:
        [record] = project.mypy("shown.py").records
        return str(record["message"])

    project.write({**CHAIN, "shown.py": SHOWN})
    assert revealed() == "Revealed type is \"tuple[Literal['N'], Literal['C']]\""
    project.replace("lib.py", '"N", "C"', '"N", "K"')
    assert revealed() == "Revealed type is \"tuple[Literal['N'], Literal['K']]\""
    assert revealed() == "Revealed type is \"tuple[Literal['N'], Literal['K']]\""
