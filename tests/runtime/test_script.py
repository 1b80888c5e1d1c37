"""`namecheck run`: a program sees, prints, raises and exits as it does without namecheck."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import pytest

from tests import warm

ROOT: Final = Path(__file__).parents[2]
ENVIRONMENT: Final = {**os.environ, "PYTHONPATH": str(ROOT)}

Finished = subprocess.CompletedProcess[str]

FACTS: Final = """
    '''The program.'''
    from __future__ import annotations
    import sys, __main__
    shown = sorted(name for name in globals() if not name.startswith("_@"))
    print(sys.argv, __name__, __file__, __doc__, repr(__package__), type(__loader__).__name__)
    if __spec__ is not None:
        print(__spec__.name, __spec__.origin, type(__spec__.loader).__name__)
    print(sys.path[0], sys.modules["__main__"] is __main__, vars(__main__) is globals(), shown)
    print(__builtins__, sys.stdout.errors, sys.stderr.errors, sys.excepthook is sys.__excepthook__)
    if __name__ == "__main__":
        print("main")
"""
RAISING: Final = """
    from typing import Annotated
    import torch

    def inner(x: Annotated[torch.Tensor, "n"]):
        return 1 / 0

    def outer():
        try:
            inner(torch.zeros(2))
        except ZeroDivisionError as error:
            raise KeyError("später") from error

    outer()
"""
OWN_HOOK: Final = """
    import atexit, sys, threading, traceback

    def hook(kind, value, found):
        names = [frame.f_code.co_name for frame, _ in traceback.walk_tb(found)]
        print("hook", kind.__name__, names)

    sys.excepthook = hook
    atexit.register(print, "at exit")
    threading.Timer(0.1, print, ["late"]).start()
    raise ValueError
"""
FILES: Final = {
    "facts.py": FACTS,
    "raising.py": RAISING,
    "wrong.py": "x = = 1",
    "three.py": "import sys; sys.exit(3)",
    "interrupted.py": "raise KeyboardInterrupt",
    "hook.py": OWN_HOOK,
    "folder/__main__.py": FACTS.replace("'''The program.'''", ""),
    "pack/__init__.py": "print('package', __name__)",
    "pack/__main__.py": FACTS,
}
PROGRAMS: Final = (
    *("facts.py", "raising.py", "wrong.py", "interrupted.py", "hook.py", "folder", "absent.py"),
)
MODULES: Final = ["pack", "pack.absent"]
STARTED: Final = ("facts.py", "folder", "-m pack")
"""Those that show what Python sets up when it starts; it starts anew for them."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the programs."""
    root = tmp_path_factory.mktemp("programs")
    for name, text in FILES.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(textwrap.dedent(text).strip() + "\n", "utf-8")
    return root


def execute(folder: Path, *words: str, **environment: str) -> Finished:
    return subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={**ENVIRONMENT, **environment},
    )


def start(folder: Path, *words: str) -> Finished:
    """The outcome of a program with namecheck, in a new process."""
    return execute(folder, "-m", "namecheck", "run", *words)


def run(folder: Path, *words: str, **environment: str) -> Finished:
    """The same in a process that has torch already."""
    env = {**ENVIRONMENT, **environment}
    return warm.run("-m", "namecheck", "run", *words, cwd=folder, env=env)


@pytest.fixture(scope="module")
def both(folder: Path) -> Callable[[str], tuple[Finished, Finished]]:
    """The outcome of a program in plain Python, and with namecheck; all run at once."""
    arguments = ("-m", "--mode", "x", "--")
    commands = {name: [name, *arguments] for name in PROGRAMS}
    commands |= {f"-m {name}": ["-m", name, *arguments] for name in MODULES}
    with ThreadPoolExecutor(max_workers=2) as pool:
        alone = {key: pool.submit(execute, folder, *words) for key, words in commands.items()}
        ours = {
            key: pool.submit(start if key in STARTED else run, folder, *words)
            for key, words in commands.items()
        }
    return lambda key: (alone[key].result(), ours[key].result())


@pytest.mark.parametrize("key", [*PROGRAMS, *(f"-m {name}" for name in MODULES)])
def test_a_program_runs_as_it_does_alone(
    key: str, both: Callable[[str], tuple[Finished, Finished]]
) -> None:
    alone, ours = both(key)
    assert ours.stdout == alone.stdout
    assert ours.stderr == alone.stderr
    assert ours.returncode == alone.returncode


