"""The folder of the cache in a stranger's repository: it stays there, and harms nothing."""

from __future__ import annotations

import os
import sqlite3
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from namecheck.cli import main
from namecheck.project.cache import FILE, FOLDER

BAD: Final = "import torch\n\ntorch.zeros(2, names=('N',)).sum('T')\n"
SECTION: Final = '[tool.namecheck]\ncache-dir = "{}"\n'

Check = Callable[..., str]


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with one bad file, beside a folder that is none of its."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    monkeypatch.delenv("NAMECHECK_CACHE_DIR", raising=False)
    Path("pyproject.toml").write_text("")
    Path("bad.py").write_text(BAD)
    return tmp_path / "project"


@pytest.fixture
def check(root: Path, capsys: pytest.CaptureFixture[str]) -> Check:
    """Checks the project, which has one finding; returns the messages."""

    def checked(*flags: str) -> str:
        assert main.main(["check", "--output-format", "concise", *flags]) == 1
        out, err = capsys.readouterr()
        assert out.startswith("bad.py:3:1: NC103")
        return err

    return checked


def outside(root: Path) -> list[str]:
    return sorted(os.listdir(root.parent / "outside"))


@pytest.mark.parametrize("folder", ["../outside", "../outside/new", "a/../../outside", "{}"])
def test_settings_of_a_repository_do_not_move_the_cache_out_of_it(
    root: Path, check: Check, folder: str
) -> None:
    target = folder.format(root.parent / "outside")
    (root / "pyproject.toml").write_text(SECTION.format(target))
    message = check()
    assert message.count("\n") == 1
    assert "is outside the project; --cache-dir takes any folder" in message
    assert outside(root) == []


@pytest.mark.parametrize("folder", ["cache", "a/../b/cache", "{}/cache"])
def test_settings_may_move_the_cache_within_the_project(
    root: Path, check: Check, folder: str
) -> None:
    (root / "pyproject.toml").write_text(SECTION.format(folder.format(root)))
    assert check() == ""
    assert len([*root.rglob(FILE)]) == 1


@pytest.mark.parametrize("by", ["the command line", "the environment"])
@pytest.mark.parametrize("folder", ["../outside", "{}", "build/link"])
def test_the_user_may_move_the_cache_anywhere(
    root: Path, check: Check, monkeypatch: pytest.MonkeyPatch, by: str, folder: str
) -> None:
    (root / "build").mkdir()  # where a walk does not look
    (root / "build" / "link").symlink_to("../../outside")
    (root / "pyproject.toml").write_text(SECTION.format("../nowhere"))
    target = folder.format(root.parent / "outside")
    if by == "the environment":
        monkeypatch.setenv("NAMECHECK_CACHE_DIR", target)
    flags = ("--cache-dir", target) if by == "the command line" else ()
    assert check(*flags) == ""
    assert outside(root) == [FILE]


def test_a_link_does_not_move_the_cache_out_of_the_project(root: Path, check: Check) -> None:
    (root / FOLDER).symlink_to("../outside")
    assert "is outside the project" in check()
    assert outside(root) == []


def test_a_dangling_link_creates_nothing(root: Path, check: Check) -> None:
    (root / FOLDER).symlink_to("../outside/new")
    assert "is outside the project" in check()
    assert outside(root) == []


@pytest.mark.parametrize("suffix", ["", "-journal", "-wal", "-shm"])
def test_no_file_of_the_cache_is_a_link(root: Path, check: Check, suffix: str) -> None:
    (root / FOLDER).mkdir()
    (root / FOLDER / f"{FILE}{suffix}").symlink_to("../../outside/new")
    assert f"{FILE}{suffix} is no regular file" in check()
    assert outside(root) == []


def test_a_pipe_is_no_cache(root: Path, check: Check) -> None:
    (root / FOLDER).mkdir()
    os.mkfifo(root / FOLDER / FILE)
    assert f"{FILE} is no regular file" in check()


def test_a_journal_does_not_delete_a_file(root: Path, check: Check) -> None:
    """SQLite deletes the super-journal that a journal names, once it has rolled back."""
    check()
    victim = root.parent / "outside" / "victim.txt"
    name = os.fsencode(victim)
    magic = bytes.fromhex("d9d505f920a163d7")
    tail = struct.pack(">I", 1) + name + struct.pack(">II", len(name), sum(name)) + magic
    database = root / FOLDER / FILE
    for harmed in (False, True):
        victim.write_text("precious")
        (root / FOLDER / f"{FILE}-journal").write_bytes(b"x" * 512 + tail)
        if harmed:
            sqlite3.connect(database).execute("PRAGMA user_version").fetchall()
        else:
            assert f"{FILE}-journal is not one of namecheck" in check()
        assert victim.exists() is not harmed, "else this test holds nothing"


def test_a_folder_that_was_there_gets_no_gitignore(root: Path, check: Check) -> None:
    (root / "there").mkdir()
    assert check("--cache-dir", "there") == check("--cache-dir", "new") == ""
    assert os.listdir("there") == [FILE]
    assert sorted(os.listdir("new")) == [".gitignore", FILE]
