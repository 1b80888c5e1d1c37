"""``namecheck reveal``: what it says where no dim has a name, and which evidence counts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import pytest

from tests.running import Run, runner

PLAIN: Final = "def f(x):\n    return x + 1\n"
UNPACKING: Final = "import torch\n\n\ndef f(x):\n    B, T = x.shape\n    return x.sum(dim=1)\n"
BLANK: Final = "from torch import Tensor\nfrom jaxtyping import Float\n"

CLAIMING: Final = '''"""Attention."""
import torch


def attend(query, key):
    """Attend.

    Args:
        query: of shape (B, H, T, D)
        key: of shape (B, H, S, D)
    """
    weights = (query @ key.mT).softmax(dim=-1)
    return weights
'''
CALLED: Final = """import torch


def _helper(x):
    x = torch.relu(x)
    return x.tanh()


class _Layer(torch.nn.Module):
    def forward(self, x):
        x = torch.relu(x)
        return x.sin()


def use(x):
    B, T, C = x.shape
    layer = _Layer()
    return _helper(x), public(x), layer(x)


def public(x):
    x = torch.relu(x)
    return x.cos()
"""


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs the command in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    return runner(capsys)


def test_it_says_how_to_name_dims_where_no_dim_has_a_name(run: Run) -> None:
    Path("plain.py").write_text(PLAIN)
    status, out, err = run("reveal", "plain.py")
    assert (status, out) == (0, "")
    assert err == (
        "namecheck: plain.py names no dimension: annotate a tensor, as in "
        '`x: Annotated[Tensor, "batch time"]`\n'
    )


def test_it_names_the_evidence_that_a_file_has(run: Run) -> None:
    Path("unpacking.py").write_text(UNPACKING)
    _, out, err = run("reveal", "unpacking.py")
    assert out == ""
    assert err.endswith("or take the names of its variables: --evidence observed\n")


def test_a_file_that_names_something_and_has_no_tensor(run: Run) -> None:
    Path("blank.py").write_text(BLANK + "x: Float[Tensor, 'n']\n")
    assert run("reveal", "blank.py") == (0, "", "namecheck: no tensor is known in blank.py\n")


def test_data_have_no_advice(run: Run) -> None:
    Path("plain.py").write_text(PLAIN)
    status, out, err = run("reveal", "plain.py", "--output-format", "json")
    assert (status, json.loads(out), err) == (0, [], "")


def test_the_evidence_of_the_flag_and_of_the_settings_counts(run: Run) -> None:
    Path("unpacking.py").write_text(UNPACKING)
    status, flagged, err = run("reveal", "unpacking.py", "--evidence", "observed")
    assert (status, err) == (0, "")
    assert "x.sum(dim=1)  B\n" in flagged
    Path("pyproject.toml").write_text('[tool.namecheck]\nevidence = "observed"\n')
    assert run("reveal", "unpacking.py") == (0, flagged, "")
    assert run("reveal", "unpacking.py", "--evidence", "declared")[1] == ""


def test_claimed_evidence_shows_what_docstrings_say(run: Run) -> None:
    Path("claiming.py").write_text(CLAIMING)
    assert "weights" not in run("reveal", "claiming.py", "--evidence", "observed")[1]
    _, out, err = run("reveal", "claiming.py", "--evidence", "claimed")
    shown = dict(line.strip().rsplit("  ", 1) for line in out.splitlines() if "softmax" in line)
    assert err == ""
    assert [*shown.values()] == ["B H T S"]


def test_a_claim_that_contradicts_the_code_is_not_followed(run: Run) -> None:
    Path("stale.py").write_text(CLAIMING.replace("(B, H, S, D)", "(B, S, D, 7)"))
    observed = run("reveal", "stale.py", "--evidence", "observed")[1]
    assert run("reveal", "stale.py", "--evidence", "claimed")[1] == observed


def test_a_claim_makes_no_finding(run: Run) -> None:
    for name, docstring in {"right.py": "(B, H, S, D)", "stale.py": "(B, S, D, 7)"}.items():
        Path(name).write_text(CLAIMING.replace("(B, H, S, D)", docstring))
        assert run("check", name, "--evidence", "claimed", "--no-cache")[0] == 0


def test_a_function_of_its_file_alone_has_the_values_of_its_calls(run: Run) -> None:
    Path("called.py").write_text(CALLED)
    _, out, _ = run("reveal", "called.py", "--evidence", "observed")
    shown = dict(line.split(maxsplit=2)[1:] for line in out.splitlines())
    assert shown["x.tanh()"] == shown["x.sin()"] == "B T C"
    assert shown["x.cos()"] == "B T C | ..."
