"""``check --explain``: the fixes that were tried, and the reason for each refusal."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import pytest

from tests.running import Run, runner

NAMED: Final = 'import torch\n\nx = torch.rand(2, 3, names=("N", "C"))\n'
BRINGS: Final = NAMED + 'print(x + torch.rand(3, names=("N",)))\n'
WEIGHTS: Final = (
    "from typing import Annotated\n\nimport torch\nfrom torch import Tensor\n\n\n"
    "def attend(scores: Annotated[Tensor, 'b q k'], v: Annotated[Tensor, 'b k d']) -> Tensor:\n"
    "    return torch.softmax(scores, 1) @ v\n"
)
AMBIGUOUS: Final = (
    "from typing import Annotated\n\nfrom torch import Tensor\n\n\n"
    "def shift(a: Annotated[Tensor, 'n m n k'], b: Annotated[Tensor, 'n']) -> Tensor:\n"
    "    return a + b\n"
)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs ``check`` in a folder of its own on a program, written to a.py."""
    monkeypatch.chdir(tmp_path)

    check = runner(capsys, "check", "--no-cache")

    def command(program: str, *flags: str) -> tuple[int, str, str]:
        Path("a.py").write_text(program)
        return check(*flags)

    return command


@pytest.mark.parametrize("flags", [["--explain"], ["--fix", "--explain"]])
def test_a_fix_that_would_bring_another_finding_is_shown_with_it(
    run: Run, flags: list[str]
) -> None:
    status, out, _ = run(BRINGS, *flags)
    assert status == 1
    assert (
        "  = tried (safe): Align `torch.rand(3, names=('N',))` by its names: `.align_as(x)`.\n"
        "          refused: it would cause NC201 size-mismatch at a.py:4:7.\n"
    ) in out.replace('"', "'")
    assert Path("a.py").read_text() == BRINGS


def test_a_fix_that_leaves_the_finding_is_shown_before_the_one_that_holds(run: Run) -> None:
    out = run(WEIGHTS, "--explain")[1]
    assert (
        "  = tried (unsafe): Take dim 0 in `torch.softmax(scores, 1)`.\n"
        "          refused: the finding would not go away.\n"
    ) in out
    assert "  = fix (unsafe): Take dim 2 in `torch.softmax(scores, 1)`.\n" in out


def test_fixes_of_which_it_cannot_be_told_which_is_meant(run: Run) -> None:
    out = run(AMBIGUOUS, "--explain")[1]
    assert out.count("refused: another fix of this kind would do as well.\n") == 2


def test_without_the_flag_nothing_is_said_of_refused_fixes(run: Run) -> None:
    out = run(BRINGS)[1]
    assert "tried" not in out
    assert "refused" not in out


def test_where_no_fix_applies_that_is_said(run: Run) -> None:
    out = run(NAMED + "print(x.sum('features'))\n", "--explain")[1]
    assert "  = fix: none was tried.\n" in out


def test_a_fix_that_holds_is_shown_as_ever(run: Run) -> None:
    program = NAMED + 'print((x * torch.ones(2, names=("N",))).names)\n'
    assert run(program, "--explain") == run(program)


def test_with_diff_what_is_left_is_explained_on_standard_error(run: Run) -> None:
    status, out, err = run(BRINGS, "--diff", "--explain")
    assert (status, out) == (0, "")
    assert "refused: it would cause NC201 size-mismatch at a.py:4:7.\n" in err
    assert err.endswith("0 would be fixed, 1 left.\n")


def test_json_lists_what_was_refused(run: Run) -> None:
    [finding] = json.loads(run(BRINGS, "--explain", "--output-format", "json")[1])
    assert finding["fix"] is None
    [refusal] = finding["refused"]
    assert refusal["reason"] == "brings"
    assert refusal["applicability"] == "safe"
    assert [brought["code"] for brought in refusal["findings"]] == ["NC201"]
    [finding] = json.loads(run(BRINGS, "--output-format", "json")[1])
    assert "refused" not in finding


@pytest.mark.parametrize("form", ["concise", "github"])
def test_a_format_without_room_for_it_is_wrong_usage(run: Run, form: str) -> None:
    status, out, err = run(BRINGS, "--explain", "--output-format", form)
    assert (status, out) == (2, "")
    message = "--explain goes with the output formats that show fixes: full and json"
    assert err == f"namecheck: {message}\n"


def test_what_spoils_another_file_is_undone_and_explained(run: Run) -> None:
    Path("ops.py").write_text("def shift(x, by):\n    return x + by\n")
    Path("other.py").write_text(
        "import torch\nfrom ops import shift\n\nx = torch.rand(2, names=('N',))\n"
        "print(shift(x, torch.ones(2)).names)\n"
    )
    use = "from ops import shift\n" + NAMED + "shift(x, torch.ones(2, names=('N',)))\n"
    _, out, _ = run(use, "--fix", "--unsafe-fixes", "--explain")
    assert "  = tried (unsafe): Align `by` by its names: `.align_as(x)`.\n" in out
    assert "refused: it would cause NC109 unnamed-dim at ops.py:2:16." in out