def test_the_programs_do_what_they_are_there_for(
    both: Callable[[str], tuple[Finished, Finished]],
) -> None:
    codes = {key: both(key)[0].returncode for key in PROGRAMS}
    assert codes["interrupted.py"] == -signal.SIGINT
    assert codes["absent.py"] == 2
    assert "main" in both("facts.py")[0].stdout
    assert "['facts.py', '-m', '--mode', 'x', '--']" in both("facts.py")[0].stdout
    assert "später" in both("raising.py")[0].stderr
    assert both("hook.py")[0].stdout == "hook ValueError ['<module>']\nlate\nat exit\n"


FOUND: Final = """
    import torch
    from typing import Annotated
    from torch import Tensor, sum as total_of

    def total(x: Annotated[Tensor, "n"]) -> Annotated[Tensor, ""]:
        return total_of(x)

    for _ in range(3):
        total(torch.ones(2, 3))
    x = torch.zeros(2, 2, names=("N", "C"))
    print(total_of(x, "N").names)
    x + x.sum("C")
"""


@pytest.fixture(scope="module")
def found(folder: Path) -> str:
    (folder / "found.py").write_text(textwrap.dedent(FOUND).strip() + "\n")
    return "found.py"


def test_an_error_ends_at_the_line_of_the_program(folder: Path, found: str) -> None:
    finished = run(folder, found)
    assert finished.returncode == 1
    # Python 3.13 marks the call within its line.
    lines = [line for line in finished.stderr.splitlines() if line.strip(" ~^")]
    assert lines[:4] == [
        "Traceback (most recent call last):",
        f'  File "{folder / found}", line 9, in <module>',
        "    total(torch.ones(2, 3))",
        "namecheck.NameMismatch: total(): argument 'x' has 2 dimensions, but 1 is declared",
    ]


def test_warnings_are_reported_once_and_counted(folder: Path, found: str) -> None:
    finished = run(folder, "--mode", "warn", found)
    assert (finished.returncode, finished.stdout) == (0, "('C',)\n")
    path = folder / found
    first, second = f"{path}:9:5: NC211", f"{path}:12:1: NC101"
    lines = finished.stderr.splitlines()
    starts = [line.partition(" total")[0].partition(" Error")[0] for line in lines]
    assert [start for start in starts if start.startswith(str(path))] == [first, second]
    assert "namecheck: 2 findings, met 4 times." in lines
    assert f"3 x {first} declared-rank:" in starts
    assert f"1 x {second} name-mismatch:" in starts


def test_a_record_is_told_at_the_end(folder: Path, found: str) -> None:
    finished = run(folder, "--mode=record", "--color", "never", found)
    assert (finished.returncode, finished.stdout) == (0, "('C',)\n")
    assert finished.stderr.startswith("NC211 declared-rank: total(): argument 'x'")
    assert "9 |     total(torch.ones(2, 3))\n  |     ^^^^^^^^^^^^^^^^^^^^^^^\n" in finished.stderr
    assert "(met 3 times)\n" in finished.stderr
    assert finished.stderr.endswith("namecheck: 2 findings, met 4 times.\n")


def test_a_record_is_written_as_json(folder: Path, found: str, tmp_path: Path) -> None:
    file = tmp_path / "record.json"
    options = ("--output-format", "json", "--output-file", str(file))
    finished = run(folder, "--mode", "record", *options, found)
    assert (finished.returncode, finished.stderr) == (0, "")
    items = json.loads(file.read_text("utf-8"))
    assert [(item["code"], item["count"]) for item in items] == [("NC211", 3), ("NC101", 1)]
    assert items[0]["location"] == {"row": 9, "column": 5}


def test_a_record_is_not_lost_where_its_file_cannot_be_written(
    folder: Path, found: str, tmp_path: Path
) -> None:
    (tmp_path / "gone").mkdir()
    text = (folder / found).read_text()
    (folder / found).write_text(f"{text}\nimport os\nos.rmdir({str(tmp_path / 'gone')!r})\n")
    options = ("--mode", "record", "--output-format", "json", "--output-file")
    finished = run(folder, *options, str(tmp_path / "gone" / "record.json"), found)
    (folder / found).write_text(text)
    first, _, record = finished.stderr.partition("\n")
    assert (finished.returncode, finished.stdout) == (2, "('C',)\n")
    assert first.startswith("namecheck: not written: ")
    assert [item["code"] for item in json.loads(record)] == ["NC211", "NC101"]


