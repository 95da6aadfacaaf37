"""Where chunks are run: threads of this process, or a Dask cluster. Either way the records are the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any

from ..errors import Error
from .experiment import Chunk, run_chunk

__all__ = ["on_dask", "on_threads"]


def on_threads(todo: Sequence[Chunk], jobs: int) -> Iterator[list[dict[str, Any]]]:
    """The records of each chunk as it is done. Kernels release the GIL, so threads use the cores."""
    if jobs == 1:
        yield from map(run_chunk, todo)
        return
    waiting = iter(todo)
    with ThreadPoolExecutor(jobs) as pool:
        running: set[Future[list[dict[str, Any]]]] = set()
        try:
            while True:
                # Few are handed out ahead of time, so that an interrupted sweep ends soon.
                while len(running) < 2 * jobs and (chunk := next(waiting, None)) is not None:
                    running.add(pool.submit(run_chunk, chunk))
                if not running:
                    return
                done, running = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    yield future.result()
        finally:
            for future in running:
                future.cancel()


def on_dask(todo: Sequence[Chunk], address: str, jobs: int) -> Iterator[list[dict[str, Any]]]:
    """The same on a cluster: ``address`` of its scheduler, or ``local`` for ``jobs`` worker processes here.

    A worker that is lost costs the chunk it was running; the scheduler gives it to another. Maps are made where they
    are needed: files must lie at the same path on every machine, generated ones need nothing.
    """
    try:
        from dask.distributed import Client, LocalCluster, as_completed
    except ImportError:
        raise Error("running on a cluster needs Dask: pip install 'timebound[dask]'") from None
    cluster = LocalCluster(n_workers=jobs, threads_per_worker=1, dashboard_address=None) if address == "local" else None
    try:
        client = Client(cluster if cluster is not None else address, timeout="10s")
    except (OSError, ValueError) as problem:
        raise Error(f"there is no Dask scheduler at {address}: {problem}") from None
    try:
        futures = client.map(run_chunk, todo, pure=False, retries=2)
        for future in as_completed(futures):
            yield future.result()
            future.release()
    finally:
        client.close()
        if cluster is not None:
            cluster.close()
