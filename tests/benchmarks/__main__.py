"""Times namecheck beside other tools: ``python -m tests.benchmarks [a] [b] [c] …``.

a  the source distribution of transformers, beside ruff
b  200 small programs full of names, beside torchshapeflow on annotated twins
c  start-up, beside an empty Python program
d  the cost of a line, in straight-line programs of 1,000 to 100,000 lines
e  six small operators under the shim, beside plain torch
f  a transformer block with names, beside the same without
g  a checked call of annotated attention, beside jaxtyping with beartype
h  the memory of names, and of the memos after many shapes
i  the source distribution of transformers once more, from the cache
j  one edit in a generated project of 2,000 files
k  mypy with the plugin, cold and warm, beside mypy without it
l  files of torch.nn without names, checked for attributes, beside parsing them and a walk
m  a search for code to migrate in the source distribution of transformers, beside a check
n  programs full of names, with and without the rules for attributes
o  generated projects of 1,000 to 100,000 lines: whether the cost of a line stays the same
p  hostile programs, each under limits of time and memory
q  lines per second and runs of function bodies in the projects under ``--project FOLDER``
r  one file: an empty one, and one of 300 annotated lines
s  hostile programs in four sizes each
t  the pages of a report on 100,000 lines full of names, apart from their analysis
u  a compiled function with named inputs, beside the same without names
v  hostile projects, one file of each under limits of time and memory

Both sides run in turns, and the output is the median of the ratios of neighbouring runs, in
processor time. ``--only WORD`` selects some of the programs of p, s and v. It needs an environment
with namecheck and ruff installed, and installs the other tools by pip into a folder that ``--keep``
preserves.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
import venv
from collections.abc import Callable
from pathlib import Path
from typing import Final

from tests.benchmarks import (
    growth,
    hostile,
    hostile_projects,
    linear,
    plugin,
    projects,
    real_projects,
    reports,
    starts,
)
from tests.benchmarks.processes import (
    Run,
    check,
    in_turns,
    measure,
    report,
    report_alone,
    tool,
)
from tests.benchmarks.programs import pair, straight_line

SMALL_PROGRAMS: Final = 200
LENGTHS: Final = (1_000, 10_000, 100_000)
AGE: Final = 3
"""Seconds from which on the stamp of a file is trusted."""


def transformers(folder: Path) -> Path:
    """The source distribution of transformers, fetched once."""
    tree = folder / "transformers"
    if not tree.exists():
        fetch = ["download", "--quiet", "--no-deps", "--no-binary", ":all:", "transformers"]
        subprocess.run(
            [sys.executable, "-m", "pip", *fetch, "--dest", str(folder)],
            check=True,
            stderr=subprocess.DEVNULL,
        )
        [archive] = folder.glob("transformers-*.tar.gz")
        with tarfile.open(archive) as tar:
            tar.extractall(tree, filter="data")
    return tree


def large_tree(folder: Path, rounds: int) -> None:
    """a: cold runs over the source distribution of transformers."""
    tree = transformers(folder)
    files = list(tree.rglob("*.py"))
    lines = sum(path.read_bytes().count(b"\n") for path in files)
    ruff = [tool("ruff"), "check", "--isolated", "--no-cache", "--select", "F,E9", str(tree)]
    ours, theirs = in_turns([*check(tree), "--jobs", "2"], ruff, rounds)
    report(f"(a) {lines:,} lines in {len(files):,} files", ours, "ruff", theirs)


def warm_tree(folder: Path, rounds: int) -> None:
    """i: runs over the same tree with a complete cache."""
    tree = transformers(folder)
    command = [tool("namecheck"), "check", str(tree), "--cache-dir", str(folder / "cache")]
    # The first run fills the cache, the second stores stamps of files that are no longer young.
    runs = [measure(command) for _ in range(rounds + 2)][2:]
    report_alone("(i) warm run over transformers", runs)


def one_edit(folder: Path, rounds: int) -> None:
    """j: one edit in a generated project of 2,000 files."""
    root = folder / "generated"
    if not root.exists():
        root.mkdir()
        projects.generate(root)
    again = root / "package07" / "module31.py"
    analysed = projects.analysed_after_an_edit(root, again)
    files = len(list(root.rglob("*.py")))
    print(f"(j) one edit among {files:,} files: {len(analysed)} analysed again")
    print(f"  {', '.join(analysed)}")
    command = [tool("namecheck"), "check", str(root), "--jobs", "2"]
    kept = [*command, "--cache-dir", str(folder / "kept")]
    report_alone("  cold", [measure([*command, "--no-cache"]) for _ in range(rounds)])
    report_alone("  warm", [measure(kept) for _ in range(rounds + 2)][2:])
    edits = []
    for _ in range(rounds):
        again.write_text(f"{again.read_text()}EDITED = True\n")
        edits.append(measure(kept))
        time.sleep(AGE)
        measure(kept)  # the stamp of the edited file is kept, now that it is not young any more
    report_alone("  after an edit", edits)


def mypy_plugin(folder: Path, rounds: int) -> None:
    """k: mypy with the plugin and without, on a small torch file and on many files of names."""
    ours, theirs = plugin.sides(folder)
    for title, path in plugin.projects(folder).items():
        cold: dict[str, list[Run]] = {side.name: [] for side in (ours, theirs)}
        for _ in range(rounds):
            for side in (ours, theirs):
                side.forget()
                cold[side.name].append(measure(side.command(path)))
        report(f"(k) mypy, cold, {title}", cold["with"], "without", cold["without"])
        time.sleep(AGE)
        warm = in_turns(ours.command(path), theirs.command(path), rounds * 4)
        report(f"(k) mypy, warm, {title}", warm[0], "without", warm[1])


def migration(folder: Path, rounds: int) -> None:
    """m: the code of transformers' source distribution to migrate to plain torch."""
    tree = transformers(folder)
    look = [tool("namecheck"), "migrate", "--to", "torch", "--check", str(tree)]
    ours, theirs = in_turns(look, check(tree), rounds)
    report("(m) migrate --check over transformers", ours, "check", theirs)


