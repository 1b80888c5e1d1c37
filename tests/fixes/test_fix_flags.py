"""The flags ``--fix``, ``--unsafe-fixes``, ``--diff`` and ``--add-ignore``: the written files."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from namecheck import project
from namecheck.cli import main
from namecheck.editing.documents import Document
from namecheck.report.formats import full
from tests.running import Run, runner

SAFE: Final = """\
import torch

x = torch.rand(2, 3, names=("N", "C"))
row = torch.ones(2, names=("N",))
print((x * row).names)
"""
FIXED: Final = SAFE.replace("x * row", "x * row.align_as(x)")
UNSAFE: Final = SAFE.replace("x * row", "x.sum('c')")
GUESSED: Final = SAFE.replace("x * row", "x.sum('C')")
HOPELESS: Final = SAFE.replace("x * row", "x.sum('K')")


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs ``check`` in a folder of its own, where a.py has a program."""
    monkeypatch.chdir(tmp_path)
    return runner(capsys, "check", "--no-cache")


def put(text: str, name: str = "a.py") -> Path:
    path = Path(name)
    path.write_text(text)
    return path


def test_fix_writes_what_is_safe(run: Run) -> None:
    path = put(SAFE)
    assert run("--fix") == (0, "1 fixed, 0 left.\n", "")
    assert path.read_text() == FIXED
    assert run("--fix") == (0, "All checks passed.\n", "")


def test_fix_leaves_what_is_unsafe_and_tells(run: Run) -> None:
    path = put(UNSAFE)
    status, out, _ = run("--fix", "--output-format", "concise")
    assert status == 1
    assert out.splitlines()[-1] == "0 fixed, 1 left; 1 more with --unsafe-fixes."
    assert path.read_text() == UNSAFE
    assert run("--fix", "--unsafe-fixes") == (0, "1 fixed, 0 left.\n", "")
    assert path.read_text() == GUESSED


def test_what_cannot_be_fixed_is_told_as_ever(run: Run) -> None:
    put(SAFE)
    put(HOPELESS, "b.py")
    status, out, _ = run("--fix", "--output-format", "concise")
    assert status == 1
    first, last = out.splitlines()
    assert first.startswith("b.py:5:8: NC103")
    assert last == "1 fixed, 1 left."
    assert run("--fix", "--exit-zero")[0] == 0


def test_diff_writes_nothing(run: Run) -> None:
    path = put(SAFE)
    status, out, err = run("--diff")
    assert (status, err) == (1, "1 would be fixed, 0 left.\n")
    assert out.splitlines() == [
        "--- a/a.py",
        "+++ b/a.py",
        "@@ -2,4 +2,4 @@",
        " ",
        ' x = torch.rand(2, 3, names=("N", "C"))',
        ' row = torch.ones(2, names=("N",))',
        "-print((x * row).names)",
        "+print((x * row.align_as(x)).names)",
    ]
    assert path.read_text() == SAFE


APPLIED: Final = {
    "lines end as on Windows": lambda data: data.replace(b"\n", b"\r\n"),
    "lines end as on old Macs": lambda data: data.replace(b"\n", b"\r"),
    "a byte order mark": lambda data: b"\xef\xbb\xbf" + data,
    "a declared encoding": lambda data: b"# coding: latin-1\n" + data + b"# \xe9\n",
    "no end of the last line": lambda data: data.removesuffix(b"\n"),
}


@pytest.mark.parametrize("form", APPLIED.values(), ids=APPLIED)
@pytest.mark.parametrize("tool", ["patch -p1 -s --binary -i", "git apply"])
def test_a_diff_can_be_applied(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    form: Callable[[bytes], bytes],
    tool: str,
    capsysbinary: pytest.CaptureFixture[bytes],
) -> None:
    monkeypatch.chdir(tmp_path)
    path = put("", "my model.py")
    path.write_bytes(form(SAFE.encode()))
    assert main.main(["check", "--no-cache", str(path.absolute()), "--diff"]) == 1
    Path("change.patch").write_bytes(capsysbinary.readouterr().out)
    subprocess.run([*tool.split(), "change.patch"], check=True)
    assert path.read_bytes() == form(FIXED.encode())