def test_a_record_for_nowhere_is_refused_before_the_program_runs(
    folder: Path, found: str, tmp_path: Path
) -> None:
    program = tmp_path / "program.py"
    program.write_text("x = 1\n")
    for file, reason in (
        (tmp_path, "is no file in an existing folder"),
        (tmp_path / "nowhere" / "record.json", "is no file in an existing folder"),
        (program, "is a program, which a report would replace"),
    ):
        finished = run(folder, "--mode", "record", "--output-file", str(file), found)
        error = f"namecheck: --output-file: {file} {reason}\n"
        assert (finished.returncode, finished.stdout, finished.stderr) == (2, "", error)
    assert program.read_text() == "x = 1\n"


def test_what_a_program_ends_with_is_written_as_json(folder: Path, found: str) -> None:
    finished = run(folder, "--output-format", "json", found)
    assert finished.returncode == 1
    traceback, bracket, record = finished.stderr.partition("\n[\n")
    assert "NameMismatch" in traceback
    assert [(item["code"], item["count"]) for item in json.loads(bracket + record)] == [
        ("NC211", 1)
    ]


def test_what_is_recorded_and_ends_the_program_is_counted_once(folder: Path) -> None:
    """A sum over a dim that does not exist cannot go on, whatever the mode."""
    program = 'import torch\ntorch.zeros(2, names=("N",)).sum("H")\n'
    (folder / "ends.py").write_text(program)
    for mode in ("error", "warn", "record"):
        finished = run(folder, "--mode", mode, "--output-format", "json", "ends.py")
        _, bracket, record = finished.stderr.rpartition("\n[\n")
        told = [(item["code"], item["count"]) for item in json.loads(bracket + record)]
        assert (mode, finished.returncode, told) == (mode, 1, [("NC103", 1)])


def test_without_torch(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("raise ModuleNotFoundError(name='torch')")
    finished = execute(
        folder, *("-m", "namecheck", "run", "three.py"), PYTHONPATH=f"{tmp_path}:{ROOT}"
    )
    assert finished.returncode == 2
    assert finished.stderr == "namecheck: torch is not installed; `run` needs it\n"


def test_a_program_in_which_nothing_is_found_says_nothing(folder: Path) -> None:
    finished = run(folder, "--mode", "warn", "three.py")
    assert (finished.returncode, finished.stderr) == (3, "")


def test_the_environment_switches_checks_off(folder: Path, found: str) -> None:
    finished = run(folder, found, NAMECHECK="off")
    assert (finished.returncode, finished.stdout, finished.stderr) == (0, "('C',)\n", "")


def test_functions_of_packages_that_are_named(folder: Path) -> None:
    ops = "from typing import Annotated\nfrom torch import Tensor\n"
    ops += "def total(x: Annotated[Tensor, 'n']) -> None: ...\n"
    (folder / "pack" / "ops.py").write_text(ops)
    program = "import torch, pack.ops\npack.ops.total(torch.ones(2, 3))\n"
    (folder / "using.py").write_text(program)
    assert run(folder, "--packages", "other,pack", "using.py").returncode == 1


SPAWNING: Final = """
    import multiprocessing, sys, torch
    from typing import Annotated

    def total(x: Annotated[torch.Tensor, "n"]) -> None: ...

    def work(shape):
        try:
            total(torch.zeros(shape, names=("N", "C")))
        except RuntimeError as error:
            return type(error).__name__

    if __name__ == "__main__":
        for method in sys.argv[1:]:
            with multiprocessing.get_context(method).Pool(1) as pool:
                print(method, pool.map(work, [(2, 3)]))
"""


def test_processes_that_it_starts_are_set_up_too(folder: Path) -> None:
    (folder / "spawning.py").write_text(textwrap.dedent(SPAWNING).strip() + "\n")
    methods = ("fork", "spawn", "forkserver")
    finished = run(folder, "spawning.py", *methods)
    assert finished.stdout == "".join(f"{method} ['NameMismatch']\n" for method in methods)
    assert run(folder, "-m", "spawning", "spawn").stdout == "spawn ['NameMismatch']\n"


def test_nothing_to_run(folder: Path) -> None:
    finished = run(folder, "--mode", "warn")
    assert finished.returncode == 2
    assert finished.stderr == "namecheck: a script or a module to run is missing\n"


def test_an_option_that_does_not_exist(folder: Path) -> None:
    finished = run(folder, "--mod", "warn", "--unknown", "three.py")
    assert finished.returncode == 2
    assert "unrecognized arguments: --unknown" in finished.stderr
    assert finished.stderr.startswith("usage: namecheck run ")


def test_code_on_the_command_line(folder: Path) -> None:
    finished = run(folder, "-c", "print(1)")
    assert finished.returncode == 2
    assert finished.stderr.startswith("usage: namecheck run ")
    assert "-c is no option: findings have a place in a file" in finished.stderr
