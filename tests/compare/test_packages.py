"""Comparing a script that is followed into the packages that it uses."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import dedent
from typing import Any, Final

import pytest

from namecheck.cli import main
from namecheck.compare.packages import PackageFiles, PackageSources, folders

_PACKAGE: Final = {
    "made_layers/__init__.py": "from .blocks import Head, shown\nfrom . import plain\n",
    "made_layers/blocks.py": """
        import torch
        from torch import nn
        from .plain import doubled

        def shown(function, x):
            return [function(part) for part in x.unbind(0)]

        class Head(nn.Module):
            def __init__(self, dim, heads):
                super().__init__()
                self.heads, self.projection = heads, nn.Linear(dim, 3 * dim)

            def forward(self, x):
                B, T, C = x.shape
                q, k, v = self.projection(doubled(x)).chunk(3, dim=-1)
                return q.view(B, T, self.heads, C // self.heads).transpose(1, 2)
        """,
    "made_layers/plain.py": """
        def doubled(x):
            return x * 2

        def summed(x):
            return x.sum(0) + 1
        """,
    "made_alone.py": "def halved(x):\n    return x / 2\n",
}
Command = Callable[..., tuple[int, Any, str]]


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of installed packages."""
    folder = tmp_path / "site"
    for name, text in _PACKAGE.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text).lstrip("\n"))
    monkeypatch.setattr(sys, "path", [*sys.path, str(folder)])
    yield folder
    for name in [name for name in sys.modules if name.startswith("made_")]:
        del sys.modules[name]


@pytest.fixture
def compare(site: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> Command:
    """Compares a script that is followed into some packages."""

    def command(text: str, *packages: str, evidence: str = "observed") -> tuple[int, Any, str]:
        script = tmp_path / "work" / "script.py"
        script.parent.mkdir(exist_ok=True)
        script.write_text("import torch\n" + dedent(text).lstrip("\n"))
        flags = [f"--package={package}" for package in packages]
        flags += ["--evidence", evidence, "--output-format=json"]
        status = main.main(["compare", *flags, str(script)])
        out, err = capfd.readouterr()
        return status, json.loads(out) if out else None, err

    return command


_HEADS: Final = """
    from made_layers import Head
    head = Head(8, 2)
    head(torch.randn(2, 3, 8))
    head(torch.randn(5, 4, 8))
    """


def test_a_script_is_followed_into_a_package(compare: Command) -> None:
    status, told, _ = compare(_HEADS, "made_layers")
    assert status == 0
    assert (told["incorrect"], told["weaker"]) == ([], 0)
    alone = compare(_HEADS)[1]
    assert told["agree"] > alone["agree"]


def test_a_module_without_a_folder_is_a_package_too(compare: Command) -> None:
    script = "import made_alone\nmade_alone.halved(torch.ones(2, names=('N',))).sum('N')"
    status, told, _ = compare(script, "made_alone", evidence="declared")
    assert (status, told["agree"], told["weaker"]) == (0, 3, 0)


def test_what_is_called_by_code_that_is_not_followed_is_not_compared(compare: Command) -> None:
    """`summed` is called with a rank that the analysis has seen, and by a library with another."""
    script = """
    from torch.autograd.functional import jacobian
    from made_layers.plain import summed
    summed(torch.ones(2, 3))
    jacobian(summed, torch.ones(4, 5, 6))
    """
    status, told, _ = compare(script, "made_layers")
    assert status == 0, told
    assert told["weaker"] >= 1


def test_a_function_of_the_script_that_a_package_calls(compare: Command) -> None:
    script = """
    from made_layers import shown
    def flat(x):
        return x.flatten(0, 1)
    shown(flat, torch.ones(2, 3, 4, 5))
    """
    status, told, _ = compare(script, "made_layers")
    assert status == 0, told
    assert told["agree"] >= 3


@pytest.mark.parametrize("name", ["torch", "einops", "json", "sys"])
def test_a_library_that_is_modelled_is_not_followed(compare: Command, name: str) -> None:
    status, told, err = compare(_HEADS, name)
    assert (status, told) == (2, None)
    assert f"{name!r} is not followed" in err


@pytest.mark.parametrize("name", ["made_nowhere", "made_layers.plain", ""])
def test_a_package_that_is_not_there(compare: Command, name: str) -> None:
    status, told, err = compare(_HEADS, name)
    assert (status, told) == (2, None)
    assert f"there is no package {name!r}" in err


def test_nothing_of_a_package_is_imported_to_find_it(site: Path) -> None:
    found = folders(["made_layers", "made_alone", "made_nowhere"], [str(site)])
    assert found == {"made_layers": str(site), "made_alone": str(site)}
    assert not any(name.startswith("made_") for name in sys.modules)


def test_only_the_named_packages_are_found(site: Path, tmp_path: Path) -> None:
    files = PackageFiles(str(tmp_path), {"made_layers": str(site)})
    script = str(tmp_path / "script.py")
    blocks = str(site / "made_layers" / "blocks.py")
    assert files.find(script, 0, "made_layers.blocks") == blocks
    assert files.find(blocks, 1, "plain") == str(site / "made_layers" / "plain.py")
    assert files.find(script, 0, "made_alone") is None
    assert files.find(blocks, 0, "made_alone") is None


def test_the_files_of_packages_are_parsed_when_they_are_looked_at(site: Path) -> None:
    sources = PackageSources({}, {"made_layers": str(site)})
    blocks = str(site / "made_layers" / "blocks.py")
    assert blocks in sources
    assert str(site / "made_alone.py") not in sources
    assert str(site / "made_layers_more" / "x.py") not in sources
    assert list(sources) == []
    assert sources[blocks].filename == blocks
    assert list(sources) == [blocks]
    assert sources.get(str(site / "made_layers" / "missing.py")) is None
    assert sources.get(str(site / "made_alone.py")) is None
