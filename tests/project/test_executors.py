"""Files checked by executors: by threads, by processes that die, by a cluster of dask."""

from __future__ import annotations

import os
import random
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import pytest

from namecheck import project
from namecheck.cli import main
from namecheck.core.semantics import Semantics
from namecheck.interpreter.workspace import analysis
from namecheck.project import Result, Walk, cluster, units, workers
from namecheck.project.cache import Cache
from namecheck.project.cluster import ClusterError, connected
from namecheck.project.file_check import Checker
from namecheck.project.files import ProjectFiles
from namecheck.project.records import line_lengths
from namecheck.project.settings import Settings
from namecheck.project.tasks import Entry
from tests.project.trees import random_tree

ROOT: Final = Path(__file__).parents[2]


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project of files that call each other; the working folder."""
    root = tmp_path / "tree"
    for name, text in random_tree(random.Random(1), packages=5).items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (root / "wrong.py").write_text("import torch\nx = torch.zeros(2, names=('N',)\n")
    (root / "latin.py").write_bytes(b"# coding: latin-1\n'\xe9'  # namecheck: ignore[NC101]\n")
    (root / "gone.py").symlink_to("nowhere.py")
    monkeypatch.chdir(root)
    return root


def _entries(settings: Settings | None = None) -> list[Entry]:
    walk = Walk() if settings is None else Walk(lambda _: settings)
    return walk.entries(["."])


def _check(executor: Executor | None = None, **how: Any) -> Result:
    return project.check(_entries(), jobs=None if executor else 1, executor=executor, **how)


class Inline(Executor):
    """An executor that runs `work` at once, in this thread."""

    def __init__(self, work: Callable[[bytes], Any] = units.checked) -> None:
        self._work = work
        self.calls = 0

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Run the work on the arguments of a function."""
        self.calls += 1
        future: Future[Any] = Future()
        try:
            future.set_result(self._work(*args))
        except Exception as error:
            future.set_exception(error)
        return future


def test_any_executor_gives_the_same(tree: Path) -> None:
    first = _check()
    assert len(first.findings) > 20
    with ThreadPoolExecutor(3) as threads:
        assert _check(threads) == first
        assert _check(threads, counting=True) == _check(counting=True)
    inline = Inline()
    assert _check(inline) == first
    assert inline.calls > 3


def test_settings_travel(tree: Path) -> None:
    row = '[operators]\ngives = { forms = "f", params = "input:tensor", names = "unknown" }\n'
    (tree / "ops.toml").write_text(row)
    for settings in (
        Settings(semantics=Semantics("torch-2.12")),
        Settings(attributes="all", syntax="all"),
        Settings(torch=">=2.13"),
        Settings(extend_operators=(str(tree / "ops.toml"),)),
    ):
        entries = _entries(settings)
        inline = Inline()
        assert project.check(entries, executor=inline) == project.check(entries, jobs=1)
        assert inline.calls


def test_a_unit_needs_no_disk(tree: Path) -> None:
    tasks = [
        task
        for task in project.tasks_of(_entries(), ProjectFiles())
        if task.entry.path.startswith("p0")
    ]
    checker = Checker()
    expected = [checker.file(*task) for task in tasks]
    packer = units.Packer(counting=False)
    unit = packer.packed(tasks)
    os.chdir(tree.parent)
    shutil.rmtree(tree)
    assert type(unit) is bytes
    reply = units.checked(unit)
    assert type(reply) is bytes
    outcomes = units.outcomes_of(reply, tasks, lambda at: line_lengths(packer.read(at)))
    assert outcomes == expected
    assert any(outcome.findings for outcome in expected)


