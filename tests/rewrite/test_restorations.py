"""Names that are taken off and put back: left on where inference proves it equal."""

from __future__ import annotations

from pathlib import Path

import pytest

from namecheck.project import Walk
from namecheck.rewrite.migration import Road, migrate

HEAD = """\
import namecheck
import torch

namecheck.install()
x = torch.ones(2, 3, names=("N", "C"))
"""


def simplified(tmp_path: Path, code: str) -> str:
    path = tmp_path / "m.py"
    path.write_text(f"{HEAD}{code}\n")
    [one] = migrate(Walk().entries([str(path)]), Road.NAMECHECK, unsafe=True)
    assert one.after is not None
    return one.after.text.removeprefix(HEAD).removesuffix("\n")


@pytest.mark.parametrize(
    ("code", "becomes"),
    [
        ("y = x.rename(None).flip(0).refine_names('N', 'C')", "y = x.flip(0)"),
        ("y = x.rename(None).flip(0).rename(*x.names)", "y = x.flip(0)"),
        ("y = torch.roll(x.rename(None), 1, 0).refine_names(*x.names)", "y = torch.roll(x, 1, 0)"),
        (
            "y = (\n    x.rename(None)\n    .flip(0)\n    .refine_names('N', 'C')\n)",
            "y = (\n    x\n    .flip(0)\n)",
        ),
    ],
)
def test_names_are_left_on(tmp_path: Path, code: str, becomes: str) -> None:
    assert simplified(tmp_path, code) == becomes


@pytest.mark.parametrize(
    "code",
    [
        "y = x.rename(None).flip(0).refine_names('A', 'B')",
        "y = x.rename(None).reshape(3, 2).refine_names('N', 'C')",
        "y = x.rename(None).t().refine_names('N', 'C')",
        "y = x.rename(None) * 2",
        "def f(x):\n    return x.rename(None).flip(0).refine_names('N', 'C')",
    ],
)
def test_names_that_are_not_the_same_stay_off(tmp_path: Path, code: str) -> None:
    assert simplified(tmp_path, code) == code


def test_only_if_asked(tmp_path: Path) -> None:
    path = tmp_path / "m.py"
    path.write_text(f"{HEAD}y = x.rename(None).flip(0).refine_names('N', 'C')\n")
    [one] = migrate(Walk().entries([str(path)]), Road.NAMECHECK)
    assert not one.changed
