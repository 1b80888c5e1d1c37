"""NC701 reports the API that torch 2.13 removed, if the project requires such a torch."""

from __future__ import annotations

from pathlib import Path

import pytest

from namecheck import project
from namecheck.project import Walk, settings
from namecheck.project.settings import Settings

USES = """\
import torch

x = torch.ones(2, 3).refine_names("N", "C")
x.rename_("A", "B")
print(x.names)
"""


def found(text: str, torch: str = ">=2.13") -> list[str]:
    result = project.check_text(text.encode(), "m.py", Settings(torch=torch))
    return [f"{f.span.line}: {f.message}" for f in result.findings]


def test_it_is_told_once_for_a_file() -> None:
    told = "torch 2.13 has no named tensors: `refine_names` is used here, and at 1 more place here"
    assert found(USES) == [f"3: {told}, and no `namecheck.install()` is found."]


def test_it_is_off_by_default() -> None:
    assert found(USES, "") == []
    assert found(USES, ">=2.10") == []


@pytest.mark.parametrize(
    "text",
    [
        f"import namecheck\nnamecheck.install()\n{USES}",
        f"from namecheck import runtime\nwith runtime():\n    pass\n{USES}",
        f"import namecheck as nc\nnc.install()\n{USES}",
        f"from namecheck import install\ninstall()\n{USES}",
        f"import namecheck.runtime as r\nr.install()\n{USES}",
        f"import namecheck\n\ndef main():\n    namecheck.install()\n\nmain()\n{USES}",
        "import pandas\nt = pandas.DataFrame()\nt = t.rename(columns={})\nt.names = []\n",
        "import torch\nprint(torch.ones(2, 3).sum(0))\n",
        "class A:\n    def refine_names(self, *n):\n        return self\n\nA().refine_names('N')\n",
    ],
)
def test_it_is_silent(text: str) -> None:
    assert found(text) == []


@pytest.mark.parametrize(
    "text",
    [
        f"# Programs call namecheck.install() first.\n{USES}",
        f'"""Call `namecheck.install()` first."""\n\n{USES}',
        f"import namecheck\n\nprint('no namecheck.install() here')\n{USES}",
        f"import numpy as nc\nimport namecheck\n\nnc.install()\n{USES}",
    ],
)
def test_words_do_not_install(text: str) -> None:
    assert len(found(text)) == 1


def test_a_program_that_installs_answers_for_its_files(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(
        '[project]\nname = "p"\ndependencies = ["numpy", "torch>=2.13,<3"]\n[tool.namecheck]\n'
    )
    (tmp_path / "library.py").write_text(USES)

    def codes() -> list[str]:
        result = project.check(Walk().entries([str(tmp_path)]), jobs=1)
        return [finding.code for finding in result.findings]

    assert codes() == ["NC701"]
    (tmp_path / "main.py").write_text("import namecheck\nnamecheck.install()\nimport library\n")
    assert codes() == []


@pytest.mark.parametrize(
    ("requirement", "means"),
    [
        ("torch>=2.13", True),
        ("torch == 2.14.1", True),
        ("torch[opt] (>=2.13,<3) ; python_version>'3'", True),
        ("torch~=3.0", True),
        ("torch>=3", True),
        ("torch", False),
        ("torch>=2.9", False),
        ("torch<2.13", False),
        ("torchvision>=2.13", False),
        ("torch-geometric>=2.13", False),
    ],
)
def test_which_torch_is_meant(requirement: str, means: bool) -> None:
    text = f'[project]\ndependencies = ["{requirement}"]\n[tool.namecheck]\n'
    read = settings.read(text.encode(), "pyproject.toml")
    assert read is not None
    assert read.removed_api is means


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('[project]\ndependencies = ["torch>=2.13"]\n', ["NC701"]),
        ('[tool.poetry.dependencies]\ntorch = "^2.13"\n', ["NC701"]),
        ('[tool.poetry.dependencies]\ntorch = { version = ">=2.13" }\n', ["NC701"]),
        ('[project]\ndependencies = ["torch>=2.9"]\n', []),
        ('[project]\ndependencies = "torch>=2.13"\n', []),
        ("no toml, torch>=2.13", []),
    ],
)
def test_dependencies_tell_it_without_a_section(
    tmp_path: Path, text: str, expected: list[str]
) -> None:
    package = tmp_path / "package"
    package.mkdir()
    (package / "m.py").write_text(USES)
    (package / "pyproject.toml").write_text(text)
    (tmp_path / "pyproject.toml").write_text('[tool.namecheck]\nselect = ["NC7"]\n')
    for path in (tmp_path, package, package / "m.py"):
        result = project.check(Walk().entries([str(path)]), jobs=1)
        assert [finding.code for finding in result.findings] == expected


def test_the_setting_goes_before_the_dependencies() -> None:
    text = '[project]\ndependencies = ["torch>=2.13"]\n[tool.namecheck]\ntorch = ">=2.10"\n'
    read = settings.read(text.encode(), "pyproject.toml")
    assert read is not None
    assert not read.removed_api
    older = settings.read(text.replace(">=2.10", "<2.13").encode(), "pyproject.toml")
    assert older is not None
    assert not older.removed_api
    with pytest.raises(settings.SettingsError, match=r'versions like ">=2[.]13"'):
        settings.read(b"[tool.namecheck]\ntorch = 'new'\n", "pyproject.toml")
