"""Several outputs of one run, files as a whole or not at all, and hints for misspelt words."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

import pytest

from namecheck.core.file_replacement import CannotWrite, save
from tests.running import Run, runner

ROOT: Final = Path(__file__).parents[2]

BAD: Final = """\
import torch

x = torch.zeros(2, 3, names=("N", "C"))
y = torch.zeros(2, 3, names=("N", "H"))
z = x + y
"""


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs the command in a directory of its own, with bad.py."""
    monkeypatch.chdir(tmp_path)
    Path("bad.py").write_text(BAD)
    return runner(capsys)


def test_several_outputs(run: Run) -> None:
    _, full, _ = run("check", "bad.py")
    outputs = ("--output", "sarif=a.sarif", "--output", "full=-", "--output", "json=b.json")
    assert run("check", "bad.py", *outputs) == (1, full, "")
    assert json.loads(Path("a.sarif").read_text())["version"] == "2.1.0"
    assert json.loads(Path("b.json").read_text())[0]["code"] == "NC101"


def test_without_standard_output_the_summary_goes_to_standard_error(run: Run) -> None:
    ran = run("check", "bad.py", "--output", "concise=a.txt")
    assert ran == (1, "", "namecheck: Found 1 error in 1 file.\n")
    assert Path("a.txt").read_text().startswith("bad.py:5:5: NC101")


def test_a_file_has_no_colours_and_no_progress(run: Run) -> None:
    run("check", "bad.py", "--color", "always", "--output", "full=a.txt", "--output", "full=-")
    assert "\x1b" not in Path("a.txt").read_text()


def test_an_existing_file_is_replaced_and_keeps_its_mode_and_its_link(run: Run) -> None:
    Path("real.txt").write_text("old" * 1000)
    Path("real.txt").chmod(0o640)
    Path("link.txt").symlink_to("real.txt")
    _, _, err = run("check", "bad.py", "--output", "concise=link.txt")
    target = Path("real.txt").resolve()
    assert err.startswith(f"namecheck: wrote {target} through the link link.txt\n")
    assert Path("link.txt").is_symlink()
    assert "old" not in Path("real.txt").read_text()
    assert stat.S_IMODE(Path("real.txt").stat().st_mode) == 0o640
    assert sorted(os.listdir()) == [".namecheck_cache", "bad.py", "link.txt", "real.txt"]


def test_a_new_file_has_the_mode_of_new_files(run: Run) -> None:
    before = os.umask(0o027)
    try:
        run("check", "bad.py", "--output", "concise=new.txt")
    finally:
        os.umask(before)
    assert stat.S_IMODE(Path("new.txt").stat().st_mode) == 0o640


