"""Where chunks of work are done: threads of this process, or a Dask cluster. Either way the results are the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import Any, TypeVar

from .errors import Error

__all__ = ["Progress", "on_dask", "on_threads", "scheduler"]

_PATIENCE = "10s"  # until a scheduler must have answered
_NO_DASK = "running on a cluster needs Dask: pip install 'timebound[dask]'"

T = TypeVar("T")
R = TypeVar("R")
Progress = Callable[[int, int, str], None]  # how many are done, of how many, and of what


def on_threads(work: Callable[[T], R], todo: Sequence[T], jobs: int) -> Iterator[R]:
    """The result of each chunk as it is done. Kernels release the GIL, so threads use the cores."""
    if jobs == 1:
        yield from map(work, todo)
        return
    waiting = iter(todo)
    with ThreadPoolExecutor(jobs) as pool:
        running: set[Future[R]] = set()
        try:
            while True:
                # Few are handed out ahead of time, so that interrupted work ends soon.
                while len(running) < 2 * jobs and (chunk := next(waiting, None)) is not None:
                    running.add(pool.submit(work, chunk))
                if not running:
                    return
                done, running = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    yield future.result()
        finally:
            for future in running:
                future.cancel()


def on_dask(work: Callable[..., R], todo: Sequence[T], address: str, jobs: int, shared: Any = None) -> Iterator[R]:
    """The same on a cluster: ``address`` of its scheduler, or ``local`` for ``jobs`` worker processes here.

    A worker that is lost costs the chunk it was doing; the scheduler gives it to another. ``shared`` is what every
    chunk needs besides itself: it goes to each worker once, and to ``work`` as its second argument.
    """
    try:
        from dask.distributed import Client, as_completed
    except ImportError:
        raise Error(_NO_DASK) from None
    with scheduler(address, jobs) as reachable:
        try:
            client = Client(reachable, timeout=_PATIENCE)
        except (OSError, ValueError) as problem:
            raise Error(f"there is no Dask scheduler at {address}: {problem}") from None
        try:
            extra = () if shared is None else ([client.scatter(shared, broadcast=True)] * len(todo),)
            futures = client.map(work, todo, *extra, pure=False, retries=2)
            for future in as_completed(futures):
                yield future.result()
                future.release()
        finally:
            client.close()


@contextmanager
def scheduler(address: str, jobs: int) -> Iterator[str]:
    """The address of a scheduler; for ``local``, of one with ``jobs`` workers that is stopped at the end."""
    if address != "local":
        yield address
        return
    try:
        from dask.distributed import LocalCluster
    except ImportError:
        raise Error(_NO_DASK) from None
    with LocalCluster(n_workers=jobs, threads_per_worker=1, dashboard_address=None) as cluster:
        yield cluster.scheduler_address
