"""No output of the command has characters that control a terminal or reorder a line."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Final

import pytest

from namecheck.cli import main
from namecheck.report import formats
from namecheck.report.formats.json import strict_text, text

# Escape, bell, backspace, carriage return, delete, a control of Latin-1, orders of writing.
CONTROLS: Final = "\x1b[2J\x07\x08\r\x7f\x9b\u202e\u2066\u200f\U000e0001"
NAME: Final = f"a{CONTROLS.replace('/', '')}.py"
PROGRAM: Final = f"""\
import torch
from namecheck import reveal_names
from typing import Annotated
x = torch.ones(2, 3, names=("N", "C"))  # {CONTROLS.replace(chr(13), "")}
reveal_names(x)
x + x.sum("C")
x.sum("missing").sum({CONTROLS!r}).sum({CONTROLS!r})
def f(y: Annotated[torch.Tensor, {f"N {CONTROLS}"!r}]):
    return y
"""
OPERATORS: Final = (
    f"[operators]\n{json.dumps(f'mylib.{CONTROLS}')} = "
    '{ forms = "p", names = "keeps_input_names", params = "input:tensor" }\n'
)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a file whose name and text have control characters."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / NAME).write_text(PROGRAM, encoding="utf-8", newline="")
    (tmp_path / f"broken{NAME}").write_text("x = ('\x1b'\n")
    (tmp_path / "link.py").symlink_to(f"/nowhere/{CONTROLS}")
    return tmp_path


def printed(capfd: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The output of the command, which has no control characters but line ends."""
    main.main([*arguments])
    out, err = capfd.readouterr()
    strange = {letter for letter in out + err if not letter.isprintable() and letter != "\n"}
    assert not strange, out + err
    return out


@pytest.mark.parametrize("name", formats.names())
def test_in_all_formats(capfd: pytest.CaptureFixture[str], name: str) -> None:
    output = printed(capfd, "check", "--no-cache", "--output-format", name, ".")
    assert output.count("NC103") > 0


@pytest.mark.parametrize(
    "arguments",
    [
        ("check", "--no-cache", "--statistics", "--output-format", "concise", "."),
        ("check", "--no-cache", "--statistics", "--output-format", "json", "."),
        ("check", "--no-cache", "--explain", "."),
        ("check", f"gone{CONTROLS}", f"gone\n{CONTROLS}"),
        ("check", f"--{CONTROLS}"),
        ("check", f"--select={CONTROLS}"),
        ("reveal", NAME),
        ("reveal", NAME, "--output-format", "json"),
        ("reveal", f"gone{CONTROLS}"),
        ("migrate", "--check", "--to", "torch", "."),
        ("migrate", "--check", "--format", "json", "."),
        ("rule", CONTROLS),
        (CONTROLS,),
    ],
)
def test_in_all_verbs(capfd: pytest.CaptureFixture[str], arguments: tuple[str, ...]) -> None:
    try:
        printed(capfd, *arguments)
    except SystemExit:
        _, err = capfd.readouterr()
        assert all(letter.isprintable() or letter == "\n" for letter in err), err


@pytest.mark.parametrize("kind", ["json", "text"])
def test_in_settings(folder: Path, capfd: pytest.CaptureFixture[str], kind: str) -> None:
    (folder / "ops.toml").write_text(OPERATORS)
    (folder / "pyproject.toml").write_text('[tool.namecheck]\nextend-operators = ["ops.toml"]\n')
    printed(capfd, "coverage", "--output-format", kind)
    (folder / "pyproject.toml").write_text(f"[tool.namecheck]\n{json.dumps(CONTROLS)} = 1\n")
    printed(capfd, "check", ".")
    (folder / "pyproject.toml").write_text(
        f'[tool.namecheck]\nextend-operators = ["{os.sep}\\u001b"]\n'
    )
    printed(capfd, "check", ".")


@pytest.mark.parametrize("verb", [("baseline",), ("init", "--dry-run"), ("init",)])
def test_in_names_of_settings(
    folder: Path, capfd: pytest.CaptureFixture[str], verb: tuple[str, ...]
) -> None:
    escaped = "".join(f"\\U{ord(letter):08x}" for letter in CONTROLS)
    section = "" if "init" in verb else f'[tool.namecheck]\nbaseline = "{escaped}"\n'
    required = f'dependencies = ["torch>=2.1{escaped}"]'
    (folder / "pyproject.toml").write_text(f"[project]\n{required}\n{section}")
    assert printed(capfd, *verb)


def test_json_means_the_same() -> None:
    payload = {"a": CONTROLS, "b": ["ä漢\u00a0", "\ud800"]}
    assert json.loads(text(payload)) == payload
    assert json.loads(strict_text(payload)) == {**payload, "b": ["ä漢\u00a0", "\ufffd"]}
    assert "ä漢" in text(payload)
