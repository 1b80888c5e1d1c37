"""Trees of strangers: links, pipes, devices and endless files; what is read of them, and followed.

An alarm ends a test that waits for a pipe or reads a file without an end.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Final

import pytest

from namecheck import project
from namecheck.cli import main
from namecheck.core import regular_files, stamps
from namecheck.core.faults import LimitError
from namecheck.project import Walk
from namecheck.project.cache import Cache
from namecheck.project.settings import SettingsError
from tests import patience

ROOT: Final = Path(__file__).parents[2]
BAD: Final = "import torch\n\ntorch.zeros(2, names=('N',)).sum('T')\n"
USE: Final = "import torch\nfrom other import f\n\nf(torch.zeros(2, names=('N',)))\n"

Run = Callable[..., dict[str, list[str]]]


@pytest.fixture(autouse=True)
def alarm() -> Iterator[None]:
    """Ends a test that takes too long, by an error."""

    def ring(number: int, frame: FrameType | None) -> None:
        raise TimeoutError("it waits, or it does not end")

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(120)  # on a busy machine
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with one bad file, in a folder with another beside it."""
    for name in ("project", "outside"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "bad.py").write_text(BAD)
    (tmp_path / "project" / "pyproject.toml").write_text("")
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path / "project"


@pytest.fixture
def limited(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Sets the limit of the environment."""

    def set_limit(word: str) -> None:
        monkeypatch.setenv(regular_files.VARIABLE, word)
        regular_files.largest.cache_clear()

    yield set_limit
    monkeypatch.undo()
    regular_files.largest.cache_clear()


def run(*paths: str, cache: Cache | None = None) -> dict[str, list[str]]:
    """The messages about files, and the codes of the other findings, by file."""
    messages: dict[str, list[str]] = {}
    for finding in project.check(Walk().entries(paths), cache=cache).findings:
        text = finding.message if finding.code == "NC002" else finding.code
        messages.setdefault(finding.filename, []).append(text)
    return messages


def outward(*paths: str) -> tuple[list[str], list[str]]:
    """The files of a walk, and the links that it did not follow."""
    walk = Walk()
    return [entry.path for entry in walk.entries(paths)], walk.outward


# Files that are none


def test_what_is_no_regular_file_is_one_finding_and_the_rest_is_checked(root: Path) -> None:
    os.mkfifo(root / "pipe.py")
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind("socket.py")
        assert run(".") == {
            "bad.py": ["NC103"],
            "pipe.py": ["It cannot be read: it is a named pipe, not a regular file."],
            "socket.py": ["It cannot be read: it is a socket, not a regular file."],
        }


@pytest.mark.parametrize("target", ["/dev/zero", "/dev/stdin", "/dev/tty"])
def test_a_link_to_a_device_is_not_followed(root: Path, target: str) -> None:
    (root / "in.py").symlink_to(target)
    assert outward(".") == (["bad.py"], ["in.py"])
    assert run(".") == {"bad.py": ["NC103"]}


def test_a_device_that_is_named_is_a_finding(root: Path) -> None:
    (root / "in.py").symlink_to("/dev/zero")
    (root / "pipe.py").symlink_to("pipe")
    os.mkfifo("pipe")
    assert run("in.py", "pipe.py", "bad.py") == {
        "bad.py": ["NC103"],
        "in.py": ["It cannot be read: it is a device, not a regular file."],
        "pipe.py": ["It cannot be read: it is a named pipe, not a regular file."],
    }


@pytest.mark.parametrize("is_link", [False, True])
def test_what_is_imported_is_a_regular_file(root: Path, is_link: bool) -> None:
    (root / "use.py").write_text(USE)
    if is_link:
        (root / "other.py").symlink_to("/dev/zero")
    else:
        os.mkfifo(root / "other.py")
    assert run("use.py", "bad.py") == {"bad.py": ["NC103"]}
    for verb in ("reveal", "migrate"):
        flags = ("--check",) if verb == "migrate" else ()
        assert main.main([verb, "use.py", *flags]) in (0, 1)


@pytest.mark.parametrize("verb", ["reveal", "compare"])
def test_what_the_other_verbs_are_given_is_a_regular_file(
    root: Path, verb: str, capsys: pytest.CaptureFixture[str]
) -> None:
    os.mkfifo("pipe.py")
    assert main.main([verb, "pipe.py"]) == 2
    error = capsys.readouterr().err
    assert error == "namecheck: cannot read pipe.py: it is a named pipe, not a regular file\n"


def test_migrate_passes_over_what_is_no_regular_file(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    os.mkfifo("pipe.py")
    assert main.main(["migrate", "--check", "."]) == 2
    assert "pipe.py: not migrated: It cannot be read: it is a named pipe" in capsys.readouterr().out


@pytest.mark.parametrize("where", ["pyproject.toml", "part/pyproject.toml"])
@pytest.mark.parametrize("is_link", [False, True])
def test_settings_are_a_regular_file(root: Path, where: str, is_link: bool) -> None:
    path = root / where
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    if is_link:
        path.symlink_to("/dev/zero")
    else:
        os.mkfifo(path)
    kind = "a device" if is_link else "a named pipe"
    with pytest.raises(SettingsError, match=f"pyproject.toml: it is {kind}, not a regular file"):
        run(".")


def test_a_table_of_operators_is_a_regular_file(root: Path) -> None:
    (root / "pyproject.toml").write_text('[tool.namecheck]\nextend-operators = ["ops.toml"]\n')
    os.mkfifo("ops.toml")
    with pytest.raises(SettingsError, match=r"cannot read ./ops.toml: it is a named pipe"):
        run("bad.py")


# Sizes


def test_a_file_has_a_limit_of_ten_million_bytes(root: Path) -> None:
    for name, size in (("large.py", 10_000_001), ("huge.py", 1 << 40)):
        (root / name).touch()
        os.truncate(name, size)
    assert run(".") == {
        "bad.py": ["NC103"],
        "huge.py": [
            "It cannot be read: it has 1,099,511,627,776 bytes, "
            "and no file over 10,000,000 bytes is read."
        ],
        "large.py": [
            "It cannot be read: it has 10,000,001 bytes, and no file over 10,000,000 bytes is read."
        ],
    }


def test_a_large_file_is_not_followed_by_imports(root: Path) -> None:
    (root / "use.py").write_text(USE)
    (root / "other.py").touch()
    os.truncate("other.py", 1 << 40)
    assert run("use.py") == {}


def test_settings_may_lower_the_limit(root: Path) -> None:
    (root / "pyproject.toml").write_text("[tool.namecheck]\nmax-file-size = 20\n")
    (root / "small.py").write_text("x = 1\n")
    message = f"it has {len(BAD)} bytes, and no file over 20 bytes is read."
    assert run(".") == {"bad.py": [f"It cannot be read: {message}"]}


def test_the_environment_may_raise_the_limit_and_settings_may_not(
    root: Path, limited: Callable[[str], None]
) -> None:
    limited("20")
    (root / "pyproject.toml").write_text("[tool.namecheck]\nmax-file-size = 1000\n")
    (root / "use.py").write_text("1")
    (root / "pyproject.toml").write_text("")
    assert list(run(".")) == ["bad.py"]
    assert "no file over 20 bytes" in run(".")["bad.py"][0]
    limited("1000")
    assert run(".") == {"bad.py": ["NC103"]}
    limited("many")
    with pytest.raises(LimitError, match="NAMECHECK_MAX_FILE_SIZE: a number of bytes is wanted"):
        run(".")


def test_a_cache_does_not_keep_that_a_file_was_too_large(
    root: Path, limited: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stamps, "YOUNG", -(10**9))
    (root / "use.py").write_text(USE)
    (root / "other.py").write_text(f"def f(x):\n    return x.sum('T')\n#{'a' * 1000}\n")
    limited("500")
    assert list(run(".", cache=Cache(str(root / "c")))) == ["bad.py", "other.py"]
    limited("5000")
    first = run(".", cache=Cache(str(root / "c")))
    assert first == run(".") == {"bad.py": ["NC103"], "other.py": ["NC103"]}


def test_a_file_that_tells_no_size_is_read_up_to_the_limit(limited: Callable[[str], None]) -> None:
    path = "/proc/self/status"
    if not os.path.exists(path):
        pytest.skip("there is no /proc")
    assert os.stat(path).st_size == 0
    assert regular_files.contents(path).startswith(b"Name:")
    limited("100")
    with pytest.raises(OSError, match="more bytes than its status tells"):
        regular_files.contents(path)


# Links


def test_no_link_leads_a_walk_out_of_the_project(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (root / "folder").symlink_to(root.parent / "outside")
    (root / "file.py").symlink_to("../outside/bad.py")
    (root / "gone.py").symlink_to("../outside/gone.py")
    (root / "data").symlink_to("/")
    (root / "part").mkdir()
    (root / "part" / "up").symlink_to("../..")
    files, links = outward(".")
    assert files == ["bad.py"]
    assert links == ["data", "file.py", "folder", "gone.py", "part/up"]
    assert main.main(["check", "--no-cache", "."]) == 1
    note = "namecheck: links out of the project are not followed, unless they are named: "
    assert capsys.readouterr().err == f"{note}data, file.py, folder, gone.py, part/up\n"


def test_a_link_that_is_named_is_followed(root: Path) -> None:
    (root / "folder").symlink_to(root.parent / "outside")
    (root / "file.py").symlink_to("../outside/bad.py")
    (root.parent / "outside" / "up").symlink_to("../project")
    assert outward("folder", "file.py") == (["file.py", "folder/bad.py"], ["folder/up"])


def test_links_inside_the_project_are_followed(root: Path) -> None:
    (root / "part").mkdir()
    (root / "part" / "again.py").symlink_to("../bad.py")
    assert outward("part") == (["part/again.py"], [])


def _chain(folder: Path, target: str, count: int = 1_500) -> Path:
    """Links that each lead to the next, more than the system and Python's stack follow."""
    for number in range(count):
        following = f"link{number + 1}.py" if number + 1 < count else target
        (folder / f"link{number}.py").symlink_to(following)
    return folder / "link0.py"


@pytest.mark.parametrize("is_folder", [False, True])
def test_a_chain_of_links_is_not_followed_to_its_end(root: Path, is_folder: bool) -> None:
    (root / "part").mkdir()
    (root / "part" / "worse.py").write_text(BAD)
    _chain(root, "part" if is_folder else "bad.py")
    found = run(".")
    assert found["bad.py"] == found["part/worse.py"] == ["NC103"]
    assert found["link0.py"] == ["It cannot be read: Too many levels of symbolic links."]


def test_a_chain_of_links_is_not_followed_by_what_writes(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _chain(root, "bad.py")
    (root / "found.json").symlink_to("link0.py")
    for arguments in (
        ["check", "--add-ignore", "link0.py"],
        ["check", "--output", "json=link0.py"],
        ["check", "--output", "json=found.json", "bad.py"],
        ["migrate", "--to", "torch", "link0.py"],
        ["check", "--cache-dir", "link0.py", "bad.py"],
        ["reveal", "link0.py"],
    ):
        assert main.main(arguments) in (1, 2)
    (root / "pyproject.toml").write_text('[tool.namecheck]\ncache-dir = "link0.py"\n')
    assert main.main(["check", "bad.py"]) == 1
    assert "link0.py/outcomes.sqlite is not used" in capsys.readouterr().err
    assert (root / "bad.py").read_text() == BAD


def test_a_tree_is_walked_however_deep_it_is(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Paths have a limit of length, so the innermost folder cannot be read, and is told."""
    try:
        for depth in range(2_500):
            if depth in (500, 1_200):
                Path("deep.py").write_text(BAD)
            os.mkdir("d")
            os.chdir("d")
        monkeypatch.chdir(root)
        found = run(".")
    finally:
        monkeypatch.chdir(root)
        _remove(root / "d")
    codes = [messages for path, messages in found.items() if path.endswith("deep.py")]
    assert codes == [["NC103"], ["NC103"]]
    assert ["It cannot be read: File name too long."] in found.values()


def _remove(folder: Path) -> None:
    """Remove a tree that is too deep for the functions of Python."""
    above = os.getcwd()
    os.chdir(folder)
    depth = 1
    while os.path.isdir("d"):
        os.chdir("d")
        depth += 1
    for _ in range(depth):
        Path("deep.py").unlink(missing_ok=True)
        os.chdir("..")
        os.rmdir("d")
    os.chdir(above)


def test_a_folder_has_its_own_name_and_not_that_of_a_link(root: Path) -> None:
    (root / "real").mkdir()
    (root / "real" / "a.py").write_text(BAD)
    (root / "alias").symlink_to("real")
    assert outward(".") == (["bad.py", "real/a.py"], [])


def test_without_a_mark_the_project_is_the_working_folder(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "pyproject.toml").unlink()
    (root / "part").mkdir()
    (root / "part" / "up").symlink_to("..")
    (root / "part" / "out").symlink_to("../../outside")
    assert outward("part") == (["part/up/bad.py"], ["part/out"])
    monkeypatch.chdir(root.parent / "outside")
    assert outward("../project/part") == ([], ["../project/part/out", "../project/part/up"])


def test_a_folder_that_cannot_be_read_is_called_by_its_name(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    locked = root / "locked"
    locked.mkdir()
    (locked / "c.py").write_text("")
    if os.geteuid():
        locked.chmod(0)
        assert run("locked") == run("./locked") == {"locked": [_DENIED]}
        locked.chmod(0o755)
        monkeypatch.chdir(locked)
        locked.chmod(0)
        assert run(".") == {str(locked): [_DENIED]}
        locked.chmod(0o755)
        return
    forbidden = _forbidding(str(locked))
    for function in ("scandir", "stat", "lstat", "open"):
        monkeypatch.setattr(os, function, forbidden(getattr(os, function)))
    monkeypatch.setattr(os, "access", lambda path, mode: os.path.abspath(path) != str(locked))
    assert run("locked") == {"locked": [_DENIED]}
    monkeypatch.chdir(locked)
    assert run(".") == {str(locked): [_DENIED]}


_STAT: Final = (os.stat, os.lstat)
_DENIED: Final = "It cannot be read: Permission denied."


def _forbidding(folder: str) -> Callable[[Callable[..., object]], Callable[..., object]]:
    """Makes functions of files fail for what is in a folder, as for another user than root."""

    def forbidding(function: Callable[..., object]) -> Callable[..., object]:
        def forbidden(path: str, *rest: object, **how: object) -> object:
            whole = os.path.abspath(path)
            if os.getcwd() == folder and not os.path.isabs(path):
                raise PermissionError(13, "Permission denied")
            if whole.startswith(f"{folder}/") or (whole == folder and function not in _STAT):
                raise PermissionError(13, "Permission denied")
            return function(path, *rest, **how)

        return forbidden

    return forbidding


# Python itself


def test_a_module_of_a_hostile_folder_is_not_run(root: Path) -> None:
    """What the working folder has is not imported once our own module runs."""
    for module in ("difflib", "json", "sqlite3", "argparse", "tomllib"):
        (root / f"{module}.py").write_text(f"open('ran', 'a').write('{module} ')\n")
    (root / "use.py").write_text("import torch\ntorch.zeros(2, names=('N',)).summ('N')\n")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    for flags in ((), ("-P",)):
        command = [sys.executable, *flags, "-m", "namecheck", "check", "bad.py"]
        assert patience.run(command, 60, env=environment).returncode == 1
        assert not (root / "ran").exists()
