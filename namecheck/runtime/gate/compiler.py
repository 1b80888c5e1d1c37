"""Builds the gate with the user's C compiler, on request alone.

The gate needs Python's headers and nothing of torch, so a single call of the compiler makes it, in
a second. Everything that is written, also by the compiler, is in the folder of gates.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from namecheck.core import regular_files
from namecheck.core.regular_files import reason_of
from namecheck.runtime.gate import cache
from namecheck.runtime.gate.cache import MODULE, OPTIONS, Entry, Unusable

_SECONDS: Final = 120
# On macOS the symbols of Python are found when the object is loaded.
_OF_SYSTEM: Final = {"darwin": ("-undefined", "dynamic_lookup")}
# Tried in a process of its own: a compiler may make an object that ends it.
_TRIAL: Final = """
import sys
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_file_location
name, path, source = sys.argv[1:]
loader = ExtensionFileLoader(name, path)
module = module_from_spec(spec_from_file_location(name, path, loader=loader))
loader.exec_module(module)
assert module.SOURCE == source
"""


class CannotBuild(Exception):
    """The gate was not built; the message, in one line, says why."""


def build() -> Entry:
    """Build the gate for this Python and this torch; raises `CannotBuild`."""
    try:
        made = cache.entry()
        require_python()
        command = compiler()
        _make_private(made.folder)
        with _lock(made.folder), _workplace(made.folder) as workplace:
            library = _compiled(command, workplace)
            os.replace(library, made.library)
            record = os.path.join(workplace, "gate.json")
            _write(record, cache.record_of(regular_files.contents(made.library)))
            os.replace(record, made.record)
        made.require()
    except Unusable as error:
        raise CannotBuild(str(error)) from None
    except OSError as error:
        raise CannotBuild(f"{error.filename or 'the gate'}: {reason_of(error)}") from None
    return made


def remove() -> bool:
    """Remove every gate of the user; whether there was any. Raises `CannotBuild`."""
    try:
        folder = cache.root()
        if not os.path.lexists(folder):
            return False
        cache.require_private(folder)
        shutil.rmtree(folder)
    except Unusable as error:
        raise CannotBuild(str(error)) from None
    except OSError as error:
        raise CannotBuild(f"{error.filename or 'the gate'}: {reason_of(error)}") from None
    return True


def compiler() -> list[str]:
    """The words that call the C compiler: those of CC, else those that Python was built with."""
    named = os.environ.get("CC", "")
    choices = (named,) if named else (sysconfig.get_config_var("CC") or "", "cc")
    for choice in choices:
        try:
            words = shlex.split(choice)
        except ValueError as error:
            raise CannotBuild(f"CC: {error}") from None
        program = shutil.which(words[0]) if words else None
        if program is not None:
            return [program, *words[1:]]
    missing = " or ".join(filter(None, choices))
    raise CannotBuild(f"there is no C compiler ({missing}): install one, or name it in CC")


def require_python() -> None:
    """Raise `CannotBuild` unless a gate can be built for this Python."""
    if sys.implementation.name != "cpython":
        raise CannotBuild(f"a gate needs CPython, and this is {sys.implementation.name}")
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        raise CannotBuild("a gate needs a Python with the global interpreter lock")
    header = os.path.join(sysconfig.get_path("include"), "Python.h")
    if not os.path.isfile(header):
        raise CannotBuild(f"{header} is missing: install the headers of Python (python3-dev)")


def _make_private(folder: str) -> None:
    """Make the folder of a gate, which only the user can read, and those above it."""
    root = os.path.dirname(folder)
    owned = (os.path.dirname(root), root, folder)
    os.makedirs(os.path.dirname(owned[0]), exist_ok=True)
    for one in owned:
        if not os.path.lexists(one):
            os.mkdir(one, 0o700)
        cache.require_private(one)


@contextmanager
def _lock(folder: str) -> Iterator[None]:
    """Keep two builds apart, whose files would not belong together."""
    import fcntl

    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


@contextmanager
def _workplace(folder: str) -> Iterator[str]:
    """A folder for the files of the compiler, removed in the end."""
    workplace = tempfile.mkdtemp(prefix="build-", dir=folder)
    try:
        yield workplace
    finally:
        shutil.rmtree(workplace, ignore_errors=True)


def _compiled(command: list[str], workplace: str) -> str:
    """Compile the source, and try the result; returns its path."""
    source, library = os.path.join(workplace, "gate.c"), os.path.join(workplace, f"{MODULE}.so")
    _write(source, cache.source())
    include = sysconfig.get_path("include")
    options = [*OPTIONS, *_OF_SYSTEM.get(sys.platform, ()), f"-I{include}"]
    options += [f'-DSOURCE="{cache.digest()}"', source, "-o", library]
    _run([*command, *options], workplace, "the compiler failed")
    os.chmod(library, 0o700)
    trial = [sys.executable, "-I", "-c", _TRIAL, MODULE, library, cache.digest()]
    _run(trial, workplace, "what the compiler made cannot be loaded")
    return library


def _run(command: list[str], workplace: str, failure: str) -> None:
    environment = {**os.environ, "TMPDIR": workplace, "LC_ALL": "C"}
    try:
        ended = subprocess.run(
            command,
            cwd=workplace,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_SECONDS,
        )
    except subprocess.TimeoutExpired:
        raise CannotBuild(f"{failure}: it takes more than {_SECONDS} s") from None
    if ended.returncode:
        raise CannotBuild(f"{failure}: {_reason(ended.stderr, ended.returncode)}")


def _reason(text: str, status: int) -> str:
    """The line of an output that says why a program failed."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if "error" in line.lower()]
    return (errors or lines[-1:] or [f"exit status {status}"])[0]


def _write(path: str, data: bytes) -> None:
    with open(path, "wb", opener=_private) as file:
        file.write(data)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