def small_programs(folder: Path, rounds: int) -> None:
    """b: programs full of names, and their annotated twins."""
    named, twins = folder / "named", folder / "twins"
    for path in (named, twins):
        path.mkdir(exist_ok=True)
    for seed in range(SMALL_PROGRAMS):
        program, twin = pair(seed)
        (named / f"program_{seed:03}.py").write_text(program)
        (twins / f"program_{seed:03}.py").write_text(twin)
    other = folder / "torchshapeflow"
    if not other.exists():
        venv.create(other, with_pip=True)
        pip = [str(other / "bin" / "python"), "-m", "pip", "install", "--quiet"]
        subprocess.run([*pip, "torchshapeflow"], check=True, stderr=subprocess.DEVNULL)
    theirs_command = [str(other / "bin" / "tsf"), "check", str(twins)]
    ours, theirs = in_turns([*check(named), "--jobs", "1"], theirs_command, rounds)
    report(f"(b) {SMALL_PROGRAMS} programs full of names", ours, "torchshapeflow", theirs)


def line_cost(folder: Path, rounds: int) -> None:
    """d: programs in which every line operates on named tensors, of increasing length."""
    print("(d) straight-line programs, start-up subtracted, medians")
    nothing = folder / "nothing.py"
    nothing.write_text("")
    start = statistics.median(measure(check(nothing)).seconds for _ in range(rounds))
    for length in LENGTHS:
        program = folder / f"lines_{length}.py"
        program.write_text(straight_line(length))
        runs = [measure(check(program)) for _ in range(rounds)]
        seconds = statistics.median(run.seconds for run in runs) - start
        peak = max(run.mebibytes for run in runs)
        each = seconds / length * 1e6
        print(f"  {length:>7,} lines {seconds:9.3f} s {each:7.1f} µs a line, peak {peak:5.0f} MiB")


def with_torch(name: str, rounds: int, folder: Path | None = None) -> None:
    """A benchmark of a module that imports torch.

    The import is here because a started process counts the memory of its parent.
    """
    from tests.benchmarks import attributes, checks, shim

    if name == "annotated attention":
        assert folder is not None
        checks.annotated_attention(folder, rounds)
        return
    chosen: dict[str, Callable[[int], None]] = {
        "small operators": shim.small_operators,
        "transformer block": shim.transformer_block,
        "memory": shim.memory,
        "compiled": shim.compiled,
        "attributes everywhere": attributes.everywhere,
        "attributes among names": attributes.among_names,
    }
    chosen[name](rounds)


BENCHMARKS: Final[dict[str, Callable[[Path, int], None]]] = {
    "a": large_tree,
    "b": small_programs,
    "c": starts.version,
    "d": line_cost,
    "e": lambda folder, rounds: with_torch("small operators", rounds),
    "f": lambda folder, rounds: with_torch("transformer block", rounds),
    "g": lambda folder, rounds: with_torch("annotated attention", rounds, folder),
    "h": lambda folder, rounds: with_torch("memory", rounds),
    "i": warm_tree,
    "j": one_edit,
    "k": mypy_plugin,
    "l": lambda folder, rounds: with_torch("attributes everywhere", rounds),
    "m": migration,
    "n": lambda folder, rounds: with_torch("attributes among names", rounds),
    "o": linear.run,
}


def main() -> None:
    """Run the benchmarks that are asked for, or all."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("which", nargs="*", metavar="LETTER")
    parser.add_argument("--rounds", type=int, default=5, help="runs of each side (default: 5)")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="folder for what is fetched")
    parser.add_argument("--only", default="", metavar="WORD", help="programs with this word")
    parser.add_argument(
        "--project", action="append", type=Path, metavar="FOLDER", help="an unpacked package, for q"
    )
    options = parser.parse_args()
    benchmarks: dict[str, Callable[[Path, int], None]] = {
        **BENCHMARKS,
        "p": lambda folder, rounds: hostile.run(folder, options.only),
        "q": lambda folder, rounds: real_projects.run(options.project or []),
        "r": starts.one_file,
        "s": lambda folder, rounds: growth.run(folder, options.only),
        "t": reports.rendering,
        "u": lambda folder, rounds: with_torch("compiled", rounds),
        "v": lambda folder, rounds: hostile_projects.run(folder, options.only),
    }
    if unknown := set(options.which) - set(benchmarks):
        parser.error(f"there is no benchmark {min(unknown)!r}")
    # An installed package has compiled modules, and so has every side here.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    folder: Path = options.keep or Path(tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    try:
        for letter in options.which or benchmarks:
            benchmarks[letter](folder.resolve(), options.rounds)
    finally:
        if options.keep is None:
            shutil.rmtree(folder)


if __name__ == "__main__":
    main()
