"""A file as bytes on the disk and as text, converted without loss both ways."""

from __future__ import annotations

import codecs
import contextlib
import os
import re
import signal
import stat
import tempfile
import threading
from collections.abc import Iterator
from functools import cached_property
from typing import Final

from namecheck.core import regular_files, syntax
from namecheck.core.dataclasses import dataclass
from namecheck.core.findings import Finding, Span
from namecheck.core.syntax import Refused, Source

_ENDING: Final = [
    getattr(signal, name) for name in ("SIGHUP", "SIGINT", "SIGTERM") if hasattr(signal, name)
]
_LINE_END: Final = re.compile(r"\r\n|\r|\n")


class CannotWrite(Exception):
    """A file that cannot be written; the message says which and why."""


@dataclass(frozen=True)
class Document:
    """One file: its bytes, and its text with all line ends as ``\\n``.

    `ends` are the line ends as they are in the file, one for every ``\\n`` of the text.
    """

    location: str
    data: bytes
    encoding: str
    text: str
    ends: tuple[str, ...]

    @staticmethod
    def of(data: bytes, location: str) -> Document:
        """Read a file; raises `Refused` where it cannot be decoded without loss."""
        text = syntax.decode(data, location)
        encoding = syntax.encoding(data)
        whole = data.decode(encoding)
        document = Document(location, data, encoding, text, tuple(_LINE_END.findall(whole)))
        if document.encoded(text, document.ends) != data:
            raise Refused(_not_restored(location, encoding))
        return document

    @cached_property
    def source(self) -> Source:
        """The text with its tree; raises `Refused` where Python cannot parse it."""
        return syntax.parse(self.data, self.location)

    @property
    def newline(self) -> str:
        """The most frequent line end; the first of several, ``\n`` if there is none."""
        return max(dict.fromkeys(self.ends), key=self.ends.count, default="\n")

    def encoded(self, text: str, ends: tuple[str, ...]) -> bytes:
        """The bytes of another text with these line ends; raises `CannotWrite`."""
        lines = text.split("\n")
        assert len(lines) == len(ends) + 1, "a line end for every line but the last"
        whole = "".join(line + end for line, end in zip(lines, (*ends, ""), strict=True))
        mark = codecs.BOM_UTF8 if self.data.startswith(codecs.BOM_UTF8) else b""
        encoding = "utf-8" if mark else self.encoding
        try:
            return mark + whole.encode(encoding)
        except UnicodeEncodeError as error:
            character = whole[error.start]
            raise CannotWrite(
                f"{self.location}: its encoding {self.encoding} has no {character!r}"
            ) from error

    def write(self, data: bytes) -> None:
        """Replace the contents of the file atomically; raises `CannotWrite`.

        The mode, where possible the owner, and symbolic links are preserved; a hard link keeps the
        old contents. Raises where the file has changed since it was read, and where it is not
        writable; but not where it has the new contents already.
        """
        path = os.path.realpath(self.location)
        try:
            status = os.stat(path)
            if not os.access(path, os.W_OK):
                raise CannotWrite(f"{self.location}: it is read-only")
            current = regular_files.contents(path)
            if current == data:
                return
            if current != self.data:
                raise CannotWrite(f"{self.location}: it has changed since it was read")
            with _undisturbed():
                _replace(path, data, status)
        except OSError as error:
            raise CannotWrite(f"{self.location}: {error.strerror or error}") from error


def read(path: str) -> Document:
    """The file at a path; raises `Refused` and OSError."""
    return Document.of(regular_files.contents(path), path)


def save(path: str, data: bytes) -> None:
    """Write a file that is not Python source, as a whole or not at all; raises `CannotWrite`.

    It may be new. The mode of an existing file, where possible its owner, and symbolic links are
    preserved. Pipes and devices, such as ``/dev/stdout``, are written to.
    """
    path = os.path.realpath(path) if os.path.isfile(path) else path
    try:
        status = os.stat(path) if os.path.exists(path) else None
        if status is not None and not stat.S_ISREG(status.st_mode):
            with open(path, "wb") as stream:
                stream.write(data)
            return
        with _undisturbed():
            _replace(path, data, status)
    except OSError as error:
        raise CannotWrite(f"{path}: {error.strerror or error}") from error


@contextlib.contextmanager
def _undisturbed() -> Iterator[None]:
    """Delay signals that would end the process, so that no temporary file is left behind."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    waiting: list[int] = []
    known = {number: signal.getsignal(number) for number in _ENDING}
    for number, handler in known.items():
        if handler is not None:  # a handler that Python did not set could not be restored
            signal.signal(number, lambda number, frame: waiting.append(number))
    try:
        yield
    finally:
        for number, handler in known.items():
            if handler is not None:
                signal.signal(number, handler)
        for number in waiting:
            signal.raise_signal(number)


def _replace(path: str, data: bytes, status: os.stat_result | None) -> None:
    """Write a temporary file beside the file, then rename it over the file, if there is one."""
    folder, name = os.path.split(path)
    handle, beside = tempfile.mkstemp(prefix=f".{name}.", suffix=".tmp", dir=folder or ".")
    try:
        with open(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if status is None:
            os.chmod(beside, 0o666 & ~_umask())
        else:
            if (status.st_uid, status.st_gid) != _owner(beside):
                with contextlib.suppress(OSError, AttributeError):
                    os.chown(beside, status.st_uid, status.st_gid)
            os.chmod(beside, stat.S_IMODE(status.st_mode))
        os.replace(beside, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(beside)
        raise


def _umask() -> int:
    """The mode that new files lack; it can only be read by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _owner(path: str) -> tuple[int, int]:
    status = os.stat(path)
    return status.st_uid, status.st_gid


def _not_restored(location: str, encoding: str) -> Finding:
    return Finding(
        "NC003",
        f"The file cannot be rewritten: its {encoding} is not restored byte by byte.",
        location,
        Span(1, 1, 1, 1),
        help="Save the file as UTF-8.",
    )