def test_what_a_unit_lacks_is_sent_later(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = _check()
    monkeypatch.setattr(units.Packer, "_imports", lambda *_: frozenset())
    inline = Inline()
    assert _check(inline) == first
    supplemented = inline.calls
    monkeypatch.undo()
    os.chdir(tree)
    inline = Inline()
    _check(inline)
    assert inline.calls < supplemented


def test_outcomes_of_workers_are_cached(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for path in tree.rglob("*.py"):
        if path.exists():
            os.utime(path, (1_600_000_000, 1_600_000_000))
    first = _check(Inline(), cache=Cache("cache"))
    analysed: list[str] = []
    monkeypatch.setattr(analysis, "analysed", lambda _, location: analysed.append(location))
    assert _check(cache=Cache("cache")) == first
    assert analysed == []


def _raise(data: bytes) -> bytes:
    raise OSError("no answer")


def _refuse(data: bytes) -> bytes:
    if random.random() < 0.5:
        raise OSError("no answer")
    return units.checked(data)


@pytest.mark.parametrize(
    "work", [_raise, _refuse, lambda _: b"nonsense", lambda _: None, lambda _: b""]
)
def test_what_workers_do_not_answer_is_checked_here(
    tree: Path, work: Callable[[bytes], Any]
) -> None:
    assert _check(Inline(work)) == _check()


def test_an_executor_that_is_shut_down(tree: Path) -> None:
    threads = ThreadPoolExecutor(1)
    threads.shutdown()
    assert _check(threads) == _check()


def test_a_file_that_kills_its_process(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = _check()
    plain = Checker.file

    def dies(self: Checker, entry: Entry, *modes: bool) -> Any:
        if entry.location.endswith("p1/m1.py"):
            os._exit(9)
        return plain(self, entry, *modes)

    monkeypatch.setattr(Checker, "file", dies)
    with ProcessPoolExecutor(2) as processes:
        result = _check(processes)
    assert [f.filename for f in result.findings if f.code == "NC005"] == ["p1/m1.py"]
    elsewhere = {f for f in first.findings if not f.filename.startswith("p1/m1")}
    assert len(elsewhere & set(result.findings)) > len(elsewhere) * 0.7


def test_another_version_is_refused(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def of_another_version(data: bytes) -> bytes:
        with monkeypatch.context() as patch:
            patch.setattr("namecheck.project.units.engine", lambda: b"another")
            return units.checked(data)

    with pytest.raises(ClusterError, match="another version of namecheck"):
        _check(Inline(of_another_version))


def test_a_worker_without_namecheck_is_refused(tree: Path) -> None:
    def without(data: bytes) -> bytes:
        raise ModuleNotFoundError("No module named 'namecheck'")

    with pytest.raises(ClusterError, match="a worker cannot import namecheck"):
        _check(Inline(without))


# Addresses


def _fails(address: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert main.main(["check", "--no-cache", "--executor", address, "."]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.count("\n") == 1
    return shown.err


@pytest.mark.parametrize(
    "address",
    ["", "dask", "dask://", "dask://host", "dask://host:0", "dask://host:70000", "tcp://host:1"],
)
def test_an_address_that_is_none(
    address: str, tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    message = f"namecheck: --executor: an executor is dask://HOST:PORT, not {address!r}\n"
    assert _fails(address, capsys) == message


def test_without_dask(
    tree: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    assert "pip install 'torch-namecheck[dask]'" in _fails("dask://host:1", capsys)


def test_a_scheduler_that_does_not_answer(
    tree: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cluster, "_PATIENCE", 0.5)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        port = silent.getsockname()[1]
        message = f"namecheck: --executor: no scheduler of dask answers at dask://127.0.0.1:{port}"
        assert message in _fails(f"dask://127.0.0.1:{port}", capsys)
        silent.listen()
        assert message in _fails(f"dask://127.0.0.1:{port}", capsys)


# A cluster


class LocalCluster:
    """A scheduler and three workers: processes, each in an empty folder of its own."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.url = f"dask://127.0.0.1:{port}"
        self._folder = folder
        self._stack = stack
        self._start("scheduler", "--host", "127.0.0.1", "--port", str(port))
        self.workers = [
            self._start("worker", f"tcp://127.0.0.1:{port}", "--nthreads", "1", "--no-nanny")
            for _ in range(3)
        ]

    def _start(self, kind: str, *options: str) -> subprocess.Popen[bytes]:
        folder = self._folder / f"{kind}{len(list(self._folder.iterdir()))}"
        folder.mkdir()
        process = subprocess.Popen(
            [sys.executable, "-m", f"distributed.cli.dask_{kind}", *options, "--no-dashboard"],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONSAFEPATH": "1"},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self._stack.callback(process.wait)
        self._stack.callback(process.kill)
        return process


@pytest.fixture
def local_cluster(tmp_path: Path) -> Iterator[LocalCluster]:
    """A cluster on this machine."""
    (tmp_path / "cluster").mkdir()
    with ExitStack() as stack:
        yield LocalCluster(tmp_path / "cluster", stack)


def test_a_worker_that_is_killed_half_way(
    local_cluster: LocalCluster, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "_PATIENCE", 60.0)
    expected = _check()
    killed_at: list[int] = []

    def progress(done: int, total: int) -> None:
        if not killed_at and total // 4 < done < total:
            local_cluster.workers[0].send_signal(signal.SIGKILL)
            killed_at.append(done)

    # Files without an answer from a worker would be checked here; there may be none.
    monkeypatch.setattr(workers, "spread", None)
    with connected(local_cluster.url) as executor:
        executor._client.wait_for_workers(3, timeout=600)
        assert executor.workers == 3
        assert _check(executor, progress=progress) == expected
        assert killed_at
        assert executor.workers == 2
    assert local_cluster.workers[0].wait(100) == -signal.SIGKILL
    assert not executor.lost
