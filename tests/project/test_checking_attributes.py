"""Files without dimension names, checked for attributes on request."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from textwrap import dedent
from typing import Final
from unittest import mock

import pytest

from namecheck import project
from namecheck.cli import main
from namecheck.interpreter.workspace import analysis
from namecheck.project import Walk
from namecheck.project.cache import Cache
from namecheck.project.settings import Settings, SettingsError, read

MEAN: Final = """
import torch


def mean(x):
    return torch.argmax(x, -1).mean()
"""


@pytest.fixture
def codes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """The findings of a program in a file of its own: line and code."""
    monkeypatch.chdir(tmp_path)

    def check(program: str, attributes: str = "all") -> list[str]:
        Path("program.py").write_text(dedent(program))
        settings = Settings(attributes=attributes)
        found = project.check(Walk(lambda _: settings).entries(["."]), jobs=1).findings
        return [f"{finding.span.line} {finding.code}" for finding in found]

    return check


def test_only_where_it_is_asked_for(codes: Callable[..., list[str]]) -> None:
    assert codes(MEAN) == ["6 NC304"]
    assert codes(MEAN, "named") == []


@pytest.mark.parametrize(
    ("program", "told"),
    [
        ("steps = torch.zeros(3).long()\nsteps += 0.5", ["3 NC302"]),
        ("def f(x: torch.Tensor):\n    mask = x > 0\n    return 1 - mask, x.long()", ["4 NC304"]),
        ("def f(x):\n    return torch.zeros(3, dtype=torch.flaot32)", ["3 NC306"]),
        ("def f():\n    for _ in range(9):\n        torch.arange(5).mean()", ["4 NC304"]),
        (
            "def f():\n    def inner():\n        return torch.arange(5).mean()\n    inner()",
            ["4 NC304"],
        ),
        ("def f():\n    return torch.arange(5)\n\ndef g():\n    return f().mean()", []),
        ("def f():\n    return torch.arange(5)\n\ndef g():\n    f().eq(1).mean()", ["6 NC304"]),
        (
            "def f():\n    return torch.arange(5)\n\ndef g():\n    return f()\n\n"
            "def h():\n    g().eq(1).mean()",
            [],
        ),
        ("try:\n    torch.arange(5).mean()\nexcept RuntimeError:\n    pass", []),
        (
            "def f(y):\n    x = torch.arange(5)\n    if y:\n        x = x.float()\n"
            "    return x.mean()",
            [],
        ),
        ("def f():\n    torch.zeros(2, 3) @ torch.zeros(4, 5)", []),
        ("torch.arange(5).mean()  # namecheck: ignore[NC304]", []),
    ],
)
def test_what_is_told(codes: Callable[..., list[str]], program: str, told: list[str]) -> None:
    assert codes(f"import torch\n{program}\n") == told


def test_a_layer_is_known_to_the_methods_of_its_class(codes: Callable[..., list[str]]) -> None:
    program = """
    import torch
    from torch import nn

    class Model(nn.Module):
        def __init__(self, size):
            super().__init__()
            self.embedding = nn.Embedding(size, 8)
            self.register_buffer("places", torch.arange(7))

        def forward(self, x: torch.Tensor):
            return self.embedding(x.float())

        def shifted(self, x):
            self.places /= 2
            return x.to(self.places.dtype)
    """
    assert codes(program) == ["12 NC304", "15 NC302"]


def test_parameters_follow_and_what_is_made_in_forward_does_not(
    codes: Callable[..., list[str]],
) -> None:
    program = """
    import torch
    from torch import nn

    class Encoder(nn.Module):
        def __init__(self, size):
            super().__init__()
            self.rnn = nn.GRU(size, size)
            self.size = size

        def forward(self, x):
            return self.rnn(x, torch.zeros(1, x.shape[1], self.size))

    def train():
        device = "cuda" if torch.cuda.is_available() else "cpu"
        model = Encoder(16).to(device)
        return model(torch.randn(4, 7, 16, device=device))
    """
    assert codes(program) == ["12 NC401"]
    assert codes(program.replace("self.size))", "self.size, device=x.device))")) == []


def test_tensors_of_a_module_follow_it(codes: Callable[..., list[str]]) -> None:
    program = """
    import torch
    from torch import nn

    class Shift(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.zeros(4))
            self.register_buffer("mean", torch.zeros(4))
            self.plain = torch.zeros(4)

        def forward(self, x):
            return x + self.mean + self.weight

        def plainly(self, x):
            return self.plain * x

    def moved():
        return Shift().to("cuda")(torch.randn(2, 4, device="cuda"))

    def moved_back():
        shift = Shift().cuda()
        shift.cpu()
        return shift(torch.randn(2, 4))

    def left():
        shift = Shift()
        shift.to("cuda")
        return shift.mean - torch.randn(2, 4)

    def plain():
        return Shift().to("cuda").plainly(torch.randn(2, 4, device="cuda"))

    def weights():
        layer = nn.Linear(4, 4).to("cuda")
        return torch.randn(2, 4) @ layer.weight.t()
    """
    assert codes(program) == ["16 NC401", "29 NC401", "36 NC401"]


def test_layers_beside_unknown_ones_follow_their_module(codes: Callable[..., list[str]]) -> None:
    program = """
    import torch
    import unknown
    from torch import nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm = nn.LayerNorm(2)
            self.register_buffer("position", unknown.position())
            self.stack = nn.Sequential(nn.LayerNorm(2), unknown.Layer(), nn.LayerNorm(2))
            self.layers = nn.ModuleList([nn.LayerNorm(2) for _ in range(unknown.count)])

        def forward(self, x):
            x = self.stack[0](self.norm(x))
            for layer in self.layers:
                x = layer(x)
            return x

    def moved():
        return Net().cuda()(torch.randn(2, 2, device="cuda"))

    def left():
        net = Net()
        net.cuda()
        return net.norm(torch.randn(2, 2)), net.stack[0](torch.randn(2, 2))
    """
    assert codes(program) == ["26 NC401"]


def test_a_histogram_of_integers_exists_on_some_devices(
    codes: Callable[..., list[str]],
) -> None:
    program = """
    import torch

    def count(device):
        return torch.histc(torch.zeros(3, dtype=torch.int32, device=device))

    def phases():
        return torch.histc(torch.zeros(3, dtype=torch.complex64))
    """
    assert codes(program) == ["8 NC304"]


def test_a_file_without_torch_is_not_looked_at(codes: Callable[..., list[str]]) -> None:
    with mock.patch.object(analysis, "briefly") as looked:
        assert codes("import numpy as torch\n\ntorch.arange(5).mean()\n") == []
        assert not looked.called


def test_a_file_that_names_dims_is_looked_at_in_both_ways(codes: Callable[..., list[str]]) -> None:
    lines = ["import torch", "x = torch.zeros(2, names=('N',))", "x.sum('T')", *[""] * 300]
    program = "\n".join([*lines, "def far(y):", "    return torch.argmax(y, -1).mean()"])
    assert codes(program, "named") == ["3 NC103"]
    assert codes(program) == ["3 NC103", "305 NC304"]


def test_what_is_found_in_both_ways_is_reported_once(codes: Callable[..., list[str]]) -> None:
    program = "import torch\nx = torch.zeros(2, names=('N',)).long()\nx /= 2\n"
    assert codes(program) == ["3 NC302"]


UNREACHED: Final = """
import torch


