"""Names that are stripped and restored: they are kept where inference proves that to be equal."""

from __future__ import annotations

from pathlib import Path

import pytest

from namecheck.migration.migration import Road, migrate
from namecheck.project import Walk

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
        ("y = x.rename(None).flip(0).abs().refine_names(*x.names)", "y = x.flip(0).abs()"),
        (
            "f = lambda x: x.rename(None).flip(0).rename(*x.names)\ny = f(x)",
            "f = lambda x: x.flip(0)\ny = f(x)",
        ),
        (
            "y = [t.rename(None).flip(0).rename(*t.names) for t in (x, x)]",
            "y = [t.flip(0) for t in (x, x)]",
        ),
        (
            "y = torch.cat([x.rename(None), x.rename(None)]).refine_names('N', 'C')",
            "y = torch.cat([x, x])",
        ),
        ("y = x.rename(None)\ny = y.flip(0)\ny = y.refine_names(*x.names)", "y = x\ny = y.flip(0)"),
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
        "y = x.rename(None)\nz = y.flip(0).refine_names('N', 'C')",
        "y = x.rename(None).t_().t_().refine_names('N', 'C')",
        "def f(x):\n    return x.rename(None).flip(0).refine_names('N', 'C')",
    ],
)
def test_names_that_are_not_the_same_stay_off(tmp_path: Path, code: str) -> None:
    assert simplified(tmp_path, code) == code


def in_function(body: str, call: str = "f(x)") -> str:
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    return f"def f(x):\n{lines}\n\n{call}"


@pytest.mark.parametrize(
    ("body", "becomes"),
    [
        (
            "names = x.names\nx = x.rename(None)\nx = x.flip(0)\nx = x.rename(*names)\nreturn x",
            "x = x.flip(0)\nreturn x",
        ),
        (
            "y = x.rename(None)\ny = y.roll(1, 0)\ny = y.abs()\nreturn y.refine_names(*x.names)",
            "y = x\ny = y.roll(1, 0)\ny = y.abs()\nreturn y",
        ),
        (
            "names, y = x.names, x.rename(None)\nfor _ in range(3):\n    y = y.roll(1, 0)\n"
            "    if y.sum() > 2:\n        y *= 2\ny = y.rename(*names)\nreturn y",
            "names, y = x.names, x\nfor _ in range(3):\n    y = y.roll(1, 0)\n"
            "    if y.sum() > 2:\n        y *= 2\nreturn y",
        ),
        (
            "for i in range(2):\n    x = x.rename(None)\n    x = x.triu(i)\n"
            "    x = x.refine_names('N', 'C')\nreturn x",
            "for i in range(2):\n    x = x.triu(i)\nreturn x",
        ),
        (
            "y = x.rename(None)\nn = y.shape[0]\nassert y.sum() > 0\ntry:\n    y = y.roll(n, 0)\n"
            "finally:\n    y = y.refine_names(*x.names)\nreturn y",
            "y = x\nn = y.shape[0]\nassert y.sum() > 0\ntry:\n    y = y.roll(n, 0)\n"
            "finally:\n    pass\nreturn y",
        ),
    ],
)
def test_names_are_left_on_over_several_statements(tmp_path: Path, body: str, becomes: str) -> None:
    assert simplified(tmp_path, in_function(body)) == in_function(becomes)


@pytest.mark.parametrize(
    "body",
    [
        # A value goes where the analysis does not follow it.
        "y = x.rename(None)\nf.last = y\nreturn y.flip(0).refine_names(*x.names)",
        "y = x.rename(None)\nz = [y]\nz.pop()\nreturn y.flip(0).refine_names(*x.names)",
        "y = x.rename(None)\nz = lambda: y\nreturn y.flip(0).refine_names(*x.names)",
        "y = x.rename(None)\nprint(y)\nreturn y.flip(0).refine_names(*x.names)",
        "y = x.rename(None)\nn = y.names\nreturn y.flip(0).refine_names(*x.names)",
        "y = x.rename(None)\nz = y.flip(0).refine_names(*x.names)\nreturn y",
        "y = x.rename(None)\nfor r in y:\n    print(r.names)\nreturn y.refine_names(*x.names)",
        "y = x.rename(None)\nif len(y) > 9:\n    return y\nreturn y.refine_names(*x.names)",
        "global g\ng = x.rename(None)\ng = g.refine_names(*x.names)\nreturn g",
        "z = torch.ones(2, 3)\nw = z\nz.add_(x.rename(None))\nreturn z.rename('N', 'C')",
        # At some point it has other names.
        "y = x.rename(None)\ny = y.t()\ny = y.refine_names('N', 'C')\nreturn y",
        "y = x.rename(None)\ny = y[0] + y\nreturn y.refine_names('N', 'B')",
        "y = x.rename(None)\nif len(y) > 9:\n    y = y.t()\nreturn y.refine_names('N', 'C')",
        # The identity of the tensor matters.
        "y = x.rename(None)\ny = y.refine_names('N', 'C')\nx.rename_(N='M')\nreturn y",
        "y = x.rename(None)\ny = y.refine_names('N', 'C')\ny.unsqueeze_(0)\nreturn y",
    ],
)
def test_names_stay_off_where_something_sees_them(tmp_path: Path, body: str) -> None:
    assert simplified(tmp_path, in_function(body)) == in_function(body)


def test_every_layout_counts(tmp_path: Path) -> None:
    body = "y = x.rename(None)\ny = y.flip(0)\nreturn y.refine_names('N', 'C')"
    other = "f(x)\nf(torch.ones(2, 3, names=('H', 'W')))"
    assert simplified(tmp_path, in_function(body, other)) == in_function(body, other)
    kept = body.replace("'N', 'C'", "*x.names")
    becomes = "y = x\ny = y.flip(0)\nreturn y"
    assert simplified(tmp_path, in_function(kept, other)) == in_function(becomes, other)


def test_only_if_asked(tmp_path: Path) -> None:
    path = tmp_path / "m.py"
    path.write_text(f"{HEAD}y = x.rename(None).flip(0).refine_names('N', 'C')\n")
    [one] = migrate(Walk().entries([str(path)]), Road.NAMECHECK)
    assert not one.changed