def test_devices_and_pipes_are_written_to(run: Run) -> None:
    command = [sys.executable, "-m", "namecheck", "check", "bad.py", "--no-cache"]
    outputs = ["--output", "concise=/dev/stdout", "--output", "pylint=/dev/stderr"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    ran = subprocess.run(
        [*command, *outputs, "--output", "json=/dev/null"],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    assert ran.returncode == 1
    assert ran.stdout.startswith("bad.py:5:5: NC101")
    assert ran.stderr.startswith("bad.py:5: [NC101(name-mismatch), ] ")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_a_link_to_no_file_is_refused(run: Run) -> None:
    Path("link.txt").symlink_to("absent.txt")
    status, _, err = run("check", "bad.py", "--output", "concise=link.txt")
    target = Path("absent.txt").resolve()
    said = f"namecheck: not written: link.txt: it is a link to {target}, which does not exist\n"
    assert (status, err.startswith(said)) == (2, True)
    assert Path("link.txt").is_symlink()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_a_pipe_that_no_process_reads_is_refused(run: Run) -> None:
    os.mkfifo("pipe")
    with pytest.raises(CannotWrite, match="pipe: No such device or address"):
        save("pipe", b"text")
    status, _, err = run("check", "bad.py", "--output", "concise=pipe")
    assert (status, err.startswith("namecheck: not written: pipe: ")) == (2, True)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_a_pipe_that_is_read_gets_all(run: Run) -> None:
    os.mkfifo("pipe")
    with Path("copy").open("wb") as copy, subprocess.Popen(["cat", "pipe"], stdout=copy):
        ended = time.monotonic() + 60
        while True:  # until it has opened the pipe
            try:
                save("pipe", b"x" * 300_000)
                break
            except CannotWrite:
                assert time.monotonic() < ended
                time.sleep(0.01)
    assert Path("copy").stat().st_size == 300_000


@pytest.mark.parametrize(
    ("outputs", "said"),
    [
        (["sarif"], "--output takes FORMAT=FILE, such as sarif=namecheck.sarif, not 'sarif'"),
        (["sarif="], "--output takes FORMAT=FILE, such as sarif=namecheck.sarif, not 'sarif='"),
        (["sarf=a"], "--output: there is no format 'sarf'; did you mean 'sarif'?"),
        (["xyzzy=a"], "--output: there is no format 'xyzzy'; the formats are concise, full, "),
        (["json=no/a"], "--output: no/a is no file in an existing folder"),
        (["json=."], "--output: . is no file in an existing folder"),
        (["json=a", "full=a"], "--output: a is named twice"),
        (["json=-", "full=/dev/stdout"], "--output: standard output is named twice"),
    ],
)
def test_wrong_outputs_are_refused_before_the_check(
    run: Run, outputs: list[str], said: str
) -> None:
    words = [word for output in outputs for word in ("--output", output)]
    status, out, err = run("check", "bad.py", *words)
    assert (status, out) == (2, "")
    assert err.startswith(f"namecheck: {said}")
    assert os.listdir() == ["bad.py"]


def test_output_and_output_format_exclude_each_other(run: Run) -> None:
    status, _, err = run("check", "--output-format", "json", "--output", "full=-")
    assert (status, err) == (
        2,
        "namecheck: --output-format does not go with --output FORMAT=FILE\n",
    )


@pytest.mark.skipif(not os.path.isdir("/proc"), reason="no folder here refuses files of root, too")
def test_a_file_that_cannot_be_written_is_an_error(run: Run) -> None:
    status, out, err = run("check", "bad.py", "--output", "json=/proc/a.json", "--output", "full=-")
    assert (status, "NC101" in out) == (2, True)
    assert err.startswith("namecheck: not written: /proc/a.json: ")


def test_a_diff_has_no_findings_to_write(run: Run) -> None:
    status, out, err = run("check", "bad.py", "--diff", "--output", "json=a.json")
    assert (status, out) == (2, "")
    assert "--output does not go with --diff" in err


def test_explain_goes_with_formats_that_show_refused_fixes(run: Run) -> None:
    assert run("check", "bad.py", "--explain", "--output", "sarif=a.sarif")[0] == 2
    outputs = ("--output", "sarif=a.sarif", "--output", "full=-")
    assert run("check", "bad.py", "--explain", *outputs)[0] == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("chek", "bad.py"), "there is no command 'chek'; did you mean 'check'?"),
        (("rules",), "there is no command 'rules'; did you mean 'rule'?"),
        (("bad.py",), "there is no command 'bad.py'; to check this path: namecheck check bad.py"),
        (("xyzzy",), "there is no command 'xyzzy'; the commands are baseline, check, "),
        (("check", "--unsafe-fix"), None),
        (("check", "--ouput=x"), "unrecognized arguments: --ouput=x; did you mean '--output'?"),
        (("rule", "--colour"), "unrecognized arguments: --colour; did you mean '--color'?"),
    ],
)
def test_an_unknown_word_has_a_hint(run: Run, words: tuple[str, ...], said: str | None) -> None:
    status, out, err = run(*words)
    assert (status, out) == (2, "")
    if said is not None:
        assert f"error: {said}" in " ".join(err.split())


@pytest.mark.parametrize("file", ["bad.py", "link.txt", "./bad.py", "new.pyi"])
def test_no_program_is_written_over(run: Run, file: str) -> None:
    Path("link.txt").symlink_to("bad.py")
    status, out, err = run("check", "bad.py", "--output", f"json={file}")
    assert (status, out) == (2, "")
    assert err == f"namecheck: --output: {file} is a program, which a report would replace\n"
    assert Path("bad.py").read_text() == BAD
    assert not Path("new.pyi").exists()


def test_two_paths_of_one_file(run: Run) -> None:
    outputs = ("--output", "json=a.txt", "--output", f"full={os.path.join('.', 'a.txt')}")
    status, out, err = run("check", "bad.py", *outputs)
    assert (status, out) == (2, "")
    assert err.endswith("a.txt is named twice\n")
    assert not Path("a.txt").exists()