def test_diff_of_nothing(run: Run) -> None:
    put(FIXED)
    assert run("--diff") == (0, "", "All checks passed.\n")
    put(UNSAFE)
    status, out, err = run("--diff")
    assert (status, out) == (0, "")
    assert err == "0 would be fixed, 1 left; 1 more with --unsafe-fixes.\n"
    assert run("--diff", "--unsafe-fixes")[0] == 1


def test_colours_of_a_diff(run: Run) -> None:
    put(SAFE)
    out = run("--diff", "--color", "always")[1]
    assert "\x1b[31m-print((x * row).names)\x1b[0m\n" in out
    assert "\x1b[32m+print((x * row.align_as(x)).names)\x1b[0m\n" in out


def test_full_output_shows_the_fix(run: Run) -> None:
    put(SAFE)
    out = run()[1]
    assert out.split("align_as`.\n", 1)[1] == (
        "  = fix (safe): Align `row` by its names: `.align_as(x)`.\n"
        "  |\n"
        "5 - print((x * row).names)\n"
        "5 + print((x * row.align_as(x)).names)\n\n"
        "Found 1 error in 1 file.\n"
    )


def test_of_a_long_line_the_part_is_shown_that_changes(run: Run) -> None:
    put(SAFE.replace("print((x * row)", f"print({'0, ' * 99}(x * row){', 1' * 99}, (x)"))
    removed, added = run()[1].splitlines()[-4:-2]
    assert removed.startswith("5 - …, 0, 0, ")
    assert "0, (x * row), 1, 1" in removed
    assert "0, (x * row.align_as(x)), 1, 1" in added
    assert max(len(removed), len(added)) == len("5 - ") + 120


def test_json_carries_the_fix(run: Run) -> None:
    put(SAFE)
    put(HOPELESS, "b.py")
    first, second = json.loads(run("--output-format", "json")[1])
    assert first["fix"] == {
        "applicability": "safe",
        "message": "Align `row` by its names: `.align_as(x)`.",
        "edits": [
            {
                "content": ".align_as(x)",
                "location": {"row": 5, "column": 15},
                "end_location": {"row": 5, "column": 15},
            }
        ],
    }
    assert second["fix"] is None


def test_other_formats_try_no_fixes(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    put(SAFE)
    monkeypatch.setattr("namecheck.fixing.offers.offer", None)
    assert run("--output-format", "concise")[0] == 1
    assert run("--output-format", "github")[0] == 1


def test_many_findings_are_not_all_tried(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    put(SAFE + "print((x + row).names)\n")
    small = full.FORMAT._replace(fix_budget=1)
    monkeypatch.setattr(full, "FORMAT", small)
    _, out, err = run()
    assert out.count("= fix") == 1
    assert err == "namecheck: fixes were not tried for 1 more finding; --diff tries more\n"


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (["--unsafe-fixes"], "--unsafe-fixes goes with --fix or --diff"),
        (["--fix", "--statistics"], "--statistics does not go with fixes"),
    ],
)
def test_flags_that_do_not_go_together(run: Run, flags: list[str], told: str) -> None:
    put(SAFE)
    assert run(*flags) == (2, "", f"namecheck: {told}\n")


# Standard input


def feed(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))


