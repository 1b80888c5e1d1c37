"""Python's audit hook sees what each verb that only reads does in a hostile repository.

Nothing of the repository is imported or run, nothing is written but in the cache, there is no
socket, and no process but those that check files.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any, Final

import pytest

from namecheck.cli import verbs
from namecheck.project.cache import FOLDER
from tests import patience

ROOT: Final = Path(__file__).parents[2]

PROGRAM: Final = """\
import json, os, sys
events = []
own = os.getpid()
log = os.open(os.environ["AUDIT_LOG"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
def words(argument):
    if isinstance(argument, (int, str)):
        return argument
    if isinstance(argument, bytes):
        return os.fsdecode(argument)
    return getattr(argument, "co_filename", None)
def hook(event, arguments):
    if event in ("open", "exec", "sqlite3.connect") or event.startswith(WATCHED):
        record = json.dumps([event, *map(words, arguments)])
        os.write(log, (record + chr(10)).encode())
WATCHED = (
    "os.", "shutil.", "socket.", "subprocess.", "ctypes.", "pty.", "ftplib.", "http.", "imaplib.",
    "nntplib.", "poplib.", "smtplib.", "telnetlib.", "urllib.", "webbrowser.", "tempfile.",
)
sys.addaudithook(hook)
from namecheck.cli.main import main
try:
    status = main(sys.argv[1:])
except SystemExit as ended:
    status = ended.code
for name, module in [*sys.modules.items()]:
    os.write(log, (json.dumps(["module", getattr(module, "__file__", None)]) + chr(10)).encode())
sys.exit(status)
"""

RUNS_SOMETHING: Final = "open('ran', 'a').write(__file__)\n__import__('os').system('touch ran')\n"
NAMED: Final = (
    "import torch, evil, setup, conftest\nfrom package import evil as other\n"
    "x = torch.ones(2, 3, names=('N', 'C'))\nx + x.sum('C')\n__import__('evil')\n"
    "exec(\"open('ran', 'w')\")\neval('evil.run()')\n"
)
MODULES: Final = "setup sitecustomize json torch difflib sqlite3"
HOSTILE: Final = {
    **dict.fromkeys(
        f"conftest evil namecheck package/__init__ package/evil {MODULES}".split(),
        RUNS_SOMETHING,
    ),
    **{f"named{number}.py": NAMED + "# padding\n" * 2_000 for number in range(8)},
    "pyproject.toml": '[project]\nname = "evil"\ndependencies = ["torch>=2.0"]\n'
    '[build-system]\nrequires = ["evil"]\nbuild-backend = "evil"\n'
    '[tool.namecheck]\nextend-operators = ["ops.toml"]\n',
    "ops.toml": '[operators]\nrun = { forms = "f", names = "keeps_input_names", '
    'params = "input:tensor" }\n',
}

READS: Final = (
    ["--version"],
    ["--help"],
    ["check"],
    ["check", "--no-cache", "-j", "1", "--attributes", "all", "--syntax", "all"],
    ["check", "-j", "2"],
    ["check", "--no-cache", "--diff", "--unsafe-fixes", "named1.py"],
    ["check", "--no-cache", "--explain", "--statistics", "named1.py"],
    ["check", "--no-cache", "-j", "1", "--evidence", "observed"],
    ["check", "--output-format", "sarif"],
    ["check", "--output-format", "junit"],
    ["coverage"],
    ["init", "--dry-run"],
    ["migrate", "--check", "."],
    ["migrate", "--diff", "--to", "torch", "."],
    ["reveal", "named1.py"],
    ["rule", "NC101"],
    ["check", "--statistics"],
    ["report", "--html", "../pages"],
    ["rule"],
    ["check", "-"],
    ["check", "--output-format", "gitlab", "--no-cache", "out/passwd", "passwd.py", "pipe.py"],
    ["check", "--no-cache", "-j", "1", "--shard", "1/2", "--output", "json=-", "--force-exclude"],
    ["check", "--no-cache", "-j", "1", "--add-ignore", "--fix", "--unsafe-fixes", "--diff"],
    ["check", "--no-cache", "--stdin-filename", "package/evil.py", "--no-baseline", "-"],
    ["coverage", "--output-format", "json"],
    ["migrate", "--check", "--unsafe-fixes", "--all-or-nothing", "."],
    ["reveal", "--evidence", "observed", "--output-format", "json", "named2.py"],
    [
        "report",
        "--evidence",
        "observed",
        "--attributes",
        "all",
        "-j",
        "1",
        "--html",
        "../pages",
        ".",
    ],
)
# The verbs that do more than read, whatever their arguments.
_DOES_MORE: Final = {
    "baseline": "it writes the baseline",
    "compare": "it runs the program that is named",
    "gate": "it imports torch, and reads nothing of the project",
    "run": "it runs the program that is named",
}

# Events of `os` that only look, or are about this process.
_HARMLESS: Final = {
    *("os.listdir", "os.scandir", "os.walk", "os.fwalk", "os.getxattr", "os.listxattr"),
    *("os.putenv", "os.unsetenv"),
}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A hostile repository."""
    root = tmp_path / "repository"
    for name, text in HOSTILE.items():
        name = name if "." in name else f"{name}.py"
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    (root / "out").symlink_to("/etc")
    (root / "passwd.py").symlink_to("/etc/passwd")
    os.mkfifo(root / "pipe.py")
    return root


def events(root: Path, arguments: list[str]) -> list[list[Any]]:
    """The events of a run of the command, and the files of its modules."""
    log = root.parent / "events"
    log.unlink(missing_ok=True)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    ran = patience.run(
        [sys.executable, "-P", "-c", PROGRAM, *arguments],
        120,
        cwd=root,
        env={
            **environment,
            "PYTHONPATH": str(ROOT),
            "PYTHONDONTWRITEBYTECODE": "1",
            "AUDIT_LOG": str(log),
        },
    )
    assert ran.stdout, ran.stderr.decode()  # else it did nothing that an event could show
    return [json.loads(line) for line in log.read_text().splitlines()]


def contents(root: Path) -> dict[str, str]:
    """The files of a tree but those of the cache, with what they hold."""
    return {
        str(path.relative_to(root)): path.read_text() if path.is_file() else str(path.lstat())
        for path in root.rglob("*")
        if FOLDER not in path.parts and not path.is_dir()
    }


@pytest.mark.parametrize("arguments", READS, ids=" ".join)
def test_a_verb_that_reads_does_nothing_else(tree: Path, arguments: list[str]) -> None:
    before = contents(tree)
    cache = str(tree / FOLDER)
    seen = events(tree, arguments)
    assert any(event[0] == "module" for event in seen)
    workers = arguments[0] in ("check", "init", "report") and "1" not in arguments
    pages = str(tree.parent / "pages")  # the folder that the command names
    strange = []
    for event, *given in seen:
        if event in ("module", "exec"):
            # Some of Python's own modules have no file, and some of our methods are made by text.
            allowed = str(given[0])[0] in "<N" or not _is_in(given[0], tree)
        elif event == "open":
            allowed = not _writes(given) or _is_in(given[0], cache) or given[0] == os.devnull
            allowed = allowed or os.path.normpath(tree / given[0]).startswith(pages)
        elif event == "sqlite3.connect":
            allowed = _is_in(given[0], cache)
        elif event in ("os.fork", "os.kill"):
            allowed = workers
        elif event in ("os.mkdir", "os.remove", "os.rename", "os.chmod"):
            allowed = _is_in(given[0], cache) or os.path.normpath(tree / given[0]).startswith(pages)
        else:
            allowed = event in _HARMLESS
        if not allowed:
            strange.append([event, *given])
    assert strange == []
    assert contents(tree) == before


def _is_in(path: object, folder: object) -> bool:
    """Whether a path of an event, which may be relative to the repository, is in a folder."""
    base = os.path.dirname(str(folder)) if str(folder).endswith(FOLDER) else folder
    whole = os.path.normpath(os.path.join(str(base), str(path)))
    return whole == str(folder) or whole.startswith(os.path.join(str(folder), ""))


def _writes(given: list[Any]) -> bool:
    """Whether a file is opened for writing, by the mode of `open` or the flags of `os.open`."""
    path, mode, flags = given
    if not isinstance(path, str):  # a descriptor that is open already
        return False
    if isinstance(mode, str):
        return bool(set(mode) & set("wax+"))
    return bool((flags or 0) & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND))


def test_every_verb_that_reads_is_held() -> None:
    held = {arguments[0] for arguments in READS if not arguments[0].startswith("-")}
    assert held | _DOES_MORE.keys() == {*verbs.names()}
    assert not held & _DOES_MORE.keys()


def test_the_hook_sees_what_is_forbidden(tree: Path) -> None:
    """A verb that writes is seen: else the tests above hold nothing."""
    seen = events(tree, ["check", "--no-cache", "--fix", "--unsafe-fixes", "named1.py"])
    assert any(event == "open" and _writes(given) for event, *given in seen)
    assert any(event == "os.rename" for event, *_ in seen)
