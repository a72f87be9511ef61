"""Who traces: threads of this process, processes on this machine's cores, or a Dask cluster."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any, Protocol

from mldsa_lab.errors import LabError, first_line
from mldsa_lab.extras import need
from mldsa_lab.inputs.library import load
from mldsa_lab.inputs.pool import Checks
from mldsa_lab.inputs.source import Block
from mldsa_lab.theory.table import TraceTable

# Blocks under way for each process: one at work, one waiting, so that none idles.
_AHEAD = 2
# How often a block is tried anew when the Dask worker that had it is lost.
_RETRIES = 5
_CONNECT_S = 15


class Workforce(Protocol):
    """Traces blocks side by side."""

    @property
    def ahead(self) -> int:
        """Blocks to hand out before waiting for the first."""
        ...

    def trace(self, block: Block, checks: Checks) -> Callable[[], TraceTable]:
        """Hand out a block; the result waits for its traces."""
        ...


def trace_block(block: Block, checks: Checks) -> TraceTable:
    """The traces of a block, by this process."""
    return load().trace(block.set, block.inputs(), checks)


@contextmanager
def local(processes: int) -> Iterator[Workforce]:
    """Processes of this machine."""
    load()  # built once, before the processes look for it
    context = multiprocessing.get_context("spawn")
    with (
        ProcessPoolExecutor(processes, mp_context=context, initializer=_ignore_interrupt) as pool,
        _ended_early(pool),
    ):
        yield _Local(pool, _AHEAD * processes)


@contextmanager
def threads(count: int) -> Iterator[Workforce]:
    """Threads of this process: the library works without Python's lock."""
    with ThreadPoolExecutor(count) as pool, _ended_early(pool):
        yield _Local(pool, _AHEAD * count)


@contextmanager
def _ended_early(pool: Executor) -> Iterator[None]:
    """Whatever is not under way is not begun where the block that uses the pool fails."""
    try:
        yield
    except BaseException:
        pool.shutdown(wait=True, cancel_futures=True)
        raise


def _ignore_interrupt() -> None:
    """Ctrl-C ends the parent, which ends the pool; the workers would only print tracebacks."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


class _Local:
    def __init__(self, pool: Executor, ahead: int) -> None:
        self._pool = pool
        self.ahead = ahead

    def trace(self, block: Block, checks: Checks) -> Callable[[], TraceTable]:
        future = self._pool.submit(trace_block, block, checks)

        def wait() -> TraceTable:
            try:
                return future.result()
            except BrokenProcessPool:
                raise LabError("tracing: a process was ended from outside") from None

        return wait


@contextmanager
def dask(address: str) -> Iterator[Workforce]:
    """The workers of the Dask scheduler at ``address``. Each needs this version of the lab and
    builds its own library; one that is lost has its blocks done by others."""
    need("dask", "a Dask cluster")
    from distributed import Client

    connect: Any = Client
    try:
        client = connect(address, timeout=_CONNECT_S, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        raise LabError(
            f"Dask scheduler {address}: cannot be reached: {first_line(error)}"
        ) from None
    with client:
        threads = sum(int(w["nthreads"]) for w in client.scheduler_info(-1)["workers"].values())
        if not threads:
            raise LabError(f"Dask scheduler {address}: has no workers")
        yield _Dask(client, max(_AHEAD * threads, 2))


class _Dask:
    def __init__(self, client: Any, ahead: int) -> None:
        self._client = client
        self.ahead = ahead

    def trace(self, block: Block, checks: Checks) -> Callable[[], TraceTable]:
        from distributed import KilledWorker

        future = self._client.submit(trace_block, block, checks, pure=False, retries=_RETRIES)

        def wait() -> TraceTable:
            try:
                table: TraceTable = future.result()
            except KilledWorker:
                raise LabError(
                    f"tracing inputs {block.start} to {block.start + block.count - 1}: "
                    "every Dask worker that took them was lost"
                ) from None
            except (ImportError, AttributeError) as error:
                raise LabError(f"tracing: a Dask worker lacks this lab: {error}") from None
            return table

        return wait
