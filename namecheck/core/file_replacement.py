"""Writes files: each as a whole or not at all, and through a link only where that was asked for.

A file is written beside the old one, under a temporary name, and then renamed. A process that is
killed in between leaves the temporary file, which the next write of the same file removes: it has
no lock, so no process is writing it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import stat
import threading
from collections.abc import Iterator
from typing import Final

from namecheck.core import regular_files
from namecheck.core.regular_files import is_inside, real_path, reason_of

_ENDING: Final = [
    getattr(signal, name) for name in ("SIGHUP", "SIGINT", "SIGTERM") if hasattr(signal, name)
]
_NEW: Final = os.O_RDWR | os.O_CREAT | os.O_EXCL
_PLAIN: Final = sum(getattr(os, flag, 0) for flag in ("O_NOFOLLOW", "O_CLOEXEC", "O_BINARY"))
_WITHOUT_WAITING: Final = getattr(os, "O_NONBLOCK", 0)
# A temporary name must not be too long where the name of the file is long already.
_LONGEST: Final = 100


class CannotWrite(Exception):
    """A file that cannot be written; the message says which and why."""


def change(location: str, old_data: bytes, data: bytes, *, linked: bool = False) -> str:
    """Replace the contents of a file; returns the file that was written, empty for none.

    The mode, where possible the owner, and symbolic links are preserved; a hard link keeps the old
    contents. Raises `CannotWrite` where the file has changed since it was read, where it is not
    writable, and where it is `linked`: reached through a link that nobody named. Does nothing where
    it has the new contents already.
    """
    path = real_path(location)
    try:
        status = os.stat(path)
        current = regular_files.contents(path)
        if current == data:
            return ""
        if linked:
            raise CannotWrite(f"{location}: a link leads to it; name {path} to have it changed")
        if not os.access(path, os.W_OK):
            raise CannotWrite(f"{location}: it is read-only")
        if current != old_data:
            raise CannotWrite(f"{location}: it has changed since it was read")
        _replace(path, data, status)
    except OSError as error:
        raise CannotWrite(f"{location}: {reason_of(error)}") from error
    return path


def save(path: str, data: bytes, project: str | None = None, *, lasting: bool = True) -> str:
    """Write a file, which may be new, and return the one that was written; raises `CannotWrite`.

    One of many files that are easily made again is not `lasting`: it is not forced to the disk, and
    temporary files of killed processes are not searched for.

    A file that the user did not name is one of a `project`: no link leads out of its folder, and it
    is a regular file. The mode of an existing file, where possible its owner, and symbolic links
    are preserved; one that leads to no file is refused. Pipes and devices that the user named, such
    as ``/dev/stdout``, are written to, but for a pipe that no process reads.
    """
    if project is not None and not is_inside(path, project):
        raise CannotWrite(f"{path}: it leads out of the project, to {real_path(path)}")
    real = real_path(path) if os.path.isfile(path) else path
    if os.path.islink(path) and not os.path.exists(path):
        raise CannotWrite(f"{path}: it is a link to {real_path(path)}, which does not exist")
    try:
        status = os.stat(real) if os.path.exists(real) else None
        if status is not None and project is not None:
            regular_files.require_kind(status)
        if status is not None and not stat.S_ISREG(status.st_mode):
            with open(real, "wb", opener=_opened) as stream:
                stream.write(data)
        else:
            _replace(real, data, status, lasting=lasting)
    except OSError as error:
        raise CannotWrite(f"{path}: {reason_of(error)}") from error
    return real


def _opened(path: str, flags: int) -> int:
    """Open a pipe or a device; a pipe that no process reads is refused instead of waited for."""
    handle = os.open(path, flags & ~os.O_CREAT | _WITHOUT_WAITING)
    if _WITHOUT_WAITING:
        os.set_blocking(handle, True)
    return handle


def _replace(
    path: str, data: bytes, status: os.stat_result | None, *, lasting: bool = True
) -> None:
    """Write a temporary file beside the file, then rename it over the file, if there is one."""
    folder, name = os.path.split(path)
    prefix = f".{name[:_LONGEST]}.namecheck-"
    if lasting:
        _remove_strays(folder or ".", prefix)
    with _undisturbed():
        handle, beside = _temporary(folder, prefix)
        try:
            with open(handle, "wb") as file:
                file.write(data)
                file.flush()
                if lasting:
                    os.fsync(file.fileno())
            _copy_status(beside, status)
            os.replace(beside, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(beside)
            raise


def _copy_status(path: str, status: os.stat_result | None) -> None:
    """Give a file the mode of another one, and its owner where possible; else those of new ones."""
    if status is None:
        os.chmod(path, 0o666 & ~_umask())
        return
    own = os.stat(path)
    if (status.st_uid, status.st_gid) != (own.st_uid, own.st_gid):
        with contextlib.suppress(OSError, AttributeError):
            os.chown(path, status.st_uid, status.st_gid)
    os.chmod(path, stat.S_IMODE(status.st_mode))


def _umask() -> int:
    """The mode that new files lack; it can only be read by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


# Temporary files


def _temporary(folder: str, prefix: str) -> tuple[int, str]:
    """A new file with a lock on it: its descriptor, and its path."""
    while True:
        path = os.path.join(folder, f"{prefix}{os.urandom(4).hex()}.tmp")
        handle = os.open(path, _NEW | _PLAIN, 0o600)
        # Another run may have found it before it had its lock.
        if _is_locked(handle, otherwise=True) and os.fstat(handle).st_nlink:
            return handle, path
        os.close(handle)


def _remove_strays(folder: str, prefix: str) -> None:
    """Remove the temporary files of processes that were killed."""
    for name in os.listdir(folder):
        if name.startswith(prefix) and name.endswith(".tmp"):
            path = os.path.join(folder, name)
            with contextlib.suppress(OSError):
                handle = os.open(path, os.O_RDWR | _PLAIN | _WITHOUT_WAITING)
                try:
                    if _is_locked(handle, otherwise=False):
                        os.unlink(path)
                finally:
                    os.close(handle)


def _is_locked(handle: int, *, otherwise: bool) -> bool:
    """Whether this process now has the lock on a file; `otherwise` where there are no locks."""
    try:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except (ImportError, OSError):  # Windows, and some file systems
        return otherwise
    return True


@contextlib.contextmanager
def _undisturbed() -> Iterator[None]:
    """Delay signals that would end the process, so that no temporary file is left behind."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    waiting: list[int] = []
    handlers = {number: signal.getsignal(number) for number in _ENDING}
    for number, handler in handlers.items():
        if handler is not None:  # a handler that Python did not set could not be restored
            signal.signal(number, lambda number, frame: waiting.append(number))
    try:
        yield
    finally:
        for number, handler in handlers.items():
            if handler is not None:
                signal.signal(number, handler)
        for number in waiting:
            signal.raise_signal(number)