def turned(word):
    def inner(x):
        return x.transpose(2, -2)
    return inner


def last(*tensors):
    x, = tensors
    return x.transpose(2, -2).unbind(1)[-1]


class Box:
    def __init__(self, kept):
        self.kept = kept

    def compare(self, x):
        return x[..., 0, :] == self.kept


x = torch.randn(2, 2, 1, names=("N", None, "C"))
turned("C")(x)
r = Box(last(x)).compare(x)
s = r.sum("N") if r.names[0] == "N" else r.mean("N")
"""
FILLING: Final = "".join(f"def f{number}(x):\n    return x + {number}\n" for number in range(90))


@pytest.mark.parametrize("more", ["", FILLING], ids=["small", "large"])
def test_what_names_decide_is_not_decided_again(codes: Callable[..., list[str]], more: str) -> None:
    unnamed = "def mean(x):\n    return torch.argmax(x, -1).mean()\n"
    line = (UNREACHED + more + unnamed).count("\n")
    assert codes(UNREACHED + more + unnamed) == [f"{line} NC304"]


def test_a_layer_that_is_registered_from_a_pair(codes: Callable[..., list[str]]) -> None:
    program = """
    from torch import nn

    class Model(nn.Module):
        def __init__(self, stages):
            super().__init__()
            for stage in stages:
                self.add_module(*stage)

        def forward(self, x):
            return x.float()
    """
    assert codes(program) == []


def test_the_flag_goes_over_the_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("pyproject.toml").write_text('[tool.namecheck]\nattributes = "all"\n')
    Path("program.py").write_text(MEAN)
    concise = ["check", "--output-format=concise"]
    assert main.main(concise) == 1
    assert "program.py:6:12: NC304" in capsys.readouterr().out
    assert main.main([*concise, "--attributes", "named"]) == 0
    assert main.main(concise) == 1  # from the cache


def test_the_cache_keeps_both_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("program.py").write_text(MEAN)

    def found(attributes: str) -> int:
        settings = Settings(attributes=attributes)
        entries = Walk(lambda _: settings).entries(["."])
        return len(project.check(entries, cache=Cache("cache")).findings)

    assert [found(word) for word in ("named", "all", "named", "all")] == [0, 1, 0, 1]
    with mock.patch.object(analysis, "briefly") as looked:
        assert found("all") == 1
        assert not looked.called


def test_in_two_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for number in range(60):
        Path(f"part{number:02}.py").write_text(MEAN + "# …\n" * 600)
    settings = Settings(attributes="all")
    one, two = (
        project.check(Walk(lambda _: settings).entries(["."]), jobs=jobs) for jobs in (1, 2)
    )
    assert one == two
    assert len(one.findings) == 60


def test_a_word_that_is_none() -> None:
    with pytest.raises(SettingsError, match="attributes: one of named, all is wanted, not 'yes'"):
        read(b'[tool.namecheck]\nattributes = "yes"\n', "pyproject.toml")
