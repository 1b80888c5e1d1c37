"""The gate is built on request alone, in the user's own folder, and loaded only from there."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from namecheck.cli.main import main
from namecheck.runtime.gate import cache, compiler, loading
from namecheck.runtime.gate.cache import Entry, NotBuilt, Unusable
from namecheck.runtime.gate.compiler import CannotBuild
from tests.runtime.gates import needs_compiler

pytestmark = needs_compiler


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder for caches, with a gate in it."""
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder))
        assert main(["gate", "build"]) == 0
    return folder


@pytest.fixture
def entry(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Entry]:
    """The gate, whose files a test may spoil."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    built = cache.built()
    contents = {path: Path(path).read_bytes() for path in (built.library, built.record)}
    yield built
    for path, data in contents.items():
        Path(path).unlink(missing_ok=True)
        Path(path).write_bytes(data)
        os.chmod(path, 0o600)
    for above in (built.folder, *map(str, Path(built.folder).parents[:2])):
        os.chmod(above, 0o700)


def test_every_file_of_the_source_is_compiled() -> None:
    folder = Path(cache.__file__).with_name("source")
    assert sorted(path.name for path in folder.iterdir()) == sorted(cache.PARTS)


def test_the_compiler_names_the_file_of_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = cache.source()
    monkeypatch.setattr(cache, "source", lambda: whole.replace(b"Recent *recent", b"Recent recent"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(CannotBuild, match=r"memos\.c:\d+"):
        compiler.build()


def test_only_the_folder_of_gates_is_written(folder: Path, entry: Entry) -> None:
    files = sorted(str(path) for path in folder.rglob("*") if path.is_file())
    assert files == sorted((entry.library, entry.record))
    assert all(stat.S_IMODE(os.stat(path).st_mode) & 0o077 == 0 for path in files)
    assert stat.S_IMODE(os.stat(entry.folder).st_mode) == 0o700


def test_the_key_has_the_abi_torch_and_the_source(
    entry: Entry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch, "__version__", "9.9.9")
    with pytest.raises(NotBuilt):
        cache.built()
    monkeypatch.undo()
    monkeypatch.setattr(cache, "digest", lambda: "0" * 64)
    assert cache.entry().folder != entry.folder


def test_a_damaged_library_is_not_loaded(entry: Entry) -> None:
    data = Path(entry.library).read_bytes()
    Path(entry.library).write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    with pytest.raises(Unusable, match="not what was built"):
        cache.built()


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"source": 1, "library": 2}', "\ufeff{"])
def test_a_damaged_record_is_refused(entry: Entry, text: str) -> None:
    Path(entry.record).write_text(text, encoding="utf-8")
    with pytest.raises(Unusable, match="not what was built"):
        cache.built()


@pytest.mark.parametrize("above", [0, 1, 2])
def test_a_folder_that_others_can_write_to_is_refused(entry: Entry, above: int) -> None:
    os.chmod((Path(entry.folder), *Path(entry.folder).parents)[above], 0o770)
    with pytest.raises(Unusable, match="can be written by others"):
        cache.built()


def test_files_that_others_can_write_to_are_refused(entry: Entry) -> None:
    os.chmod(entry.library, 0o602)
    with pytest.raises(Unusable, match="can be written by others"):
        cache.built()


def test_links_are_refused(entry: Entry, tmp_path: Path) -> None:
    elsewhere = tmp_path / "library.so"
    os.rename(entry.library, elsewhere)
    os.symlink(elsewhere, entry.library)
    with pytest.raises(Unusable, match="is a link"):
        cache.built()


def test_a_pipe_is_refused(entry: Entry) -> None:
    os.unlink(entry.library)
    os.mkfifo(entry.library, 0o600)
    with pytest.raises(Unusable, match="named pipe"):
        cache.built()


def test_the_folder_of_another_user_is_refused(
    entry: Entry, monkeypatch: pytest.MonkeyPatch
) -> None:
    user = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: user + 1)
    with pytest.raises(Unusable, match="belongs to another user"):
        cache.built()


def test_a_library_of_another_source_is_refused(
    entry: Entry, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even where the record agrees: the object tells what it was made from."""
    monkeypatch.setattr(cache, "digest", lambda: "0" * 64)
    with pytest.raises(Unusable, match="another source"):
        loading.load(entry)


def test_what_is_no_shared_object_is_refused(tmp_path: Path) -> None:
    other = Entry(str(tmp_path))
    Path(other.library).write_bytes(b"text")
    with pytest.raises(Unusable):
        loading.load(other)


def test_nothing_is_built_without_a_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv(loading.VARIABLE, raising=False)
    assert loading.present.__wrapped__() is None
    assert not list(tmp_path.iterdir())


def test_the_environment_may_require_a_gate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv(loading.VARIABLE, "on")
    with pytest.raises(loading.GateError, match="namecheck gate build"):
        loading.present.__wrapped__()


def test_the_environment_may_refuse_a_gate(entry: Entry, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(loading.VARIABLE, "off")
    assert loading.present.__wrapped__() is None
    monkeypatch.delenv(loading.VARIABLE)
    assert loading.present.__wrapped__() is not None


def test_a_gate_that_is_not_used_is_a_warning(
    entry: Entry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(loading.VARIABLE, raising=False)
    os.chmod(entry.folder, 0o777)
    with pytest.warns(loading.GateWarning, match="can be written by others"):
        assert loading.present.__wrapped__() is None


@pytest.mark.parametrize(
    ("named", "message"),
    [
        ("/no/such/compiler", "there is no C compiler (/no/such/compiler)"),
        ("'", "CC: No closing quotation"),
        ("false", "the compiler failed: exit status 1"),
        ("true", "No such file or directory"),
    ],
)
def test_a_compiler_that_fails_is_one_line(
    named: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("CC", named)
    with pytest.raises(CannotBuild) as raised:
        compiler.build()
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("CC", "/no/such/compiler")
    assert main(["gate", "status"]) == 0
    assert capfd.readouterr().out.startswith("not built")
    assert main(["gate", "build"]) == 2
    assert capfd.readouterr().err.count("\n") == 1
    assert main(["gate", "remove"]) == 0


def test_remove_deletes_the_gates(folder: Path, tmp_path: Path, entry: Entry) -> None:
    record = json.loads(Path(entry.record).read_bytes())
    assert record["source"] == cache.digest()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path))
        made = Path(cache.entry().folder)
        for one in (tmp_path / "namecheck", made.parent, made):
            one.mkdir(mode=0o700)
        (made / "gate.json").write_text("{}")
        assert compiler.remove()
        assert not made.parent.exists()
        assert not compiler.remove()
