"""The executor of a dask cluster, by the address of its scheduler."""

from __future__ import annotations

import logging
import re
import threading
import warnings
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, Future
from typing import Any, Final, Protocol, TypeVar

_ADDRESS: Final = re.compile(r"dask://(?P<host>\[[0-9a-fA-F:.%]+\]|[\w.-]+):(?P<port>[0-9]{1,5})")
_PATIENCE: Final = 10.0
"""Seconds after which a scheduler or a worker that does not answer is given up."""

_Result = TypeVar("_Result")


class ClusterError(Exception):
    """A cluster that cannot be used; the message says why."""


class Client(Protocol):
    """The methods of a scheduler's client that namecheck uses: `distributed.Client`."""

    def get_executor(self, *, pure: bool) -> Executor:
        """An executor on the workers; dask never merges calls that are not `pure`."""
        ...

    def nthreads(self) -> Mapping[str, int]:
        """The number of threads of each worker."""
        ...

    def wait_for_workers(self, n_workers: int, timeout: float) -> None:
        """Wait for workers; raises TimeoutError."""
        ...

    def close(self, timeout: float) -> None:
        """Leave the scheduler."""
        ...


class Cluster(Executor):
    """Dask's own executor; `workers` is the number of its threads, `lost` whether it is lost."""

    def __init__(self, url: str, client: Client) -> None:
        self.url = url
        self.lost = False
        self._client = client
        self._executor = client.get_executor(pure=False)

    def submit(self, fn: Callable[..., _Result], /, *args: Any, **kwargs: Any) -> Future[_Result]:
        """Run a function on a worker; one that dies is replaced by another."""
        return self._executor.submit(fn, *args, **kwargs)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Leave the cluster, which continues for other clients."""
        self._executor.shutdown(wait=wait and not self.lost)
        self._client.close(timeout=2)

    @property
    def workers(self) -> int:
        """The number of threads of all workers, 0 where none answers."""
        try:
            return sum(self._client.nthreads().values())
        except Exception:  # dask has no common type for a lost scheduler
            return 0


def connected(url: str) -> Cluster:
    """The cluster with a scheduler at ``dask://HOST:PORT``; raises `ClusterError`."""
    match = _ADDRESS.fullmatch(url)
    if match is None or not 0 < int(match["port"]) < 65536:
        raise ClusterError(f"an executor is dask://HOST:PORT, not {url!r}")
    try:
        import distributed
    except ImportError as error:
        raise ClusterError(
            f"{url} needs dask.distributed: pip install 'torch-namecheck[dask]' ({error})"
        ) from error
    # Messages about lost workers are hidden: other workers take over their calls.
    for name in ("distributed", "tornado"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    warnings.filterwarnings("ignore", module="distributed")
    scheduler = f"tcp://{match['host']}:{match['port']}"
    try:
        connect: Callable[..., Client] = distributed.Client
        client = _in_time(lambda: connect(scheduler, timeout=_PATIENCE, set_as_default=False))
    except Exception as error:  # dask has no common type for an address without a scheduler
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise ClusterError(f"no scheduler of dask answers at {url}: {reason}") from error
    try:
        client.wait_for_workers(1, timeout=_PATIENCE)
    except TimeoutError as error:
        client.close(timeout=2)
        raise ClusterError(f"the cluster at {url} has no workers") from error
    return Cluster(url, client)


def _in_time(connect: Callable[[], Client]) -> Client:
    """A client; raises TimeoutError where a server accepts the connection and sends nothing.

    Dask waits for the greeting of such a server for ever, in a thread that ends with the process.
    """
    client: Future[Client] = Future()

    def run() -> None:
        try:
            client.set_result(connect())
        except BaseException as error:
            client.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    try:
        return client.result(2 * _PATIENCE)
    except TimeoutError as error:
        raise TimeoutError("it does not speak dask's protocol") from error