def test_standard_input_is_printed_as_it_is_then(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    feed(monkeypatch, SAFE.encode())
    assert run("-", "--fix") == (0, FIXED, "1 fixed, 0 left.\n")
    feed(monkeypatch, HOPELESS.encode())
    status, out, err = run("-", "--fix", "--output-format", "concise", "--stdin-filename", "s.py")
    assert (status, out) == (1, HOPELESS)
    assert err.startswith("s.py:5:8: NC103")


def test_a_diff_of_standard_input(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    feed(monkeypatch, SAFE.encode())
    status, out, _ = run("-", "--diff", "--stdin-filename", "s.py")
    assert status == 1
    assert out.startswith("--- a/s.py\n+++ b/s.py\n")


def test_the_bytes_of_standard_input_stay(tmp_path: Path) -> None:
    data = b"# -*- coding: latin-1 -*-\r\n# \xe9\r\n" + SAFE.replace("\n", "\r\n").encode()
    command = [sys.executable, "-m", "namecheck", "check", "-", "--fix"]
    path = {"PYTHONPATH": str(Path(main.__file__).parents[2])}
    ran = subprocess.run(
        command, input=data, capture_output=True, check=True, cwd=tmp_path, env=os.environ | path
    )
    assert ran.stdout == data.replace(b"x * row", b"x * row.align_as(x)")


# Files that cannot be written


def test_a_read_only_file_stays_and_the_others_are_fixed(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    locked, other = put(SAFE), put(SAFE, "b.py")
    # For the superuser no file is read-only, whatever its mode.
    monkeypatch.setattr(os, "access", lambda path, mode: "b.py" in str(path))
    status, out, err = run("--fix", "--output-format", "concise")
    assert status == 2
    assert "a.py: it is read-only" in err
    assert locked.read_text() == SAFE
    assert other.read_text() == FIXED
    assert out.splitlines()[-1] == "1 fixed, 1 left."


def test_comments_that_cannot_be_written_suppress_nothing(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(SAFE), put(SAFE, "b.py")
    monkeypatch.setattr(os, "access", lambda path, mode: "b.py" in str(path))
    status, out, _ = run("--add-ignore", "--output-format", "concise")
    assert status == 2
    assert out.splitlines()[-1] == "0 fixed, 1 suppressed, 1 left."


def before_writing(monkeypatch: pytest.MonkeyPatch, act: Callable[[bytes], object]) -> None:
    """Another program acts between the check of a file and its writing."""
    write = Document.write

    def late(document: Document, data: bytes, *, linked: bool = False) -> str:
        act(data)
        return write(document, data, linked=linked)

    monkeypatch.setattr(Document, "write", late)


def test_what_is_changed_by_another_meanwhile_stays(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = put(SAFE)
    before_writing(monkeypatch, lambda data: path.write_text(HOPELESS))
    status, out, err = run("--fix", "--output-format", "concise")
    assert status == 2
    assert "it has changed since it was read" in err
    assert path.read_text() == HOPELESS
    assert out.splitlines()[-1] == "0 fixed, 1 left."


def test_what_another_run_has_made_so_already_is_well(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = put(SAFE)
    before_writing(monkeypatch, path.write_bytes)
    assert run("--fix") == (0, "1 fixed, 0 left.\n", "")
    assert path.read_text() == FIXED


def test_what_ends_a_run_waits_until_a_file_is_written(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    replaced, ended = os.replace, []
    before = signal.signal(signal.SIGTERM, lambda number, frame: ended.append(number))

    def late(source: str, target: str) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        assert not ended
        replaced(source, target)

    monkeypatch.setattr(os, "replace", late)
    try:
        path = put(SAFE)
        Document.of(path.read_bytes(), str(path)).write(FIXED.encode())
    finally:
        signal.signal(signal.SIGTERM, before)
    assert ended == [signal.SIGTERM]
    assert path.read_text() == FIXED


def test_a_file_that_has_gone_meanwhile(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    path = put(SAFE)
    check = project.check

    def then_gone(*args: object, **kwargs: object) -> object:
        result = check(*args, **kwargs)  # type: ignore[arg-type]
        path.unlink(missing_ok=True)
        return result

    monkeypatch.setattr(project, "check", then_gone)
    status, out, _ = run("--fix", "--output-format", "concise")
    assert status == 1
    assert out.splitlines()[-1] == "0 fixed, 1 left."
    assert not path.exists()


def test_a_broken_file_hinders_nothing(run: Run) -> None:
    put("def f(:\n", "broken.py")
    Path("odd.py").write_bytes(b"# \xff\n")
    path = put(SAFE)
    status, out, _ = run("--fix", "--output-format", "concise")
    assert status == 1
    assert path.read_text() == FIXED
    assert out.splitlines()[-1] == "1 fixed, 2 left."


def test_the_mode_of_a_file_stays(run: Run) -> None:
    path = put(SAFE)
    path.chmod(0o750)
    run("--fix")
    assert path.stat().st_mode & 0o777 == 0o750


# Comments


IGNORED: Final = {
    "a line": ("print(x.sum('K'))\n", "print(x.sum('K'))  # namecheck: ignore[NC103]\n"),
    "a comment": (
        "print(x.sum('K'))  # why\n",
        "print(x.sum('K'))  # why  # namecheck: ignore[NC103]\n",
    ),
    "another code": (
        "print(x.sum('K'), x + row)  # namecheck: ignore[name-mismatch]\n",
        "print(x.sum('K'), x + row)  # namecheck: ignore[name-mismatch, NC103]\n",
    ),
    "a call in lines": (
        "print(\n    x.sum(\n        'K'\n    ),\n)\n",
        "print(\n    x.sum(  # namecheck: ignore[NC103]\n        'K'\n    ),\n)\n",
    ),
    "a string in lines": (
        "print(x.sum('K'), '''\n''')\n",
        "print(x.sum('K'), '''\n''')  # namecheck: ignore[NC103]\n",
    ),
    "a line that goes on": (
        "print(x.sum('K'), \\\n  1)\n",
        "print(x.sum('K'), \\\n  1)  # namecheck: ignore[NC103]\n",
    ),
    "two codes": (
        "print(x.sum('K')); print(x + row)\n",
        "print(x.sum('K')); print(x + row)  # namecheck: ignore[NC103, NC101]\n",
    ),
    "a head": (
        "for y in x.sum('K'):\n    print(y)\n",
        "for y in x.sum('K'):  # namecheck: ignore[NC103]\n    print(y)\n",
    ),
    "no end of the last line": (
        "print(x.sum('K'))",
        "print(x.sum('K'))  # namecheck: ignore[NC103]",
    ),
}
HEAD: Final = SAFE.replace("print((x * row).names)\n", "")


@pytest.mark.parametrize(("before", "after"), IGNORED.values(), ids=IGNORED)
def test_add_ignore_suppresses_what_is_left(run: Run, before: str, after: str) -> None:
    path = put(HEAD + before)
    status, out, _ = run("--add-ignore")
    assert path.read_text() == HEAD + after
    assert status == 0
    assert " suppressed, 0 left." in out
    assert run() == (0, "All checks passed.\n", "")
    assert run("--add-ignore") == (0, "All checks passed.\n", "")


def test_add_ignore_alone_fixes_nothing(run: Run) -> None:
    path = put(SAFE)
    assert run("--add-ignore")[1] == "0 fixed, 1 suppressed, 0 left.\n"
    assert path.read_text() == SAFE.replace("names)\n", "names)  # namecheck: ignore[NC101]\n")


def test_add_ignore_for_what_fixes_leave(run: Run) -> None:
    path = put(SAFE + "x.sum('K')\n")
    assert run("--fix", "--add-ignore") == (0, "1 fixed, 1 suppressed, 0 left.\n", "")
    assert path.read_text() == FIXED + "x.sum('K')  # namecheck: ignore[NC103]\n"


def test_a_diff_of_comments(run: Run) -> None:
    put(HOPELESS)
    status, out, err = run("--diff", "--add-ignore")
    assert status == 1
    assert "+print((x.sum('K')).names)  # namecheck: ignore[NC103]" in out
    assert err == "0 would be fixed, 1 would be suppressed, 0 left.\n"


def test_no_comment_for_a_file_that_cannot_be_read(run: Run) -> None:
    path = put("def f(:\n")
    assert run("--add-ignore")[0] == 1
    assert path.read_text() == "def f(:\n"
