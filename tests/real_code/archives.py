"""Downloads the archive of a released package, and unpacks its Python files without trusting it.

Nothing of a package is run: only wheels are downloaded, unless source distributions are asked for,
because pip runs the build script of a source distribution to read its metadata.
"""

from __future__ import annotations

import re
import stat
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Final

from tests.real_code.limits import Limits, run_limited

REQUIREMENT: Final = re.compile(
    r"(?P<name>[A-Za-z0-9](?:[\w.-]*[A-Za-z0-9])?)(?:==(?P<version>[\w.+!-]+))?"
)
_SUFFIXES: Final = (".whl", ".tar.gz", ".tgz", ".tar.bz2", ".zip")
_DOWNLOAD: Final = Limits(seconds=120, wall_seconds=300, mebibytes=4096, file_mebibytes=512)
_LARGEST_TREE: Final = 500 << 20
"""The bytes of Python of the largest package that is unpacked."""
_MOST_MEMBERS: Final = 200_000


class ArchiveError(Exception):
    """There is no archive, or it cannot be unpacked; the message says why."""


@dataclass(frozen=True, slots=True)
class Unpacked:
    """The number of Python files in a folder, and the members of the archive that were refused."""

    files: int
    refused: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Member:
    """One member of an archive; `opened` opens a regular file, and is None for a link."""

    path: str
    size: int
    opened: Callable[[], IO[bytes] | None] | None


def normalised(name: str) -> str:
    """The name of a package as registries compare names."""
    return re.sub(r"[-_.]+", "-", name).lower()


def stored_archive(requirement: str, folder: Path) -> Path | None:
    """The archive of a package in a folder of archives; a wheel before a source distribution."""
    match = _parsed(requirement)
    archives = [
        path
        for path in sorted(folder.iterdir())
        if path.name.endswith(_SUFFIXES) and _is_of(path, match["name"], match["version"])
    ]
    return min(archives, key=lambda path: path.suffix != ".whl", default=None)


def version_of(archive: Path) -> str:
    """The version in the name of an archive."""
    return _name_and_version(archive)[1]


def download(requirement: str, folder: Path, sources: bool) -> Path:
    """The archive of a package, downloaded by pip into a folder; `sources` allows its build script.

    Raises `ArchiveError`.
    """
    _parsed(requirement)
    with tempfile.TemporaryDirectory() as empty:
        command = ["download", "--quiet", "--no-input", "--no-deps", "--ignore-requires-python"]
        command += ["--disable-pip-version-check", "--dest", str(folder)]
        if not sources:
            command += ["--only-binary", ":all:"]
        run = run_limited("pip", [*command, requirement], _DOWNLOAD, Path(empty), None)
    archive = stored_archive(requirement, folder)
    if archive is None:
        lines = run.errors.strip().splitlines() or [f"pip ended with code {run.code}"]
        raise ArchiveError(lines[-1])
    return archive


def unpack(archive: Path, folder: Path) -> Unpacked:
    """Write the Python files of an archive below a folder; raises `ArchiveError`.

    Links, devices and members that would be outside the folder are not written.
    """
    refused: list[str] = []
    files = total = 0
    try:
        for number, member in enumerate(_members(archive)):
            total += member.size if _is_wanted(member.path) else 0
            if number > _MOST_MEMBERS or total > _LARGEST_TREE:
                raise ArchiveError("the archive is too large")
            if not _is_wanted(member.path):
                continue
            if member.opened is None or _escapes(member.path) or not _write(member, folder):
                refused.append(member.path)
            else:
                files += member.path.endswith(".py")
    except (zipfile.BadZipFile, tarfile.TarError, EOFError, OSError, RuntimeError) as error:
        raise ArchiveError(f"{type(error).__name__}: {error}") from error
    return Unpacked(files, tuple(refused))


def _parsed(requirement: str) -> re.Match[str]:
    match = REQUIREMENT.fullmatch(requirement)
    if match is None:
        raise ArchiveError(f"not the name of a package: {requirement!r}")
    return match


def _is_of(archive: Path, name: str, version: str | None) -> bool:
    archive_name, archive_version = _name_and_version(archive)
    return normalised(archive_name) == normalised(name) and version in (None, archive_version)


def _name_and_version(archive: Path) -> tuple[str, str]:
    stem = next(archive.name.removesuffix(end) for end in _SUFFIXES if archive.name.endswith(end))
    if archive.suffix == ".whl":
        name, _, rest = stem.partition("-")
        return name, rest.partition("-")[0]
    name, _, version = stem.rpartition("-")
    return name, version


def _is_wanted(path: str) -> bool:
    return path.endswith(".py") or PurePosixPath(path).name == "pyproject.toml"


def _escapes(path: str) -> bool:
    parts = PurePosixPath(path).parts
    return path.startswith("/") or ".." in parts or "\\" in path or ":" in path or "\0" in path


def _write(member: _Member, folder: Path) -> bool:
    """Write one regular file; False where the archive has a second member in its place."""
    assert member.opened is not None
    target = folder / member.path
    source = member.opened()
    if source is None:
        return False
    with source:
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("xb") as copy:
                # The size that the archive states is the limit, whatever it contains.
                copy.write(source.read(member.size))
        except (FileExistsError, NotADirectoryError):
            return False
    return True


def _members(archive: Path) -> Iterator[_Member]:
    if archive.suffix in (".whl", ".zip"):
        with zipfile.ZipFile(archive) as packed:
            for entry in packed.infolist():
                if not entry.is_dir():
                    yield _Member(entry.filename, entry.file_size, _opened_entry(packed, entry))
        return
    with tarfile.open(archive) as tar:
        for info in tar:
            if not info.isdir():
                yield _Member(info.name, info.size, _opened_info(tar, info))


def _opened_entry(
    packed: zipfile.ZipFile, entry: zipfile.ZipInfo
) -> Callable[[], IO[bytes]] | None:
    if stat.S_IFMT(entry.external_attr >> 16) not in (0, stat.S_IFREG):
        return None
    return lambda: packed.open(entry)


def _opened_info(
    tar: tarfile.TarFile, info: tarfile.TarInfo
) -> Callable[[], IO[bytes] | None] | None:
    return (lambda: tar.extractfile(info)) if info.isreg() else None
